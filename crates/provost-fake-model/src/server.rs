//! The server: records requests and sends scripted replies.

use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::{FakeCompletion, FakeWireFormat};

/// The largest request body, in bytes.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// A recorded request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// Path and query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; null if there was none.
    pub body: Value,
}

impl ReceivedRequest {
    /// A header as text; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The wire format of its path.
    pub fn wire_format(&self) -> Option<FakeWireFormat> {
        FakeWireFormat::from_path(&self.path)
    }
}

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnding {
    /// Regularly.
    Complete,
    /// The connection breaks.
    ConnectionReset,
    /// Nothing more is sent, and the connection stays open.
    Stalled,
}

/// The reply to a request.
#[derive(Debug, Clone)]
pub enum FakeReply {
    /// A completion, in the wire format of the request.
    Completion(FakeCompletion),
    /// A status with headers and a body.
    Status {
        /// The status.
        status: u16,
        /// Headers besides the content type, which is JSON.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: Value,
    },
    /// Raw pieces of a stream.
    RawStream {
        /// The pieces.
        pieces: Vec<Bytes>,
        /// The delay between two of them.
        pace: Duration,
        /// How the stream ends.
        ending: StreamEnding,
    },
    /// No response at all, not even a status.
    NoResponse,
}

impl FakeReply {
    /// A stream of one piece with this ending.
    pub fn raw_stream(text: impl Into<String>, ending: StreamEnding) -> Self {
        let pieces = vec![Bytes::from(text.into())];
        Self::RawStream { pieces, pace: Duration::ZERO, ending }
    }

    /// A status with a body.
    pub fn json_status(status: u16, body: Value) -> Self {
        Self::Status { status, headers: Vec::new(), body }
    }
}

type ReplyRule = dyn Fn(usize, &ReceivedRequest) -> FakeReply + Send + Sync;

struct FakeServerState {
    rule: Box<ReplyRule>,
    received: Mutex<Vec<ReceivedRequest>>,
    /// How many replies are being sent.
    open: watch::Sender<usize>,
}

/// The server. It stops when this is dropped.
pub struct FakeModelServer {
    address: SocketAddr,
    shared: Arc<FakeServerState>,
    task: JoinHandle<()>,
}

impl std::fmt::Debug for FakeModelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FakeModelServer({})", self.address)
    }
}

impl Drop for FakeModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeModelServer {
    /// Starts a server that replies by a rule, which gets the number of the request, from
    /// 0, and the request.
    pub async fn start_with_rule(
        rule: impl Fn(usize, &ReceivedRequest) -> FakeReply + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(FakeServerState {
            rule: Box::new(rule),
            received: Mutex::default(),
            open: watch::Sender::new(0),
        });
        let router = Router::new().fallback(handle_request).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            // It ends by being aborted; an error of the listener fails the test.
            drop(axum::serve(listener, router).await);
        });
        Ok(Self { address, shared, task })
    }

    /// Starts a server that sends these replies in order, and then repeats the last.
    pub async fn start_with_replies(replies: Vec<FakeReply>) -> std::io::Result<Self> {
        Self::start_with_rule(move |n, _| {
            let reply = replies.get(n).or(replies.last());
            reply.cloned().unwrap_or(FakeReply::NoResponse)
        })
        .await
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of a wire format, for a provider's configuration.
    pub fn base_url(&self, format: FakeWireFormat) -> String {
        format!("{}{}", self.url(), format.base_path())
    }

    /// All requests so far.
    pub fn received_requests(&self) -> Vec<ReceivedRequest> {
        self.shared.received.lock().clone()
    }

    /// Waits until no reply is being sent: all were read to the end, or cancelled.
    pub async fn wait_until_idle(&self) {
        let mut open = self.shared.open.subscribe();
        // The sender lives as long as this does.
        drop(open.wait_for(|n| *n == 0).await);
    }

    /// Waits until a reply is being sent.
    pub async fn wait_until_busy(&self) {
        let mut open = self.shared.open.subscribe();
        drop(open.wait_for(|n| *n > 0).await);
    }
}

/// Counts a reply while it is being sent.
struct ActiveReplyGuard(Arc<FakeServerState>);

impl ActiveReplyGuard {
    fn begin(shared: &Arc<FakeServerState>) -> Self {
        shared.open.send_modify(|n| *n += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for ActiveReplyGuard {
    fn drop(&mut self) {
        self.0.open.send_modify(|n| *n -= 1);
    }
}

async fn handle_request(
    State(shared): State<Arc<FakeServerState>>,
    uri: Uri,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    let body = to_bytes(request.into_body(), MAX_REQUEST_BYTES).await.unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let received = ReceivedRequest { path, headers, body };
    let format = received.wire_format();
    let reply = {
        let mut all = shared.received.lock();
        let reply = (shared.rule)(all.len(), &received);
        // A request for the list of models does not use up a completion.
        if matches!(reply, FakeReply::Completion(_)) && format.is_none() {
            return StatusCode::NOT_FOUND.into_response();
        }
        all.push(received);
        reply
    };
    match reply {
        FakeReply::Completion(completion) => {
            let events = format.map(|format| completion.encode_events(format)).unwrap_or_default();
            let pieces = events.into_iter().map(Bytes::from).collect();
            stream_response(&shared, pieces, completion.pace, StreamEnding::Complete)
        }
        FakeReply::Status { status, headers, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut response = (status, axum::Json(body)).into_response();
            for (name, value) in headers {
                if let Ok(value) = value.parse() {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        FakeReply::RawStream { pieces, pace, ending } => {
            stream_response(&shared, pieces, pace, ending)
        }
        FakeReply::NoResponse => {
            let _sending = ActiveReplyGuard::begin(&shared);
            std::future::pending().await
        }
    }
}

fn stream_response(
    shared: &Arc<FakeServerState>,
    pieces: Vec<Bytes>,
    pace: Duration,
    ending: StreamEnding,
) -> Response {
    let sending = ActiveReplyGuard::begin(shared);
    let pieces = stream::unfold((pieces.into_iter(), sending), move |mut rest| async move {
        match rest.0.next() {
            Some(piece) => {
                if !pace.is_zero() {
                    tokio::time::sleep(pace).await;
                }
                Some((Ok::<_, std::io::Error>(piece), rest))
            }
            None if ending == StreamEnding::Stalled => std::future::pending().await,
            None => {
                // Lets the last piece be sent before the connection breaks.
                tokio::task::yield_now().await;
                None
            }
        }
    });
    let broken = (ending == StreamEnding::ConnectionReset)
        .then(|| Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)));
    let body = Body::from_stream(pieces.chain(stream::iter(broken)));
    ([("content-type", "text/event-stream")], body).into_response()
}
