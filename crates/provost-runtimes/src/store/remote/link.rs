//! The task that owns the connection to `GET /api/sync`.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use provost_proto::NotebookId;
use provost_proto::notebook::{ClientSyncMessage, ResumePoint, SYNC_PROTOCOL, ServerSyncMessage};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::{RemoteTarget, TargetLocator};

/// The pause after the first attempt that failed; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Time limit for connecting, and for sending one message.
const STEP_TIMEOUT: Duration = Duration::from_secs(15);

/// The daemon pings three times as often: a connection that is silent this long is dead.
const SILENCE_TIMEOUT: Duration = Duration::from_mins(1);

/// Where the next connection goes on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectRequest {
    /// The number of the connection, so that each request is one.
    pub(super) number: u64,
    pub(super) resume: Option<ResumePoint>,
}

/// What the task tells the store.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// The daemon has authenticated the client.
    Welcomed { principal: String },
    /// The first attempt failed; it goes on trying.
    Unreachable { why: String },
    /// The connection was lost; it waits for the next request.
    Lost { why: String },
    /// The daemon does not let the client in, which trying again does not change.
    Rejected { why: String },
    /// A message.
    Message(Box<ServerSyncMessage>),
}

/// Why there is no connection.
enum LinkError {
    Failed(String),
    Rejected(String),
}

type Socket = WebSocketStream<TcpStream>;

pub(super) struct RemoteSyncLink {
    pub(super) notebook: NotebookId,
    pub(super) locator: Arc<dyn TargetLocator>,
    pub(super) to_send: mpsc::Receiver<ClientSyncMessage>,
    pub(super) events: mpsc::Sender<LinkEvent>,
    pub(super) requests: watch::Receiver<ConnectRequest>,
}

