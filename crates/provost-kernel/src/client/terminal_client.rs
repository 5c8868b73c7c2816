//! A terminal client, on a connection of its own.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use provost_proto::kernel::Method;
use provost_proto::limits::MAX_TERMINAL_FRAME_BYTES;
use provost_proto::terminal::{ForwardedInput, ForwardedOutput, TerminalAttachResponse};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::kernel_client::{perform_handshake, request_frame, response_result};
use crate::socket_writer::SocketWriter;
use crate::wire::{self, KernelFrame, UnframedReader};
use crate::{KernelDir, KernelError};

/// How long a kernel may take to attach a client.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(10);

/// How much a read asks for, in bytes.
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// Where the output of a terminal continues, and the client's window.
#[derive(Debug, Clone, Copy)]
pub struct TerminalAttachOptions {
    /// How many bytes of output the client has; `None` for a new client, which gets a snapshot of
    /// the screen.
    pub after: Option<u64>,
    /// The width of the window, in columns.
    pub cols: u16,
    /// The height of the window, in rows.
    pub rows: u16,
}

/// A connection to a terminal.
#[derive(Debug)]
pub struct TerminalAttachment {
    /// The state of the terminal when the client attached.
    pub attached: TerminalAttachResponse,
    /// Receives what the terminal sends.
    pub reader: TerminalReader,
    /// Sends what the client types.
    pub writer: TerminalWriter,
}

/// The right to see the terminal: the receiving half of the connection.
#[derive(Debug)]
pub struct TerminalReader {
    read: pipe::Receiver,
    buffer: BytesMut,
}

/// The right to type: the sending half of the connection.
#[derive(Debug)]
pub struct TerminalWriter(SocketWriter);

/// Attaches to the terminal of a kernel.
pub async fn attach_terminal(
    dir: &KernelDir,
    options: TerminalAttachOptions,
) -> Result<TerminalAttachment, KernelError> {
    let TerminalAttachOptions { after, cols, rows } = options;
    let (mut read, write, _) = perform_handshake(dir).await?;
    let request = request_frame(1, Method::Terminal { after, cols, rows });
    let request = wire::frame_to_bytes(&request).map_err(|_| KernelError::Lost)?;
    write.send(&request).await.map_err(|_| KernelError::Lost)?;
    let response =
        timeout(ATTACH_TIMEOUT, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(KernelFrame::Response(response))) = response else { return Err(KernelError::Lost) };
    let attached = response_result(response)?.parse().map_err(|_| KernelError::Lost)?;
    let UnframedReader { from: read, buffer } = read.into_unframed();
    let reader = TerminalReader { read, buffer };
    Ok(TerminalAttachment { attached, reader, writer: TerminalWriter(write) })
}

impl TerminalReader {
    /// All whole frames that have arrived, at least one; `None` at the end. Cancelling the read
    /// loses nothing.
    pub async fn next(&mut self) -> io::Result<Option<ForwardedOutput>> {
        loop {
            if let Some(frames) =
                ForwardedOutput::take(&mut self.buffer).map_err(io::Error::other)?
            {
                return Ok(Some(frames));
            }
            if self.buffer.len() > MAX_TERMINAL_FRAME_BYTES + READ_BUFFER_BYTES {
                return Err(io::Error::other("a terminal frame is too large"));
            }
            // Allocates only when the buffer is used up: frames in flight keep it alive.
            if self.buffer.capacity() - self.buffer.len() < READ_BUFFER_BYTES / 2 {
                self.buffer.reserve(READ_BUFFER_BYTES);
            }
            if self.read.read_buf(&mut self.buffer).await? == 0 {
                return match self.buffer.len() {
                    0 => Ok(None),
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }
}

impl TerminalWriter {
    /// Sends frames as they are.
    pub async fn forward(&mut self, frames: &ForwardedInput) -> io::Result<()> {
        self.0.send(frames.bytes()).await
    }
}
