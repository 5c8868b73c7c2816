//! Sessions with models. Only a person speaks in them: an agent asks for actions.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use provost_proto::session::{
    CancelTurnResponse, ContinueTurnResponse, ItemNumber, OpenSessionRequest, SendMessageRequest,
    SendMessageResponse, SessionDetail, SessionList, SessionView, StartTourRequest,
    StartTourResponse, WithdrawMessageResponse,
};
use provost_proto::{Code, EventBodies, LogCursor, MessageId, SessionId};
use provost_runner::session::TurnPrompt;
use provost_store::ListPosition;
use serde::Deserialize;
use serde_json::json;

use super::JsonResult;
use super::approvals::parse_list_position;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireOperator, RequireOperatorLease};
use crate::middleware::extractors::{IdempotencyHeader, JsonBody, Path, Query};
use crate::stream::sse;
use crate::stream::turn_cursor::{TurnCursor, TurnEnd};

pub(super) fn parse_session_id(text: &str) -> Result<SessionId, ApiError> {
    let missing = |_| {
        ApiError::new(
            Code::NotFound,
            format!("no session `{text}`; `provost sessions` lists the sessions"),
        )
    };
    text.parse().map_err(missing)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionListQuery {
    project: Option<String>,
    before: Option<String>,
}

/// List the sessions, the most recently changed first: those that are running or have queued
/// messages, and 50 others. With `project` or `before`, only others. `before` is `next` of the
/// page before, or a time in microseconds since 1970.
#[utoipa::path(get, path = "/api/sessions", params(("project" = Option<String>, Query, description = "id or short name"), ("before" = Option<String>, Query)), responses((status = 200, body = SessionList)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Query(which): Query<SessionListQuery>,
) -> JsonResult<SessionList> {
    let before = parse_list_position(which.before.as_deref())?;
    let Some(project) = which.project else {
        return Ok(Json(app.runner.list_sessions(before).await?));
    };
    let project = app.gateway.projects.get_project(&project).await?;
    let before = before.unwrap_or(ListPosition::END);
    Ok(Json(app.runner.list_earlier_sessions(project.id, before).await?))
}

/// Open a session in a role.
#[utoipa::path(post, path = "/api/sessions", request_body = OpenSessionRequest, responses((status = 201, body = SessionView)))]
pub(crate) async fn open(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, command }: JsonBody<OpenSessionRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let session = app.runner.open_session(&by, value, command).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

