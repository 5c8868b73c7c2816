//! One connection: reads a client's messages in order, and writes what it is told.
//!
//! Commands are applied one message after the other. Answers, events and presence wait in queues
//! of bounded length: a client that does not read is not read from either. The connection ends
//! with either side, with the client's token, and with the daemon.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use provost_gateway::{
    CommandsError, GatewayError, NotebookAccess, NotebookCommands, RuntimeOrder, SyncAccess,
    SyncConnection, SyncInbox,
};
use provost_proto::notebook::{
    ClientSyncMessage, Fence, NotebookCommand, ResumePoint, SYNC_PROTOCOL, ServerSyncMessage,
    SyncErrorInfo,
};
use provost_proto::{Code, IdempotencyKey, NotebookId, RuntimeSessionId, limits};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, interval_at, timeout};

use super::subscription::{Subscription, run_subscription};
use crate::api_error::ApiError;
use crate::{AppState, VERSION};

/// How many answers wait for a client.
const MAX_WAITING_REPLIES: usize = 32;

/// How many messages with events or documents wait for a client.
const MAX_WAITING_BATCHES: usize = 4;

/// How often a client is pinged. One that sends nothing between two pings is gone.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// Time limit for sending one message.
const SEND_TIMEOUT: Duration = Duration::from_mins(1);

/// Time limit for the closing messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a connection ended.
enum SyncEnd {
    /// The client disconnected.
    ClientGone,
    /// An error to send to the client.
    Failed(SyncErrorInfo),
}

impl SyncEnd {
    fn failed(code: Code, error: impl Into<String>) -> Self {
        Self::Failed(SyncErrorInfo { error: error.into(), code })
    }
}

/// The error of a request as a message says it.
pub(super) fn error_info(error: GatewayError) -> SyncErrorInfo {
    let body = ApiError::from(error).into_error_body();
    SyncErrorInfo { error: body.error, code: body.code }
}

/// Serves a connection until it ends.
pub(crate) async fn run_connection(app: Arc<AppState>, socket: WebSocket, access: SyncAccess) {
    let SyncAccess { access, mut lease } = access;
    let (mut to, mut from) = socket.split();
    let (connection, inbox) = app.gateway.notebooks.connect(&access);
    let (replies, mut waiting_replies) = mpsc::channel(MAX_WAITING_REPLIES);
    let (batches, waiting_batches) = mpsc::channel(MAX_WAITING_BATCHES);
    let is_alive = AtomicBool::new(true);
    let mut reader = MessageReader {
        app: Arc::clone(&app),
        access: Arc::new(access),
        connection: Arc::new(connection),
        replies,
        batches,
        subscriptions: JoinSet::new(),
        followed: HashMap::new(),
        is_greeted: false,
    };
    let end = tokio::select! {
        end = reader.read_messages(&mut from, &is_alive) => end,
        end = write_messages(&mut to, &mut waiting_replies, waiting_batches, inbox, &is_alive) => end,
        () = app.gateway.auth.wait_lease_end(&mut lease) => {
            SyncEnd::failed(Code::Unauthenticated, "the token is not valid any more")
        }
        () = app.closing.cancelled() => {
            SyncEnd::failed(Code::Unavailable, "the daemon is stopping; connect again")
        }
    };
    drop(reader);
    // Best effort: a client that does not receive this is gone.
    drop(timeout(CLOSE_TIMEOUT, close_socket(&mut to, waiting_replies, end)).await);
}

async fn close_socket(
    to: &mut SplitSink<WebSocket, Message>,
    mut replies: mpsc::Receiver<ServerSyncMessage>,
    end: SyncEnd,
) -> Result<(), axum::Error> {
    let SyncEnd::Failed(error) = end else { return Ok(()) };
    // What was applied before is still answered.
    while let Ok(reply) = replies.try_recv() {
        to.send(encode(&reply)?).await?;
    }
    to.send(encode(&ServerSyncMessage::Error { error })?).await?;
    let (code, reason) = (close_code::ERROR, "".into());
    to.send(Message::Close(Some(CloseFrame { code, reason }))).await
}

fn encode(message: &ServerSyncMessage) -> Result<Message, axum::Error> {
    Ok(Message::Text(serde_json::to_string(message).map_err(axum::Error::new)?.into()))
}

