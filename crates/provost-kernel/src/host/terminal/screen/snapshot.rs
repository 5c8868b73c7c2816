//! Encodes the screen as output that makes an empty terminal of its size look the same.
//!
//! In this order, since each step disturbs what later ones set: soft reset; the main
//! screen, with its scrollback; the alternate screen, if it is shown; tab stops;
//! margins; the saved cursor; the cursor, with its pending wrap; modes; the style of
//! the next character; the title. Characters are written as they are drawn, so
//! character sets come last.

use alacritty_terminal::grid::{Cursor, Dimensions as _, Grid};
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorShape, StandardCharset};

use super::TerminalScreen;
use super::handler::ScreenHandler;
use super::modes::write_modes;
use super::sgr::{CellStyle, push_formatted};

impl TerminalScreen {
    /// The output that makes an empty terminal of the same size look like this one.
    pub(in super::super) fn encode_snapshot(&mut self) -> Vec<u8> {
        let handler = &mut self.handler;
        let mut out = Vec::with_capacity(64 * 1024);
        out.extend_from_slice(b"\x1b[!p\x1b[?7h");
        let main_cursor = handler.with_main_grid(|grid| {
            write_rows(grid, &mut out);
            grid.cursor.clone()
        });
        if handler.is_alternate() {
            // Switching saves the cursor of the main screen, with its style.
            write_cursor_position(&main_cursor, 0, &mut out);
            write_saved_style(&main_cursor, handler.charset, &mut out);
            out.extend_from_slice(b"\x1b[?1049h\x1b[0m\x1b(B\x1b)B\x0f\x1b[H");
            write_rows(handler.term.grid(), &mut out);
        }
        write_tab_stops(&handler.tabs, &mut out);
        let grid = handler.term.grid();
        let (top, end) = handler.margins;
        if (top, end) != (0, grid.screen_lines()) {
            push_formatted(&mut out, format_args!("\x1b[{};{end}r", top + 1));
        }
        let saved = &grid.saved_cursor;
        let untouched = saved.point.line == 0 && saved.point.column == 0;
        if !untouched || !CellStyle::plain().matches_cell(&saved.template) {
            write_cursor_position(saved, 0, &mut out);
            write_saved_style(saved, handler.charset, &mut out);
            out.extend_from_slice(b"\x1b7\x1b[0m\x1b(B\x1b)B\x0f");
        }
        write_cursor(handler, &mut out);
        write_modes(handler, &mut out);
        write_final_state(handler, &mut out);
        out
    }
}

/// Writes all lines from the top of a cleared screen; older ones scroll into history.
fn write_rows(grid: &Grid<Cell>, out: &mut Vec<u8>) {
    let (first, last) = (grid.topmost_line(), grid.bottommost_line());
    let mut style = CellStyle::plain();
    let (mut line, mut wraps) = (first, false);
    while line <= last {
        wraps = write_row(grid, line, wraps, &mut style, out) && line < last;
        if line < last && !wraps {
            // A line that scrolls in gets the current background.
            switch_style(&mut style, &CellStyle::plain(), out);
            out.extend_from_slice(b"\r\n");
        }
        line += 1_i32;
    }
    switch_style(&mut style, &CellStyle::plain(), out);
}

fn switch_style(style: &mut CellStyle, next: &CellStyle, out: &mut Vec<u8>) {
    if style != next {
        next.write_transition(style, out);
        style.clone_from(next);
    }
}

