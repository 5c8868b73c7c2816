//! The log as server-sent events.
//!
//! `id:` is the place in the log, so a browser that reconnects says where it
//! was. When it has seen all that there was, it is told so (`event: live`), so
//! that a page knows when it may call something missing. Whatever is there goes
//! out in one piece, and at once: a token of a model is not to wait. Only where many
//! follow a flood is each served less often, every few milliseconds, which costs a
//! person nothing and saves a system call per event and client.
//!
//! A stream lasts as long as the token it was opened with, and ends with it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use provost_gateway::TokenLease;
use provost_proto::Seq;
use provost_store::{EventScope, LogTail, RecordedEvent, StoreError};
use tokio::time::{Instant, sleep_until, timeout};

use crate::AppState;
use crate::middleware::server_metrics::FollowerGuard;

/// A comment goes out when nothing else did for so long, so that both ends
/// notice a dead connection.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// The least time between two pieces to one client, for each client that follows: so
/// that they get at most 20 000 pieces a second between them.
const INTERVAL_PER_FOLLOWER: Duration = Duration::from_micros(50);

/// And at most this, however many they are.
const MAX_SEND_INTERVAL: Duration = Duration::from_millis(10);

struct SseStream {
    door: Arc<AppState>,
    pass: TokenLease,
    first: Option<Bytes>,
    scroll: PacedTail,
    _follower: FollowerGuard,
}

/// How far a client has read, and how fast it is served.
struct PacedTail {
    tail: LogTail,
    replaying: bool,
    not_before: Instant,
}

/// Streams the scope from behind `after`, without an end.
pub(crate) fn stream_events(
    door: Arc<AppState>,
    pass: TokenLease,
    scope: EventScope,
    after: Seq,
) -> Response {
    let head = *door.gateway.store().watch_head().borrow();
    // A client that has seen more than there is has seen another log.
    let (first, after) = if after > head {
        (Bytes::from_static(b"event: resync\ndata: {}\n\n"), 0)
    } else {
        (Bytes::from_static(b": provost\n\n"), after)
    };
    let feed = SseStream {
        pass,
        first: Some(first),
        scroll: PacedTail {
            tail: LogTail::new(Arc::clone(door.gateway.store()), scope, after),
            replaying: true,
            not_before: Instant::now(),
        },
        _follower: door.meter.track_follower(),
        door,
    };
    let pieces = stream::unfold(feed, |mut feed| async move {
        let piece = feed.next().await?;
        Some((Ok::<_, Infallible>(piece), feed))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(pieces)).into_response()
}

impl SseStream {
    /// The next piece; `None` when the daemon stops or the token works no more.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let door = Arc::clone(&self.door);
        let piece = tokio::select! {
            biased;
            () = door.closing.cancelled() => None,
            () = door.gateway.wait_lease_end(&mut self.pass) => None,
            piece = self.scroll.next_chunk(send_interval(door.meter.follower_count())) => piece,
        };
        // The token may have ended while the piece was waited for.
        piece.filter(|_| door.gateway.is_lease_valid(&self.pass))
    }
}

impl PacedTail {
    async fn next_chunk(&mut self, pace: Duration) -> Option<Bytes> {
        let piece = if self.replaying {
            self.next_history_chunk().await
        } else {
            self.next_live_chunk(pace).await
        };
        match piece {
            Ok(piece) => Some(piece),
            Err(StoreError::Closed) => None,
            Err(error) => {
                tracing::error!(%error, "a follower of the log was cut off");
                None
            }
        }
    }

    /// What was there when the client came, as fast as it reads.
    async fn next_history_chunk(&mut self) -> Result<Bytes, StoreError> {
        let events = self.tail.next_available().await?;
        if events.is_empty() {
            self.replaying = false;
            return Ok(Bytes::from_static(b"event: live\ndata: {}\n\n"));
        }
        Ok(encode_events(&events))
    }

    /// What happens now.
    async fn next_live_chunk(&mut self, pace: Duration) -> Result<Bytes, StoreError> {
        // A timer would wait for its next millisecond even when it is past.
        if self.not_before > Instant::now() {
            sleep_until(self.not_before).await;
        }
        let piece = match timeout(PING_INTERVAL, self.tail.next()).await {
            Err(_) => Bytes::from_static(b": ping\n\n"),
            Ok(events) => encode_events(&events?),
        };
        self.not_before = Instant::now() + pace;
        Ok(piece)
    }
}

fn send_interval(followers: u32) -> Duration {
    INTERVAL_PER_FOLLOWER.saturating_mul(followers).min(MAX_SEND_INTERVAL)
}

pub(crate) fn encode_events(events: &[Arc<RecordedEvent>]) -> Bytes {
    let size = events.iter().map(|event| event.wire_json().len() + 40).sum();
    let mut out = BytesMut::with_capacity(size);
    for event in events {
        out.put_slice(b"id: ");
        out.put_slice(event.seq.to_string().as_bytes());
        out.put_slice(b"\ndata: ");
        out.put_slice(&event.wire_json());
        out.put_slice(b"\n\n");
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_follows_waits_for_nothing_and_many_share_what_can_be_sent() {
        for (followers, micros) in [(1, 50), (20, 1000), (200, 10_000), (5000, 10_000)] {
            assert_eq!(send_interval(followers), Duration::from_micros(micros), "{followers}");
        }
    }
}