/// Writes messages as they come, the answers before the events.
async fn write_messages(
    to: &mut SplitSink<WebSocket, Message>,
    replies: &mut mpsc::Receiver<ServerSyncMessage>,
    mut batches: mpsc::Receiver<ServerSyncMessage>,
    mut inbox: SyncInbox,
    is_alive: &AtomicBool,
) -> SyncEnd {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    loop {
        let message = tokio::select! {
            biased;
            _ = pings.tick() => {
                if !is_alive.swap(false, Ordering::Relaxed) {
                    return SyncEnd::ClientGone;
                }
                Ok(Message::Ping(axum::body::Bytes::new()))
            }
            Some(order) = inbox.orders.recv() => encode(&order_message(order)),
            Some(reply) = replies.recv() => encode(&reply),
            Some(batch) = batches.recv() => encode(&batch),
            Some((notebook, presence)) = inbox.presence.recv() => {
                encode(&ServerSyncMessage::Presence { notebook, presence })
            }
            else => return SyncEnd::ClientGone,
        };
        let Ok(message) = message else {
            return SyncEnd::failed(Code::Internal, "a message cannot be written");
        };
        if !timeout(SEND_TIMEOUT, to.send(message)).await.is_ok_and(|sent| sent.is_ok()) {
            return SyncEnd::ClientGone;
        }
    }
}

fn order_message(order: RuntimeOrder) -> ServerSyncMessage {
    match order {
        RuntimeOrder::Fenced { session, why } => ServerSyncMessage::Fenced { session, why },
        RuntimeOrder::Input { execution, text } => ServerSyncMessage::Input { execution, text },
    }
}

/// Reads and carries out a client's messages.
struct MessageReader {
    app: Arc<AppState>,
    access: Arc<NotebookAccess>,
    connection: Arc<SyncConnection>,
    replies: mpsc::Sender<ServerSyncMessage>,
    batches: mpsc::Sender<ServerSyncMessage>,
    subscriptions: JoinSet<()>,
    followed: HashMap<NotebookId, AbortHandle>,
    is_greeted: bool,
}

impl MessageReader {
    async fn read_messages(
        &mut self,
        from: &mut SplitStream<WebSocket>,
        is_alive: &AtomicBool,
    ) -> SyncEnd {
        loop {
            let message = match from.next().await {
                Some(Ok(message)) => message,
                None => return SyncEnd::ClientGone,
                // Reaches a client that sent a malformed frame, but not one that disconnected.
                Some(Err(error)) => {
                    let error = format!("malformed message: {error}");
                    return SyncEnd::failed(Code::InvalidRequest, error);
                }
            };
            is_alive.store(true, Ordering::Relaxed);
            let text = match message {
                Message::Text(text) => text,
                Message::Binary(_) => {
                    let error = "messages are JSON in text frames";
                    return SyncEnd::failed(Code::InvalidRequest, error);
                }
                Message::Ping(_) | Message::Pong(_) => continue,
                Message::Close(_) => return SyncEnd::ClientGone,
            };
            let handled = match parse_message(&text) {
                Ok(message) => self.handle_message(message).await,
                Err(end) => Err(end),
            };
            match handled {
                Ok(None) => {}
                // The writer ends first if nobody receives it.
                Ok(Some(reply)) => drop(self.replies.send(reply).await),
                Err(end) => return end,
            }
        }
    }

    /// Carries out a message; returns its answer, if it has one.
    async fn handle_message(
        &mut self,
        message: ClientSyncMessage,
    ) -> Result<Option<ServerSyncMessage>, SyncEnd> {
        let is_hello = matches!(message, ClientSyncMessage::Hello { .. });
        if is_hello == self.is_greeted {
            let error = "the first message is `hello`, and no other one is";
            return Err(SyncEnd::failed(Code::InvalidRequest, error));
        }
        Ok(match message {
            ClientSyncMessage::Hello { protocol } => Some(self.greet(protocol)?),
            ClientSyncMessage::Subscribe { notebook, resume } => {
                self.subscribe(notebook, resume)?;
                None
            }
            ClientSyncMessage::Unsubscribe { notebook } => {
                self.unsubscribe(notebook);
                None
            }
            ClientSyncMessage::Commands { id, notebook, commands } => {
                Some(self.apply_commands(id, notebook, commands).await)
            }
            ClientSyncMessage::RenewLease { notebook, session, fence } => {
                Some(self.renew_lease(notebook, session, fence).await)
            }
            ClientSyncMessage::Presence { notebook, data } => {
                self.set_presence(notebook, &data)?;
                None
            }
            ClientSyncMessage::Ping => Some(ServerSyncMessage::Pong),
        })
    }