/// Writes one line, which may continue the one before; returns whether it wraps.
fn write_row(
    grid: &Grid<Cell>,
    line: Line,
    continues: bool,
    style: &mut CellStyle,
    out: &mut Vec<u8>,
) -> bool {
    let cells = &grid[line];
    let columns = grid.columns();
    let at = |column: usize| &cells[Column(column)];
    let wraps = at(columns - 1).flags.contains(Flags::WRAPLINE);
    let mut end = columns;
    if !wraps {
        while end > 0 && is_empty_cell(at(end - 1)) {
            end -= 1;
        }
    }
    // A continued line needs at least one character.
    end = end.max(usize::from(continues));
    // A background to the end of the line is one sequence.
    let mut filled = end;
    if !wraps
        && end == columns
        && is_blank(at(end - 1))
        && CellStyle::from_cell(at(end - 1)).is_background_only()
    {
        while filled > usize::from(continues)
            && is_blank(at(filled - 1))
            && at(filled - 1) == at(end - 1)
        {
            filled -= 1;
        }
    }
    for column in 0..filled {
        let cell = at(column);
        if is_filler(cell, column, columns) {
            continue;
        }
        if !style.matches_cell(cell) {
            switch_style(style, &CellStyle::from_cell(cell), out);
        }
        write_character(cell, column + 1 < columns && is_spacer(at(column + 1)), out);
    }
    if filled < end {
        switch_style(style, &CellStyle::from_cell(at(end - 1)), out);
        out.extend_from_slice(b"\x1b[K");
    }
    wraps
}

fn is_spacer(cell: &Cell) -> bool {
    cell.flags.contains(Flags::WIDE_CHAR_SPACER)
}

/// The second half of a wide character, or the gap before one that did not fit.
fn is_filler(cell: &Cell, column: usize, columns: usize) -> bool {
    is_spacer(cell) && column > 0
        || cell.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER) && column + 1 == columns
}

fn is_blank(cell: &Cell) -> bool {
    (cell.c == ' ' || cell.c == '\t')
        && cell.zerowidth().is_none_or(<[char]>::is_empty)
        && !cell.flags.intersects(Flags::WIDE_CHAR | Flags::WIDE_CHAR_SPACER)
}

fn is_empty_cell(cell: &Cell) -> bool {
    is_blank(cell) && {
        let style = CellStyle::from_cell(cell);
        style.is_background_only() && style.has_plain_background()
    }
}

