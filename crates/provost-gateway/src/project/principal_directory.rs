//! What the services of a project need to know of the team's tokens.
//!
//! A trait, so that a project does not depend on the team's services and can run on another
//! machine than they do.

use std::fmt::Debug;

use provost_proto::TokenId;

use crate::token_lease::TokenLease;

/// Answers which principals and tokens are valid now.
pub(crate) trait PrincipalDirectory: Debug + Send + Sync {
    /// Whether this principal has a valid token.
    fn has_valid_token(&self, principal: &str) -> bool;

    /// A lease on a token, if it is valid; `None` names the owner's token.
    fn lease_token_by_id(&self, token: Option<TokenId>) -> Option<TokenLease>;

    /// A lease on the token of an operator, if it is one and valid.
    fn lease_operator_token(&self, token: TokenId) -> Option<TokenLease>;

    /// Whether the token behind a lease is still valid.
    fn is_lease_valid(&self, lease: &TokenLease) -> bool;
}
