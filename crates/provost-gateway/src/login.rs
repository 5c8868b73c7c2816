//! Logging a browser in: a link that works once, then a cookie.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use provost_proto::{CreateToken, Hash, Micros, TokenClass, limits};

use crate::tokens::Holder;
use crate::{Gateway, GatewayError, Operator, Secret, secret};

/// How long a login link works.
const LINK_MINUTES: u32 = 15;

/// The links that wait to be used. They live in memory only: a restart ends
/// them, and another is one command away.
#[derive(Debug, Default)]
pub(crate) struct Logins(Mutex<VecDeque<Link>>);

#[derive(Debug)]
struct Link {
    code: Hash,
    until: Micros,
}

/// What a browser is given for a link.
#[derive(Debug)]
pub struct Browser {
    /// The value of its cookie.
    pub cookie: Secret,
    /// How long it lasts.
    pub minutes: u32,
}

impl Logins {
    fn add(&self, link: Link) {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == limits::LOGIN_LINKS {
            links.pop_front();
        }
        links.push_back(link);
    }

    /// Takes the link out, so that it works once.
    fn take(&self, code: &Hash, now: Micros) -> bool {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.until > now);
        let before = links.len();
        links.retain(|link| !secret::same(&link.code, code));
        links.len() < before
    }
}

impl Gateway {
    /// A code that logs one browser in, and how many minutes it works.
    pub fn login_code(&self, _by: &Operator) -> Result<(Secret, u32), GatewayError> {
        let code = Secret::random("")?;
        let until = self.clock().now() + minutes(LINK_MINUTES);
        self.logins.add(Link { code: code.digest(), until });
        Ok((code, LINK_MINUTES))
    }

    /// Takes a code and gives the browser its cookie.
    pub async fn log_in(&self, code: &str) -> Result<Browser, GatewayError> {
        if !self.logins.take(&secret::digest(code), self.clock().now()) {
            return Err(GatewayError::LoginExpired);
        }
        let wanted = CreateToken {
            class: TokenClass::Operator,
            project: None,
            role: None,
            label: Some("browser".to_owned()),
            ttl_minutes: Some(limits::BROWSER_MINUTES),
        };
        let (cookie, _) = self.hand_out(wanted, Holder::Owner).await?;
        Ok(Browser { cookie, minutes: limits::BROWSER_MINUTES })
    }
}

pub(crate) const fn minutes(n: u32) -> Micros {
    n as Micros * 60_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(n: u8, until: Micros) -> Link {
        Link { code: Hash::new([n; 32]), until }
    }

    #[test]
    fn a_link_works_once_and_in_time() {
        let logins = Logins::default();
        logins.add(link(1, 10));
        assert!(!logins.take(&Hash::new([2; 32]), 5), "another code");
        assert!(logins.take(&Hash::new([1; 32]), 5));
        assert!(!logins.take(&Hash::new([1; 32]), 5), "a second time");
        logins.add(link(1, 10));
        assert!(!logins.take(&Hash::new([1; 32]), 10), "too late");
    }

    #[test]
    fn only_so_many_links_wait_and_the_oldest_goes_first() {
        let logins = Logins::default();
        for n in 0..=u8::try_from(limits::LOGIN_LINKS).unwrap() {
            logins.add(link(n, 10));
        }
        assert!(!logins.take(&Hash::new([0; 32]), 5));
        assert!(logins.take(&Hash::new([1; 32]), 5));
    }
}
