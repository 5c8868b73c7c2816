//! One connection to the terminal.

use anyhow::{Context as _, anyhow};
use futures::{SinkExt as _, StreamExt as _};
use provost_proto::kernel::ErrorInfo;
use provost_proto::limits::{MAX_TERMINAL_INPUT_BYTES, TERMINAL_ACK_BYTES};
use provost_proto::runtime::TerminalSize;
use provost_proto::terminal::{
    TERMINAL_SUBPROTOCOL, TerminalInputFrame, TerminalOutputFrame, TerminalTicket,
};
use provost_proto::{Code, Project};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::signal::unix::Signal;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
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

/// Where the output of the terminal continues, and the size of the window.
#[derive(Debug)]
pub(super) struct ConnectOptions {
    /// The offset of the output that was drawn; `None` at first.
    pub(super) after: Option<u64>,
    pub(super) size: TerminalSize,
}

/// What the connection draws on.
pub(super) struct AttachDisplay<'a> {
    pub(super) window: &'a RawTerminal,
    pub(super) filter: &'a mut EscapeSequenceFilter,
}

/// Output, or a snapshot that replaces it.
struct DrawnOutput<'a> {
    offset: u64,
    bytes: &'a [u8],
    is_snapshot: bool,
}

/// One WebSocket connection to the terminal.
pub(super) struct TerminalConnection {
    socket: WebSocketStream<TcpStream>,
    /// Offset of the output that was drawn, in bytes.
    drawn: u64,
    /// Offset that was last acknowledged.
    acknowledged: u64,
    /// Whether the terminal's size differs from our window's.
    size_differs: bool,
}

impl TerminalConnection {
    /// Connects with a new ticket; output starts after `after`, or with a snapshot.
    pub(super) async fn connect(
        client: &DaemonClient,
        project: &Project,
        options: ConnectOptions,
    ) -> anyhow::Result<Self> {
        let base = format!("/api/projects/{}/terminal", project.id.uuid());
        let TerminalTicket { ticket } = client.post(&format!("{base}/ticket"), &json!({})).await?;
        let ConnectOptions { after, size: TerminalSize { cols, rows } } = options;
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let path = format!("{base}/attach?cols={cols}&rows={rows}{after}&ticket={ticket}");
        let url = client.url(&path).replacen("http", "ws", 1);
        let request = ClientRequestBuilder::new(url.parse().context("invalid address")?)
            .with_sub_protocol(TERMINAL_SUBPROTOCOL);
        let stream =
            TcpStream::connect(client.address()).await.context("cannot connect to the daemon")?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async(request, stream)
            .await
            .map_err(|error| anyhow!("cannot open the terminal: {error}"))?;
        Ok(Self { socket, drawn: 0, acknowledged: 0, size_differs: false })
    }

    /// Offset of the output that was drawn, in bytes.
    pub(super) fn drawn_offset(&self) -> u64 {
        self.drawn
    }

    /// Draws output and sends keys until either side ends.
    pub(super) async fn run(
        &mut self,
        display: &mut AttachDisplay<'_>,
        keyboard: &mut KeyReader,
        resized: &mut Signal,
    ) -> anyhow::Result<AttachOutcome> {
        loop {
            let is_sent = tokio::select! {
                message = self.socket.next() => match message {
                    Some(Ok(message)) => {
                        if let Some(outcome) = self.handle_message(message, display).await? {
                            return Ok(outcome);
                        }
                        continue;
                    }
                    Some(Err(_)) | None => return Ok(AttachOutcome::Disconnected),
                },
                KeyInput { keys, detaches } = keyboard.next() => {
                    let is_sent = self.send_keys(&keys).await?;
                    if detaches {
                        self.close().await;
                        return Ok(AttachOutcome::Detached);
                    }
                    is_sent
                }
                _ = resized.recv() => {
                    let TerminalSize { cols, rows } = RawTerminal::size()?;
                    self.send_frame(&TerminalInputFrame::Resize { cols, rows }).await?
                }
            };
            if !is_sent {
                return Ok(AttachOutcome::Disconnected);
            }
        }
    }

