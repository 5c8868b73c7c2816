//! A client of a project's terminal, on a connection of its own.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use provost_proto::Code;
use provost_proto::kernel::{ErrorInfo, MIN_PROTOCOL_RUNTIME, Method};
use provost_proto::limits::MAX_TERMINAL_FRAME_BYTES;
use provost_proto::terminal::{TerminalAttachResponse, TerminalInputFrame, TerminalOutputFrame};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::kernel_client::{perform_handshake, request_frame, response_result};
use crate::socket_writer::{self, SocketWriter};
use crate::wire::{self, KernelFrame};
use crate::{KernelDir, KernelError};

/// How long a kernel may take to let a client in.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes asked for at once.
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// What the terminal sends.
#[derive(Debug)]
pub struct TerminalReader {
    read: pipe::Receiver,
    buffer: BytesMut,
}

/// What the client sends.
#[derive(Debug)]
pub struct TerminalWriter(SocketWriter);

/// Attaches to the terminal of the kernel that is here: from a byte on, or with
/// what it looks like now; with a window of this size.
pub async fn attach_terminal(
    place: &KernelDir,
    after: Option<u64>,
    (cols, rows): (u16, u16),
) -> Result<(TerminalAttachResponse, TerminalReader, TerminalWriter), KernelError> {
    let (mut read, mut write, welcome) = perform_handshake(place).await?;
    if welcome.protocol < MIN_PROTOCOL_RUNTIME {
        let message = format!(
            "the project's kernel, process {}, is from an older Provost and has no terminal; \
             close the project and open it again",
            welcome.pid
        );
        return Err(KernelError::Fault(ErrorInfo {
            code: Code::KernelTooOld,
            message,
            details: None,
        }));
    }
    let asked = request_frame(1, Method::Terminal { after, cols, rows });
    wire::write(&mut write, &asked).await.map_err(|_| KernelError::Lost)?;
    let answer =
        timeout(ATTACH_TIMEOUT, read.next()).await.map_err(|_| KernelError::Unresponsive)?;
    let Ok(Some(KernelFrame::Response(answer))) = answer else { return Err(KernelError::Lost) };
    let attached = response_result(answer)?.parse().map_err(|_| KernelError::Lost)?;
    let (read, buffer) = read.into_rest();
    let stream = read.reunite(write).map_err(|_| KernelError::Lost)?;
    let (read, write) = socket_writer::split_socket(stream).map_err(|_| KernelError::Lost)?;
    Ok((attached, TerminalReader { read, buffer }, TerminalWriter(write)))
}

impl TerminalReader {
    /// The next frame; `None` at the end. Nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> io::Result<Option<TerminalOutputFrame>> {
        loop {
            if let Some(frame) =
                TerminalOutputFrame::decode(&mut self.buffer).map_err(io::Error::other)?
            {
                return Ok(Some(frame));
            }
            if self.buffer.len() > MAX_TERMINAL_FRAME_BYTES + READ_BUFFER_BYTES {
                return Err(io::Error::other("a frame of the terminal does not end"));
            }
            // A new buffer only when this one is used up: frames that wait hold on to it.
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
