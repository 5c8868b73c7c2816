//! The screen as text.

use alacritty_terminal::grid::Dimensions as _;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::Flags;

use super::TerminalScreen;

/// The text of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct ScreenText {
    /// The requested lines of scrollback, then those of the screen.
    pub(in super::super) lines: Vec<String>,
    /// How many of them are scrollback.
    pub(in super::super) above: usize,
    /// The position of the cursor on the screen: line and column, from 0.
    pub(in super::super) cursor: (usize, usize),
    /// Whether the alternate screen is shown.
    pub(in super::super) alternate: bool,
    /// Whether the cursor is shown.
    pub(in super::super) cursor_shown: bool,
}

impl TerminalScreen {
    /// The lines of the screen, and up to `above` lines of scrollback.
    pub(in super::super) fn read_text(&self, above: usize) -> ScreenText {
        let grid = self.handler.term.grid();
        let above = above.min(grid.history_size());
        let first = Line(0) - i32::try_from(above).unwrap_or(0);
        let mut lines = Vec::new();
        let mut line = first;
        while line <= grid.bottommost_line() {
            let mut text = String::new();
            for column in 0..grid.columns() {
                let cell = &grid[line][Column(column)];
                if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                    continue;
                }
                text.push(if cell.c == '\t' { ' ' } else { cell.c });
                text.extend(cell.zerowidth().unwrap_or_default());
            }
            text.truncate(text.trim_end().len());
            lines.push(text);
            line += 1_i32;
        }
        let point = grid.cursor.point;
        let mode = self.handler.term.mode();
        ScreenText {
            lines,
            above,
            cursor: (usize::try_from(point.line.0).unwrap_or(0), point.column.0),
            alternate: mode.contains(TermMode::ALT_SCREEN),
            cursor_shown: mode.contains(TermMode::SHOW_CURSOR),
        }
    }
}
