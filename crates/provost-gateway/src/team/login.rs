//! Logging a browser in: a link that works once, then a cookie and what the page
//! keeps. Neither is anybody alone.

use parking_lot::Mutex;
use std::collections::VecDeque;

use provost_proto::{CreateTokenRequest, Hash, TokenClass, UnixMicros, limits};

use crate::team::tokens::TokenHolder;
use crate::{Gateway, GatewayError, Operator, Secret, secret};

/// How long a login link works.
const LINK_MINUTES: u32 = 15;

/// The links that wait to be used. They live in memory only: a restart ends
/// them, and another is one command away.
#[derive(Debug, Default)]
pub(crate) struct LoginCodes(Mutex<VecDeque<PendingLogin>>);

#[derive(Debug)]
struct PendingLogin {
    code: Hash,
    until: UnixMicros,
}

/// What a browser is given for a link.
#[derive(Debug)]
pub struct BrowserCredentials {
    /// The value of its cookie.
    pub cookie: Secret,
    /// What its page keeps.
    pub page: Secret,
    /// How long it lasts.
    pub minutes: u32,
}

impl LoginCodes {
    fn add(&self, link: PendingLogin) {
        let mut links = self.0.lock();
        if links.len() == limits::MAX_LOGIN_LINKS {
            links.pop_front();
        }
        links.push_back(link);
    }

    /// Takes the link out, so that it works once.
    fn take(&self, code: &Hash, now: UnixMicros) -> Option<PendingLogin> {
        let mut links = self.0.lock();
        links.retain(|link| link.until > now);
        let mut taken = None;
        for link in std::mem::take(&mut *links) {
            if secret::constant_time_eq(&link.code, code) {
                taken = Some(link);
            } else {
                links.push_back(link);
            }
        }
        taken
    }
}

impl Gateway {
    /// A code that logs one browser in, and how many minutes it works.
    pub fn create_login_code(&self, _by: &Operator) -> Result<(Secret, u32), GatewayError> {
        let code = Secret::random("")?;
        let until = self.clock().now() + minutes_to_micros(LINK_MINUTES);
        self.logins.add(PendingLogin { code: code.digest(), until });
        Ok((code, LINK_MINUTES))
    }

    /// Takes a code and gives the browser its two halves.
    pub async fn redeem_login_code(&self, code: &str) -> Result<BrowserCredentials, GatewayError> {
        let page = Secret::random("provost_page_")?;
        let link = self.logins.take(&secret::digest(code), self.clock().now());
        let link = link.ok_or(GatewayError::LoginExpired)?;
        let wanted = CreateTokenRequest {
            class: TokenClass::Operator,
            project: None,
            role: None,
            label: Some("browser".to_owned()),
            ttl_minutes: Some(limits::BROWSER_LOGIN_MINUTES),
        };
        let handed_out =
            self.issue_token(wanted, TokenHolder::OwnerBrowser { page: page.digest() }).await;
        if handed_out.is_err() {
            // Nobody was logged in, so the link was not used.
            self.logins.add(link);
        }
        let (cookie, _) = handed_out?;
        Ok(BrowserCredentials { cookie, page, minutes: limits::BROWSER_LOGIN_MINUTES })
    }
}

pub(crate) const fn minutes_to_micros(n: u32) -> UnixMicros {
    n as UnixMicros * 60_000_000
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use provost_store::{Clock, SqliteStore, StoreOptions};

    use super::*;
    use crate::{DaemonOwner, GatewayConfig, RequestCredentials};

    #[tokio::test]
    async fn a_link_that_logged_nobody_in_can_be_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, clock) = (folder.path().join("log.db"), Clock::system());
        let store = SqliteStore::open(StoreOptions { path: path.clone(), clock: clock.clone() });
        let secret = Secret::from_text("owner");
        let owner = DaemonOwner { principal: "local:ann".to_owned(), digest: secret.digest() };
        let store = Arc::new(store.unwrap());
        let gateway = Gateway::open(store, clock, owner, GatewayConfig::default()).await.unwrap();
        let owner = gateway
            .authenticate(RequestCredentials::Header("owner"))
            .unwrap()
            .into_operator()
            .unwrap();
        let (code, _) = gateway.create_login_code(&owner).unwrap();

        let log = rusqlite::Connection::open(path).unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON events
                      BEGIN SELECT RAISE(ABORT, 'not now'); END";
        log.execute_batch(refuse).unwrap();
        let failed = gateway.redeem_login_code(code.reveal()).await.unwrap_err().to_string();
        assert!(failed.contains("not now"), "{failed}");
        log.execute_batch("DROP TRIGGER refuse").unwrap();
        gateway.redeem_login_code(code.reveal()).await.unwrap();
        let again = gateway.redeem_login_code(code.reveal()).await.unwrap_err();
        assert!(matches!(again, GatewayError::LoginExpired), "{again}");
    }

    fn link(n: u8, until: UnixMicros) -> PendingLogin {
        PendingLogin { code: Hash::new([n; 32]), until }
    }

    #[test]
    fn a_link_works_once_and_in_time() {
        let logins = LoginCodes::default();
        logins.add(link(1, 10));
        assert!(logins.take(&Hash::new([2; 32]), 5).is_none(), "another code");
        assert!(logins.take(&Hash::new([1; 32]), 5).is_some());
        assert!(logins.take(&Hash::new([1; 32]), 5).is_none(), "a second time");
        logins.add(link(1, 10));
        assert!(logins.take(&Hash::new([1; 32]), 10).is_none(), "too late");
    }

    #[test]
    fn only_so_many_links_wait_and_the_oldest_goes_first() {
        let logins = LoginCodes::default();
        for n in 0..=u8::try_from(limits::MAX_LOGIN_LINKS).unwrap() {
            logins.add(link(n, 10));
        }
        assert!(logins.take(&Hash::new([0; 32]), 5).is_none());
        assert!(logins.take(&Hash::new([1; 32]), 5).is_some());
    }
}
