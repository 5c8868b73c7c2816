//! A client of the daemon's terminal that behaves like the web UI.

use std::time::Instant;

use futures::{SinkExt as _, StreamExt as _};
use provost_proto::limits::TERMINAL_ACK_BYTES;
use provost_proto::terminal::{TERMINAL_SUBPROTOCOL, TerminalInputFrame, TerminalOutputFrame};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::daemon::Daemon;
use crate::{Line, Typing, rate};

pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
    pub(crate) seen: Vec<u8>,
    at: u64,
    acknowledged: u64,
    pub(crate) n_snapshots: usize,
    /// Bytes of output received.
    n_bytes: usize,
    /// Share of the output of the last line that was received and not skipped.
    pub(crate) passed: f64,
}

impl Client {
    pub(crate) async fn next(&mut self) -> Option<()> {
        match self.socket.next().await?.ok()? {
            Message::Binary(message) => {
                for frame in TerminalOutputFrame::decode_message(message).ok()? {
                    self.handle_frame(frame).await?;
                }
                Some(())
            }
            Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Some(()),
            Message::Close(_) => None,
        }
    }

    async fn handle_frame(&mut self, frame: TerminalOutputFrame) -> Option<()> {
        match frame {
            TerminalOutputFrame::Data { offset, bytes } => {
                self.at = offset + u64::try_from(bytes.len()).ok()?;
                self.n_bytes += bytes.len();
                self.seen.extend_from_slice(&bytes);
            }
            TerminalOutputFrame::Snapshot { offset, bytes, .. } => {
                self.at = offset;
                self.n_snapshots += 1;
                self.seen.extend_from_slice(&bytes);
            }
            TerminalOutputFrame::Ping => return self.acknowledge().await,
            TerminalOutputFrame::Resize { .. }
            | TerminalOutputFrame::Title(_)
            | TerminalOutputFrame::Bell
            | TerminalOutputFrame::Exit { .. }
            | TerminalOutputFrame::Error(_) => return Some(()),
        }
        // As the web UI does.
        if self.at.saturating_sub(self.acknowledged) < TERMINAL_ACK_BYTES {
            return Some(());
        }
        self.acknowledge().await
    }

    async fn acknowledge(&mut self) -> Option<()> {
        self.acknowledged = self.at;
        self.send_frame(&TerminalInputFrame::Ack { offset: self.at }).await
    }

    async fn send_frame(&mut self, frame: &TerminalInputFrame) -> Option<()> {
        self.socket.send(Message::Binary(frame.encode().ok()?)).await.ok()
    }

    /// Runs a line to its end; returns bytes per second.
    pub(crate) async fn run(&mut self, line: &str) -> f64 {
        let (began, from) = (Instant::now(), self.at);
        (self.n_snapshots, self.n_bytes) = (0, 0);
        self.seen.clear();
        let line = Line::new(line);
        self.send_keys(&line.typed).await;
        while !line.is_done(&self.seen) {
            let keep = self.seen.len().saturating_sub(64);
            self.seen.drain(..keep);
            self.next().await.unwrap();
        }
        let all = usize::try_from(self.at - from).unwrap();
        self.passed = share(self.n_bytes, all);
        rate(all, began)
    }
}

impl Typing for Client {
    async fn send_keys(&mut self, keys: &str) {
        let keys = TerminalInputFrame::Input(keys.to_owned().into());
        self.send_frame(&keys).await.unwrap();
    }

    async fn hear(&mut self) {
        self.next().await.unwrap();
    }

    fn seen(&mut self) -> &mut Vec<u8> {
        &mut self.seen
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

impl Daemon {
    pub(crate) async fn attach(&self) -> Client {
        let ticket = self.post("/api/projects/app/terminal/ticket", json!({})).await;
        let ticket = ticket["ticket"].as_str().unwrap();
        let path = format!("/api/projects/app/terminal/attach?cols=80&rows=24&ticket={ticket}");
        let stream = TcpStream::connect(&self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let url = format!("ws://{}{path}", self.address).parse().unwrap();
        let request = ClientRequestBuilder::new(url).with_sub_protocol(TERMINAL_SUBPROTOCOL);
        let (socket, _) = client_async(request, stream).await.unwrap();
        Client {
            socket,
            seen: Vec::new(),
            at: 0,
            acknowledged: 0,
            n_snapshots: 0,
            n_bytes: 0,
            passed: 1.0,
        }
    }
}