    /// Sends keys in frames; returns whether the connection is open.
    async fn send_keys(&mut self, keys: &[u8]) -> anyhow::Result<bool> {
        for chunk in keys.chunks(MAX_TERMINAL_INPUT_BYTES) {
            let frame = TerminalInputFrame::Input(chunk.to_vec().into());
            if !self.send_frame(&frame).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends a frame; returns whether the connection is open.
    async fn send_frame(&mut self, frame: &TerminalInputFrame) -> anyhow::Result<bool> {
        Ok(self.socket.send(Message::Binary(frame.encode()?)).await.is_ok())
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
        display: &mut AttachDisplay<'_>,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        match message {
            Message::Binary(message) => {
                let frames = TerminalOutputFrame::decode_message(message)
                    .context("the daemon sent a malformed message")?;
                for frame in frames {
                    if let Some(outcome) = self.handle_frame(frame, display).await? {
                        return Ok(Some(outcome));
                    }
                }
                Ok(None)
            }
            Message::Text(_) => Err(anyhow!("the daemon sent a text message")),
            Message::Close(_) => Ok(Some(AttachOutcome::Disconnected)),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(None),
        }
    }

    async fn handle_frame(
        &mut self,
        frame: TerminalOutputFrame,
        display: &mut AttachDisplay<'_>,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        Ok(match frame {
            TerminalOutputFrame::Data { offset, bytes } => {
                let output = DrawnOutput { offset, bytes: &bytes, is_snapshot: false };
                self.draw_output(output, display).await?
            }
            TerminalOutputFrame::Snapshot { offset, bytes, .. } => {
                let output = DrawnOutput { offset, bytes: &bytes, is_snapshot: true };
                self.draw_output(output, display).await?
            }
            TerminalOutputFrame::Resize { cols, rows, .. } => {
                let fits = TerminalSize { cols, rows } == RawTerminal::size()?;
                let redraw = fits && self.size_differs;
                self.size_differs = !fits;
                if !fits {
                    display.window.reset_screen()?;
                }
                redraw.then_some(AttachOutcome::Redraw)
            }
            TerminalOutputFrame::Exit { exit_code, signal } => {
                Some(AttachOutcome::Exited { exit_code, signal })
            }
            // The daemon restarts; the terminal keeps running.
            TerminalOutputFrame::Error(ErrorInfo { code: Code::Unavailable, .. }) => {
                Some(AttachOutcome::Disconnected)
            }
            TerminalOutputFrame::Error(ErrorInfo { message, .. }) => {
                Some(AttachOutcome::Failed(message))
            }
            TerminalOutputFrame::Ping => self.acknowledge().await?,
            // Our terminal gets both from the output itself.
            TerminalOutputFrame::Title(_) | TerminalOutputFrame::Bell => None,
        })
    }

    async fn draw_output(
        &mut self,
        output: DrawnOutput<'_>,
        display: &mut AttachDisplay<'_>,
    ) -> anyhow::Result<Option<AttachOutcome>> {
        let DrawnOutput { offset, bytes, is_snapshot } = output;
        if is_snapshot {
            *display.filter = EscapeSequenceFilter::default();
            display.window.reset_screen()?;
        }
        let mut drawn = Vec::with_capacity(bytes.len());
        let left = display.filter.push(bytes, &mut drawn);
        display.window.write(&drawn)?;
        let length = if is_snapshot { 0 } else { u64::try_from(bytes.len())? };
        self.drawn = offset.saturating_add(length);
        if (is_snapshot || self.drawn.saturating_sub(self.acknowledged) >= TERMINAL_ACK_BYTES)
            && let Some(outcome) = self.acknowledge().await?
        {
            return Ok(Some(outcome));
        }
        // The content of the main screen is not on our screen.
        Ok((left && !is_snapshot).then_some(AttachOutcome::Redraw))
    }

    /// Tells the terminal what was drawn.
    async fn acknowledge(&mut self) -> anyhow::Result<Option<AttachOutcome>> {
        self.acknowledged = self.drawn;
        let is_sent = self.send_frame(&TerminalInputFrame::Ack { offset: self.drawn }).await?;
        Ok((!is_sent).then_some(AttachOutcome::Disconnected))
    }
}
