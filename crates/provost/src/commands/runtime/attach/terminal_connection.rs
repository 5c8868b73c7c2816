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

use super::escape_filter::EscapeSequenceFilter;
use super::key_reader::{KeyInput, KeyReader};
use super::raw_terminal::RawTerminal;
use crate::client::DaemonClient;

/// How long the other end may take to hang up.
const CLOSE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AttachOutcome {
    /// The person left.
    Detached,
    /// The shell ended.
    Exited { exit_code: Option<i32>, signal: Option<i32> },
    /// The daemon said that something is wrong.
    Failed(String),
    /// The daemon went away.
    Disconnected,
    /// The window does not show what it should.
    Redraw,
}

/// One connection.
pub(super) struct TerminalConnection {
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

impl TerminalConnection {
    /// Connects with a fresh ticket.
    pub(super) async fn connect(
        client: &DaemonClient,
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
    pub(super) fn drawn_offset(&self) -> u64 {
        self.at
    }

    /// Draws what comes and types what is typed, until one of them ends.
    pub(super) async fn run(
        &mut self,
        window: &RawTerminal,
        keyboard: &mut KeyReader,
        filter: &mut EscapeSequenceFilter,
        resized: &mut Signal,
    ) -> anyhow::Result<AttachOutcome> {
        loop {
            let sent = tokio::select! {
                message = self.socket.next() => match message {
                    Some(Ok(message)) => {
                        if let Some(outcome) = self.handle_message(message, window, filter).await? {
                            return Ok(outcome);
                        }
                        continue;
                    }
                    Some(Err(_)) | None => return Ok(AttachOutcome::Disconnected),
                },
                KeyInput { keys, leaves } = keyboard.next() => {
                    let sent = if keys.is_empty() {
                        Ok(())
                    } else {
                        self.socket.send(Message::Binary(keys.into())).await
                    };
                    if leaves {
                        self.close().await;
                        return Ok(AttachOutcome::Detached);
                    }
                    sent
                }
                _ = resized.recv() => {
                    let (cols, rows) = RawTerminal::size()?;
                    self.socket.send(encode_client_message(&ClientMessage::Resize { cols, rows })).await
                }
            };
            if sent.is_err() {
                return Ok(AttachOutcome::Disconnected);
            }
        }
    }

    /// Says goodbye and waits for the other end to hang up: a connection that is
    /// cut may take along what was typed last.
    async fn close(&mut self) {
        let goodbye = async {
            if self.socket.close(None).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        drop(tokio::time::timeout(CLOSE_TIMEOUT, goodbye).await);
    }

    async fn handle_message(
        &mut self,
        message: Message,
        window: &RawTerminal,
        filter: &mut EscapeSequenceFilter,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        match message {
            Message::Binary(bytes) => self.draw_output(&bytes, window, filter).await,
            Message::Text(text) => {
                let says = serde_json::from_str(&text).context("the daemon is not understood")?;
                Ok(self.handle_server_message(says, window).await?)
            }
            Message::Close(_) => Ok(Some(AttachOutcome::Disconnected)),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(None),
        }
    }

    async fn draw_output(
        &mut self,
        bytes: &[u8],
        window: &RawTerminal,
        filter: &mut EscapeSequenceFilter,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        let (place, output) =
            bytes.split_first_chunk::<8>().context("a piece without its place")?;
        let offset = u64::from_be_bytes(*place);
        let is_snapshot = std::mem::take(&mut self.snapshot);
        if is_snapshot {
            *filter = EscapeSequenceFilter::default();
            window.reset_screen()?;
        }
        let mut drawn = Vec::with_capacity(output.len());
        let left = filter.push(output, &mut drawn);
        window.write(&drawn)?;
        let length = if is_snapshot { 0 } else { u64::try_from(output.len())? };
        self.at = offset + length;
        if is_snapshot || self.at.saturating_sub(self.acknowledged) >= TERMINAL_ACK_BYTES {
            self.acknowledged = self.at;
            let told = self
                .socket
                .send(encode_client_message(&ClientMessage::Ack { offset: self.at }))
                .await;
            if told.is_err() {
                return Ok(Some(AttachOutcome::Disconnected));
            }
        }
        // What was on the main screen is not on ours.
        Ok((left && !is_snapshot).then_some(AttachOutcome::Redraw))
    }

    async fn handle_server_message(
        &mut self,
        says: ServerMessage,
        window: &RawTerminal,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        Ok(match says {
            ServerMessage::Snapshot { .. } => {
                self.snapshot = true;
                None
            }
            ServerMessage::Resize { cols, rows, .. } => {
                let fits = (cols, rows) == RawTerminal::size()?;
                let again = fits && self.misfit;
                self.misfit = !fits;
                if !fits {
                    window.reset_screen()?;
                }
                again.then_some(AttachOutcome::Redraw)
            }
            ServerMessage::Exit { exit_code, signal } => {
                Some(AttachOutcome::Exited { exit_code, signal })
            }
            // The daemon restarts; the terminal does not.
            ServerMessage::Error { code: Code::Unavailable, .. } => {
                Some(AttachOutcome::Disconnected)
            }
            ServerMessage::Error { message, .. } => Some(AttachOutcome::Failed(message)),
            ServerMessage::Ping => {
                let sent = self.socket.send(encode_client_message(&ClientMessage::Pong {})).await;
                sent.is_err().then_some(AttachOutcome::Disconnected)
            }
            // Our own terminal has them from what was printed.
            ServerMessage::Title { .. } | ServerMessage::Bell => None,
        })
    }
}

fn encode_client_message(hears: &ClientMessage) -> Message {
    Message::Text(serde_json::to_string(hears).unwrap_or_default().into())
}
