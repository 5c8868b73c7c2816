//! What the terminal looks like: every cell, the cursor, the modes.
//!
//! `alacritty_terminal` keeps the cells. What it does not tell, or does
//! otherwise than the terminals of our clients, is done in [`handler`];
//! [`snapshot`] writes it all down so that a client that comes late draws the
//! same. It also answers what programs ask their terminal; no client does.

mod colors;
mod events;
mod handler;
mod incomplete_sequence;
mod modes;
mod sgr;
mod skim;
mod snapshot;
#[cfg(test)]
mod tests;
mod text;

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::vte::ansi::{Processor, StdSyncHandler};
use provost_sandbox::pty::PtySize;

use handler::ScreenHandler;
pub(super) use incomplete_sequence::incomplete_suffix;
pub(super) use text::ScreenText;

/// The screen of one terminal.
pub(super) struct TerminalScreen {
    parser: Processor<StdSyncHandler>,
    handling: ScreenHandler,
    /// The beginning of a sequence that the parser does not know.
    held: Vec<u8>,
}

/// Back to normal, but for what is drawn.
const SOFT_RESET: &[u8] = b"\x1b[!p";

impl std::fmt::Debug for TerminalScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Screen")
    }
}

/// What came out of some output, beside what can be seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenEffects {
    /// What the terminal answers to its program.
    pub(super) answers: Vec<u8>,
    /// The title, if it has another.
    pub(super) title: Option<String>,
    /// Whether the bell rang.
    pub(super) bell: bool,
}

/// A size, as the grid wants it.
#[derive(Clone, Copy)]
struct GridDimensions(PtySize);

impl Dimensions for GridDimensions {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.0.rows).max(1)
    }

    // A wide character needs two, and the grid does not check.
    fn columns(&self) -> usize {
        usize::from(self.0.cols).max(2)
    }
}

impl TerminalScreen {
    pub(super) fn new(size: PtySize) -> Self {
        Self { parser: Processor::new(), handling: ScreenHandler::new(size), held: Vec::new() }
    }

    /// Draws what was printed.
    pub(super) fn draw(&mut self, printed: &[u8]) -> ScreenEffects {
        // A sequence that the parser does not know must not be cut in two.
        let mut joined = std::mem::take(&mut self.held);
        if !joined.is_empty() {
            joined.extend_from_slice(printed);
        }
        let mut bytes = if joined.is_empty() { printed } else { &joined };
        while let Some(at) = memchr::memmem::find(bytes, SOFT_RESET) {
            self.parser.advance(&mut self.handling, &bytes[..at]);
            self.stop_sync_update();
            self.handling.soft_reset();
            bytes = &bytes[at + SOFT_RESET.len()..];
        }
        let begun = (1..SOFT_RESET.len()).rev().find(|&n| bytes.ends_with(&SOFT_RESET[..n]));
        let (now, later) = bytes.split_at(bytes.len() - begun.unwrap_or(0));
        self.parser.advance(&mut self.handling, now);
        self.held = later.to_vec();
        self.handling.take_effects()
    }

    /// Draws of a flood what can still be seen, as if all of it had been drawn; the
    /// bytes before it must have been whole. An error tells up to where it cannot
    /// be left out.
    pub(super) fn skim(&mut self, printed: &[u8]) -> Result<ScreenEffects, usize> {
        let lines = self.handling.lines_until_overwritten().filter(|_| !self.is_in_sync_update());
        let lines = lines.filter(|_| self.held.is_empty()).ok_or(0_usize)?;
        let skim::SkimmedOutput { colors, rest } = skim::skim_output(printed, lines)?;
        self.parser.advance(&mut self.handling, &colors);
        Ok(self.draw(rest))
    }

    /// Whether a program has said that it is drawing, and not yet that it is done.
    pub(super) fn is_in_sync_update(&self) -> bool {
        self.parser.sync_bytes_count() > 0
    }

    /// Draws what a program wanted to have drawn at once later.
    pub(super) fn finish_sync_update(&mut self) -> ScreenEffects {
        self.stop_sync_update();
        self.handling.take_effects()
    }

    fn stop_sync_update(&mut self) {
        if self.is_in_sync_update() {
            self.parser.stop_sync(&mut self.handling);
        }
    }

    pub(super) fn resize(&mut self, size: PtySize) {
        self.handling.resize(size);
    }

    pub(super) fn size(&self) -> PtySize {
        self.handling.size()
    }
}