impl RemoteSyncLink {
    /// Connects, and again whenever the store asks for it. Ends with the store.
    pub(super) async fn run(mut self) {
        loop {
            let request = *self.requests.borrow_and_update();
            let socket = match self.connect_with_pauses(request).await {
                Ok(Some(socket)) => socket,
                Ok(None) => return,
                Err(why) => {
                    drop(self.events.send(LinkEvent::Rejected { why }).await);
                    return;
                }
            };
            // What was meant for the connection before is sent again by the agent.
            while self.to_send.try_recv().is_ok() {}
            let Some(why) = self.pass_messages(socket).await else { continue };
            if self.events.send(LinkEvent::Lost { why }).await.is_err() {
                return;
            }
            if self.requests.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tries until it succeeds; `None` if the store is gone.
    async fn connect_with_pauses(
        &mut self,
        request: ConnectRequest,
    ) -> Result<Option<Socket>, String> {
        let (mut pause, mut is_first) = (FIRST_PAUSE, true);
        loop {
            let attempt = timeout(STEP_TIMEOUT, self.connect(request)).await;
            let why = match attempt {
                Ok(Ok(socket)) => return Ok(Some(socket)),
                Ok(Err(LinkError::Rejected(why))) => return Err(why),
                Ok(Err(LinkError::Failed(why))) => why,
                Err(_) => "the daemon does not answer".to_owned(),
            };
            if std::mem::take(&mut is_first)
                && self.events.send(LinkEvent::Unreachable { why }).await.is_err()
            {
                return Ok(None);
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.events.closed() => return Ok(None),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect(&self, request: ConnectRequest) -> Result<Socket, LinkError> {
        let RemoteTarget { address, token } = self.locator.locate().map_err(LinkError::Failed)?;
        let failed =
            |error: &dyn std::fmt::Display| LinkError::Failed(format!("{address}: {error}"));
        let url = format!("ws://{address}/api/sync").parse().map_err(|error| failed(&error))?;
        let bearer = format!("Bearer {}", token.reveal());
        let upgrade = ClientRequestBuilder::new(url).with_header("authorization", bearer);
        let stream = TcpStream::connect(&*address).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let mut socket = match client_async(upgrade, stream).await {
            Ok((socket, _)) => socket,
            Err(tungstenite::Error::Http(answer)) => return Err(read_rejection(&answer)),
            Err(error) => return Err(failed(&error)),
        };
        let hello = ClientSyncMessage::Hello { protocol: SYNC_PROTOCOL };
        send_message(&mut socket, &hello).await.map_err(LinkError::Failed)?;
        let welcome = loop {
            let message =
                socket.next().await.ok_or_else(|| failed(&"the connection was closed"))?;
            if let Some(message) = parse_message(message).map_err(LinkError::Failed)? {
                break message;
            }
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "no other message answers `hello`")]
        match welcome {
            ServerSyncMessage::Welcome { principal, can_write: true, .. } => {
                // The store is gone if nobody receives it, which the next one shows.
                drop(self.events.send(LinkEvent::Welcomed { principal }).await);
            }
            ServerSyncMessage::Welcome { .. } => {
                let why = "this token may only read; create one with `provost token create \
                           --class runtime --notebook ID`";
                return Err(LinkError::Rejected(why.to_owned()));
            }
            ServerSyncMessage::Error { error } if error.code.status() < 500 => {
                return Err(LinkError::Rejected(error.error));
            }
            other => return Err(failed(&format!("unexpected answer {other:?}"))),
        }
        let subscribe =
            ClientSyncMessage::Subscribe { notebook: self.notebook, resume: request.resume };
        send_message(&mut socket, &subscribe).await.map_err(LinkError::Failed)?;
        Ok(socket)
    }

    /// Passes messages until the connection ends, with the reason, or the store wants another
    /// one.
    async fn pass_messages(&mut self, socket: Socket) -> Option<String> {
        let (to, from) = socket.split();
        tokio::select! {
            why = receive_messages(from, &self.events) => Some(why),
            why = send_messages(to, &mut self.to_send) => Some(why),
            Ok(()) = self.requests.changed() => None,
        }
    }
}

async fn receive_messages(
    mut from: SplitStream<Socket>,
    events: &mpsc::Sender<LinkEvent>,
) -> String {
    loop {
        let message = match timeout(SILENCE_TIMEOUT, from.next()).await {
            Ok(Some(message)) => message,
            Ok(None) => return "the daemon closed the connection".to_owned(),
            Err(_) => return "the daemon does not answer any more".to_owned(),
        };
        match parse_message(message) {
            Ok(None) => {}
            Ok(Some(message)) => {
                if events.send(LinkEvent::Message(Box::new(message))).await.is_err() {
                    return "the runtime has ended".to_owned();
                }
            }
            Err(why) => return why,
        }
    }
}

async fn send_messages(
    mut to: SplitSink<Socket, Message>,
    to_send: &mut mpsc::Receiver<ClientSyncMessage>,
) -> String {
    while let Some(message) = to_send.recv().await {
        let text = match serde_json::to_string(&message) {
            Ok(text) => text,
            Err(error) => return format!("a message cannot be written: {error}"),
        };
        match timeout(STEP_TIMEOUT, to.send(Message::Text(text.into()))).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return format!("the connection was lost: {error}"),
            Err(_) => return "the daemon takes no message any more".to_owned(),
        }
    }
    "the runtime has ended".to_owned()
}

async fn send_message(socket: &mut Socket, message: &ClientSyncMessage) -> Result<(), String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    socket.send(Message::Text(text.into())).await.map_err(|error| error.to_string())
}

/// A message of the daemon; `None` for what the connection itself needs.
fn parse_message(
    message: Result<Message, tungstenite::Error>,
) -> Result<Option<ServerSyncMessage>, String> {
    match message {
        Ok(Message::Text(text)) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("the daemon sent what is not understood: {error}")),
        Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => Ok(None),
        Ok(Message::Binary(_)) => Err("the daemon sent what is not understood".to_owned()),
        Ok(Message::Close(_)) => Err("the daemon closed the connection".to_owned()),
        Err(error) => Err(format!("the connection was lost: {error}")),
    }
}

/// What the daemon answered instead of opening the WebSocket.
fn read_rejection(answer: &tungstenite::http::Response<Option<Vec<u8>>>) -> LinkError {
    let body = answer.body().as_deref().unwrap_or_default();
    let why = serde_json::from_slice::<provost_proto::ErrorResponse>(body)
        .map_or_else(|_| format!("the daemon answered {}", answer.status()), |body| body.error);
    match answer.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
            LinkError::Rejected(why)
        }
        _ => LinkError::Failed(why),
    }
}
