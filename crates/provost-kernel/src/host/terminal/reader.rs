//! The thread that reads the terminal.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_sandbox::pty::Controller;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::line::Line;

/// Bytes read at once. A terminal gives few at a time, so one goes on until it
/// has no more or this is full.
const READ: usize = 64 * 1024;

/// What was printed is drawn when the program pauses for so long …
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// … or when it has waited for so long.
const LONGEST: Duration = Duration::from_millis(4);

/// Reads until no program has the terminal any more, or until the other end of
/// `stop` is closed.
pub(super) fn read(controller: &Controller, stop: &OwnedFd, line: &Arc<Line>) {
    if let Err(error) = copy(controller, stop, line) {
        tracing::warn!(%error, "the terminal cannot be read any more");
    }
    line.change(|state| state.silent = true);
}

fn copy(controller: &Controller, stop: &OwnedFd, line: &Line) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    // Since when something waits to be drawn.
    let mut undrawn: Option<Instant> = None;
    loop {
        let (length, more) = fill(controller, &mut buffer)?;
        if length > 0 {
            let waits = line.printed(&buffer[..length]);
            undrawn = if waits { undrawn.or_else(|| Some(Instant::now())) } else { None };
        }
        if undrawn.is_some_and(|since| since.elapsed() >= LONGEST) {
            undrawn = None;
            line.draw();
        }
        match more {
            More::Now => {}
            More::Later => {
                let mut lines = [
                    PollFd::from_borrowed_fd(controller.as_fd(), PollFlags::IN),
                    PollFd::new(stop, PollFlags::IN),
                ];
                match rustix::event::poll(&mut lines, undrawn.and(Some(&PAUSE))) {
                    Ok(0) if undrawn.take().is_some() => line.draw(),
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                if !lines[1].revents().is_empty() && lines[0].revents().is_empty() {
                    return Ok(());
                }
            }
            More::Never => return Ok(()),
        }
    }
}

enum More {
    Now,
    Later,
    Never,
}

/// Reads what is there, as far as it fits.
fn fill(controller: &Controller, buffer: &mut [u8]) -> io::Result<(usize, More)> {
    let mut length = 0;
    while length < buffer.len() {
        match controller.read(&mut buffer[length..]) {
            Ok(0) => return Ok((length, More::Never)),
            Ok(n_read) => length += n_read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok((length, More::Later));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((length, More::Now))
}
