//! Who is calling: a handler that takes [`LineOp`] or [`ReadActionRef`] cannot be reached
//! by anyone else.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use provost_gateway::{
    AuthorizedReader, Caller, Operator, RequestCredentials, TerminalAccess, TokenLease,
};
use provost_proto::Code;

use crate::Door;
use crate::problem::Failure;

/// A person: may decide.
pub(crate) struct Op(pub(crate) Operator);

/// One that may look.
pub(crate) struct Look(pub(crate) AuthorizedReader);

/// Anyone who holds a token; the gateway decides what that permits.
pub(crate) struct Anyone(pub(crate) Caller);

impl FromRequestParts<Arc<Door>> for Anyone {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        Ok(Self(caller(parts, door)?))
    }
}

const NO_TOKEN: &str = "this needs a token: run `provost up` for a login link in the browser, or \
     send `Authorization: Bearer <token>`";

/// One that may go on looking, as long as its token works.
pub(crate) struct Stay(pub(crate) AuthorizedReader, pub(crate) TokenLease);

/// A person, for as long as their token works.
pub(crate) struct Hold(pub(crate) Operator, pub(crate) TokenLease);

/// A person at a terminal, by a ticket. A page cannot send a header with a
/// WebSocket, and the cookie alone is nobody.
pub(crate) struct Sit(pub(crate) TerminalAccess);

const NO_SEAT: &str = "a terminal needs a ticket: ask for one with a token, or run `provost up` \
     for a login link in the browser";

/// The header in which a page sends what it keeps of a login.
pub(crate) const PAGE: &str = "provost-page";

fn caller(parts: &Parts, door: &Door) -> Result<Caller, Failure> {
    Ok(door.gateway.authenticate(bearer(parts, door)?)?)
}

fn bearer<'a>(parts: &'a Parts, door: &Door) -> Result<RequestCredentials<'a>, Failure> {
    let no_token = || Failure::new(Code::Unauthenticated, NO_TOKEN);
    if let Some(value) = parts.headers.get(AUTHORIZATION) {
        let value = value.to_str().map_err(|_| no_token())?;
        let (scheme, token) = value.split_once(' ').ok_or_else(no_token)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(no_token());
        }
        return Ok(RequestCredentials::Header(token.trim()));
    }
    let page = parts.headers.get(PAGE).and_then(|value| value.to_str().ok());
    let mut all = cookies(parts, &door.cookie)
        .map(|cookie| RequestCredentials::Browser { cookie, page })
        .peekable();
    let first = *all.peek().ok_or_else(no_token)?;
    // Whatever is shown at another port of this host can put cookies of the same name
    // before ours, which must not lock anybody out.
    Ok(all.find(|bearer| door.gateway.authenticate(*bearer).is_ok()).unwrap_or(first))
}

fn cookies<'a>(parts: &'a Parts, name: &str) -> impl Iterator<Item = &'a str> {
    let values = parts.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = values.flat_map(|value| value.split(';'));
    pairs.filter_map(move |pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

impl FromRequestParts<Arc<Door>> for Op {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        Ok(Self(caller(parts, door)?.into_operator()?))
    }
}

impl FromRequestParts<Arc<Door>> for Look {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        Ok(Self(caller(parts, door)?.into_reader()?))
    }
}

impl FromRequestParts<Arc<Door>> for Stay {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        let bearer = bearer(parts, door)?;
        let reader = door.gateway.authenticate(bearer)?.into_reader()?;
        Ok(Self(reader, door.gateway.lease_token(bearer)?))
    }
}

impl FromRequestParts<Arc<Door>> for Hold {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        let bearer = bearer(parts, door)?;
        let operator = door.gateway.authenticate(bearer)?.into_operator()?;
        Ok(Self(operator, door.gateway.lease_token(bearer)?))
    }
}

impl FromRequestParts<Arc<Door>> for Sit {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        let query = parts.uri.query().unwrap_or_default();
        let ticket = query.split('&').find_map(|pair| pair.strip_prefix("ticket="));
        if let Some(ticket) = ticket {
            return Ok(Self(door.gateway.redeem_terminal_ticket(ticket)?));
        }
        Err(Failure::new(Code::Unauthenticated, NO_SEAT))
    }
}
