//! Authentication: who presents a token, and how long what it opened may stay open.

mod login;
mod token_registry;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use provost_proto::{Actor, Hash, TokenClass, TokenId, TokenView, limits};

pub use login::BrowserCredentials;

use crate::event_log::EventLog;
use crate::one_time_codes::OneTimeCodes;
use crate::project::principal_directory::PrincipalDirectory;
use crate::team::projects::Projects;
use crate::token_lease::TokenLease;
use crate::{Caller, GatewayError, secret};
use token_registry::TokenRegistry;

/// The longest time between two checks of a lease: the system clock may be set.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// Tokens, leases and logins.
#[derive(Debug)]
pub struct Auth {
    log: Arc<EventLog>,
    projects: Arc<Projects>,
    registry: TokenRegistry,
    /// Each with the short name of the project that the page shows first.
    login_codes: OneTimeCodes<Option<String>>,
}

/// How a token was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestCredentials<'a> {
    /// In the `Authorization` header.
    Header(&'a str),
    /// By a browser, in two halves. Browsers send cookies to every port of a host, so other
    /// servers there may learn the cookie; only pages of our own origin can read the half
    /// that the page stores.
    Browser {
        /// The value of the cookie.
        cookie: &'a str,
        /// The half that the page stores, sent in a header.
        page: Option<&'a str>,
    },
}

impl RequestCredentials<'_> {
    fn digest(self) -> Hash {
        match self {
            Self::Header(token) => secret::digest(token),
            Self::Browser { cookie, page: _ } => secret::digest(cookie),
        }
    }
}

impl Auth {
    pub(crate) async fn load(
        log: Arc<EventLog>,
        projects: Arc<Projects>,
    ) -> Result<Self, GatewayError> {
        let registry = TokenRegistry::load(&**log.store(), log.now()).await?;
        let login_codes = OneTimeCodes::new(limits::MAX_LOGIN_LINKS);
        Ok(Self { log, projects, registry, login_codes })
    }

    /// The caller that presents these credentials.
    pub fn authenticate(
        &self,
        credentials: RequestCredentials<'_>,
    ) -> Result<Caller, GatewayError> {
        let digest = credentials.digest();
        if self.is_owner(credentials, &digest) {
            let principal = self.log.owner().principal.clone();
            return Ok(Caller::new(principal, Actor::Cli, TokenClass::Operator, None, None));
        }
        let token = self
            .registry
            .find(&digest)
            .filter(|token| secret::constant_time_eq(&token.digest, &digest))
            .ok_or(GatewayError::Unauthenticated("this token is unknown or was revoked"))?;
        if token.expires_at.is_some_and(|end| end <= self.log.now()) {
            return Err(GatewayError::Unauthenticated("this token has expired"));
        }
        check_credential_halves(&token, credentials)?;
        let actor = match (token.class, credentials) {
            (TokenClass::Agent, _) => Actor::Agent(token.role.clone().unwrap_or_default()),
            (TokenClass::Runtime, _) => Actor::Runtime(token.id.uuid().to_string()),
            (TokenClass::Operator | TokenClass::Viewer, RequestCredentials::Browser { .. }) => {
                Actor::Ui
            }
            (TokenClass::Operator | TokenClass::Viewer, RequestCredentials::Header(_)) => {
                Actor::Cli
            }
        };
        let principal = token.holder.unwrap_or_else(|| format!("token:{}", token.id.uuid()));
        let caller = Caller::new(principal, actor, token.class, token.project, token.role);
        Ok(caller.with_token(token.id).with_notebook(token.notebook))
    }

    /// The owner's token is for programs; a browser gets a token of its own.
    fn is_owner(&self, credentials: RequestCredentials<'_>, digest: &Hash) -> bool {
        matches!(credentials, RequestCredentials::Header(_))
            && secret::constant_time_eq(digest, &self.log.owner().digest)
    }

