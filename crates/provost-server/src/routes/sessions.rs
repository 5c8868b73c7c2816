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
    OpenSessionRequest, SendMessageRequest, SendMessageResponse, SessionDetail, SessionList,
    SessionView, StartTourRequest, StartTourResponse,
};
use provost_proto::{Code, ErrorResponse, MessageId, Seq, SessionId, Stream};
use provost_runner::session::TurnPrompt;
use provost_store::EventScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::JsonResult;
use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::{RequireOperator, RequireOperatorLease};
use crate::middleware::extractors::{IdempotencyHeader, JsonBody, Path, Query};
use crate::stream::sse;
use crate::stream::turn_cursor::{TurnCursor, TurnEnd};

pub(super) fn parse_session_id(text: &str) -> Result<SessionId, ApiError> {
    let missing = |_| ApiError::new(Code::NotFound, format!("there is no session `{text}`"));
    text.parse().map_err(missing)
}

/// List the sessions, the newest first.
#[utoipa::path(get, path = "/api/sessions", responses((status = 200, body = SessionList), (status = 401, body = ErrorResponse)))]
pub(crate) async fn list(
    State(door): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
) -> JsonResult<SessionList> {
    Ok(Json(door.runner.list_sessions().await?))
}

/// Open a session in a role.
#[utoipa::path(post, path = "/api/sessions", request_body = OpenSessionRequest, responses((status = 201, body = SessionView), (status = 403, body = ErrorResponse), (status = 422, body = ErrorResponse)))]
pub(crate) async fn open(
    State(door): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, command }: JsonBody<OpenSessionRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let session = door.runner.open_session(&by, value, command).await?;
    Ok((StatusCode::CREATED, Json(session)))
}

/// Take the tour: an example project in a new folder, and a scripted conversation in it.
#[utoipa::path(post, path = "/api/tour", request_body = StartTourRequest, responses((status = 201, body = StartTourResponse), (status = 401, body = ErrorResponse), (status = 422, body = ErrorResponse)))]
pub(crate) async fn start_tour(
    State(door): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    JsonBody { value, command }: JsonBody<StartTourRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let begun = door.runner.start_tour(&by, value, command).await?;
    Ok((StatusCode::CREATED, Json(begun)))
}

/// Show a session with what was said in it.
#[utoipa::path(get, path = "/api/sessions/{id}", params(("id" = String, Path)), responses((status = 200, body = SessionDetail), (status = 404, body = ErrorResponse)))]
pub(crate) async fn show(
    State(door): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path(name): Path<String>,
) -> JsonResult<SessionDetail> {
    Ok(Json(door.runner.load_session_detail(parse_session_id(&name)?).await?))
}

/// Close a session; what goes on in it is cancelled, what was said stays.
#[utoipa::path(delete, path = "/api/sessions/{id}", params(("id" = String, Path)), responses((status = 200, body = SessionView), (status = 404, body = ErrorResponse), (status = 409, body = ErrorResponse)))]
pub(crate) async fn close(
    State(door): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
) -> JsonResult<SessionView> {
    Ok(Json(door.runner.close_session(&by, parse_session_id(&name)?).await?))
}

/// Say something. With `Accept: text/event-stream`, the answer is the turn itself,
/// as events until its end; without, it is told that the turn has begun.
#[utoipa::path(post, path = "/api/sessions/{id}/messages", params(("id" = String, Path)), request_body = SendMessageRequest, responses((status = 202, body = SendMessageResponse), (status = 200, content_type = "text/event-stream", body = provost_proto::Event), (status = 404, body = ErrorResponse), (status = 409, body = ErrorResponse), (status = 429, body = ErrorResponse)))]
pub(crate) async fn send_message(
    State(door): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody { value, command }: JsonBody<SendMessageRequest>,
) -> Result<Response, ApiError> {
    let session = parse_session_id(&name)?;
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let prompt = TurnPrompt { text: value.text, command, most: None };
    let taken = door.runner.send_message(&by, session, prompt).await?;
    if !accepts.contains("text/event-stream") {
        return Ok((StatusCode::ACCEPTED, Json(taken.sent)).into_response());
    }
    let first = format!("event: sent\ndata: {}\n\n", json!(taken.sent));
    let talk = TurnCursor::new(&door, &taken);
    let pieces = stream::unfold((Some(first), talk, door), |(first, mut talk, door)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, Infallible>(Bytes::from(first)), (None, talk, door)));
        }
        let said = tokio::select! {
            () = door.closing.cancelled() => return None,
            said = talk.next() => said.ok()??,
        };
        let mut piece = sse::encode_events(&[said.event]).to_vec();
        if let Some(TurnEnd::Failed(problem)) = said.end {
            piece.extend(format!("event: error\ndata: {}\n\n", json!(problem)).into_bytes());
        }
        Some((Ok(Bytes::from(piece)), (None, talk, door)))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Take back a message that waits for its turn.
