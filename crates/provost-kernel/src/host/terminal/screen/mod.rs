//! The state of the screen: every cell, the cursor, the modes.
//!
//! `alacritty_terminal` keeps the cells. What it does not expose, or does
//! differently from our clients' terminals, is handled in [`handler`]; [`snapshot`]
//! encodes the state so that a client that attaches late draws the same. The screen
//! also answers terminal queries of programs; clients never do.

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
    handler: ScreenHandler,
    /// The beginning of a sequence that the parser does not know.
    incomplete: Vec<u8>,
}

/// DECSTR: resets modes and attributes, but not the content.
const SOFT_RESET: &[u8] = b"\x1b[!p";

impl std::fmt::Debug for TerminalScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TerminalScreen")
    }
}

/// Effects of output other than on the cells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenEffects {
    /// Responses to queries of the program.
    pub(super) responses: Vec<u8>,
    /// The new title, if it was changed.
    pub(super) title: Option<String>,
    /// Whether the bell rang.
    pub(super) bell: bool,
}

/// A size, as the grid needs it.
#[derive(Clone, Copy)]
struct GridDimensions(PtySize);

impl Dimensions for GridDimensions {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.0.rows).max(1)
    }

    // At least two, for a wide character: the grid does not check.
    fn columns(&self) -> usize {
        usize::from(self.0.cols).max(2)
    }
}

impl TerminalScreen {
    pub(super) fn new(size: PtySize) -> Self {
        Self { parser: Processor::new(), handler: ScreenHandler::new(size), incomplete: Vec::new() }
    }

    /// Draws output.
    pub(super) fn draw(&mut self, printed: &[u8]) -> ScreenEffects {
        // A sequence that the parser does not know must not be split.
        let mut joined = std::mem::take(&mut self.incomplete);
        if !joined.is_empty() {
            joined.extend_from_slice(printed);
        }
        let mut bytes = if joined.is_empty() { printed } else { &joined };
        while let Some(at) = memchr::memmem::find(bytes, SOFT_RESET) {
            self.parser.advance(&mut self.handler, &bytes[..at]);
            self.stop_sync_update();
            self.handler.soft_reset();
            bytes = &bytes[at + SOFT_RESET.len()..];
        }
        let partial = (1..SOFT_RESET.len()).rev().find(|&n| bytes.ends_with(&SOFT_RESET[..n]));
        let (complete, incomplete) = bytes.split_at(bytes.len() - partial.unwrap_or(0));
        self.parser.advance(&mut self.handler, complete);
        self.incomplete = incomplete.to_vec();
        self.handler.take_effects()
    }

    /// Draws only what remains visible of a flood, with the same result as drawing all
    /// of it. The output before must end with a complete sequence. The error is the
    /// offset up to which the bytes must be drawn.
    pub(super) fn skim(&mut self, printed: &[u8]) -> Result<ScreenEffects, usize> {
        let lines = self.handler.lines_until_overwritten().filter(|_| !self.is_in_sync_update());
        let lines = lines.filter(|_| self.incomplete.is_empty()).ok_or(0_usize)?;
        let skim::SkimmedOutput { colors, rest } = skim::skim_output(printed, lines)?;
        self.parser.advance(&mut self.handler, &colors);
        Ok(self.draw(rest))
    }

    /// Whether the program has begun a synchronized update and not ended it.
    pub(super) fn is_in_sync_update(&self) -> bool {
        self.parser.sync_bytes_count() > 0
    }

    /// Draws the pending synchronized update.
    pub(super) fn finish_sync_update(&mut self) -> ScreenEffects {
        self.stop_sync_update();
        self.handler.take_effects()
    }

    fn stop_sync_update(&mut self) {
        if self.is_in_sync_update() {
            self.parser.stop_sync(&mut self.handler);
        }
    }

    pub(super) fn resize(&mut self, size: PtySize) {
        self.handler.resize(size);
    }

    pub(super) fn size(&self) -> PtySize {
        self.handler.size()
    }
}
