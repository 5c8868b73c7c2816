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

/// How long to wait for the peer to close the connection.
const CLOSE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AttachOutcome {
    /// The user detached.
    Detached,
    /// The shell exited.
    Exited { exit_code: Option<i32>, signal: Option<i32> },
    /// The daemon reported an error.
    Failed(String),
    /// The connection was lost.
    Disconnected,
    /// The screen must be drawn again from a snapshot.
    Redraw,
}

/// One WebSocket connection to the terminal.
pub(super) struct TerminalConnection {
    socket: WebSocketStream<TcpStream>,
    /// Offset of the output that was drawn, in bytes.
    drawn: u64,
    /// Offset that was last acknowledged.
    acknowledged: u64,
    /// Whether the next binary message is a snapshot.
    snapshot: bool,
    /// Whether the terminal's size differs from our window's.
    size_differs: bool,
}

impl TerminalConnection {
    /// Connects with a new ticket; output starts after `after`, or with a snapshot.
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
        let stream =
            TcpStream::connect(client.address()).await.context("cannot connect to the daemon")?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async(url, stream)
            .await
            .map_err(|error| anyhow!("cannot open the terminal: {error}"))?;
        Ok(Self { socket, drawn: 0, acknowledged: 0, snapshot: false, size_differs: false })
    }

    /// Offset of the output that was drawn, in bytes.
    pub(super) fn drawn_offset(&self) -> u64 {
        self.drawn
    }

    /// Draws output and sends keys until either side ends.
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
                KeyInput { keys, detaches } = keyboard.next() => {
                    let sent = if keys.is_empty() {
                        Ok(())
                    } else {
                        self.socket.send(Message::Binary(keys.into())).await
                    };
                    if detaches {
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

    /// Closes the WebSocket and waits for the peer to close: an aborted connection could
    /// lose the last keys.
    async fn close(&mut self) {
        let closing = async {
            if self.socket.close(None).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        drop(tokio::time::timeout(CLOSE_TIMEOUT, closing).await);
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
                let message =
                    serde_json::from_str(&text).context("unknown message of the daemon")?;
                Ok(self.handle_server_message(message, window).await?)
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
        let (offset, output) =
            bytes.split_first_chunk::<8>().context("output without an offset")?;
        let offset = u64::from_be_bytes(*offset);
        let is_snapshot = std::mem::take(&mut self.snapshot);
        if is_snapshot {
            *filter = EscapeSequenceFilter::default();
            window.reset_screen()?;
        }
        let mut drawn = Vec::with_capacity(output.len());
        let left = filter.push(output, &mut drawn);
        window.write(&drawn)?;
        let length = if is_snapshot { 0 } else { u64::try_from(output.len())? };
        self.drawn = offset + length;
        if is_snapshot || self.drawn.saturating_sub(self.acknowledged) >= TERMINAL_ACK_BYTES {
            self.acknowledged = self.drawn;
            let sent = self
                .socket
                .send(encode_client_message(&ClientMessage::Ack { offset: self.drawn }))
                .await;
            if sent.is_err() {
                return Ok(Some(AttachOutcome::Disconnected));
            }
        }
        // The content of the main screen is not on our screen.
        Ok((left && !is_snapshot).then_some(AttachOutcome::Redraw))
    }

    async fn handle_server_message(
        &mut self,
        message: ServerMessage,
        window: &RawTerminal,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        Ok(match message {
            ServerMessage::Snapshot { .. } => {
                self.snapshot = true;
                None
            }
            ServerMessage::Resize { cols, rows, .. } => {
                let fits = (cols, rows) == RawTerminal::size()?;
                let redraw = fits && self.size_differs;
                self.size_differs = !fits;
                if !fits {
                    window.reset_screen()?;
                }
                redraw.then_some(AttachOutcome::Redraw)
            }
            ServerMessage::Exit { exit_code, signal } => {
                Some(AttachOutcome::Exited { exit_code, signal })
            }
            // The daemon restarts; the terminal keeps running.
            ServerMessage::Error { code: Code::Unavailable, .. } => {
                Some(AttachOutcome::Disconnected)
            }
            ServerMessage::Error { message, .. } => Some(AttachOutcome::Failed(message)),
            ServerMessage::Ping => {
                let sent = self.socket.send(encode_client_message(&ClientMessage::Pong {})).await;
                sent.is_err().then_some(AttachOutcome::Disconnected)
            }
            // Our terminal gets both from the output itself.
            ServerMessage::Title { .. } | ServerMessage::Bell => None,
        })
    }
}

fn encode_client_message(message: &ClientMessage) -> Message {
    Message::Text(serde_json::to_string(message).unwrap_or_default().into())
}