#[utoipa::path(delete, path = "/api/sessions/{id}/messages/{message}", params(("id" = String, Path), ("message" = String, Path)), responses((status = 200, body = Object), (status = 404, body = ErrorResponse), (status = 409, body = ErrorResponse)))]
pub(crate) async fn withdraw_message(
    State(door): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path((name, message)): Path<(String, String)>,
    IdempotencyHeader(command): IdempotencyHeader,
) -> JsonResult<Value> {
    let missing = |_| ApiError::new(Code::NotFound, format!("there is no message `{message}`"));
    let message = message.parse().map_err(missing)?;
    door.runner.withdraw_message(&by, (parse_session_id(&name)?, message), command).await?;
    Ok(Json(json!({ "withdrawn": true })))
}

/// Cancel the turn of a message: it is stopped, or does not begin, and every other goes on.
/// Answers when nothing of it runs any more, also if its turn was over before.
#[utoipa::path(post, path = "/api/sessions/{id}/messages/{message}/cancel", params(("id" = String, Path), ("message" = String, Path)), responses((status = 204), (status = 404, body = ErrorResponse), (status = 409, body = ErrorResponse)))]
pub(crate) async fn cancel_message(
    State(door): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path((name, message)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let missing = |_| ApiError::new(Code::NotFound, format!("there is no message `{message}`"));
    let message: MessageId = message.parse().map_err(missing)?;
    door.runner.cancel_message(parse_session_id(&name)?, message).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancel the turn of a session. Answers when nothing of it runs any more. What waits for
/// its turn goes on waiting until somebody says something or continues.
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", params(("id" = String, Path)), responses((status = 200, body = Object), (status = 404, body = ErrorResponse)))]
pub(crate) async fn cancel(
    State(door): State<Arc<AppState>>,
    RequireOperator(_): RequireOperator,
    Path(name): Path<String>,
) -> JsonResult<Value> {
    let cancelled = door.runner.cancel_turn(parse_session_id(&name)?).await?;
    Ok(Json(json!({ "cancelled": cancelled })))
}

/// Go on with a turn that was cut off, failed or was cancelled, and then with what waits.
#[utoipa::path(post, path = "/api/sessions/{id}/continue", params(("id" = String, Path)), responses((status = 202, body = Object), (status = 404, body = ErrorResponse), (status = 409, body = ErrorResponse)))]
pub(crate) async fn continue_session(
    State(door): State<Arc<AppState>>,
    RequireOperator(by): RequireOperator,
    Path(name): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    let turn = door.runner.continue_turn(&by, parse_session_id(&name)?).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "turn": turn }))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowSessionQuery {
    after: Option<Seq>,
}

/// Follow a session: all of it after a place, then live.
#[utoipa::path(get, path = "/api/sessions/{id}/events", params(("id" = String, Path), ("after" = Option<u64>, Query), ("Last-Event-ID" = Option<u64>, Header)), responses((status = 200, content_type = "text/event-stream", body = provost_proto::Event), (status = 404, body = ErrorResponse)))]
pub(crate) async fn follow(
    State(door): State<Arc<AppState>>,
    RequireOperatorLease(_, pass): RequireOperatorLease,
    Path(name): Path<String>,
    Query(which): Query<FollowSessionQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = door.runner.load_session(parse_session_id(&name)?).await?;
    let last = super::events::parse_last_event_id(&headers)?;
    let scope = EventScope::Stream(Stream::Session(session.id));
    Ok(sse::stream_events(door, pass, scope, last.or(which.after).unwrap_or(0)))
}
