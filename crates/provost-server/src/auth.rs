//! Who is calling: a handler that takes [`Op`] or [`Look`] cannot be reached
//! by anyone else.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use provost_gateway::{Bearer, Caller, Operator, Reader};
use provost_proto::Code;

use crate::Door;
use crate::problem::Failure;

/// A person: may decide.
pub(crate) struct Op(pub(crate) Operator);

/// One that may look.
pub(crate) struct Look(pub(crate) Reader);

const NO_TOKEN: &str = "this needs a token: run `provost up` for a login link in the browser, or \
     send `Authorization: Bearer <token>`";

fn caller(parts: &Parts, door: &Door) -> Result<Caller, Failure> {
    let no_token = || Failure::new(Code::Unauthenticated, NO_TOKEN);
    let bearer = match parts.headers.get(AUTHORIZATION) {
        Some(value) => {
            let value = value.to_str().map_err(|_| no_token())?;
            let (scheme, token) = value.split_once(' ').ok_or_else(no_token)?;
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Err(no_token());
            }
            Bearer::Header(token.trim())
        }
        None => Bearer::Cookie(cookie(parts, &door.cookie).ok_or_else(no_token)?),
    };
    Ok(door.gateway.authenticate(bearer)?)
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
