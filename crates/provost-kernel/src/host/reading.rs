//! Reading what a command prints, in pieces, into the spool.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use provost_proto::kernel::{Happened, OutputStream};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::sleep_until;

use super::output::{Keeper, unfinished};
use super::process::Process;
use crate::spool::Spool;

/// A piece of output, at most.
const PIECE: usize = 32 * 1024;

/// How old a piece may get before it is sent.
const AGE: Duration = Duration::from_millis(50);

/// Reads both outputs to their ends and puts what is kept into the spool.
pub(super) async fn read_all(
    process: &Process,
    spool: &Spool,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    keeper: &mut Keeper,
) -> io::Result<()> {
    let open = |fd: Option<OwnedFd>| fd.map(pipe::Receiver::from_owned_fd).transpose();
    let (mut stdout, mut stderr) = (open(stdout)?, open(stderr)?);
    let mut gathered = Gathered { stream: OutputStream::Stdout, data: Vec::new(), since: None };
    let (mut out_buffer, mut err_buffer) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let due = gathered.since.map_or_else(far, |since| since + AGE);
        let (stream, n) = tokio::select! {
            n = read(&mut stdout, &mut out_buffer) => (OutputStream::Stdout, n?),
            n = read(&mut stderr, &mut err_buffer) => (OutputStream::Stderr, n?),
            () = sleep_until(due) => {
                gathered.send(process, spool, keeper, Rest::Waits).await?;
                continue;
            }
            else => break,
        };
        let (pipe, buffer) = match stream {
            OutputStream::Stdout => (&mut stdout, &out_buffer),
            OutputStream::Stderr => (&mut stderr, &err_buffer),
        };
        if n == 0 {
            *pipe = None;
            if stdout.is_none() && stderr.is_none() {
                break;
            }
            continue;
        }
        process.remember(&buffer[..n]);
        if gathered.stream != stream {
            gathered.send(process, spool, keeper, Rest::Goes).await?;
            gathered.stream = stream;
        }
        gathered.since.get_or_insert_with(tokio::time::Instant::now);
        gathered.data.extend_from_slice(&buffer[..n]);
        if gathered.data.len() >= PIECE {
            gathered.send(process, spool, keeper, Rest::Waits).await?;
        }
    }
    gathered.send(process, spool, keeper, Rest::Goes).await
}

fn far() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(1 << 30)
}

async fn read(pipe: &mut Option<pipe::Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => std::future::pending().await,
    }
}

/// What happens to a character that is not all there yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It waits for its rest.
    Waits,
    /// It goes as it is; there is no rest.
    Goes,
}

/// Output of one stream that has not been sent.
struct Gathered {
    stream: OutputStream,
    data: Vec<u8>,
    since: Option<tokio::time::Instant>,
}

impl Gathered {
    async fn send(
        &mut self,
        process: &Process,
        spool: &Spool,
        keeper: &mut Keeper,
        rest: Rest,
    ) -> io::Result<()> {
        let waits = if rest == Rest::Waits { unfinished(&self.data) } else { 0 };
        let rest = self.data.split_off(self.data.len() - waits);
        let data = std::mem::replace(&mut self.data, rest);
        self.since = None;
        if data.is_empty() {
            return Ok(());
        }
        match keeper.take(self.stream, data) {
            Some(output) => spool.push(process.id, Happened::Output(output)).await,
            None => Ok(()),
        }
    }
}
