//! Who may look at a project's preview: a code that works once, then a cookie of
//! the preview's own origin.
//!
//! The cookie says for which project and until when, and by which token it was
//! asked for, and carries a mark that only this daemon can make. So it needs no
//! memory and outlives a restart, but not that token; and it opens nothing but
//! that one preview: it is no token of Provost.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Write as _;

use provost_core::hash_chain;
use provost_proto::{Hash, Project, ProjectId, ProjectStatus, TokenId, UnixMicros};

use crate::{
    AuthorizedReader, Gateway, GatewayError, RequestCredentials, Secret, TokenLease, secret,
};

/// How long a code works.
const CODE_LIFETIME: UnixMicros = 5 * 60 * 1_000_000;

/// How long a cookie lasts, in minutes.
const COOKIE_MINUTES: u32 = 30 * 24 * 60;

/// Codes that may wait to be used. Asking for one more forgets the oldest.
const MAX_PENDING_CODES: usize = 256;

/// The codes that wait.
#[derive(Debug, Default)]
pub(crate) struct PreviewCodes(Mutex<VecDeque<PreviewCode>>);

#[derive(Debug)]
struct PreviewCode {
    digest: Hash,
    project: ProjectId,
    port: Option<u16>,
    /// Who asked: nothing outlives the token it was asked for with.
    token: Option<TokenId>,
    until: UnixMicros,
}

/// What a cookie opens.
#[derive(Debug)]
pub struct VerifiedPreviewCookie {
    /// Whose preview.
    pub project: ProjectId,
    /// Another port of the project than the preview's.
    pub port: Option<u16>,
    /// How long what is opened with it may last.
    pub pass: TokenLease,
}

/// What a code opens.
#[derive(Debug)]
pub struct IssuedPreviewCookie {
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
    pub fn find_open_project_named(&self, slug: &str) -> Option<Project> {
        let known = self.governance.find_by_name(slug)?;
        let project = &known.project;
        let fits = project.slug == slug && project.status == ProjectStatus::Open;
        fits.then(|| Project::clone(project))
    }

    /// An open project by its id.
    pub fn find_open_project(&self, id: ProjectId) -> Option<Project> {
        let known = self.governance.find_by_id(id)?;
        (known.project.status == ProjectStatus::Open).then(|| Project::clone(&known.project))
    }

    /// A code that opens a project's preview once, or another port of the project.
    pub fn create_preview_code(
        &self,
        by: &AuthorizedReader,
        project: ProjectId,
        port: Option<u16>,
    ) -> Result<Secret, GatewayError> {
        if !by.may_see(project) {
            return Err(GatewayError::BoundToOtherProject);
        }
        let code = Secret::random("")?;
        let until = self.clock.now() + CODE_LIFETIME;
        let mut codes = self.doors.0.lock();
        if codes.len() == MAX_PENDING_CODES {
            codes.pop_front();
        }
        codes.push_back(PreviewCode {
            digest: code.digest(),
            project,
            port,
            token: by.token(),
            until,
        });
        Ok(code)
    }

    /// Takes a code, which works no second time.
    pub fn redeem_preview_code(&self, code: &str) -> Option<IssuedPreviewCookie> {
        let (digest, now) = (secret::digest(code), self.clock.now());
        let mut codes = self.doors.0.lock();
        codes.retain(|code| code.until > now);
        let place =
            codes.iter().position(|code| secret::constant_time_eq(&code.digest, &digest))?;
        let PreviewCode { project, port, token, .. } = codes.remove(place)?;
        drop(codes);
        self.lease_token_by_id(token)?;
        let until = now + UnixMicros::from(COOKIE_MINUTES) * 60_000_000;
        let mut value = format_cookie_value((project, port), token, until);
        let mark = self.sign_preview_cookie(&value);
        let _ = write!(value, ".{mark}");
        let cookie = Secret::from_text(value);
        Some(IssuedPreviewCookie { project, port, cookie, minutes: COOKIE_MINUTES })
    }

    /// What a cookie opens, if it is one of ours, not too old, and asked for with a
    /// token that still works.
    pub fn verify_preview_cookie(&self, cookie: &str) -> Option<VerifiedPreviewCookie> {
        let (value, mark) = cookie.rsplit_once('.')?;
        let given: Hash = mark.parse().ok()?;
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
        let pass = self.lease_token_by_id(token)?;
        (until > self.clock.now()).then_some(VerifiedPreviewCookie { project, port, pass })
    }

    fn sign_preview_cookie(&self, value: &str) -> Hash {
        let secret = self.owner.digest.to_string();
        hash_chain::digest(format!("provost preview\n{secret}\n{value}").as_bytes())
    }

    /// Whether this is a token of Provost's, valid or not: it goes nowhere else.
    pub fn is_own_token(&self, token: &str) -> bool {
        token.contains("provost_") || self.authenticate(RequestCredentials::Header(token)).is_ok()
    }
}

/// Stands for the owner's token in a cookie.
const OWNER_MARKER: &str = "owner";

fn format_cookie_value(
    (project, port): (ProjectId, Option<u16>),
    token: Option<TokenId>,
    until: UnixMicros,
) -> String {
    let token = token.map_or(OWNER_MARKER.to_owned(), |token| token.uuid().simple().to_string());
    format!("{}.{}.{until}.{token}", project.uuid().simple(), port.unwrap_or(0))
}
