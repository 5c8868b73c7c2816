//! The log as server-sent events.
//!
//! `id:` is the position in the log, so that a browser that reconnects continues there. When a
//! client has received all past events it gets `event: live`, so that a page knows that
//! what it has not seen does not exist. Available events are sent in one chunk and at once,
//! since a model's tokens must not be delayed. Only with many followers is each served less
//! often, at most every few milliseconds, which saves a system call per event and client.
//!
//! The stream of a session also has what its model is writing: `event: draft` when a completion
//! begins, and `event: delta` with each piece. They have no position: who reconnects is sent the
//! draft from its beginning, or the message that it has become.
//!
//! A stream ends with the token that it was opened with.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::{Stream, stream};
use provost_gateway::{EventLog, GatewayError, LiveDraft, TokenLease};
use provost_proto::{BlobRef, EventBodies, Fact, LogCursor, SessionId};
use provost_store::{EventFilter, EventMatcher, EventScope, RecordedEvent, StoreError};
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::log_feed::{FeedItem, LogFeed};
use crate::AppState;
use crate::middleware::server_metrics::FollowerGuard;

/// A comment is sent after this long without events, so that both ends detect a dead
/// connection.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(15);

/// Minimum time between two chunks to one client, per follower: all followers together get at
/// most 20,000 chunks per second.
const INTERVAL_PER_FOLLOWER: Duration = Duration::from_micros(50);

/// Upper bound of that time.
const MAX_SEND_INTERVAL: Duration = Duration::from_millis(10);

struct SseStream {
    app: Arc<AppState>,
    lease: TokenLease,
    first: Option<Bytes>,
    tail: PacedTail,
    _follower: FollowerGuard,
}

/// A client's cursor in the log, and when it may be served next.
struct PacedTail {
    feed: LogFeed,
    log: Arc<EventLog>,
    selection: EventSelection,
    replaying: bool,
    not_before: Instant,
}

/// Which events a client is sent, and how.
pub(crate) struct EventSelection {
    /// The part of the log.
    pub(crate) scope: EventScope,
    /// Which of its events.
    pub(crate) matcher: EventMatcher,
    /// What is sent of bodies that are stored as blobs.
    pub(crate) bodies: EventBodies,
    /// Also what the model of this session is writing.
    pub(crate) draft_of: Option<SessionId>,
}

impl EventSelection {
    /// All events of a session, and what its model is writing.
    pub(crate) fn of_session(session: SessionId, bodies: EventBodies) -> Self {
        let scope = EventScope::Stream(provost_proto::Stream::Session(session));
        let matcher = EventMatcher::new(EventFilter::default());
        Self { scope, matcher, bodies, draft_of: Some(session) }
    }
}

/// Streams events after `after`, without an end.
pub(crate) fn stream_events(
    app: Arc<AppState>,
    lease: TokenLease,
    selection: EventSelection,
    after: LogCursor,
) -> Response {
    // A client with a later position has seen another log.
    let (first, after) = if app.gateway.store().is_beyond_head(after) {
        (Bytes::from_static(b"event: resync\ndata: {}\n\n"), LogCursor::START)
    } else {
        (Bytes::from_static(b": provost\n\n"), after)
    };
    let drafts = selection.draft_of.map(|session| app.gateway.drafts.follow(session));
    let store = Arc::clone(app.gateway.store());
    let feed = SseStream {
        lease,
        first: Some(first),
        tail: PacedTail {
            feed: LogFeed::new(store, selection.scope, after, drafts),
            log: Arc::clone(&app.gateway.log),
            selection,
            replaying: true,
            not_before: Instant::now(),
        },
        _follower: app.meter.track_follower(),
        app,
    };
    let chunks = stream::unfold(feed, |mut feed| async move {
        let chunk = feed.next().await?;
        Some((Ok::<_, Infallible>(chunk), feed))
    });
    respond_with_events(chunks)
}

/// A response that is sent as server-sent events.
pub(super) fn respond_with_events(
    chunks: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(chunks)).into_response()
}

impl SseStream {
    /// The next chunk; `None` when the daemon stops or the token is not valid any more.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let app = Arc::clone(&self.app);
        let chunk = tokio::select! {
            biased;
            () = app.closing.cancelled() => None,
            () = app.gateway.auth.wait_lease_end(&mut self.lease) => None,
            chunk = self.tail.next_chunk(send_interval(app.meter.follower_count())) => chunk,
        };
        // The token may have been revoked meanwhile.
        chunk.filter(|_| app.gateway.auth.is_lease_valid(&self.lease))
    }
}

impl PacedTail {
    async fn next_chunk(&mut self, interval: Duration) -> Option<Bytes> {
        let chunk = if self.replaying {
            self.next_history_chunk().await
        } else {
            self.next_live_chunk(interval).await
        };
        match chunk {
            Ok(chunk) => Some(chunk),
            Err(GatewayError::Store(StoreError::Closed)) => None,
            Err(error) => {
                tracing::error!(%error, "cannot read the log; a follower's stream ends");
                None
            }
        }
    }