/// Start the tour: creates an example project in a new folder and a scripted session in it.
#[utoipa::path(post, path = "/api/tour", request_body = StartTourRequest, responses((status = 201, body = StartTourResponse)))]
pub(crate) async fn start_tour(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, command }: JsonBody<StartTourRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let started = app.runner.start_tour(&by, value, command).await?;
    Ok((StatusCode::CREATED, Json(started)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionDetailQuery {
    before: Option<ItemNumber>,
}

/// Show a session with its conversation; with `before`, the last 200 items before that number.
#[utoipa::path(get, path = "/api/sessions/{id}", params(("id" = String, Path), ("before" = Option<u32>, Query)), responses((status = 200, body = SessionDetail)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path(name): Path<String>,
    Query(which): Query<SessionDetailQuery>,
) -> JsonResult<SessionDetail> {
    let session = parse_session_id(&name)?;
    Ok(Json(match which.before {
        Some(before) => app.runner.load_earlier_items(session, before).await?,
        None => app.runner.load_session_detail(session).await?,
    }))
}

/// Close a session. A running turn is cancelled; the conversation stays readable.
#[utoipa::path(delete, path = "/api/sessions/{id}", params(("id" = String, Path)), responses((status = 200, body = SessionView)))]
pub(crate) async fn close(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
) -> JsonResult<SessionView> {
    Ok(Json(app.runner.close_session(&by, parse_session_id(&name)?).await?))
}

/// Send a message. With `Accept: text/event-stream` the response is the turn until its end, as
/// events and, while the model writes, `event: delta`; otherwise it says that the turn has started or the message is queued.
#[utoipa::path(post, path = "/api/sessions/{id}/messages", params(("id" = String, Path)), request_body = SendMessageRequest, responses((status = 202, body = SendMessageResponse), (status = 200, content_type = "text/event-stream", body = provost_proto::Event)))]
pub(crate) async fn send_message(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody { value, command }: JsonBody<SendMessageRequest>,
) -> Result<Response, ApiError> {
    let session = parse_session_id(&name)?;
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let prompt = TurnPrompt { text: value.text, command, max_output_tokens: None };
    let accepted = app.runner.send_message(&by, session, prompt).await?;
    if !accepts.contains("text/event-stream") {
        return Ok((StatusCode::ACCEPTED, Json(accepted.sent)).into_response());
    }
    let first = format!("event: sent\ndata: {}\n\n", json!(accepted.sent));
    let cursor = TurnCursor::new(&app, &accepted);
    let chunks =
        stream::unfold((Some(first), cursor, app), |(first, mut cursor, app)| async move {
            if let Some(first) = first {
                return Some((Ok::<_, Infallible>(Bytes::from(first)), (None, cursor, app)));
            }
            let next = tokio::select! {
                () = app.closing.cancelled() => return None,
                next = cursor.next() => next.ok()??,
            };
            let mut chunk = match (next.event, &next.fact) {
                (Some(event), _) => sse::encode_events(&[event]).to_vec(),
                (None, Some(delta)) => sse::encode_delta(delta).into_bytes(),
                (None, None) => Vec::new(),
            };
            if let Some(TurnEnd::Failed(error)) = next.end {
                chunk.extend(format!("event: error\ndata: {}\n\n", json!(error)).into_bytes());
            }
            Some((Ok(Bytes::from(chunk)), (None, cursor, app)))
        });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// Withdraw a queued message.
#[utoipa::path(delete, path = "/api/sessions/{id}/messages/{message}", params(("id" = String, Path), ("message" = String, Path)), responses((status = 200, body = WithdrawMessageResponse)))]
pub(crate) async fn withdraw_message(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path((name, message)): Path<(String, String)>,
    IdempotencyHeader(command): IdempotencyHeader,
) -> JsonResult<WithdrawMessageResponse> {
    let missing = |_| ApiError::new(Code::NotFound, format!("no message `{message}`"));
    let message = message.parse().map_err(missing)?;
    app.runner.withdraw_message(&by, parse_session_id(&name)?, message, command).await?;
    Ok(Json(WithdrawMessageResponse { withdrawn: true }))
}

/// Cancel the turn of a message, or remove it from the queue; other turns are not affected.
/// Responds when none of its actions runs any more, also if the turn was over before.
#[utoipa::path(post, path = "/api/sessions/{id}/messages/{message}/cancel", params(("id" = String, Path), ("message" = String, Path)), responses((status = 204)))]
pub(crate) async fn cancel_message(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path((name, message)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let missing = |_| ApiError::new(Code::NotFound, format!("no message `{message}`"));
    let message: MessageId = message.parse().map_err(missing)?;
    app.runner.cancel_message(parse_session_id(&name)?, message).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancel the running turn of a session. Responds when none of its actions runs any more.
/// Queued messages stay queued until a message is sent or the session is continued.
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", params(("id" = String, Path)), responses((status = 200, body = CancelTurnResponse)))]
pub(crate) async fn cancel(
    State(app): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path(name): Path<String>,
) -> JsonResult<CancelTurnResponse> {
    let cancelled = app.runner.cancel_turn(parse_session_id(&name)?).await?;
    Ok(Json(CancelTurnResponse { cancelled }))
}

/// Continue a turn that was interrupted, failed or was cancelled, then the queued messages.
#[utoipa::path(post, path = "/api/sessions/{id}/continue", params(("id" = String, Path)), responses((status = 202, body = ContinueTurnResponse)))]
pub(crate) async fn continue_session(
    State(app): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    let turn = app.runner.continue_turn(&by, parse_session_id(&name)?).await?;
    Ok((StatusCode::ACCEPTED, Json(ContinueTurnResponse { turn })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowSessionQuery {
    after: Option<LogCursor>,
    /// What to send of bodies that are stored as blobs.
    #[serde(default)]
    bodies: EventBodies,
}

/// Follow a session: all events after a position, then live. What the model is writing comes as
/// `event: draft`, which names the message that it becomes, and `event: delta`.
#[utoipa::path(get, path = "/api/sessions/{id}/events", params(("id" = String, Path), ("after" = Option<u64>, Query), ("bodies" = Option<String>, Query, description = "large bodies: `stored` as a reference, `whole`, or `short` with their size only"), ("Last-Event-ID" = Option<u64>, Header)), responses((status = 200, content_type = "text/event-stream", body = provost_proto::Event)))]
pub(crate) async fn follow(
    State(app): State<Arc<AppState>>,
    RequireOperatorLease(_, lease): RequireOperatorLease,
    Path(name): Path<String>,
    Query(which): Query<FollowSessionQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = app.runner.load_session(parse_session_id(&name)?).await?;
    let last = super::events::parse_last_event_id(&headers)?;
    let selection = sse::EventSelection::of_session(session.id, which.bodies);
    let after = last.or(which.after);
    Ok(sse::stream_events(app, lease, selection, after.unwrap_or_default()))
}
