//! Browser login: a link that works once, then a cookie and a second half that the page
//! stores. Neither half authenticates alone.

use provost_proto::{CreateTokenRequest, TokenClass, limits};

use super::Auth;
use super::tokens::{TokenHolder, minutes_to_micros};
use crate::{GatewayError, Operator, Secret};

/// How long a login link works, in minutes.
const LINK_MINUTES: u32 = 15;

/// What a browser gets for a login link.
#[derive(Debug)]
pub struct BrowserCredentials {
    /// The value of the cookie.
    pub cookie: Secret,
    /// The half that the page stores.
    pub page: Secret,
    /// How long the login lasts, in minutes.
    pub minutes: u32,
    /// The short name of the project that the page shows first.
    pub project: Option<String>,
}

impl Auth {
    /// A code that logs one browser in, and for how many minutes it works. `project` is the
    /// short name of the project that the page shows first.
    pub fn create_login_code(
        &self,
        _by: &Operator,
        project: Option<String>,
    ) -> Result<(Secret, u32), GatewayError> {
        let expires_at = self.log.now() + minutes_to_micros(LINK_MINUTES);
        Ok((self.login_codes.issue(project, expires_at)?, LINK_MINUTES))
    }

    /// Exchanges a login code for the two halves of a browser's credentials.
    pub async fn redeem_login_code(&self, code: &str) -> Result<BrowserCredentials, GatewayError> {
        let page = Secret::random("provost_page_")?;
        let redeemed = self.login_codes.redeem(code, self.log.now());
        let redeemed = redeemed.ok_or(GatewayError::LoginExpired)?;
        let wanted = CreateTokenRequest {
            class: TokenClass::Operator,
            project: None,
            role: None,
            notebook: None,
            label: Some("browser".to_owned()),
            ttl_minutes: Some(limits::BROWSER_LOGIN_MINUTES),
        };
        let issued =
            self.issue_token(wanted, TokenHolder::OwnerBrowser { page: page.digest() }).await;
        let (cookie, _) = match issued {
            Ok(issued) => issued,
            Err(error) => {
                // No login happened, so the link stays valid.
                self.login_codes.restore(redeemed);
                return Err(error);
            }
        };
        let (minutes, project) = (limits::BROWSER_LOGIN_MINUTES, redeemed.into_value());
        Ok(BrowserCredentials { cookie, page, minutes, project })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestCredentials;
    use crate::test_support::{OWNER_TOKEN, open_auth};

    #[tokio::test]
    async fn a_link_whose_login_failed_can_be_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let auth = open_auth(folder.path()).await;
        let owner = auth.authenticate(RequestCredentials::Header(OWNER_TOKEN)).unwrap();
        let (code, _) = auth.create_login_code(&owner.into_operator().unwrap(), None).unwrap();

        let log = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON events
                      BEGIN SELECT RAISE(ABORT, 'not now'); END";
        log.execute_batch(refuse).unwrap();
        let failed = auth.redeem_login_code(code.reveal()).await.unwrap_err().to_string();
        assert!(failed.contains("not now"), "{failed}");
        log.execute_batch("DROP TRIGGER refuse").unwrap();
        auth.redeem_login_code(code.reveal()).await.unwrap();
        let again = auth.redeem_login_code(code.reveal()).await.unwrap_err();
        assert!(matches!(again, GatewayError::LoginExpired), "{again}");
    }

    #[tokio::test]
    async fn a_login_needs_both_halves() {
        let folder = tempfile::tempdir().unwrap();
        let auth = open_auth(folder.path()).await;
        let owner = auth.authenticate(RequestCredentials::Header(OWNER_TOKEN)).unwrap();
        let (code, _) = auth.create_login_code(&owner.into_operator().unwrap(), None).unwrap();
        let browser = auth.redeem_login_code(code.reveal()).await.unwrap();
        let (cookie, page) = (browser.cookie.reveal(), Some(browser.page.reveal()));
        assert!(auth.authenticate(RequestCredentials::Browser { cookie, page }).is_ok());
        assert!(auth.authenticate(RequestCredentials::Browser { cookie, page: None }).is_err());
        assert!(auth.authenticate(RequestCredentials::Header(cookie)).is_err());
    }
}
