//! The screen as bytes that make an empty terminal of its size look the same.
//!
//! In this order, since each step disturbs what the later ones set: everything
//! back to normal; the main screen, its history scrolled in above; the other
//! screen, if that is shown; tabs; margins; the saved cursor; the cursor, with
//! the wrap that waits for the next character; modes; how the next character
//! looks; the title. Characters are written as they are drawn, so character sets
//! come last.

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
    /// What makes an empty terminal of the same size look like this one.
    pub(in super::super) fn encode_snapshot(&mut self) -> Vec<u8> {
        let handling = &mut self.handling;
        let mut out = Vec::with_capacity(64 * 1024);
        out.extend_from_slice(b"\x1b[!p\x1b[?7h");
        let main_cursor = handling.with_main_grid(|grid| {
            write_rows(grid, &mut out);
            grid.cursor.clone()
        });
        if handling.is_alternate() {
            // Switching saves the cursor of the main screen, with how it draws.
            write_cursor_position(&main_cursor, 0, &mut out);
            write_saved_style(&main_cursor, handling.charset, &mut out);
            out.extend_from_slice(b"\x1b[?1049h\x1b[0m\x1b(B\x1b)B\x0f\x1b[H");
            write_rows(handling.term.grid(), &mut out);
        }
        write_tab_stops(&handling.tabs, &mut out);
        let grid = handling.term.grid();
        let (top, end) = handling.margins;
        if (top, end) != (0, grid.screen_lines()) {
            push_formatted(&mut out, format_args!("\x1b[{};{end}r", top + 1));
        }
        let saved = &grid.saved_cursor;
        let untouched = saved.point.line == 0 && saved.point.column == 0;
        if !untouched || !CellStyle::plain().matches_cell(&saved.template) {
            write_cursor_position(saved, 0, &mut out);
            write_saved_style(saved, handling.charset, &mut out);
            out.extend_from_slice(b"\x1b7\x1b[0m\x1b(B\x1b)B\x0f");
        }
        write_cursor(handling, &mut out);
        write_modes(handling, &mut out);
        write_final_state(handling, &mut out);
        out
    }
}

/// All lines of a screen, from the top of a cleared one; older ones scroll away.
fn write_rows(grid: &Grid<Cell>, out: &mut Vec<u8>) {
    let (first, last) = (grid.topmost_line(), grid.bottommost_line());
    let mut look = CellStyle::plain();
    let (mut line, mut wraps) = (first, false);
    while line <= last {
        wraps = write_row(grid, line, wraps, &mut look, out) && line < last;
        if line < last && !wraps {
            // What scrolls in has the background of the moment.
            switch_style(&mut look, &CellStyle::plain(), out);
            out.extend_from_slice(b"\r\n");
        }
        line += 1_i32;
    }
    switch_style(&mut look, &CellStyle::plain(), out);
}

fn switch_style(look: &mut CellStyle, next: &CellStyle, out: &mut Vec<u8>) {
    if look != next {
        next.write_transition(look, out);
        look.clone_from(next);
    }
}

/// One line, which may go on from the one before; tells whether it goes on in the next.
fn write_row(
    grid: &Grid<Cell>,
    line: Line,
    goes_on: bool,
    look: &mut CellStyle,
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
    // It takes a character to go on in this line at all.
    end = end.max(usize::from(goes_on));
    // A background to the end of the line is one sequence.
    let mut filled = end;
    if !wraps
        && end == columns
        && is_blank(at(end - 1))
        && CellStyle::from_cell(at(end - 1)).is_background_only()
    {
        while filled > usize::from(goes_on)
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
        if !look.matches_cell(cell) {
            switch_style(look, &CellStyle::from_cell(cell), out);
        }
        write_character(cell, column + 1 < columns && is_spacer(at(column + 1)), out);
    }
    if filled < end {
        switch_style(look, &CellStyle::from_cell(at(end - 1)), out);
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
        let look = CellStyle::from_cell(cell);
        look.is_background_only() && look.has_plain_background()
    }
}

fn write_character(cell: &Cell, has_room: bool, out: &mut Vec<u8>) {
    let alone = cell.flags.contains(Flags::WIDE_CHAR) && !has_room;
    let c = if alone || cell.c == '\t' { ' ' } else { cell.c };
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    for c in cell.zerowidth().unwrap_or_default() {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

fn write_cursor_position(cursor: &Cursor<Cell>, above: usize, out: &mut Vec<u8>) {
    let line = usize::try_from(cursor.point.line.0).unwrap_or(0).saturating_sub(above);
    push_formatted(out, format_args!("\x1b[{};{}H", line + 1, cursor.point.column.0 + 1));
}

/// What is saved with a cursor.
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

/// The cursor. One that stands behind the last column got there by writing in it.
fn write_cursor(handling: &ScreenHandler, out: &mut Vec<u8>) {
    let grid = handling.term.grid();
    let above = if handling.term.mode().contains(TermMode::ORIGIN) {
        out.extend_from_slice(b"\x1b[?6h");
        handling.margins.0
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
        let look = CellStyle::from_cell(cell);
        look.write_transition(&CellStyle::plain(), out);
        write_character(cell, wide, out);
        CellStyle::plain().write_transition(&look, out);
    }
}

/// The shape of the cursor, colors, the title, and how the next character looks.
fn write_final_state(handling: &ScreenHandler, out: &mut Vec<u8>) {
    let style = handling.term.cursor_style();
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
    let colors = handling.term.colors();
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
    if let Some(title) = handling.title.as_ref().filter(|title| !title.is_empty()) {
        push_formatted(out, format_args!("\x1b]2;{title}\x1b\\"));
    }
    let cursor = &handling.term.grid().cursor;
    CellStyle::from_cell(&cursor.template).write_transition(&CellStyle::plain(), out);
    write_charsets(cursor, handling.charset, out);
    rewrite_last_character(handling, out);
}

/// Writes the last character once more, at its place, if it was the last thing
/// that was written: what comes next may be a mark that joins it.
fn rewrite_last_character(handling: &ScreenHandler, out: &mut Vec<u8>) {
    let (grid, mode) = (handling.term.grid(), handling.term.mode());
    let Cursor { point, template, input_needs_wrap, .. } = &grid.cursor;
    let behind = if *input_needs_wrap { point.column.0 + 1 } else { point.column.0 };
    if !handling.joins || mode.contains(TermMode::INSERT) || behind == 0 {
        return;
    }
    let row = &grid[point.line];
    let wide = behind > 1 && is_spacer(&row[Column(behind - 1)]);
    let column = behind - 1 - usize::from(wide);
    let cell = &row[Column(column)];
    if !CellStyle::from_cell(template).matches_cell(cell) {
        return;
    }
    let above = if mode.contains(TermMode::ORIGIN) { handling.margins.0 } else { 0 };
    let line = usize::try_from(point.line.0).unwrap_or(0).saturating_sub(above);
    push_formatted(out, format_args!("\x1b[{};{}H", line + 1, column + 1));
    write_character(cell, wide, out);
}