    /// Events from before the client connected, as fast as it reads them.
    async fn next_history_chunk(&mut self) -> Result<Bytes, GatewayError> {
        loop {
            let items = self.feed.next_available().await?;
            if items.is_empty() {
                self.replaying = false;
                return Ok(Bytes::from_static(b"event: live\ndata: {}\n\n"));
            }
            let chunk = self.encode_items(items).await?;
            if !chunk.is_empty() {
                return Ok(chunk);
            }
        }
    }

    /// New events.
    async fn next_live_chunk(&mut self, interval: Duration) -> Result<Bytes, GatewayError> {
        // A timer waits for its next millisecond even if the deadline has passed.
        if self.not_before > Instant::now() {
            sleep_until(self.not_before).await;
        }
        let ping_at = Instant::now() + PING_INTERVAL;
        let chunk = loop {
            let Ok(waited) = timeout_at(ping_at, self.feed.wait()).await else {
                break Bytes::from_static(b": ping\n\n");
            };
            waited?;
            let items = self.feed.next_available().await?;
            let chunk = self.encode_items(items).await?;
            if !chunk.is_empty() {
                break chunk;
            }
        };
        self.not_before = Instant::now() + interval;
        Ok(chunk)
    }

    async fn encode_items(&self, items: Vec<FeedItem>) -> Result<Bytes, GatewayError> {
        let (mut out, mut events) = (BytesMut::new(), Vec::new());
        for item in items {
            let text = match item {
                FeedItem::Event(event) => {
                    events.push(event);
                    continue;
                }
                FeedItem::DraftBegun(draft) => encode_draft_begin(&draft),
                FeedItem::Delta(delta) => encode_delta(&delta),
            };
            out.put_slice(&self.encode_selected(&std::mem::take(&mut events)).await?);
            out.put_slice(text.as_bytes());
        }
        let last = self.encode_selected(&events).await?;
        if out.is_empty() {
            return Ok(last);
        }
        out.put_slice(&last);
        Ok(out.freeze())
    }

    /// The events of these that the client asked for.
    async fn encode_selected(&self, events: &[Arc<RecordedEvent>]) -> Result<Bytes, GatewayError> {
        let EventSelection { matcher, bodies, .. } = &self.selection;
        if matcher.is_empty() && *bodies == EventBodies::Stored {
            return Ok(encode_events(events));
        }
        let mut out = BytesMut::new();
        for recorded in events {
            let event = recorded.decode_event()?;
            let blob = match serde_json::from_value::<BlobRef>(event.body.clone()) {
                Ok(blob) if !matcher.is_empty() => self.log.store().get_blob(blob.hash).await?,
                Ok(_) | Err(_) => None,
            };
            if !matcher.matches_recorded(recorded, blob)? {
                continue;
            }
            if *bodies == EventBodies::Stored {
                put_event(&mut out, recorded.cursor(), &recorded.wire_json());
            } else {
                let event = self.log.with_body(event, *bodies).await?;
                let json = serde_json::to_vec(&event)
                    .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
                put_event(&mut out, recorded.cursor(), &json);
            }
        }
        Ok(out.freeze())
    }
}

pub(super) fn send_interval(followers: u32) -> Duration {
    INTERVAL_PER_FOLLOWER.saturating_mul(followers).min(MAX_SEND_INTERVAL)
}

pub(crate) fn encode_events(events: &[Arc<RecordedEvent>]) -> Bytes {
    let size = events.iter().map(|event| event.wire_json().len() + 40).sum();
    let mut out = BytesMut::with_capacity(size);
    for event in events {
        put_event(&mut out, event.cursor(), &event.wire_json());
    }
    out.freeze()
}

/// Says that a draft begins, and which message it becomes.
fn encode_draft_begin(draft: &LiveDraft) -> String {
    let (session, turn, message) = (draft.session(), draft.turn(), draft.message());
    let data = json!({ "session": session, "turn": turn, "message": message });
    format!("event: draft\ndata: {data}\n\n")
}

/// A piece of a draft.
pub(crate) fn encode_delta(delta: &Fact) -> String {
    format!("event: delta\ndata: {}\n\n", json!(delta))
}

fn put_event(out: &mut BytesMut, cursor: LogCursor, json: &[u8]) {
    out.put_slice(b"id: ");
    out.put_slice(cursor.to_string().as_bytes());
    out.put_slice(b"\ndata: ");
    out.put_slice(json);
    out.put_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_grows_with_the_followers_up_to_a_bound() {
        for (followers, micros) in [(1, 50), (20, 1000), (200, 10_000), (5000, 10_000)] {
            assert_eq!(send_interval(followers), Duration::from_micros(micros), "{followers}");
        }
    }
}