    fn greet(&mut self, protocol: u32) -> Result<ServerSyncMessage, SyncEnd> {
        if protocol != SYNC_PROTOCOL {
            let error = format!(
                "this client is of another version: reload the page; the protocol is {SYNC_PROTOCOL}"
            );
            return Err(SyncEnd::failed(Code::InvalidRequest, error));
        }
        self.is_greeted = true;
        Ok(ServerSyncMessage::Welcome {
            protocol: SYNC_PROTOCOL,
            server: VERSION.to_owned(),
            connection: self.connection.id,
            principal: self.access.principal().to_owned(),
            actor: self.access.actor().clone(),
            can_write: self.access.can_write(),
        })
    }

    fn subscribe(
        &mut self,
        notebook: NotebookId,
        resume: Option<ResumePoint>,
    ) -> Result<(), SyncEnd> {
        self.unsubscribe(notebook);
        while self.subscriptions.try_join_next().is_some() {}
        if self.followed.len() >= limits::MAX_SYNC_SUBSCRIPTIONS {
            let error = format!(
                "a connection follows at most {} notebooks",
                limits::MAX_SYNC_SUBSCRIPTIONS
            );
            return Err(SyncEnd::failed(Code::InvalidRequest, error));
        }
        let task = run_subscription(Subscription {
            app: Arc::clone(&self.app),
            access: Arc::clone(&self.access),
            connection: Arc::clone(&self.connection),
            notebook,
            resume,
            batches: self.batches.clone(),
        });
        self.followed.insert(notebook, self.subscriptions.spawn(task));
        Ok(())
    }

    fn unsubscribe(&mut self, notebook: NotebookId) {
        if let Some(task) = self.followed.remove(&notebook) {
            task.abort();
            self.connection.leave(notebook);
        }
    }

    async fn apply_commands(
        &self,
        id: IdempotencyKey,
        notebook: NotebookId,
        commands: Vec<NotebookCommand>,
    ) -> ServerSyncMessage {
        let request = NotebookCommands {
            notebook,
            commands,
            key: Some(id.clone()),
            connection: Some(self.connection.id),
        };
        match self.app.gateway.notebooks.apply_commands(&self.access, request).await {
            Ok(version) => ServerSyncMessage::Accepted { id, version },
            Err(CommandsError::Refused { index, refusal, version }) => {
                let error = SyncErrorInfo { error: refusal.error, code: refusal.code };
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                ServerSyncMessage::Refused { id, error, index, version }
            }
            Err(CommandsError::Failed(error)) => {
                let error = error_info(error);
                ServerSyncMessage::Refused { id, error, index: 0, version: 0 }
            }
        }
    }

    async fn renew_lease(
        &self,
        notebook: NotebookId,
        session: RuntimeSessionId,
        fence: Fence,
    ) -> ServerSyncMessage {
        let (notebooks, connection) = (&self.app.gateway.notebooks, Some(self.connection.id));
        let renewed =
            notebooks.renew_lease(&self.access, notebook, session, fence, connection).await;
        match renewed {
            Ok(Ok(valid)) => {
                let valid_ms = u32::try_from(valid.as_millis()).unwrap_or(u32::MAX);
                ServerSyncMessage::LeaseRenewed { session, valid_ms }
            }
            Ok(Err(why)) => ServerSyncMessage::Fenced { session, why },
            Err(error) => ServerSyncMessage::Fenced { session, why: error_info(error).error },
        }
    }

    fn set_presence(&self, notebook: NotebookId, data: &Value) -> Result<(), SyncEnd> {
        if data.to_string().len() > limits::MAX_PRESENCE_BYTES {
            let error = format!("presence takes at most {} bytes", limits::MAX_PRESENCE_BYTES);
            return Err(SyncEnd::failed(Code::TooLarge, error));
        }
        // Who may not see the notebook does not follow it, and is not heard there.
        self.connection.set_presence(notebook, data);
        Ok(())
    }
}

fn parse_message(text: &str) -> Result<ClientSyncMessage, SyncEnd> {
    if text.len() > limits::MAX_SYNC_MESSAGE_BYTES {
        let error = format!(
            "the message is longer than {} bytes; send it in several",
            limits::MAX_SYNC_MESSAGE_BYTES
        );
        return Err(SyncEnd::failed(Code::TooLarge, error));
    }
    serde_json::from_str(text).map_err(|error| {
        let code = if error.is_data() { Code::InvalidRequest } else { Code::BadJson };
        SyncEnd::failed(code, format!("malformed message: {error}"))
    })
}
