//! The WebSocket of notebooks: tickets and the connection.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use provost_proto::notebook::SyncTicket;
use provost_proto::{Code, limits};
use serde::Deserialize;

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireNotebookLease, RequireSyncAccess};
use crate::middleware::extractors::Query;
use crate::sync_socket;

/// Largest message that is read. More than what is accepted, so that a client that exceeds the
/// limit gets an error; beyond this the connection is closed.
const MAX_READ_BYTES: usize = 2 * limits::MAX_SYNC_MESSAGE_BYTES;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SyncQuery {
    #[serde(default, rename = "ticket")]
    _ticket: Option<String>,
}

/// Get a ticket for one connection to `/api/sync`, valid for 30 seconds.
#[utoipa::path(post, path = "/api/sync/ticket", responses((status = 200, body = SyncTicket)))]
pub(crate) async fn create_ticket(
    State(app): State<Arc<AppState>>,
    RequireNotebookLease(access): RequireNotebookLease,
) -> JsonResult<SyncTicket> {
    let ticket = app.gateway.notebooks.create_ticket(access)?;
    Ok(Json(SyncTicket { ticket: ticket.reveal().to_owned() }))
}

/// Follow and change notebooks over a WebSocket. Needs a token or a ticket.
#[utoipa::path(get, path = "/api/sync", params(("ticket" = Option<String>, Query)), responses((status = 101, description = "JSON messages in text frames")))]
pub(crate) async fn attach(
    State(app): State<Arc<AppState>>,
    RequireSyncAccess(access): RequireSyncAccess,
    Query(SyncQuery { .. }): Query<SyncQuery>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let socket = socket.map_err(|error| {
        let why = format!("this route is a WebSocket: {error}");
        ApiError::new(Code::InvalidRequest, why)
    })?;
    let socket = socket.max_message_size(MAX_READ_BYTES).max_frame_size(MAX_READ_BYTES);
    Ok(socket.on_upgrade(move |socket| sync_socket::run_connection(app, socket, access)))
}
