//! The thread that reads the terminal.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_sandbox::pty::PtyController;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::shared_pty_state::SharedPtyState;

/// Bytes read at once. A terminal gives few at a time, so one goes on until it
/// has no more or this is full.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// A program that prints more than this without a pause is not waited for letter by
/// letter: what it prints is passed on in pieces of this size …
const FLOOD_THRESHOLD_BYTES: usize = 32 * 1024;
const FLOOD_BATCH_BYTES: usize = 64 * 1024;

/// … or when there was nothing, or nothing was passed on, for so long.
const QUIET_INTERVAL: Duration = Duration::from_millis(1);

/// In a flood, whoever reads at once what little is there keeps the program and the
/// terminal waking each other: after less than this, the next is waited for …
const SHORT_READ_BYTES: usize = 2048;
const SHORT_READ_DELAY: Duration = Duration::from_micros(20);

/// … and no longer than this, in nanoseconds …
const TIMER_SLACK_NANOS: Option<NonZeroU64> = NonZeroU64::new(1000);

/// … unless so much is there to be looked at.
const FLOOD_READ_BYTES: usize = 16 * 1024;

/// What was printed is drawn when the program pauses for so long …
const DRAW_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// … or when it has waited for so long.
const MAX_DRAW_DELAY: Duration = Duration::from_millis(4);

/// Reads until no program has the terminal any more, or until the other end of
/// `stop` is closed.
pub(super) fn run_pty_reader(
    controller: &PtyController,
    stop: &OwnedFd,
    line: &Arc<SharedPtyState>,
) {
    if let Err(error) = copy_output(controller, stop, line) {
        tracing::warn!(%error, "the terminal cannot be read any more");
    }
    line.offer_output();
    line.update_state(|state| state.silent = true);
}

fn copy_output(
    controller: &PtyController,
    stop: &OwnedFd,
    line: &SharedPtyState,
) -> io::Result<()> {
    // Without it a nap takes several times as long, which costs speed and nothing else.
    if let Err(error) = rustix::thread::set_current_timer_slack(TIMER_SLACK_NANOS) {
        tracing::debug!(%error, "naps are not short");
    }
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let mut flow = OutputBatcher::new(Instant::now());
    // Since when something waits to be drawn.
    let mut undrawn: Option<Instant> = None;
    loop {
        let (length, more) = fill_buffer(controller, &mut buffer, flow.pace())?;
        if length > 0 {
            let waits = line.append_output(&buffer[..length]);
            undrawn = if waits { undrawn.or_else(|| Some(Instant::now())) } else { None };
            let is_ahead = line.is_screen_lagging();
            if flow.is_due(length, Instant::now()) || is_ahead {
                flow.flush_to_clients(line);
            }
            if is_ahead {
                line.wait_for_screen();
            }
        }
        if undrawn.is_some_and(|since| since.elapsed() >= MAX_DRAW_DELAY) {
            undrawn = None;
            line.wake_renderer();
        }
        match more {
            ReadStatus::Ready => {}
            ReadStatus::WouldBlock => {
                let mut lines = [
                    PollFd::from_borrowed_fd(controller.as_fd(), PollFlags::IN),
                    PollFd::new(stop, PollFlags::IN),
                ];
                let patience = (flow.gathered > 0 || undrawn.is_some()).then_some(&DRAW_PAUSE);
                match rustix::event::poll(&mut lines, patience) {
                    Ok(0) => {
                        flow.flush_to_clients(line);
                        if undrawn.take().is_some() {
                            line.wake_renderer();
                        }
                    }
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                if !lines[1].revents().is_empty() && lines[0].revents().is_empty() {
                    return Ok(());
                }
            }
            ReadStatus::Closed => return Ok(()),
        }
    }
}

/// When what was printed is passed on: at once, but in a flood in pieces, because
/// the terminal gives little at a time and each piece wakes everyone on its way.
struct OutputBatcher {
    /// How much was printed without a pause.
    run: usize,
    /// When something was printed last.
    last: Instant,
    /// How much of it was not passed on yet …
    gathered: usize,
    /// … and since when.
    since: Instant,
}

impl OutputBatcher {
    fn new(now: Instant) -> Self {
        Self { run: 0, last: now, gathered: 0, since: now }
    }

    /// Whether to pass on what there is, now that so much came.
    fn is_due(&mut self, length: usize, now: Instant) -> bool {
        if now.duration_since(self.last) >= QUIET_INTERVAL {
            self.run = 0;
        }
        if self.gathered == 0 {
            self.since = now;
        }
        self.last = now;
        self.run += length;
        self.gathered += length;
        let is_late = now.duration_since(self.since) >= QUIET_INTERVAL;
        self.run <= FLOOD_THRESHOLD_BYTES || self.gathered >= FLOOD_BATCH_BYTES || is_late
    }

    fn pace(&self) -> OutputPace {
        if self.run > FLOOD_THRESHOLD_BYTES { OutputPace::Flood } else { OutputPace::Interactive }
    }

    fn flush_to_clients(&mut self, line: &SharedPtyState) {
        if std::mem::take(&mut self.gathered) > 0 {
            line.offer_output();
        }
    }
}

/// How a program prints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputPace {
    Interactive,
    Flood,
}

enum ReadStatus {
    Ready,
    WouldBlock,
    Closed,
}

/// Reads what is there, as far as it fits.
fn fill_buffer(
    controller: &PtyController,
    buffer: &mut [u8],
    pace: OutputPace,
) -> io::Result<(usize, ReadStatus)> {
    let mut length = 0;
    while length < buffer.len() {
        match controller.read(&mut buffer[length..]) {
            Ok(0) => return Ok((length, ReadStatus::Closed)),
            Ok(n_read) => {
                length += n_read;
                if pace == OutputPace::Flood && n_read < SHORT_READ_BYTES {
                    if length >= FLOOD_READ_BYTES {
                        return Ok((length, ReadStatus::Ready));
                    }
                    std::thread::sleep(SHORT_READ_DELAY);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok((length, ReadStatus::WouldBlock));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((length, ReadStatus::Ready))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_passed_on_at_once_and_a_flood_in_pieces() {
        let begin = Instant::now();
        let mut flow = OutputBatcher::new(begin);
        // So many bytes, after so many microseconds: what has been gathered by then is due.
        let table = [
            ("a letter", 1, 0, true),
            ("one soon after it", 1, 10, true),
            ("a screen full", 8192, 20, true),
            ("much in one piece", 24 * 1024, 30, false),
            ("more of it", 4096, 60, false),
            ("and more", 4096, 90, false),
            ("a whole piece", 40 * 1024, 120, true),
            ("the beginning of the next", 4096, 150, false),
            ("more of that", 4096, 700, false),
            ("it has waited for long", 4096, 1150, true),
            ("the flood goes on", 4096, 1200, false),
            ("a letter after a pause", 1, 3000, true),
        ];
        for (sentence, length, micros, expected) in table {
            let is_due = flow.is_due(length, begin + Duration::from_micros(micros));
            assert_eq!(is_due, expected, "{sentence}");
            if is_due {
                flow.gathered = 0;
            }
        }
    }
}