fn write_character(cell: &Cell, has_spacer: bool, out: &mut Vec<u8>) {
    let is_cut_off = cell.flags.contains(Flags::WIDE_CHAR) && !has_spacer;
    let c = if is_cut_off || cell.c == '\t' { ' ' } else { cell.c };
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    for c in cell.zerowidth().unwrap_or_default() {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

fn write_cursor_position(cursor: &Cursor<Cell>, above: usize, out: &mut Vec<u8>) {
    let line = usize::try_from(cursor.point.line.0).unwrap_or(0).saturating_sub(above);
    push_formatted(out, format_args!("\x1b[{};{}H", line + 1, cursor.point.column.0 + 1));
}

/// Writes the style that is saved with a cursor.
fn write_saved_style(cursor: &Cursor<Cell>, active: CharsetIndex, out: &mut Vec<u8>) {
    CellStyle::from_cell(&cursor.template).write_transition(&CellStyle::plain(), out);
    write_charsets(cursor, active, out);
}

fn write_charsets(cursor: &Cursor<Cell>, active: CharsetIndex, out: &mut Vec<u8>) {
    let all = [
        (CharsetIndex::G0, b'('),
        (CharsetIndex::G1, b')'),
        (CharsetIndex::G2, b'*'),
        (CharsetIndex::G3, b'+'),
    ];
    for (index, designator) in all {
        if cursor.charsets[index] == StandardCharset::SpecialCharacterAndLineDrawing {
            out.extend_from_slice(&[0x1b, designator, b'0']);
        }
    }
    match active {
        CharsetIndex::G0 => {}
        CharsetIndex::G1 => out.push(0x0e),
        CharsetIndex::G2 => out.extend_from_slice(b"\x1bn"),
        CharsetIndex::G3 => out.extend_from_slice(b"\x1bo"),
    }
}

fn write_tab_stops(tabs: &[bool], out: &mut Vec<u8>) {
    if tabs.iter().enumerate().all(|(column, tab)| *tab == (column % 8 == 0)) {
        return;
    }
    out.extend_from_slice(b"\x1b[3g");
    for (column, _) in tabs.iter().enumerate().filter(|(_, tab)| **tab) {
        push_formatted(out, format_args!("\x1b[1;{}H\x1bH", column + 1));
    }
}

/// Writes the cursor. A pending wrap is the result of writing in the last column.
fn write_cursor(handler: &ScreenHandler, out: &mut Vec<u8>) {
    let grid = handler.term.grid();
    let above = if handler.term.mode().contains(TermMode::ORIGIN) {
        out.extend_from_slice(b"\x1b[?6h");
        handler.margins.0
    } else {
        0
    };
    write_cursor_position(&grid.cursor, above, out);
    if grid.cursor.input_needs_wrap {
        let (line, last) = (grid.cursor.point.line, grid.columns() - 1);
        let wide = last > 0 && is_spacer(&grid[line][Column(last)]);
        if wide {
            out.extend_from_slice(b"\x1b[D");
        }
        let cell = &grid[line][Column(if wide { last - 1 } else { last })];
        let style = CellStyle::from_cell(cell);
        style.write_transition(&CellStyle::plain(), out);
        write_character(cell, wide, out);
        CellStyle::plain().write_transition(&style, out);
    }
}

/// Writes the shape of the cursor, colors, the title, and the style of the next character.
fn write_final_state(handler: &ScreenHandler, out: &mut Vec<u8>) {
    let style = handler.term.cursor_style();
    let shape = match style.shape {
        CursorShape::Underline => Some(3),
        CursorShape::Beam => Some(5),
        CursorShape::Block | CursorShape::HollowBlock | CursorShape::Hidden => {
            style.blinking.then_some(1)
        }
    };
    if let Some(shape) = shape {
        let steady = u8::from(!style.blinking);
        push_formatted(out, format_args!("\x1b[{} q", shape + steady));
    }
    let colors = handler.term.colors();
    for index in 0..256 {
        if let Some(rgb) = colors[index] {
            push_formatted(out, format_args!("\x1b]4;{index};{rgb}\x1b\\"));
        }
    }
    for (index, code) in [(256, 10), (257, 11), (258, 12)] {
        if let Some(rgb) = colors[index] {
            push_formatted(out, format_args!("\x1b]{code};{rgb}\x1b\\"));
        }
    }
    if let Some(title) = handler.title.as_ref().filter(|title| !title.is_empty()) {
        push_formatted(out, format_args!("\x1b]2;{title}\x1b\\"));
    }
    let cursor = &handler.term.grid().cursor;
    CellStyle::from_cell(&cursor.template).write_transition(&CellStyle::plain(), out);
    write_charsets(cursor, handler.charset, out);
    rewrite_last_character(handler, out);
}

/// Writes the last character again, in its position, if it was the last thing that
/// was written: a combining character may follow.
fn rewrite_last_character(handler: &ScreenHandler, out: &mut Vec<u8>) {
    let (grid, mode) = (handler.term.grid(), handler.term.mode());
    let Cursor { point, template, input_needs_wrap, .. } = &grid.cursor;
    let behind = if *input_needs_wrap { point.column.0 + 1 } else { point.column.0 };
    if !handler.joins || mode.contains(TermMode::INSERT) || behind == 0 {
        return;
    }
    let row = &grid[point.line];
    let wide = behind > 1 && is_spacer(&row[Column(behind - 1)]);
    let column = behind - 1 - usize::from(wide);
    let cell = &row[Column(column)];
    if !CellStyle::from_cell(template).matches_cell(cell) {
        return;
    }
    let above = if mode.contains(TermMode::ORIGIN) { handler.margins.0 } else { 0 };
    let line = usize::try_from(point.line.0).unwrap_or(0).saturating_sub(above);
    push_formatted(out, format_args!("\x1b[{};{}H", line + 1, column + 1));
    write_character(cell, wide, out);
}
