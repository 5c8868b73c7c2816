//! Access to the preview of a project: a code that works once, then a cookie of the preview's
//! own origin.
//!
//! The cookie contains the project, the port, its expiry and the token that it was issued for,
//! with a signature of this daemon. So it needs no storage and survives a restart, but not the
//! revocation of that token. It opens one preview only and is not a token.

use std::fmt::Write as _;
use std::sync::Arc;

use provost_core::hash_chain;
use provost_proto::{Hash, ProjectId, TokenId, UnixMicros};

use crate::event_log::EventLog;
use crate::one_time_codes::{OneTimeCodes, RedeemedCode};
use crate::project::principal_directory::PrincipalDirectory;
use crate::token_lease::TokenLease;
use crate::{AuthorizedReader, GatewayError, Secret, secret};

/// How long a code works, in microseconds.
const CODE_LIFETIME: UnixMicros = 5 * 60 * 1_000_000;

/// How long a cookie lasts, in minutes.
const COOKIE_MINUTES: u32 = 30 * 24 * 60;

/// How many codes may be pending; issuing another drops the oldest.
const MAX_PENDING_CODES: usize = 256;

/// Stands for the owner's token in a cookie.
const OWNER_MARKER: &str = "owner";

/// Codes and cookies for previews.
#[derive(Debug)]
pub struct PreviewAccess {
    log: Arc<EventLog>,
    directory: Arc<dyn PrincipalDirectory>,
    codes: OneTimeCodes<PreviewScope>,
}

/// What a code or a cookie opens.
#[derive(Debug, Clone, Copy)]
struct PreviewScope {
    project: ProjectId,
    /// Another port of the project than the preview's.
    port: Option<u16>,
    /// The token of the request; access ends with it. `None` for the owner's token.
    token: Option<TokenId>,
}

/// What a valid cookie opens.
#[derive(Debug)]
pub struct VerifiedPreviewCookie {
    /// The project of the preview.
    pub project: ProjectId,
    /// Another port of the project than the preview's.
    pub port: Option<u16>,
    /// How long connections that are opened with it may last.
    pub lease: TokenLease,
}

/// The cookie for a redeemed code.
#[derive(Debug)]
pub struct IssuedPreviewCookie {
    /// The project of the preview.
    pub project: ProjectId,
    /// Another port of the project than the preview's.
    pub port: Option<u16>,
    /// The value of the cookie.
    pub cookie: Secret,
    /// How long the cookie lasts, in minutes.
    pub minutes: u32,
}

impl PreviewAccess {
    pub(crate) fn new(log: Arc<EventLog>, directory: Arc<dyn PrincipalDirectory>) -> Self {
        Self { log, directory, codes: OneTimeCodes::new(MAX_PENDING_CODES) }
    }

    /// A code that opens the preview of a project once, or another port of the project.
    pub fn create_preview_code(
        &self,
        by: &AuthorizedReader,
        project: ProjectId,
        port: Option<u16>,
    ) -> Result<Secret, GatewayError> {
        if !by.may_see(project) {
            return Err(GatewayError::BoundToOtherProject);
        }
        let scope = PreviewScope { project, port, token: by.token() };
        self.codes.issue(scope, self.log.now() + CODE_LIFETIME)
    }

    /// Exchanges a code for a cookie.
    pub fn redeem_preview_code(&self, code: &str) -> Option<IssuedPreviewCookie> {
        let now = self.log.now();
        let scope = self.codes.redeem(code, now).map(RedeemedCode::into_value)?;
        self.directory.lease_token_by_id(scope.token)?;
        let until = now + UnixMicros::from(COOKIE_MINUTES) * 60_000_000;
        let mut value = scope.format_cookie_value(until);
        let signature = self.sign_preview_cookie(&value);
        let _ = write!(value, ".{signature}");
        let cookie = Secret::from_text(value);
        let PreviewScope { project, port, .. } = scope;
        Some(IssuedPreviewCookie { project, port, cookie, minutes: COOKIE_MINUTES })
    }

    /// What a cookie opens, if its signature is valid, it has not expired, and its token is
    /// valid.
    pub fn verify_preview_cookie(&self, cookie: &str) -> Option<VerifiedPreviewCookie> {
        let (value, signature) = cookie.rsplit_once('.')?;
        let given: Hash = signature.parse().ok()?;
        if !secret::constant_time_eq(&given, &self.sign_preview_cookie(value)) {
            return None;
        }
        let mut parts = value.split('.');
        let project = parts.next()?.parse().ok()?;
        let port = parts.next()?.parse().ok().filter(|port| *port != 0);
        let until: UnixMicros = parts.next()?.parse().ok()?;
        let token = match parts.next()? {
            OWNER_MARKER => None,
            token => Some(token.parse().ok()?),
        };
        let lease = self.directory.lease_token_by_id(token)?;
        (until > self.log.now()).then_some(VerifiedPreviewCookie { project, port, lease })
    }

    fn sign_preview_cookie(&self, value: &str) -> Hash {
        let secret = self.log.owner().digest.to_string();
        hash_chain::digest(format!("provost preview\n{secret}\n{value}").as_bytes())
    }
}

impl PreviewScope {
    fn format_cookie_value(self, until: UnixMicros) -> String {
        let Self { project, port, token } = self;
        let token =
            token.map_or(OWNER_MARKER.to_owned(), |token| token.uuid().simple().to_string());
        format!("{}.{}.{until}.{token}", project.uuid().simple(), port.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::RequestCredentials;
    use crate::test_support::{OWNER_TOKEN, TestProject};

    #[tokio::test]
    async fn a_code_gives_one_cookie_that_opens_its_project_only() {
        let test = TestProject::open(&[("a.txt", "a")]).await;
        let (auth, preview) = (&test.gateway.auth, &test.gateway.preview);
        let owner = auth.authenticate(RequestCredentials::Header(OWNER_TOKEN)).unwrap();
        let reader = owner.into_reader().unwrap();
        let code = preview.create_preview_code(&reader, test.project.id, Some(8080)).unwrap();
        let issued = preview.redeem_preview_code(code.reveal()).unwrap();
        assert!(preview.redeem_preview_code(code.reveal()).is_none(), "a second time");
        let verified = preview.verify_preview_cookie(issued.cookie.reveal()).unwrap();
        assert_eq!((verified.project, verified.port), (test.project.id, Some(8080)));
        let forged = issued.cookie.reveal().replacen(".8080.", ".8081.", 1);
        assert!(preview.verify_preview_cookie(&forged).is_none());
    }
}
