//! A client of `/api/sync`, and requests about notebooks.

use std::collections::VecDeque;

use futures::{SinkExt as _, StreamExt as _};
use provost_proto::notebook::{
    CellContent, CellKind, ClientSyncMessage, NotebookCommand, NotebookDocument, NotebookEvent,
    NotebookFact, NotebookPresence, ResumePoint, ResyncReason, RuntimeCapabilities,
    RuntimeLocation, SYNC_PROTOCOL, ServerSyncMessage,
};
use provost_proto::{CellId, Code, ExecutionId, NotebookId, RuntimeSessionId, StreamVersion};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use uuid::Uuid;

use super::LONG;
use crate::{Home, Running};

/// A new id of any kind.
pub(super) fn id<T: From<Uuid>>() -> T {
    Uuid::new_v4().into()
}

impl Home {
    /// A token made with these arguments.
    pub(super) fn token(&self, args: &[&str]) -> String {
        let args = [&["token", "create", "--json", "--class"], args].concat();
        let created: Value = serde_json::from_str(&self.run_ok(&args)).unwrap();
        created["token"].as_str().unwrap().to_owned()
    }

    /// The token of a runtime of a notebook.
    pub(super) fn runtime_token(&self, notebook: NotebookId) -> String {
        self.token(&["runtime", "--notebook", &notebook.to_string()])
    }
}

