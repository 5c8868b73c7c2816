//! Who may look at a project's preview: a code that works once, then a cookie of
//! the preview's own origin.
//!
//! The cookie says for which project and until when, and by which token it was
//! asked for, and carries a mark that only this daemon can make. So it needs no
//! memory and outlives a restart, but not that token; and it opens nothing but
//! that one preview: it is no token of Provost.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use provost_core::hash_chain;
use provost_proto::{Hash, Project, ProjectId, ProjectStatus, TokenId, UnixMicros};

use crate::{Bearer, Gateway, GatewayError, Pass, Reader, Secret, secret};

/// How long a code works.
const CODE: UnixMicros = 5 * 60 * 1_000_000;

/// How long a cookie lasts, in minutes.
const COOKIE_MINUTES: u32 = 30 * 24 * 60;

/// Codes that may wait to be used. Asking for one more forgets the oldest.
const CODES: usize = 256;

/// The codes that wait.
#[derive(Debug, Default)]
pub(crate) struct Doors(Mutex<VecDeque<Code>>);

#[derive(Debug)]
struct Code {
    digest: Hash,
    project: ProjectId,
    port: Option<u16>,
    /// Who asked: nothing outlives the token it was asked for with.
    token: Option<TokenId>,
    until: UnixMicros,
}

/// What a cookie opens.
#[derive(Debug)]
pub struct Sight {
    /// Whose preview.
    pub project: ProjectId,
    /// Another port of the project than the preview's.
    pub port: Option<u16>,
    /// How long what is opened with it may last.
    pub pass: Pass,
}

/// What a code opens.
#[derive(Debug)]
pub struct Shown {
    /// Whose preview.
    pub project: ProjectId,
    /// Another port of the project than the preview's.
    pub port: Option<u16>,
    /// The value of the cookie.
    pub cookie: Secret,
    /// How long it lasts.
    pub minutes: u32,
}

impl Gateway {
    /// An open project by its short name.
    pub fn open_project_named(&self, slug: &str) -> Option<Project> {
        let known = self.governance.named(slug)?;
        let project = &known.project;
        let fits = project.slug == slug && project.status == ProjectStatus::Open;
        fits.then(|| Project::clone(project))
    }

    /// An open project by its id.
    pub fn open_project_with(&self, id: ProjectId) -> Option<Project> {
        let known = self.governance.of(id)?;
        (known.project.status == ProjectStatus::Open).then(|| Project::clone(&known.project))
    }

    /// A code that opens a project's preview once, or another port of the project.
    pub fn preview_code(
        &self,
        by: &Reader,
        project: ProjectId,
        port: Option<u16>,
    ) -> Result<Secret, GatewayError> {
        if !by.may_see(project) {
            return Err(GatewayError::OtherProject);
        }
        let code = Secret::random("")?;
        let until = self.clock.now() + CODE;
        let mut codes = self.doors.0.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() == CODES {
            codes.pop_front();
        }
        codes.push_back(Code { digest: code.digest(), project, port, token: by.token(), until });
        Ok(code)
    }

    /// Takes a code, which works no second time.
    pub fn enter_preview(&self, code: &str) -> Option<Shown> {
        let (digest, now) = (secret::digest(code), self.clock.now());
        let mut codes = self.doors.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|code| code.until > now);
        let place = codes.iter().position(|code| secret::same(&code.digest, &digest))?;
        let Code { project, port, token, .. } = codes.remove(place)?;
        drop(codes);
        self.pass_by(token)?;
        let until = now + UnixMicros::from(COOKIE_MINUTES) * 60_000_000;
        let mut value = cookie((project, port), token, until);
        let mark = self.preview_mark(&value);
        let _ = write!(value, ".{mark}");
        let cookie = Secret::from_text(value);
        Some(Shown { project, port, cookie, minutes: COOKIE_MINUTES })
    }

    /// What a cookie opens, if it is one of ours, not too old, and asked for with a
    /// token that still works.
    pub fn preview_of(&self, cookie: &str) -> Option<Sight> {
        let (value, mark) = cookie.rsplit_once('.')?;
        let given: Hash = mark.parse().ok()?;
        if !secret::same(&given, &self.preview_mark(value)) {
            return None;
        }
        let mut parts = value.split('.');
        let project = parts.next()?.parse().ok()?;
        let port = parts.next()?.parse().ok().filter(|port| *port != 0);
        let until: UnixMicros = parts.next()?.parse().ok()?;
        let token = match parts.next()? {
            OWNER => None,
            token => Some(token.parse().ok()?),
        };
        let pass = self.pass_by(token)?;
        (until > self.clock.now()).then_some(Sight { project, port, pass })
    }

    fn preview_mark(&self, value: &str) -> Hash {
        let secret = self.owner.digest.to_string();
        hash_chain::digest(format!("provost preview\n{secret}\n{value}").as_bytes())
    }

    /// Whether this is a token of Provost's, valid or not: it goes nowhere else.
    pub fn is_own_token(&self, token: &str) -> bool {
        token.contains("provost_") || self.authenticate(Bearer::Header(token)).is_ok()
    }
}

/// Stands for the owner's token in a cookie.
const OWNER: &str = "owner";

fn cookie(
    (project, port): (ProjectId, Option<u16>),
    token: Option<TokenId>,
    until: UnixMicros,
) -> String {
    let token = token.map_or(OWNER.to_owned(), |token| token.uuid().simple().to_string());
    format!("{}.{}.{until}.{token}", project.uuid().simple(), port.unwrap_or(0))
}
