//! The thread that reads the PTY.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_sandbox::pty::PtyController;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::shared_pty_state::SharedPtyState;

/// Size of the read buffer. A PTY returns little per read, so the reader continues
/// until nothing is left or the buffer is full.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// A program that prints more than this without a pause is in a flood: its output
/// is passed on in batches of `FLOOD_BATCH_BYTES` …
const FLOOD_THRESHOLD_BYTES: usize = 32 * 1024;
const FLOOD_BATCH_BYTES: usize = 64 * 1024;

/// … or when nothing was printed, or passed on, for this long.
const QUIET_INTERVAL: Duration = Duration::from_millis(1);

/// In a flood, reading every few bytes at once would make program and reader wake
/// each other all the time: after a shorter read than this, the reader sleeps …
const SHORT_READ_BYTES: usize = 2048;
const SHORT_READ_DELAY: Duration = Duration::from_micros(20);

/// … with this timer slack, in nanoseconds …
const TIMER_SLACK_NANOS: Option<NonZeroU64> = NonZeroU64::new(1000);

/// … unless this much has been read already.
const FLOOD_READ_BYTES: usize = 16 * 1024;

/// Output is drawn when the program pauses for this long …
const DRAW_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// … or when it has waited for this long.
const MAX_DRAW_DELAY: Duration = Duration::from_millis(4);

/// Reads until no process has the terminal open, or until the other end of `stop`
/// is closed.
pub(super) fn run_pty_reader(
    controller: &PtyController,
    stop: &OwnedFd,
    shared: &Arc<SharedPtyState>,
) {
    if let Err(error) = copy_output(controller, stop, shared) {
        tracing::warn!(%error, "cannot read the PTY any more");
    }
    shared.offer_output();
    shared.update_state(|state| state.eof = true);
}

fn copy_output(
    controller: &PtyController,
    stop: &OwnedFd,
    shared: &SharedPtyState,
) -> io::Result<()> {
    // With the default slack a short sleep takes several times as long.
    if let Err(error) = rustix::thread::set_current_timer_slack(TIMER_SLACK_NANOS) {
        tracing::debug!(%error, "cannot reduce the timer slack");
    }
    let mut buffer = vec![0; READ_BUFFER_BYTES];
    let mut batcher = OutputBatcher::new(Instant::now());
    // Since when output waits to be drawn.
    let mut undrawn_since: Option<Instant> = None;
    loop {
        let (length, status) = fill_buffer(controller, &mut buffer, batcher.pace())?;
        if length > 0 {
            let draw_later = shared.append_output(&buffer[..length]);
            undrawn_since =
                if draw_later { undrawn_since.or_else(|| Some(Instant::now())) } else { None };
            let screen_lags = shared.is_screen_lagging();
            if batcher.is_due(length, Instant::now()) || screen_lags {
                batcher.flush_to_clients(shared);
            }
            if screen_lags {
                shared.wait_for_screen();
            }
        }
        if undrawn_since.is_some_and(|since| since.elapsed() >= MAX_DRAW_DELAY) {
            undrawn_since = None;
            shared.wake_renderer();
        }
        match status {
            ReadStatus::Ready => {}
            ReadStatus::WouldBlock => {
                let mut poll_fds = [
                    PollFd::from_borrowed_fd(controller.as_fd(), PollFlags::IN),
                    PollFd::new(stop, PollFlags::IN),
                ];
                let poll_timeout =
                    (batcher.pending > 0 || undrawn_since.is_some()).then_some(&DRAW_PAUSE);
                match rustix::event::poll(&mut poll_fds, poll_timeout) {
                    Ok(0) => {
                        batcher.flush_to_clients(shared);
                        if undrawn_since.take().is_some() {
                            shared.wake_renderer();
                        }
                    }
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                if !poll_fds[1].revents().is_empty() && poll_fds[0].revents().is_empty() {
                    return Ok(());
                }
            }
            ReadStatus::Closed => return Ok(()),
        }
    }
}

/// Decides when output is passed on: at once, but in batches during a flood,
/// because a PTY returns little per read and each piece wakes all clients.
struct OutputBatcher {
    /// Bytes printed without a pause.
    run: usize,
    /// When something was printed last.
    last: Instant,
    /// Bytes that were not passed on yet …
    pending: usize,
    /// … and since when.
    since: Instant,
}

impl OutputBatcher {
    fn new(now: Instant) -> Self {
        Self { run: 0, last: now, pending: 0, since: now }
    }

    /// Whether to pass on the output, after `length` more bytes.
    fn is_due(&mut self, length: usize, now: Instant) -> bool {
        if now.duration_since(self.last) >= QUIET_INTERVAL {
            self.run = 0;
        }
        if self.pending == 0 {
            self.since = now;
        }
        self.last = now;
        self.run += length;
        self.pending += length;
        let is_late = now.duration_since(self.since) >= QUIET_INTERVAL;
        self.run <= FLOOD_THRESHOLD_BYTES || self.pending >= FLOOD_BATCH_BYTES || is_late
    }

    fn pace(&self) -> OutputPace {
        if self.run > FLOOD_THRESHOLD_BYTES { OutputPace::Flood } else { OutputPace::Interactive }
    }

    fn flush_to_clients(&mut self, shared: &SharedPtyState) {
        if std::mem::take(&mut self.pending) > 0 {
            shared.offer_output();
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

/// Reads what is available, as far as it fits.
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
        let mut batcher = OutputBatcher::new(begin);
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
            let is_due = batcher.is_due(length, begin + Duration::from_micros(micros));
            assert_eq!(is_due, expected, "{sentence}");
            if is_due {
                batcher.pending = 0;
            }
        }
    }
}
