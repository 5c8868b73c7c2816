//! The terminal we are in: taken, and given back as it was.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

/// Whatever a program may have switched on, off again.
const RESET_MODES: &[u8] = b"\x1b[!p\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\
    \x1b[?2004l\x1b[?1l\x1b>\x1b[4l\x1b[20l\x1b[?6l\x1b[?7h\x1b[r\x1b[?25h\x1b[0 q\x1b[0m\x1b(B\x0f";

/// A screen of its own, as editors have; the wheel types no arrows there.
const ENTER_ALTERNATE_SCREEN: &[u8] = b"\x1b[?1049h\x1b[?1007l\x1b[H\x1b[2J";
const LEAVE_ALTERNATE_SCREEN: &[u8] = b"\x1b[?1007h\x1b[?1049l";

/// The terminal, while it is ours.
pub(super) struct RawTerminal {
    before: Termios,
    out: io::Stdout,
}

impl RawTerminal {
    /// Whether we are in one.
    pub(super) fn is_available() -> bool {
        isatty(io::stdin()) && isatty(io::stdout())
    }

    /// Its columns and rows.
    pub(super) fn size() -> io::Result<(u16, u16)> {
        let size = tcgetwinsize(io::stdout())?;
        // Some terminals do not say.
        Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
    }

    pub(super) fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &raw)?;
        let window = Self { before, out: io::stdout() };
        window.write(ENTER_ALTERNATE_SCREEN)?;
        Ok(window)
    }

    /// Draws. Waits for a window that is slow.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        tokio::task::block_in_place(|| {
            let mut out = self.out.lock();
            out.write_all(bytes)?;
            out.flush()
        })
    }

    /// Says something in the last line, over whatever stands there, and leaves the
    /// cursor where it was.
    pub(super) fn draw_status_line(&self, text: &str) -> io::Result<()> {
        let (cols, rows) = Self::size()?;
        let text: String = text.chars().take(usize::from(cols)).collect();
        self.write(format!("\x1b7\x1b[{rows};1H\x1b[0;7m{text}\x1b[K\x1b[0m\x1b8").as_bytes())
    }

    /// An empty screen with nothing switched on, for a snapshot to be drawn on.
    pub(super) fn reset_screen(&self) -> io::Result<()> {
        self.write(RESET_MODES)?;
        self.write(b"\x1b[H\x1b[2J")
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // If the window is gone, there is nothing to give back.
        drop(self.write(RESET_MODES).and_then(|()| self.write(LEAVE_ALTERNATE_SCREEN)));
        let _gone = tcsetattr(io::stdin().as_fd(), OptionalActions::Drain, &self.before);
    }
}
