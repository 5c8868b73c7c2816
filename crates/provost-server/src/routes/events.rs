//! Following the log.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use provost_proto::{Code, LogCursor, Stream};
use serde::Deserialize;

use crate::AppState;
use crate::api_error::ApiError;
use crate::middleware::auth::RequireReaderLease;
use crate::middleware::extractors::Query;
use crate::stream::sse;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowLogQuery {
    stream: Option<Stream>,
    after: Option<LogCursor>,
}

/// Follow the log: all events after a position, then live. `Last-Event-ID` overrides `after`,
/// since a browser that reconnects sends both.
#[utoipa::path(get, path = "/api/events", params(("stream" = Option<String>, Query), ("after" = Option<u64>, Query), ("Last-Event-ID" = Option<u64>, Header)), responses((status = 200, content_type = "text/event-stream", body = provost_proto::Event)))]
pub(crate) async fn follow(
    State(app): State<Arc<AppState>>,
    RequireReaderLease(reader, lease): RequireReaderLease,
    Query(which): Query<FollowLogQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let scope = reader.resolve_scope(which.stream)?;
    let last = parse_last_event_id(&headers)?;
    Ok(sse::stream_events(app, lease, scope, last.or(which.after).unwrap_or_default()))
}

/// The last event that a reconnecting client has.
pub(super) fn parse_last_event_id(headers: &HeaderMap) -> Result<Option<LogCursor>, ApiError> {
    Ok(match headers.get("last-event-id").map(|value| value.to_str().map(str::trim)) {
        None | Some(Ok("")) => None,
        Some(text) => {
            Some(text.ok().and_then(|text| text.parse::<LogCursor>().ok()).ok_or_else(|| {
                ApiError::new(
                    Code::InvalidRequest,
                    "`Last-Event-ID` must be the number of an event",
                )
            })?)
        }
    })
}
