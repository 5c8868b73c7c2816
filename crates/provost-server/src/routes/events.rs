//! Following the log.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use provost_proto::{Code, ErrorResponse, Seq, Stream};
use serde::Deserialize;

use crate::auth::Stay;
use crate::body::Query;
use crate::problem::Failure;
use crate::{Door, sse};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    stream: Option<Stream>,
    after: Option<Seq>,
}

/// Follow the log: all of it after a place, then live. A `Last-Event-ID`
/// stands above `after`, since a browser that reconnects sends both.
#[utoipa::path(get, path = "/api/events", params(("stream" = Option<String>, Query), ("after" = Option<u64>, Query), ("Last-Event-ID" = Option<u64>, Header)), responses((status = 200, content_type = "text/event-stream", body = provost_proto::Event), (status = 401, body = ErrorResponse)))]
pub(crate) async fn follow(
    State(door): State<Arc<Door>>,
    Stay(reader, pass): Stay,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let scope = reader.resolve_scope(which.stream)?;
    let last = last_event(&headers)?;
    Ok(sse::follow(door, pass, scope, last.or(which.after).unwrap_or(0)))
}

/// Where a client that reconnects was.
pub(super) fn last_event(headers: &HeaderMap) -> Result<Option<Seq>, Failure> {
    Ok(match headers.get("last-event-id").map(|value| value.to_str().map(str::trim)) {
        None | Some(Ok("")) => None,
        Some(text) => {
            Some(text.ok().and_then(|text| text.parse::<Seq>().ok()).ok_or_else(|| {
                Failure::new(Code::InvalidRequest, "`Last-Event-ID` takes the number of an event")
            })?)
        }
    })
}
