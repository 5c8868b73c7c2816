//! A client of the terminal's WebSocket.

use std::time::Instant;

use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _};
use provost_proto::terminal::{TERMINAL_SUBPROTOCOL, TerminalInputFrame, TerminalOutputFrame};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::LONG;
use crate::Running;

type Refusal = (u16, Value);

impl Running {
    /// A ticket for the owner.
    pub(super) async fn fresh_ticket(&self) -> String {
        let (status, ticket) = self.ticket(&self.token).await;
        assert_eq!(status, 200, "{ticket}");
        ticket["ticket"].as_str().unwrap().to_owned()
    }

    pub(super) async fn ticket(&self, token: &str) -> (StatusCode, Value) {
        let url = format!("{}/api/projects/app/terminal/ticket", self.base);
        let http = provost_runner::model::local_http_client_builder().build().unwrap();
        let request = http.request(Method::POST, url).bearer_auth(token);
        let answer = request.send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Opens a WebSocket with these words behind the path, and these headers.
    pub(super) async fn dial(
        &self,
        query: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Client, Refusal> {
        let subprotocol = ("sec-websocket-protocol", TERMINAL_SUBPROTOCOL.to_owned());
        self.dial_bare(query, &[headers, &[subprotocol]].concat()).await
    }

    /// The same, without the subprotocol of this version.
    pub(super) async fn dial_bare(
        &self,
        query: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Client, Refusal> {
        let address = self.base.trim_start_matches("http://");
        let url = format!("ws://{address}/api/projects/app/terminal/attach?{query}");
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(Client {
                socket,
                seen: Vec::new(),
                at: 0,
                n_snapshots: 0,
                said: Vec::new(),
                received: Vec::new(),
                sent: Vec::new(),
            }),
            Err(tungstenite::Error::Http(response)) => {
                let body = response.body().clone().unwrap_or_default();
                Err((response.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default()))
            }
            Err(error) => Err((0, json!(error.to_string()))),
        }
    }

    pub(super) async fn attach(&self, after: Option<u64>) -> Client {
        let ticket = self.fresh_ticket().await;
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        self.dial(&format!("cols=80&rows=24&ticket={ticket}{after}"), &[]).await.unwrap()
    }
}

/// A client of the terminal.
#[derive(Debug)]
pub(super) struct Client {
    socket: WebSocketStream<TcpStream>,
    /// The output since the last snapshot, and its end.
    pub(super) seen: Vec<u8>,
    pub(super) at: u64,
    pub(super) n_snapshots: usize,
    /// All frames but output and snapshots.
    pub(super) said: Vec<TerminalOutputFrame>,
    /// The bytes of the last messages, as they were received.
    pub(super) received: Vec<u8>,
    /// The bytes of all messages, as they were sent.
    pub(super) sent: Vec<u8>,
}

impl Client {
    /// The next message, acknowledged; false at the end.
    pub(super) async fn next(&mut self) -> bool {
        match timeout(LONG, self.socket.next()).await.unwrap() {
            Some(Ok(Message::Binary(message))) => {
                self.received.extend_from_slice(&message);
                let at = self.at;
                let frames = TerminalOutputFrame::decode_message(message).unwrap();
                let is_pinged = frames.contains(&TerminalOutputFrame::Ping);
                for frame in frames {
                    self.handle_frame(frame);
                }
                if self.at != at || is_pinged {
                    self.send_frame(&TerminalInputFrame::Ack { offset: self.at }).await;
                }
                true
            }
            Some(Ok(message @ Message::Text(_))) => {
                assert!(!message.is_text(), "{message}");
                false
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => true,
            Some(Ok(Message::Close(_)) | Err(_)) | None => false,
        }
    }

    fn handle_frame(&mut self, frame: TerminalOutputFrame) {
        match frame {
            TerminalOutputFrame::Data { offset, bytes } => {
                self.seen.extend_from_slice(&bytes);
                self.at = offset + u64::try_from(bytes.len()).unwrap();
            }
            TerminalOutputFrame::Snapshot { offset, bytes, .. } => {
                (self.seen, self.at) = (bytes.to_vec(), offset);
                self.n_snapshots += 1;
            }
            said @ (TerminalOutputFrame::Resize { .. }
            | TerminalOutputFrame::Exit { .. }
            | TerminalOutputFrame::Title(_)
            | TerminalOutputFrame::Bell
            | TerminalOutputFrame::Error(_)
            | TerminalOutputFrame::Ping) => self.said.push(said),
        }
    }

    pub(super) async fn send_frame(&mut self, frame: &TerminalInputFrame) {
        self.send_raw(frame.encode().unwrap()).await;
    }

    pub(super) async fn send_raw(&mut self, message: Bytes) {
        self.sent.extend_from_slice(&message);
        // The connection may be closed; the next read shows it.
        drop(self.socket.send(Message::Binary(message)).await);
    }

    pub(super) async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::Text(text.into())).await.unwrap();
    }

    pub(super) async fn type_keys(&mut self, keys: &str) {
        self.send_frame(&TerminalInputFrame::Input(keys.to_owned().into())).await;
    }

    pub(super) async fn until(&mut self, text: &str) {
        // Pings go on while nothing else happens.
        let limit = Instant::now() + LONG;
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let so_far = String::from_utf8_lossy(&self.seen).into_owned();
            assert!(Instant::now() < limit, "no {text:?}: {so_far:?} {:?}", self.said);
            assert!(self.next().await, "it ended: {so_far:?} {:?}", self.said);
        }
    }

    /// Reads until this frame came.
    pub(super) async fn until_said(&mut self, frame: &TerminalOutputFrame) {
        let limit = Instant::now() + LONG;
        while !self.said.contains(frame) {
            assert!(Instant::now() < limit, "no {frame:?}: {:?}", self.said);
            assert!(self.next().await, "it ended: {:?}", self.said);
        }
    }

    /// Reads so many bytes, and keeps none of them.
    pub(super) async fn read_bytes(&mut self, size: u64) {
        let end = self.at + size;
        while self.at < end {
            self.seen.clear();
            self.received.clear();
            assert!(self.next().await, "it ended: {:?}", self.said);
        }
    }

    pub(super) async fn read_to_end(&mut self) -> &[TerminalOutputFrame] {
        let limit = Instant::now() + LONG;
        while self.next().await {
            let so_far = String::from_utf8_lossy(&self.seen);
            assert!(Instant::now() < limit, "no end: {so_far:?} {:?}", self.said);
        }
        &self.said
    }
}
