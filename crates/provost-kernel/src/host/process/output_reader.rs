//! Reading what a command prints, in pieces, into the spool.
//!
//! Secrets are taken out first, each output by itself: whatever is kept, counted
//! or dropped from here on is what is left. The end of what was printed waits if
//! it may be the beginning of a secret, for as long as the command may go on.

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

/// A piece of output, at most.
const MAX_PIECE_BYTES: usize = 32 * 1024;

/// How old a piece may get before it is sent.
const MAX_PIECE_AGE: Duration = Duration::from_millis(50);

/// Bytes asked for at once, and what a pipe holds if the system lets it: a
/// command that prints much is woken less often.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// Reads what is printed until nothing is left of whoever prints, and then for a
/// while: a pipe that something else still holds must not keep us for ever.
pub(in crate::host) async fn read_until_exit<E>(
    reading: impl Future<Output = io::Result<()>>,
    living: impl Future<Output = E>,
    drain: Duration,
) -> (io::Result<()>, E) {
    let (gone, is_gone) = oneshot::channel();
    tokio::join!(
        async {
            let mut reading = std::pin::pin!(reading);
            tokio::select! {
                read = &mut reading => read,
                _ = is_gone => timeout(drain, reading).await.unwrap_or(Ok(())),
            }
        },
        async {
            let ended = living.await;
            // If the reading is over nobody waits for this.
            let _nobody_waits = gone.send(());
            ended
        }
    )
}

/// Reads both outputs to their ends and puts what is kept into the spool.
pub(in crate::host) async fn spool_output(
    process: &ProcessHandle,
    spool: &ReportSpool,
    redactor: &Arc<Redactor>,
    [stdout, stderr]: [Option<OwnedFd>; 2],
    keeper: &mut HeadTailBuffer,
) -> io::Result<()> {
    let mut out = OutputPipe::new(OutputStream::Stdout, stdout, redactor)?;
    let mut err = OutputPipe::new(OutputStream::Stderr, stderr, redactor)?;
    let mut to = OutputSink { process, spool, keeper };
    while out.pipe.is_some() || err.pipe.is_some() {
        let due = out
            .since
            .into_iter()
            .chain(err.since)
            .min()
            .map_or_else(far_future, |at| at + MAX_PIECE_AGE);
        tokio::select! {
            n = out.read() => handle_read(n?, &mut out, &mut err, &mut to).await?,
            n = err.read() => handle_read(n?, &mut err, &mut out, &mut to).await?,
            () = sleep_until(due) => {
                out.send_pieces(&mut to, PartialCharPolicy::Hold).await?;
                err.send_pieces(&mut to, PartialCharPolicy::Hold).await?;
            }
        }
    }
    out.send_pieces(&mut to, PartialCharPolicy::Flush).await?;
    err.send_pieces(&mut to, PartialCharPolicy::Flush).await
}

/// One side has read so many bytes; what the other printed before goes first.
async fn handle_read(
    n: usize,
    side: &mut OutputPipe,
    other: &mut OutputPipe,
    to: &mut OutputSink<'_>,
) -> io::Result<()> {
    if n == 0 {
        side.pipe = None;
    }
    let n = side.redact(n);
    if n == 0 {
        return Ok(());
    }
    other.send_pieces(to, PartialCharPolicy::Flush).await?;
    to.process.record_output(&side.data[side.data.len() - n..]);
    side.since.get_or_insert_with(Instant::now);
    if side.data.len() >= MAX_PIECE_BYTES {
        side.send_pieces(to, PartialCharPolicy::Hold).await?;
    }
    Ok(())
}

fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}

/// Where pieces go.
struct OutputSink<'a> {
    process: &'a ProcessHandle,
    spool: &'a ReportSpool,
    keeper: &'a mut HeadTailBuffer,
}

/// What happens to a character that is not all there yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartialCharPolicy {
    /// It waits for its rest.
    Hold,
    /// It goes as it is; there is no rest.
    Flush,
}

/// One output, and what of it has not been sent.
struct OutputPipe {
    stream: OutputStream,
    pipe: Option<pipe::Receiver>,
    data: BytesMut,
    /// Takes the secrets out of what is read.
    secrets: StreamRedactor,
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
            // A user may hold so many pages in pipes and no more; it works all the same.
            tracing::debug!(%error, "the pipe of a command stays small");
        }
        let pipe = fd.map(pipe::Receiver::from_owned_fd).transpose()?;
        let secrets = StreamRedactor::new(Arc::clone(redactor));
        Ok(Self { stream, pipe, data: BytesMut::new(), secrets, since: None })
    }

    /// Takes the secrets out of the last `n` bytes; returns how many there are
    /// now. If none were read, nothing comes any more.
    fn redact(&mut self, n: usize) -> usize {
        let start = self.data.len() - n;
        if n > 0 && self.secrets.passes_unchanged(&self.data[start..]) {
            return n;
        }
        let mut kept = Vec::new();
        self.secrets.push(&self.data[start..], &mut kept);
        if n == 0 {
            self.secrets.finish(&mut kept);
        }
        self.data.truncate(start);
        self.data.extend_from_slice(&kept);
        kept.len()
    }

    /// Reads more behind what is there. Nothing is lost if it is given up.
    async fn read(&mut self) -> io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        // A new buffer only when this one is used up: what is kept holds on to it.
        if self.data.capacity() - self.data.len() < MAX_PIECE_BYTES {
            self.data.reserve(READ_BUFFER_BYTES);
        }
        pipe.read_buf(&mut self.data).await
    }

    async fn send_pieces(
        &mut self,
        to: &mut OutputSink<'_>,
        rest: PartialCharPolicy,
    ) -> io::Result<()> {
        while !self.data.is_empty() {
            let mut size = self.data.len().min(MAX_PIECE_BYTES);
            if rest == PartialCharPolicy::Hold || size < self.data.len() {
                size -= incomplete_char_length(&self.data[..size]);
            }
            if size == 0 {
                break;
            }
            let piece = self.data.split_to(size).freeze();
            if let Some(output) = to.keeper.push(self.stream, piece) {
                to.spool.push(to.process.id, ReportPayload::Output(output)).await?;
            }
        }
        self.since = None;
        Ok(())
    }
}