    /// Whether a text is a token of this daemon, valid or not. Such a text is not forwarded
    /// to anyone.
    pub fn is_own_token(&self, token: &str) -> bool {
        token.contains("provost_") || self.authenticate(RequestCredentials::Header(token)).is_ok()
    }

    /// A lease for something that outlives the request.
    pub fn lease_token(
        &self,
        credentials: RequestCredentials<'_>,
    ) -> Result<TokenLease, GatewayError> {
        self.authenticate(credentials)?;
        let revoked = self.registry.subscribe_revocations();
        let digest = credentials.digest();
        if self.is_owner(credentials, &digest) {
            return Ok(TokenLease { digest: None, expires_at: None, revoked });
        }
        let expires_at = self.registry.find(&digest).and_then(|token| token.expires_at);
        Ok(TokenLease { digest: Some(digest), expires_at, revoked })
    }

    /// Returns when the token behind a lease is no longer valid.
    pub async fn wait_lease_end(&self, lease: &mut TokenLease) {
        while self.is_lease_valid(lease) {
            let left = lease.expires_at.map(|end| end.saturating_sub(self.log.now()));
            // Never sleeps for long: the system clock may be set.
            let wait = left.map_or(LEASE_CHECK_INTERVAL, |left| {
                Duration::from_micros(left + 1).min(LEASE_CHECK_INTERVAL)
            });
            tokio::select! {
                changed = lease.revoked.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Whether the token behind a lease is still valid.
    pub fn is_lease_valid(&self, lease: &TokenLease) -> bool {
        lease.digest.as_ref().is_none_or(|digest| self.registry.contains(digest))
            && lease.expires_at.is_none_or(|end| end > self.log.now())
    }
}

impl PrincipalDirectory for Auth {
    fn has_valid_token(&self, principal: &str) -> bool {
        self.registry.has_valid_token(principal, self.log.now())
    }

    fn lease_token_by_id(&self, token: Option<TokenId>) -> Option<TokenLease> {
        let revoked = self.registry.subscribe_revocations();
        let Some(id) = token else {
            return Some(TokenLease { digest: None, expires_at: None, revoked });
        };
        let TokenView { digest, expires_at, .. } = self.registry.find_by_id(id)?;
        let lease = TokenLease { digest: Some(digest), expires_at, revoked };
        Auth::is_lease_valid(self, &lease).then_some(lease)
    }

    fn lease_operator_token(&self, token: TokenId) -> Option<TokenLease> {
        let known = self.registry.find_by_id(token)?;
        let is_operator = known.class == TokenClass::Operator && known.project.is_none();
        if is_operator { self.lease_token_by_id(Some(token)) } else { None }
    }

    fn is_lease_valid(&self, lease: &TokenLease) -> bool {
        Auth::is_lease_valid(self, lease)
    }
}

/// Checks that a token was presented the way it was issued: a program's token alone, a
/// browser's with both halves.
fn check_credential_halves(
    token: &TokenView,
    credentials: RequestCredentials<'_>,
) -> Result<(), GatewayError> {
    let unauthenticated = |why| Err(GatewayError::Unauthenticated(why));
    match (credentials, &token.page) {
        // Whoever has seen the cookie could present it as a program's token.
        (RequestCredentials::Header(_), _) if token.holder.is_some() => {
            unauthenticated("a browser's token works in that browser only")
        }
        (RequestCredentials::Header(_), _) => Ok(()),
        (RequestCredentials::Browser { .. }, None) => unauthenticated(
            "this login was made by an older Provost; a cookie alone does not authenticate",
        ),
        (RequestCredentials::Browser { page: None, .. }, Some(_)) => unauthenticated(
            "the login cookie does not authenticate without the header `Provost-Page`",
        ),
        (RequestCredentials::Browser { page: Some(page), .. }, Some(stored)) => {
            if secret::constant_time_eq(stored, &secret::digest(page)) {
                Ok(())
            } else {
                unauthenticated("the cookie and the page belong to different logins")
            }
        }
    }
}
