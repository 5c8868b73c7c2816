//! The terminal: tickets and the WebSocket.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use provost_gateway::{TerminalAccess, TerminalAttachOptions};
use provost_proto::Code;
use provost_proto::limits::{MAX_TERMINAL_COLS, MAX_TERMINAL_ROWS};
use provost_proto::terminal::{TERMINAL_SUBPROTOCOL, TerminalTicket};
use serde::Deserialize;

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireOperatorLease, RequireTerminalTicket};
use crate::middleware::extractors::{Path, Query};
use crate::terminal_socket::terminal_bridge;

/// Largest message that is read. More than what is accepted, so that a client that exceeds the
/// limit gets an error; beyond this the connection is closed.
const MAX_READ_BYTES: usize = 8 * terminal_bridge::MAX_SOCKET_MESSAGE_BYTES;

/// Size of the read buffer. Small, because it is cleared before each read and most messages are
/// single keystrokes.
const READ_BUFFER_BYTES: usize = 4 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachQuery {
    after: Option<u64>,
    cols: u16,
    rows: u16,
    #[serde(default, rename = "ticket")]
    _ticket: Option<String>,
}

/// Get a ticket for one connection to a project's terminal, valid for 30 seconds.
#[utoipa::path(post, path = "/api/projects/{p}/terminal/ticket", params(("p" = String, Path)), responses((status = 200, body = TerminalTicket)))]
pub(crate) async fn create_ticket(
    State(app): State<Arc<AppState>>,
    RequireOperatorLease(by, lease): RequireOperatorLease,
    Path(project): Path<String>,
) -> JsonResult<TerminalTicket> {
    let project = app.gateway.projects.get_project(&project).await?;
    let access = TerminalAccess::from_operator(by, lease);
    let ticket = app.gateway.terminal.create_terminal_ticket(access, &project)?;
    Ok(Json(TerminalTicket { ticket: ticket.reveal().to_owned() }))
}

/// Attach to a project's terminal by a WebSocket; opens the terminal if needed. Needs a
/// ticket.
#[utoipa::path(get, path = "/api/projects/{p}/terminal/attach", params(("p" = String, Path), ("after" = Option<u64>, Query, description = "how many bytes of output the client has"), ("cols" = u16, Query, minimum = 1, maximum = 1000), ("rows" = u16, Query, minimum = 1, maximum = 500), ("ticket" = Option<String>, Query)), responses((status = 101, description = "the terminal's stream")))]
pub(crate) async fn attach(
    State(app): State<Arc<AppState>>,
    RequireTerminalTicket(access): RequireTerminalTicket,
    Path(project): Path<String>,
    Query(AttachQuery { after, cols, rows, .. }): Query<AttachQuery>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    // Before the upgrade, so that a ticket of another project gets no connection at all.
    access.check_project(app.gateway.projects.get_project(&project).await?.id)?;
    if !(1..=MAX_TERMINAL_COLS).contains(&cols) || !(1..=MAX_TERMINAL_ROWS).contains(&rows) {
        let message = format!(
            "a terminal has 1 to {MAX_TERMINAL_COLS} columns and 1 to {MAX_TERMINAL_ROWS} rows"
        );
        return Err(ApiError::new(Code::InvalidRequest, message));
    }
    let socket = socket.map_err(|error| {
        let why = format!("this route is a WebSocket: {error}");
        ApiError::new(Code::InvalidRequest, why)
    })?;
    let view = TerminalAttachOptions { after, cols, rows };
    let socket = socket.protocols([TERMINAL_SUBPROTOCOL]);
    if socket.selected_protocol().is_none() {
        let why = format!(
            "this client is of another version: reload the page; the WebSocket must offer the \
             subprotocol `{TERMINAL_SUBPROTOCOL}`"
        );
        return Err(ApiError::new(Code::InvalidRequest, why));
    }
    let socket = socket
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(MAX_READ_BYTES)
        .max_frame_size(MAX_READ_BYTES);
    Ok(socket
        .on_upgrade(move |socket| terminal_bridge::run_bridge(app, socket, access, project, view)))
}
