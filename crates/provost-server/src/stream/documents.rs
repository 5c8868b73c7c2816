//! Documents and their changes as server-sent events.
//!
//! The pace is that of the log (`sse`): what is available is sent at once, and with many followers
//! each is served less often.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use futures::stream;
use provost_gateway::{DocumentFollower, DocumentMessage, GatewayError, TokenLease};
use provost_proto::{DocumentSnapshot, DocumentsLive};
use provost_store::StoreError;
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout};

use super::sse::{PING_INTERVAL, respond_with_events, send_interval};
use crate::AppState;
use crate::middleware::server_metrics::FollowerGuard;

struct DocumentStream {
    app: Arc<AppState>,
    lease: TokenLease,
    follower: DocumentFollower,
    is_first: bool,
    not_before: Instant,
    _follower_guard: FollowerGuard,
}

/// Streams documents, without an end.
pub(crate) fn stream_documents(
    app: Arc<AppState>,
    lease: TokenLease,
    follower: DocumentFollower,
) -> Response {
    let feed = DocumentStream {
        lease,
        follower,
        is_first: true,
        not_before: Instant::now(),
        _follower_guard: app.meter.track_follower(),
        app,
    };
    let chunks = stream::unfold(feed, |mut feed| async move {
        let chunk = feed.next().await?;
        Some((Ok::<_, Infallible>(chunk), feed))
    });
    respond_with_events(chunks)
}

impl DocumentStream {
    /// The next chunk; `None` when the daemon stops or the token is not valid any more.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.is_first) {
            return Some(Bytes::from_static(b": provost\n\n"));
        }
        let app = Arc::clone(&self.app);
        let chunk = tokio::select! {
            biased;
            () = app.closing.cancelled() => None,
            () = app.gateway.auth.wait_lease_end(&mut self.lease) => None,
            chunk = next_chunk(&mut self.follower, self.not_before) => match chunk {
                Ok(chunk) => Some(chunk),
                Err(error) => {
                    tracing::warn!(%error, "cannot read documents; a page's stream ends");
                    None
                }
            },
        };
        self.not_before = Instant::now() + send_interval(app.meter.follower_count());
        // The token may have been revoked meanwhile.
        chunk.filter(|_| app.gateway.auth.is_lease_valid(&self.lease))
    }
}

async fn next_chunk(
    follower: &mut DocumentFollower,
    not_before: Instant,
) -> Result<Bytes, GatewayError> {
    // A timer waits for its next millisecond even if the deadline has passed.
    if not_before > Instant::now() {
        sleep_until(not_before).await;
    }
    loop {
        match timeout(PING_INTERVAL, follower.wait()).await {
            Err(_) => return Ok(Bytes::from_static(b": ping\n\n")),
            Ok(waited) => waited?,
        }
        let messages = follower.next().await?;
        if !messages.is_empty() {
            let chunk: Result<String, GatewayError> =
                messages.into_iter().map(encode_message).collect();
            return Ok(chunk?.into());
        }
    }
}

fn encode_message(message: DocumentMessage) -> Result<String, GatewayError> {
    Ok(match message {
        DocumentMessage::Resync => "event: resync\ndata: {}\n\n".to_owned(),
        DocumentMessage::Snapshot(documents) => {
            let data = encode_data(&DocumentSnapshot { documents })?;
            format!("event: snapshot\ndata: {data}\n\n")
        }
        DocumentMessage::Live(cursor) => {
            let data = encode_data(&DocumentsLive { cursor })?;
            format!("event: live\nid: {cursor}\ndata: {data}\n\n")
        }
        DocumentMessage::Changes(changes, Some(cursor)) => {
            format!("event: changes\nid: {cursor}\ndata: {}\n\n", encode_data(&changes)?)
        }
        DocumentMessage::Changes(changes, None) => {
            format!("event: changes\ndata: {}\n\n", encode_data(&changes)?)
        }
    })
}

fn encode_data(data: &impl Serialize) -> Result<String, GatewayError> {
    let invalid = |error: serde_json::Error| StoreError::NotCanonical(error.to_string());
    Ok(serde_json::to_string(data).map_err(invalid)?)
}
