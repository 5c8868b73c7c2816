//! The current terminal in raw mode; restored on drop.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use provost_proto::runtime::TerminalSize;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

/// Resets every mode that a program may have set.
const RESET_MODES: &[u8] = b"\x1b[!p\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\
    \x1b[?2004l\x1b[?1l\x1b>\x1b[4l\x1b[20l\x1b[?6l\x1b[?7h\x1b[r\x1b[?25h\x1b[0 q\x1b[0m\x1b(B\x0f";

/// The alternate screen, without translating the mouse wheel to arrow keys.
const ENTER_ALTERNATE_SCREEN: &[u8] = b"\x1b[?1049h\x1b[?1007l\x1b[H\x1b[2J";
const LEAVE_ALTERNATE_SCREEN: &[u8] = b"\x1b[?1007h\x1b[?1049l";

/// The terminal in raw mode, on the alternate screen.
pub(super) struct RawTerminal {
    before: Termios,
    out: io::Stdout,
}

impl RawTerminal {
    /// Whether standard input and output are a terminal.
    pub(super) fn is_available() -> bool {
        isatty(io::stdin()) && isatty(io::stdout())
    }

    /// Columns and rows.
    pub(super) fn size() -> io::Result<TerminalSize> {
        let size = tcgetwinsize(io::stdout())?;
        // Some terminals report 0 × 0.
        Ok(if size.ws_col == 0 || size.ws_row == 0 {
            TerminalSize { cols: 80, rows: 24 }
        } else {
            TerminalSize { cols: size.ws_col, rows: size.ws_row }
        })
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

    /// Writes to the window; blocks while it is slow.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        tokio::task::block_in_place(|| {
            let mut out = self.out.lock();
            out.write_all(bytes)?;
            out.flush()
        })
    }

    /// Writes a text over the last line and restores the cursor.
    pub(super) fn draw_status_line(&self, text: &str) -> io::Result<()> {
        let TerminalSize { cols, rows } = Self::size()?;
        let text: String = text.chars().take(usize::from(cols)).collect();
        self.write(format!("\x1b7\x1b[{rows};1H\x1b[0;7m{text}\x1b[K\x1b[0m\x1b8").as_bytes())
    }

    /// Clears the screen and all modes, before a snapshot is drawn.
    pub(super) fn reset_screen(&self) -> io::Result<()> {
        self.write(RESET_MODES)?;
        self.write(b"\x1b[H\x1b[2J")
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // If the window was closed, there is nothing to restore.
        drop(self.write(RESET_MODES).and_then(|()| self.write(LEAVE_ALTERNATE_SCREEN)));
        let _gone = tcsetattr(io::stdin().as_fd(), OptionalActions::Drain, &self.before);
    }
}
