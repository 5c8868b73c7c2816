//! The terminal: tickets, and the WebSocket.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use provost_gateway::{TerminalAccess, TerminalAttachOptions};
use provost_proto::limits::{MAX_TERMINAL_COLS, MAX_TERMINAL_ROWS};
use provost_proto::terminal::TerminalTicket;
use provost_proto::{Code, ErrorResponse};
use serde::Deserialize;

use super::Answer;
use crate::auth::{Hold, Sit};
use crate::body::{Path, Query};
use crate::problem::Failure;
use crate::{Door, pump};

/// What is read of a message at most. Longer than what is taken, so that whoever
/// sends too much can be told so; beyond this the connection is cut.
const READ: usize = 8 * pump::MESSAGE;

/// What is read at once. Little, because it is cleared each time before something is
/// read into it, and what comes is a letter as a rule.
const BUFFER: usize = 4 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct How {
    after: Option<u64>,
    cols: u16,
    rows: u16,
    #[serde(default, rename = "ticket")]
    _ticket: Option<String>,
}

/// Get a ticket for one connection to a project's terminal, good for 30 seconds.
#[utoipa::path(post, path = "/api/projects/{p}/terminal/ticket", params(("p" = String, Path)), responses((status = 200, body = TerminalTicket), (status = 403, body = ErrorResponse), (status = 404, body = ErrorResponse)))]
pub(crate) async fn ticket(
    State(door): State<Arc<Door>>,
    Hold(by, pass): Hold,
    Path(project): Path<String>,
) -> Answer<TerminalTicket> {
    let ticket = door
        .gateway
        .create_terminal_ticket(TerminalAccess::from_operator(by, pass), &project)
        .await?;
    Ok(Json(TerminalTicket { ticket: ticket.reveal().to_owned() }))
}

/// Attach to a project's terminal, through a WebSocket; it is opened if it is
/// not. Needs a ticket.
#[utoipa::path(get, path = "/api/projects/{p}/terminal/attach", params(("p" = String, Path), ("after" = Option<u64>, Query, description = "how many bytes of output the client has"), ("cols" = u16, Query), ("rows" = u16, Query), ("ticket" = Option<String>, Query)), responses((status = 101, description = "the terminal's stream"), (status = 401, body = ErrorResponse), (status = 422, body = ErrorResponse)))]
pub(crate) async fn attach(
    State(door): State<Arc<Door>>,
    Sit(seat): Sit,
    Path(project): Path<String>,
    Query(How { after, cols, rows, .. }): Query<How>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    if !(1..=MAX_TERMINAL_COLS).contains(&cols) || !(1..=MAX_TERMINAL_ROWS).contains(&rows) {
        let why = format!(
            "a terminal has 1 to {MAX_TERMINAL_COLS} columns and 1 to {MAX_TERMINAL_ROWS} rows"
        );
        return Err(Failure::new(Code::InvalidRequest, why));
    }
    let socket = socket.map_err(|error| {
        let why = format!("the terminal is a WebSocket: {error}");
        Failure::new(Code::InvalidRequest, why)
    })?;
    let view = TerminalAttachOptions { after, cols, rows };
    let socket = socket.read_buffer_size(BUFFER).max_message_size(READ).max_frame_size(READ);
    Ok(socket.on_upgrade(move |socket| pump::run(door, socket, seat, project, view)))
}
