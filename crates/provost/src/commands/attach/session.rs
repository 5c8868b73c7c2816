//! One connection to the terminal.

use anyhow::{Context as _, anyhow};
use futures::{SinkExt as _, StreamExt as _};
use provost_proto::limits::TERMINAL_ACK_BYTES;
use provost_proto::terminal::{ClientMessage, ServerMessage, TerminalTicket};
use provost_proto::{Code, Project};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::signal::unix::Signal;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::filter::Filter;
use super::keys::{Keyboard, Typed};
use super::window::Window;
use crate::client::Client;

/// How long the other end may take to hang up.
const GOODBYE: std::time::Duration = std::time::Duration::from_secs(2);

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The person left.
    Detached,
    /// The shell ended.
    Exited { exit_code: Option<i32>, signal: Option<i32> },
    /// The daemon said that something is wrong.
    Wrong(String),
    /// The daemon went away.
    Lost,
    /// The window does not show what it should.
    Redraw,
}

/// One connection.
pub(super) struct Session {
    socket: WebSocketStream<TcpStream>,
    /// How much of the output was drawn.
    at: u64,
    /// How much of it the terminal was told of.
    acknowledged: u64,
    /// Whether the next piece is a snapshot.
    snapshot: bool,
    /// Whether the terminal has had another size than our window.
    misfit: bool,
}

impl Session {
    /// Connects with a fresh ticket.
    pub(super) async fn connect(
        client: &Client,
        project: &Project,
        after: Option<u64>,
        (cols, rows): (u16, u16),
    ) -> anyhow::Result<Self> {
        let base = format!("/api/projects/{}/terminal", project.id.uuid());
        let TerminalTicket { ticket } = client.post(&format!("{base}/ticket"), &json!({})).await?;
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path = format!("{base}/attach?cols={cols}&rows={rows}{after}&ticket={ticket}");
        let url = client.url(&path).replacen("http", "ws", 1);
        let stream = TcpStream::connect(client.address()).await.context("the daemon is gone")?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async(url, stream)
            .await
            .map_err(|error| anyhow!("the terminal did not answer: {error}"))?;
        Ok(Self { socket, at: 0, acknowledged: 0, snapshot: false, misfit: false })
    }

    /// How much of the output was drawn.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Draws what comes and types what is typed, until one of them ends.
    pub(super) async fn run(
        &mut self,
        window: &Window,
        keyboard: &mut Keyboard,
        filter: &mut Filter,
        resized: &mut Signal,
    ) -> anyhow::Result<Outcome> {
        loop {
            let sent = tokio::select! {
                message = self.socket.next() => match message {
                    Some(Ok(message)) => {
                        if let Some(outcome) = self.hear(message, window, filter).await? {
                            return Ok(outcome);
                        }
                        continue;
                    }
                    Some(Err(_)) | None => return Ok(Outcome::Lost),
                },
                Typed { keys, leaves } = keyboard.next() => {
                    let sent = if keys.is_empty() {
                        Ok(())
                    } else {
                        self.socket.send(Message::Binary(keys.into())).await
                    };
                    if leaves {
                        self.leave().await;
                        return Ok(Outcome::Detached);
                    }
                    sent
                }
                _ = resized.recv() => {
                    let (cols, rows) = Window::size()?;
                    self.socket.send(said(&ClientMessage::Resize { cols, rows })).await
                }
            };
            if sent.is_err() {
                return Ok(Outcome::Lost);
            }
        }
    }

    /// Says goodbye and waits for the other end to hang up: a connection that is
    /// cut may take along what was typed last.
    async fn leave(&mut self) {
        let goodbye = async {
            if self.socket.close(None).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        drop(tokio::time::timeout(GOODBYE, goodbye).await);
    }

    async fn hear(
        &mut self,
        message: Message,
        window: &Window,
        filter: &mut Filter,
    ) -> anyhow::Result<Option<Outcome>> {
        match message {
            Message::Binary(bytes) => self.draw(&bytes, window, filter).await,
            Message::Text(text) => {
                let says = serde_json::from_str(&text).context("the daemon is not understood")?;
                Ok(self.obey(says, window).await?)
            }
            Message::Close(_) => Ok(Some(Outcome::Lost)),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(None),
        }
    }

    async fn draw(
        &mut self,
        bytes: &[u8],
        window: &Window,
        filter: &mut Filter,
    ) -> anyhow::Result<Option<Outcome>> {
        let (place, output) =
            bytes.split_first_chunk::<8>().context("a piece without its place")?;
        let offset = u64::from_be_bytes(*place);
        let is_snapshot = std::mem::take(&mut self.snapshot);
        if is_snapshot {
            *filter = Filter::default();
            window.clear()?;
        }
        let mut drawn = Vec::with_capacity(output.len());
        let left = filter.push(output, &mut drawn);
        window.write(&drawn)?;
        let length = if is_snapshot { 0 } else { u64::try_from(output.len())? };
        self.at = offset + length;
        if is_snapshot || self.at.saturating_sub(self.acknowledged) >= TERMINAL_ACK_BYTES {
            self.acknowledged = self.at;
            let told = self.socket.send(said(&ClientMessage::Ack { offset: self.at })).await;
            if told.is_err() {
                return Ok(Some(Outcome::Lost));
            }
        }
        // What was on the main screen is not on ours.
        Ok((left && !is_snapshot).then_some(Outcome::Redraw))
    }

    async fn obey(
        &mut self,
        says: ServerMessage,
        window: &Window,
    ) -> anyhow::Result<Option<Outcome>> {
        Ok(match says {
            ServerMessage::Snapshot { .. } => {
                self.snapshot = true;
                None
            }
            ServerMessage::Resize { cols, rows, .. } => {
                let fits = (cols, rows) == Window::size()?;
                let again = fits && self.misfit;
                self.misfit = !fits;
                if !fits {
                    window.clear()?;
                }
                again.then_some(Outcome::Redraw)
            }
            ServerMessage::Exit { exit_code, signal } => {
                Some(Outcome::Exited { exit_code, signal })
            }
            // The daemon restarts; the terminal does not.
            ServerMessage::Error { code: Code::Unavailable, .. } => Some(Outcome::Lost),
            ServerMessage::Error { message, .. } => Some(Outcome::Wrong(message)),
            ServerMessage::Ping => {
                let sent = self.socket.send(said(&ClientMessage::Pong {})).await;
                sent.is_err().then_some(Outcome::Lost)
            }
            // Our own terminal has them from what was printed.
            ServerMessage::Title { .. } | ServerMessage::Bell => None,
        })
    }
}

fn said(hears: &ClientMessage) -> Message {
    Message::Text(serde_json::to_string(hears).unwrap_or_default().into())
}
