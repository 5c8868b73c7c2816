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

use super::output::{Keeper, unfinished};
use super::process::Process;
use crate::spool::Spool;

/// A piece of output, at most.
const PIECE: usize = 32 * 1024;

/// How old a piece may get before it is sent.
const AGE: Duration = Duration::from_millis(50);

/// Bytes asked for at once, and what a pipe holds if the system lets it: a
/// command that prints much is woken less often.
const READ: usize = 256 * 1024;

/// Reads what is printed until nothing is left of whoever prints, and then for a
/// while: a pipe that something else still holds must not keep us for ever.
pub(super) async fn to_the_end<E>(
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
pub(super) async fn read_all(
    process: &Process,
    spool: &Spool,
    redactor: &Arc<Redactor>,
    [stdout, stderr]: [Option<OwnedFd>; 2],
    keeper: &mut Keeper,
) -> io::Result<()> {
    let mut out = Side::new(OutputStream::Stdout, stdout, redactor)?;
    let mut err = Side::new(OutputStream::Stderr, stderr, redactor)?;
    let mut to = To { process, spool, keeper };
    while out.pipe.is_some() || err.pipe.is_some() {
        let due = out.since.into_iter().chain(err.since).min().map_or_else(far, |at| at + AGE);
        tokio::select! {
            n = out.read() => took(n?, &mut out, &mut err, &mut to).await?,
            n = err.read() => took(n?, &mut err, &mut out, &mut to).await?,
            () = sleep_until(due) => {
                out.send(&mut to, Rest::Waits).await?;
                err.send(&mut to, Rest::Waits).await?;
            }
        }
    }
    out.send(&mut to, Rest::Goes).await?;
    err.send(&mut to, Rest::Goes).await
}

/// One side has read so many bytes; what the other printed before goes first.
async fn took(n: usize, side: &mut Side, other: &mut Side, to: &mut To<'_>) -> io::Result<()> {
    if n == 0 {
        side.pipe = None;
    }
    let n = side.redact(n);
    if n == 0 {
        return Ok(());
    }
    other.send(to, Rest::Goes).await?;
    to.process.remember(&side.data[side.data.len() - n..]);
    side.since.get_or_insert_with(Instant::now);
    if side.data.len() >= PIECE {
        side.send(to, Rest::Waits).await?;
    }
    Ok(())
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(1 << 30)
}

/// Where pieces go.
struct To<'a> {
    process: &'a Process,
    spool: &'a Spool,
    keeper: &'a mut Keeper,
}

/// What happens to a character that is not all there yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It waits for its rest.
    Waits,
    /// It goes as it is; there is no rest.
    Goes,
}

/// One output, and what of it has not been sent.
struct Side {
    stream: OutputStream,
    pipe: Option<pipe::Receiver>,
    data: BytesMut,
    /// Takes the secrets out of what is read.
    secrets: StreamRedactor,
    since: Option<Instant>,
}

impl Side {
    fn new(
        stream: OutputStream,
        fd: Option<OwnedFd>,
        redactor: &Arc<Redactor>,
    ) -> io::Result<Self> {
        if let Some(fd) = &fd
            && let Err(error) = rustix::pipe::fcntl_setpipe_size(fd, READ)
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
        if self.data.capacity() - self.data.len() < PIECE {
            self.data.reserve(READ);
        }
        pipe.read_buf(&mut self.data).await
    }

    async fn send(&mut self, to: &mut To<'_>, rest: Rest) -> io::Result<()> {
        while !self.data.is_empty() {
            let mut size = self.data.len().min(PIECE);
            if rest == Rest::Waits || size < self.data.len() {
                size -= unfinished(&self.data[..size]);
            }
            if size == 0 {
                break;
            }
            let piece = self.data.split_to(size).freeze();
            if let Some(output) = to.keeper.take(self.stream, piece) {
                to.spool.push(to.process.id, ReportPayload::Output(output)).await?;
            }
        }
        self.since = None;
        Ok(())
    }
}
