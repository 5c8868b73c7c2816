//! Authentication as extractors: a handler that takes [`RequireOperator`] or [`RequireReader`]
//! cannot be reached without that right.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use provost_gateway::{
    AuthorizedReader, Caller, NotebookAccess, Operator, RequestCredentials, SyncAccess,
    TerminalAccess, TokenLease,
};
use provost_proto::{Code, TokenClass};

use super::connection_table::{ClientTrust, Connection};
use crate::AppState;
use crate::api_error::ApiError;

/// Requires the token of an operator, a person who may decide.
pub(crate) struct RequireOperator(pub(crate) Operator);

/// Requires a token that may read.
pub(crate) struct RequireReader(pub(crate) AuthorizedReader);

/// Requires any valid token; the gateway decides what it permits.
pub(crate) struct Authenticated(pub(crate) Caller);

impl FromRequestParts<Arc<AppState>> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        Ok(Self(authenticate_caller(parts, app)?))
    }
}

const MISSING_TOKEN_MESSAGE: &str = "this request needs a token: run `provost up` for a login link in the \
browser, or send `Authorization: Bearer <token>`";

/// [`RequireReader`] for a stream, which ends with the token.
pub(crate) struct RequireReaderLease(pub(crate) AuthorizedReader, pub(crate) TokenLease);

/// [`RequireOperator`] for a stream, which ends with the token.
pub(crate) struct RequireOperatorLease(pub(crate) Operator, pub(crate) TokenLease);

/// Requires a token that may do something in notebooks.
pub(crate) struct RequireNotebookAccess(pub(crate) NotebookAccess);

/// [`RequireNotebookAccess`] for a connection, which ends with the token.
pub(crate) struct RequireNotebookLease(pub(crate) SyncAccess);

/// The same, or a ticket: a page cannot send headers with a WebSocket.
pub(crate) struct RequireSyncAccess(pub(crate) SyncAccess);

/// Requires a terminal ticket. A page cannot send headers with a WebSocket, and the cookie
/// alone does not authenticate.
pub(crate) struct RequireTerminalTicket(pub(crate) TerminalAccess);

const MISSING_TICKET_MESSAGE: &str = "a terminal needs a ticket: request one with a token, or run `provost \
up` for a login link in the browser";

/// The header with the page's half of a login; the cookie is the other half.
pub(crate) const PAGE_SECRET_HEADER: &str = "provost-page";

fn authenticate_caller(parts: &Parts, app: &AppState) -> Result<Caller, ApiError> {
    authenticate_credentials(parts, app, find_credentials(parts, app)?)
}

fn authenticate_credentials(
    parts: &Parts,
    app: &AppState,
    credentials: RequestCredentials<'_>,
) -> Result<Caller, ApiError> {
    let caller = app.gateway.auth.authenticate(credentials)?;
    let trust = match caller.class() {
        TokenClass::Operator => ClientTrust::Operator,
        TokenClass::Agent | TokenClass::Runtime | TokenClass::Viewer => ClientTrust::Known,
    };
    identify_client(&parts.extensions, trust)?;
    Ok(caller)
}

/// Records for the connection that its client is known, which protects it from being closed.
pub(crate) fn identify_client(extensions: &Extensions, trust: ClientTrust) -> Result<(), ApiError> {
    extensions.get::<Arc<Connection>>().map_or(Ok(()), |connection| connection.identify(trust))
}

fn find_credentials<'a>(
    parts: &'a Parts,
    app: &AppState,
) -> Result<RequestCredentials<'a>, ApiError> {
    let no_token = || ApiError::new(Code::Unauthenticated, MISSING_TOKEN_MESSAGE);
    if let Some(value) = parts.headers.get(AUTHORIZATION) {
        let value = value.to_str().map_err(|_| no_token())?;
        let (scheme, token) = value.split_once(' ').ok_or_else(no_token)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(no_token());
        }
        return Ok(RequestCredentials::Header(token.trim()));
    }
    let page = parts.headers.get(PAGE_SECRET_HEADER).and_then(|value| value.to_str().ok());
    let mut all = cookie_values(parts, &app.cookie)
        .map(|cookie| RequestCredentials::Browser { cookie, page })
        .peekable();
    let first = *all.peek().ok_or_else(no_token)?;
    // Pages on other ports of this host can set cookies of the same name before ours; that must
    // not lock the user out.
    Ok(all.find(|bearer| app.gateway.auth.authenticate(*bearer).is_ok()).unwrap_or(first))
}

fn cookie_values<'a>(parts: &'a Parts, name: &str) -> impl Iterator<Item = &'a str> {
    let values = parts.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = values.flat_map(|value| value.split(';'));
    pairs.filter_map(move |pair| {
        let (key, value) = pair.trim().split_once('=')?;
        (key == name).then_some(value)
    })
}

impl FromRequestParts<Arc<AppState>> for RequireOperator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        Ok(Self(authenticate_caller(parts, app)?.into_operator()?))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        Ok(Self(authenticate_caller(parts, app)?.into_reader()?))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireReaderLease {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let bearer = find_credentials(parts, app)?;
        let reader = authenticate_credentials(parts, app, bearer)?.into_reader()?;
        Ok(Self(reader, app.gateway.auth.lease_token(bearer)?))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireOperatorLease {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let bearer = find_credentials(parts, app)?;
        let operator = authenticate_credentials(parts, app, bearer)?.into_operator()?;
        Ok(Self(operator, app.gateway.auth.lease_token(bearer)?))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireNotebookAccess {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        Ok(Self(authenticate_caller(parts, app)?.into_notebook_access()?))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireNotebookLease {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let bearer = find_credentials(parts, app)?;
        let access = authenticate_credentials(parts, app, bearer)?.into_notebook_access()?;
        Ok(Self(SyncAccess { access, lease: app.gateway.auth.lease_token(bearer)? }))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireSyncAccess {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let ticket = query.split('&').find_map(|pair| pair.strip_prefix("ticket="));
        if let Some(ticket) = ticket {
            let access = app.gateway.notebooks.redeem_ticket(ticket)?;
            identify_client(&parts.extensions, ClientTrust::Known)?;
            return Ok(Self(access));
        }
        let RequireNotebookLease(access) =
            RequireNotebookLease::from_request_parts(parts, app).await?;
        Ok(Self(access))
    }
}

impl FromRequestParts<Arc<AppState>> for RequireTerminalTicket {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let ticket = query.split('&').find_map(|pair| pair.strip_prefix("ticket="));
        if let Some(ticket) = ticket {
            let access = app.gateway.terminal.redeem_terminal_ticket(ticket)?;
            identify_client(&parts.extensions, ClientTrust::Operator)?;
            return Ok(Self(access));
        }
        Err(ApiError::new(Code::Unauthenticated, MISSING_TICKET_MESSAGE))
    }
}
