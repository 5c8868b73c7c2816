//! Who is calling: a handler that takes [`Op`] or [`Look`] cannot be reached
//! by anyone else.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use provost_gateway::{Bearer, Caller, Operator, Pass, Reader};
use provost_proto::Code;

use crate::Door;
use crate::problem::Failure;

/// A person: may decide.
pub(crate) struct Op(pub(crate) Operator);

/// One that may look.
pub(crate) struct Look(pub(crate) Reader);

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
pub(crate) struct Stay(pub(crate) Reader, pub(crate) Pass);

fn caller(parts: &Parts, door: &Door) -> Result<Caller, Failure> {
    Ok(door.gateway.authenticate(bearer(parts, door)?)?)
}

fn bearer<'a>(parts: &'a Parts, door: &Door) -> Result<Bearer<'a>, Failure> {
    let no_token = || Failure::new(Code::Unauthenticated, NO_TOKEN);
    match parts.headers.get(AUTHORIZATION) {
        Some(value) => {
            let value = value.to_str().map_err(|_| no_token())?;
            let (scheme, token) = value.split_once(' ').ok_or_else(no_token)?;
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Err(no_token());
            }
            Ok(Bearer::Header(token.trim()))
        }
        None => cookie(parts, &door.cookie).map(Bearer::Cookie).ok_or_else(no_token),
    }
}

fn cookie<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get_all(COOKIE).iter().find_map(|value| {
        value.to_str().ok()?.split(';').find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
    })
}

impl FromRequestParts<Arc<Door>> for Op {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        Ok(Self(caller(parts, door)?.operator()?))
    }
}

impl FromRequestParts<Arc<Door>> for Look {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        Ok(Self(caller(parts, door)?.reader()?))
    }
}

impl FromRequestParts<Arc<Door>> for Stay {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Failure> {
        let bearer = bearer(parts, door)?;
        let reader = door.gateway.authenticate(bearer)?.reader()?;
        Ok(Self(reader, door.gateway.pass(bearer)?))
    }
}
