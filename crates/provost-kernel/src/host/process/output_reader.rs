//! Reads the output of a command in pieces into the spool.
//!
//! Each stream is redacted first: all that is kept, counted or dropped afterwards
//! is redacted output. Bytes at the end that may be the beginning of a secret are
//! held back until more output follows or the command ends.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use provost_core::redact::{Redactor, StreamRedactor};
use provost_proto::kernel::{OutputStream, ReportPayload};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::head_tail_buffer::{HeadTailBuffer, incomplete_char_length};
use super::process_handle::ProcessHandle;
use crate::host::rpc::report_spool::ReportSpool;

/// The largest piece, in bytes.
const MAX_PIECE_BYTES: usize = 32 * 1024;

/// The longest time before a piece is sent.
const MAX_PIECE_AGE: Duration = Duration::from_millis(50);

/// How much a read asks for, and the size requested for the pipe, in bytes: with a
/// large pipe, a command that prints much is woken less often.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// Reads output until the process has exited, and then for at most `drain`: a pipe
/// that another process still holds open must not block forever.
pub(in crate::host) async fn read_until_exit<E>(
    reading: impl Future<Output = io::Result<()>>,
    exiting: impl Future<Output = E>,
    drain: Duration,
) -> (io::Result<()>, E) {
    let (exited, has_exited) = oneshot::channel();
    tokio::join!(
        async {
            let mut reading = std::pin::pin!(reading);
            tokio::select! {
                read = &mut reading => read,
                _ = has_exited => timeout(drain, reading).await.unwrap_or(Ok(())),
            }
        },
        async {
            let exit = exiting.await;
            // Fails if reading has ended already.
            let _ = exited.send(());
            exit
        }
    )
}

/// Reads both streams to their ends and spools what the buffer keeps.
pub(in crate::host) async fn spool_output(
    process: &ProcessHandle,
    spool: &ReportSpool,
    redactor: &Arc<Redactor>,
    [stdout, stderr]: [Option<OwnedFd>; 2],
    buffer: &mut HeadTailBuffer,
) -> io::Result<()> {
    let mut out = OutputPipe::new(OutputStream::Stdout, stdout, redactor)?;
    let mut err = OutputPipe::new(OutputStream::Stderr, stderr, redactor)?;
    let mut sink = OutputSink { process, spool, buffer };
    while out.pipe.is_some() || err.pipe.is_some() {
        let due = out
            .since
            .into_iter()
            .chain(err.since)
            .min()
            .map_or_else(far_future, |at| at + MAX_PIECE_AGE);
        tokio::select! {
            n = out.read() => handle_read(n?, &mut out, &mut err, &mut sink).await?,
            n = err.read() => handle_read(n?, &mut err, &mut out, &mut sink).await?,
            () = sleep_until(due) => {
                out.send_pieces(&mut sink, PartialCharPolicy::Hold).await?;
                err.send_pieces(&mut sink, PartialCharPolicy::Hold).await?;
            }
        }
    }
    out.send_pieces(&mut sink, PartialCharPolicy::Flush).await?;
    err.send_pieces(&mut sink, PartialCharPolicy::Flush).await
}

/// Handles `n` bytes that `side` has read; earlier output of the other stream goes first.
async fn handle_read(
    n: usize,
    side: &mut OutputPipe,
    other: &mut OutputPipe,
    sink: &mut OutputSink<'_>,
) -> io::Result<()> {
    if n == 0 {
        side.pipe = None;
    }
    let n = side.redact(n);
    if n == 0 {
        return Ok(());
    }
    other.send_pieces(sink, PartialCharPolicy::Flush).await?;
    sink.process.record_output(&side.data[side.data.len() - n..]);
    side.since.get_or_insert_with(Instant::now);
    if side.data.len() >= MAX_PIECE_BYTES {
        side.send_pieces(sink, PartialCharPolicy::Hold).await?;
    }
    Ok(())
}

fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}

/// The destination of pieces.
struct OutputSink<'a> {
    process: &'a ProcessHandle,
    spool: &'a ReportSpool,
    buffer: &'a mut HeadTailBuffer,
}

/// What to do with an incomplete UTF-8 character at the end of a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartialCharPolicy {
    /// Wait for the rest.
    Hold,
    /// Send it as it is.
    Flush,
}

/// One stream, and its output that has not been sent.
struct OutputPipe {
    stream: OutputStream,
    pipe: Option<pipe::Receiver>,
    data: BytesMut,
    redactor: StreamRedactor,
    /// When the oldest byte in `data` was read.
    since: Option<Instant>,
}

impl OutputPipe {
    fn new(
        stream: OutputStream,
        fd: Option<OwnedFd>,
        redactor: &Arc<Redactor>,
    ) -> io::Result<Self> {
        if let Some(fd) = &fd
            && let Err(error) = rustix::pipe::fcntl_setpipe_size(fd, READ_BUFFER_BYTES)
        {
            // The system limits the pipe memory of a user. A small pipe works too.
            tracing::debug!(%error, "cannot enlarge the pipe of a command");
        }
        let pipe = fd.map(pipe::Receiver::from_owned_fd).transpose()?;
        let redactor = StreamRedactor::new(Arc::clone(redactor));
        Ok(Self { stream, pipe, data: BytesMut::new(), redactor, since: None })
    }

    /// Redacts the last `n` bytes; returns how many bytes are left of them. `n` is 0 at
    /// the end of the stream.
    fn redact(&mut self, n: usize) -> usize {
        let start = self.data.len() - n;
        if n > 0 && self.redactor.passes_unchanged(&self.data[start..]) {
            return n;
        }
        let mut redacted = Vec::new();
        self.redactor.push(&self.data[start..], &mut redacted);
        if n == 0 {
            self.redactor.finish(&mut redacted);
        }
        self.data.truncate(start);
        self.data.extend_from_slice(&redacted);
        redacted.len()
    }

    /// Appends to `data`. Cancelling the read loses nothing.
    async fn read(&mut self) -> io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        // Allocates only when the buffer is used up: pieces in flight keep it alive.
        if self.data.capacity() - self.data.len() < MAX_PIECE_BYTES {
            self.data.reserve(READ_BUFFER_BYTES);
        }
        pipe.read_buf(&mut self.data).await
    }

    async fn send_pieces(
        &mut self,
        sink: &mut OutputSink<'_>,
        partial: PartialCharPolicy,
    ) -> io::Result<()> {
        while !self.data.is_empty() {
            let mut size = self.data.len().min(MAX_PIECE_BYTES);
            if partial == PartialCharPolicy::Hold || size < self.data.len() {
                size -= incomplete_char_length(&self.data[..size]);
            }
            if size == 0 {
                break;
            }
            let piece = self.data.split_to(size).freeze();
            if let Some(output) = sink.buffer.push(self.stream, piece) {
                sink.spool.push(sink.process.id, ReportPayload::Output(output)).await?;
            }
        }
        self.since = None;
        Ok(())
    }
}