impl Running {
    pub(super) async fn request(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Response {
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http.request(method, format!("{}{path}", self.base)).bearer_auth(token);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        request.send().await.unwrap()
    }

    /// Sends a request; returns its status and JSON body.
    pub(super) async fn ask(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (StatusCode, Value) {
        let answer = self.request(token, method, path, body).await;
        (answer.status(), answer.json().await.unwrap())
    }

    pub(super) async fn create_notebook(&self, title: &str) -> NotebookId {
        let path = "/api/projects/app/notebooks";
        let body = json!({ "title": title });
        let (status, created) = self.ask(&self.token, Method::POST, path, Some(&body)).await;
        assert_eq!(status, 201, "{created}");
        created["notebook"]["id"].as_str().unwrap().parse().unwrap()
    }

    /// Opens a connection, with these headers and query.
    pub(super) async fn dial_sync(
        &self,
        query: &str,
        headers: &[(&'static str, String)],
    ) -> Result<WebSocketStream<TcpStream>, (u16, Value)> {
        let address = self.base.trim_start_matches("http://");
        let mut request = format!("ws://{address}/api/sync{query}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(response)) => {
                let body = response.body().clone().unwrap_or_default();
                Err((response.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default()))
            }
            Err(error) => Err((0, json!(error.to_string()))),
        }
    }

    /// A connection with a token that was welcomed.
    pub(super) async fn sync(&self, token: &str) -> SyncClient {
        let bearer = ("authorization", format!("Bearer {token}"));
        let mut client = SyncClient::new(self.dial_sync("", &[bearer]).await.unwrap());
        client.send(&ClientSyncMessage::Hello { protocol: SYNC_PROTOCOL }).await;
        let welcome = client.reply().await;
        assert!(matches!(&welcome, ServerSyncMessage::Welcome { .. }), "{welcome:?}");
        if let ServerSyncMessage::Welcome { principal, can_write, .. } = welcome {
            (client.principal, client.can_write) = (principal, can_write);
        }
        client
    }

    /// A connection that follows a notebook.
    pub(super) async fn follow(&self, token: &str, notebook: NotebookId) -> SyncClient {
        let mut client = self.sync(token).await;
        client.subscribe(notebook, None).await;
        client
    }
}

/// A refused batch.
pub(super) type Refused = (Code, u32);

/// A client of `/api/sync`.
#[derive(Debug)]
pub(super) struct SyncClient {
    pub(super) socket: WebSocketStream<TcpStream>,
    pub(super) principal: String,
    pub(super) can_write: bool,
    /// The documents of the last snapshot.
    pub(super) documents: Vec<NotebookDocument>,
    pub(super) resync: Option<ResyncReason>,
    /// The events since.
    pub(super) events: Vec<NotebookEvent>,
    /// The last event, or the snapshot.
    pub(super) at: Option<ResumePoint>,
    pub(super) presence: Vec<NotebookPresence>,
    /// The other messages.
    pub(super) replies: VecDeque<ServerSyncMessage>,
    is_live: bool,
}

impl SyncClient {
    pub(super) fn new(socket: WebSocketStream<TcpStream>) -> Self {
        Self {
            socket,
            principal: String::new(),
            can_write: false,
            documents: Vec::new(),
            resync: None,
            events: Vec::new(),
            at: None,
            presence: Vec::new(),
            replies: VecDeque::new(),
            is_live: false,
        }
    }

    pub(super) async fn send(&mut self, message: &ClientSyncMessage) {
        self.send_text(serde_json::to_string(message).unwrap()).await;
    }

    pub(super) async fn send_text(&mut self, text: String) {
        // The connection may be closed; the next read shows it.
        drop(self.socket.send(Message::Text(text.into())).await);
    }

    pub(super) async fn send_message(&mut self, message: Message) {
        drop(self.socket.send(message).await);
    }

    /// Reads a message; false at the end.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others wait to be asked for")]
    pub(super) async fn read(&mut self) -> bool {
        let message = timeout(LONG, self.socket.next()).await.unwrap();
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => return true,
            Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => return false,
        };
        match serde_json::from_str(&text).unwrap() {
            ServerSyncMessage::Snapshot { at, part, documents, reason, .. } => {
                if part == 0 {
                    self.documents.clear();
                    self.events.clear();
                }
                self.documents.extend(documents);
                (self.at, self.resync) = (Some(at), reason);
            }
            ServerSyncMessage::Events { events, .. } => {
                assert!(events.len() <= 100);
                for event in events {
                    let before = self.at.map(|at| at.version);
                    assert_eq!(before.map(|version| version + 1), Some(event.version), "no gap");
                    self.at = Some(ResumePoint { version: event.version, hash: event.hash });
                    self.events.push(event);
                }
            }
            ServerSyncMessage::Live { version, .. } => {
                assert_eq!(self.at.map(|at| at.version), Some(version));
                self.is_live = true;
            }
            ServerSyncMessage::Presence { presence, .. } => self.presence.push(presence),
            other => self.replies.push_back(other),
        }
        true
    }

    /// The next message that is no event and no document.
    pub(super) async fn reply(&mut self) -> ServerSyncMessage {
        loop {
            if let Some(reply) = self.replies.pop_front() {
                return reply;
            }
            assert!(self.read().await, "the connection ended");
        }
    }

    /// The last message before the end of the connection.
    pub(super) async fn read_to_end(&mut self) -> Option<ServerSyncMessage> {
        while self.read().await {}
        self.replies.pop_back()
    }

    /// Follows a notebook, and waits until everything was received.
    pub(super) async fn subscribe(&mut self, notebook: NotebookId, resume: Option<ResumePoint>) {
        (self.is_live, self.at) = (false, resume);
        self.send(&ClientSyncMessage::Subscribe { notebook, resume }).await;
        while !self.is_live {
            assert!(self.read().await, "the connection ended");
            assert!(self.replies.is_empty(), "{:?}", self.replies);
        }
    }

    /// Sends commands under a key, and waits for their answer.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others but one are unexpected")]
    pub(super) async fn send_commands(
        &mut self,
        notebook: NotebookId,
        key: &str,
        commands: Vec<NotebookCommand>,
    ) -> Result<StreamVersion, Refused> {
        let id = key.to_owned();
        self.send(&ClientSyncMessage::Commands { id, notebook, commands }).await;
        loop {
            match self.reply().await {
                ServerSyncMessage::Accepted { id, version } if id == key => return Ok(version),
                ServerSyncMessage::Refused { id, error, index, .. } if id == key => {
                    return Err((error.code, index));
                }
                other => assert!(
                    matches!(other, ServerSyncMessage::Fenced { .. }),
                    "{other:?} for {key}"
                ),
            }
        }
    }

    /// Sends one command under a fresh key.
    pub(super) async fn command(
        &mut self,
        notebook: NotebookId,
        command: NotebookCommand,
    ) -> Result<StreamVersion, Refused> {
        self.send_commands(notebook, &Uuid::new_v4().to_string(), vec![command]).await
    }

    /// Creates a code cell.
    pub(super) async fn create_cell(&mut self, notebook: NotebookId, source: &str) -> CellId {
        let cell = id();
        let command = NotebookCommand::CreateCell(CellContent {
            cell,
            kind: CellKind::Code,
            position: "a0".to_owned(),
            source: source.to_owned(),
            metadata: serde_json::Map::new(),
        });
        self.command(notebook, command).await.unwrap();
        cell
    }

    /// Starts a session of a runtime; the fence of the first one is 1.
    pub(super) async fn start_session(
        &mut self,
        notebook: NotebookId,
        runtime_id: &str,
    ) -> RuntimeSessionId {
        let session = id();
        let command = NotebookCommand::StartSession {
            session,
            slot: None,
            runtime_id: runtime_id.to_owned(),
            runtime_type: "echo".to_owned(),
            place: RuntimeLocation::Remote,
            capabilities: RuntimeCapabilities {
                can_execute_code: true,
                can_execute_sql: true,
                can_execute_ai: true,
            },
        };
        self.command(notebook, command).await.unwrap();
        session
    }

    /// Requests an execution of the first revision of a cell.
    pub(super) async fn request_execution(
        &mut self,
        notebook: NotebookId,
        cell: CellId,
    ) -> ExecutionId {
        let execution = id();
        let command = NotebookCommand::RequestExecution { execution, cell, revision: 0 };
        self.command(notebook, command).await.unwrap();
        execution
    }

    /// Reads until there is an event of this kind, which is returned.
    pub(super) async fn until(&mut self, kind: &str) -> NotebookEvent {
        loop {
            if let Some(found) = self.events.iter().rev().find(|event| event.fact.kind() == kind) {
                return found.clone();
            }
            assert!(self.read().await, "the connection ended before {kind}");
        }
    }

    /// Reads until the events reach a version.
    pub(super) async fn until_version(&mut self, version: StreamVersion) {
        while self.at.is_none_or(|at| at.version < version) {
            assert!(self.read().await, "the connection ended before {version}");
        }
    }

    /// The kinds of the events since the snapshot.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.fact.kind()).collect()
    }

    /// The facts of one kind.
    pub(super) fn facts(&self, kind: &str) -> Vec<&NotebookFact> {
        self.events.iter().map(|event| &event.fact).filter(|fact| fact.kind() == kind).collect()
    }
}
