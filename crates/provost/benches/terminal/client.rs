//! A client of the daemon's terminal that behaves like the web UI.

use std::time::Instant;

use futures::{SinkExt as _, StreamExt as _};
use provost_proto::limits::TERMINAL_ACK_BYTES;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::daemon::Daemon;
use crate::{Line, Typing, rate};

pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
    pub(crate) seen: Vec<u8>,
    at: u64,
    acknowledged: u64,
    pub(crate) n_snapshots: usize,
    snapshot: bool,
    /// Bytes of output received.
    n_bytes: usize,
    /// Share of the output of the last line that was received and not skipped.
    pub(crate) passed: f64,
}

impl Client {
    pub(crate) async fn next(&mut self) -> Option<()> {
        match self.socket.next().await?.ok()? {
            Message::Binary(bytes) => {
                let (place, output) = bytes.split_first_chunk::<8>()?;
                self.at = u64::from_be_bytes(*place);
                if !std::mem::take(&mut self.snapshot) {
                    self.at += u64::try_from(output.len()).ok()?;
                    self.n_bytes += output.len();
                }
                self.seen.extend_from_slice(output);
                // As the web UI does.
                if self.at.saturating_sub(self.acknowledged) < TERMINAL_ACK_BYTES {
                    return Some(());
                }
                self.acknowledged = self.at;
                let ack = json!({ "type": "ack", "offset": self.at }).to_string();
                self.socket.send(Message::Text(ack.into())).await.ok()
            }
            Message::Text(text) => {
                let said: Value = serde_json::from_str(&text).ok()?;
                self.snapshot = said["type"] == "snapshot";
                self.n_snapshots += usize::from(self.snapshot);
                if said["type"] == "ping" {
                    let pong = json!({ "type": "pong" }).to_string();
                    self.socket.send(Message::Text(pong.into())).await.ok()?;
                }
                Some(())
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Some(()),
            Message::Close(_) => None,
        }
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
        self.socket.send(Message::Binary(keys.to_owned().into())).await.unwrap();
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
        let (socket, _) =
            client_async(format!("ws://{}{path}", self.address), stream).await.unwrap();
        Client {
            socket,
            seen: Vec::new(),
            at: 0,
            acknowledged: 0,
            n_snapshots: 0,
            snapshot: false,
            n_bytes: 0,
            passed: 1.0,
        }
    }
}
