//! A terminal client, on a connection of its own.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use provost_proto::kernel::Method;
use provost_proto::limits::MAX_TERMINAL_FRAME_BYTES;
use provost_proto::terminal::{TerminalAttachResponse, TerminalInputFrame, TerminalOutputFrame};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::kernel_client::{perform_handshake, request_frame, response_result};
use crate::socket_writer::SocketWriter;
use crate::wire::{self, KernelFrame};
use crate::{KernelDir, KernelError};

/// How long a kernel may take to attach a client.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(10);

/// How much a read asks for, in bytes.
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// The right to see the terminal: the receiving half of the connection.
#[derive(Debug)]
pub struct TerminalReader {
    read: pipe::Receiver,
    buffer: BytesMut,
}

/// The right to type: the sending half of the connection.
#[derive(Debug)]
pub struct TerminalWriter(SocketWriter);

/// Attaches to the terminal of a kernel, with a window of this size. Output starts
/// after the byte `after`, or with a snapshot of the screen.
pub async fn attach_terminal(
    dir: &KernelDir,
    after: Option<u64>,
    (cols, rows): (u16, u16),
) -> Result<(TerminalAttachResponse, TerminalReader, TerminalWriter), KernelError> {
    let (mut read, write, _) = perform_handshake(dir).await?;
    let request = request_frame(1, Method::Terminal { after, cols, rows });
    let request = wire::frame_to_bytes(&request).map_err(|_| KernelError::Lost)?;
    write.send(&request).await.map_err(|_| KernelError::Lost)?;
    let response =
        timeout(ATTACH_TIMEOUT, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(KernelFrame::Response(response))) = response else { return Err(KernelError::Lost) };
    let attached = response_result(response)?.parse().map_err(|_| KernelError::Lost)?;
    let (read, buffer) = read.into_rest();
    Ok((attached, TerminalReader { read, buffer }, TerminalWriter(write)))
}

impl TerminalReader {
    /// The next frame; `None` at the end. Cancelling the read loses nothing.
    pub async fn next(&mut self) -> io::Result<Option<TerminalOutputFrame>> {
        loop {
            if let Some(frame) =
                TerminalOutputFrame::decode(&mut self.buffer).map_err(io::Error::other)?
            {
                return Ok(Some(frame));
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
    /// Sends one frame.
    pub async fn send(&mut self, frame: &TerminalInputFrame) -> io::Result<()> {
        self.0.send(&frame.encode().map_err(io::Error::other)?).await
    }
}
