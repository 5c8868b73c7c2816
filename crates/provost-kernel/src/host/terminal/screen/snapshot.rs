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

use super::Screen;
use super::handler::Handling;
use super::modes::modes;
use super::sgr::{Look, put};

impl Screen {
    /// What makes an empty terminal of the same size look like this one.
    pub(in super::super) fn snapshot(&mut self) -> Vec<u8> {
        let handling = &mut self.handling;
        let mut out = Vec::with_capacity(64 * 1024);
        out.extend_from_slice(b"\x1b[!p\x1b[?7h");
        let main_cursor = handling.on_main(|grid| {
            rows(grid, &mut out);
            grid.cursor.clone()
        });
        if handling.is_alternate() {
            // Switching saves the cursor of the main screen, with how it draws.
            goto(&main_cursor, 0, &mut out);
            saved_look(&main_cursor, handling.charset, &mut out);
            out.extend_from_slice(b"\x1b[?1049h\x1b[0m\x1b(B\x1b)B\x0f\x1b[H");
            rows(handling.term.grid(), &mut out);
        }
        tabs(&handling.tabs, &mut out);
        let grid = handling.term.grid();
        let (top, end) = handling.margins;
        if (top, end) != (0, grid.screen_lines()) {
            put(&mut out, format_args!("\x1b[{};{end}r", top + 1));
        }
        let saved = &grid.saved_cursor;
        let untouched = saved.point.line == 0 && saved.point.column == 0;
        if !untouched || !Look::plain().is_of(&saved.template) {
            goto(saved, 0, &mut out);
            saved_look(saved, handling.charset, &mut out);
            out.extend_from_slice(b"\x1b7\x1b[0m\x1b(B\x1b)B\x0f");
        }
        cursor(handling, &mut out);
        modes(handling, &mut out);
        finish(handling, &mut out);
        out
    }
}

/// All lines of a screen, from the top of a cleared one; older ones scroll away.
fn rows(grid: &Grid<Cell>, out: &mut Vec<u8>) {
    let (first, last) = (grid.topmost_line(), grid.bottommost_line());
    let mut look = Look::plain();
    let (mut line, mut wraps) = (first, false);
    while line <= last {
        wraps = row(grid, line, wraps, &mut look, out) && line < last;
        if line < last && !wraps {
            // What scrolls in has the background of the moment.
            set(&mut look, &Look::plain(), out);
            out.extend_from_slice(b"\r\n");
        }
        line += 1_i32;
    }
    set(&mut look, &Look::plain(), out);
}

fn set(look: &mut Look, next: &Look, out: &mut Vec<u8>) {
    if look != next {
        next.write(look, out);
        look.clone_from(next);
    }
}

/// One line, which may go on from the one before; tells whether it goes on in the next.
fn row(grid: &Grid<Cell>, line: Line, goes_on: bool, look: &mut Look, out: &mut Vec<u8>) -> bool {
    let cells = &grid[line];
    let columns = grid.columns();
    let at = |column: usize| &cells[Column(column)];
    let wraps = at(columns - 1).flags.contains(Flags::WRAPLINE);
    let mut end = columns;
    if !wraps {
        while end > 0 && is_nothing(at(end - 1)) {
            end -= 1;
        }
    }
    // It takes a character to go on in this line at all.
    end = end.max(usize::from(goes_on));
    // A background to the end of the line is one sequence.
    let mut filled = end;
    if !wraps && end == columns && is_blank(at(end - 1)) && Look::of(at(end - 1)).only_background()
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
        if !look.is_of(cell) {
            set(look, &Look::of(cell), out);
        }
        character(cell, column + 1 < columns && is_spacer(at(column + 1)), out);
    }
    if filled < end {
        set(look, &Look::of(at(end - 1)), out);
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

fn is_nothing(cell: &Cell) -> bool {
    is_blank(cell) && {
        let look = Look::of(cell);
        look.only_background() && look.has_plain_background()
    }
}

fn character(cell: &Cell, has_room: bool, out: &mut Vec<u8>) {
    let alone = cell.flags.contains(Flags::WIDE_CHAR) && !has_room;
    let c = if alone || cell.c == '\t' { ' ' } else { cell.c };
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    for c in cell.zerowidth().unwrap_or_default() {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

fn goto(cursor: &Cursor<Cell>, above: usize, out: &mut Vec<u8>) {
    let line = usize::try_from(cursor.point.line.0).unwrap_or(0).saturating_sub(above);
    put(out, format_args!("\x1b[{};{}H", line + 1, cursor.point.column.0 + 1));
}

/// What is saved with a cursor.
fn saved_look(cursor: &Cursor<Cell>, active: CharsetIndex, out: &mut Vec<u8>) {
    Look::of(&cursor.template).write(&Look::plain(), out);
    charsets(cursor, active, out);
}

fn charsets(cursor: &Cursor<Cell>, active: CharsetIndex, out: &mut Vec<u8>) {
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

fn tabs(tabs: &[bool], out: &mut Vec<u8>) {
    if tabs.iter().enumerate().all(|(column, tab)| *tab == (column % 8 == 0)) {
        return;
    }
    out.extend_from_slice(b"\x1b[3g");
    for (column, _) in tabs.iter().enumerate().filter(|(_, tab)| **tab) {
        put(out, format_args!("\x1b[1;{}H\x1bH", column + 1));
    }
}

/// The cursor. One that stands behind the last column got there by writing in it.
fn cursor(handling: &Handling, out: &mut Vec<u8>) {
    let grid = handling.term.grid();
    let above = if handling.term.mode().contains(TermMode::ORIGIN) {
        out.extend_from_slice(b"\x1b[?6h");
        handling.margins.0
    } else {
        0
    };
    goto(&grid.cursor, above, out);
    if grid.cursor.input_needs_wrap {
        let (line, last) = (grid.cursor.point.line, grid.columns() - 1);
        let wide = last > 0 && is_spacer(&grid[line][Column(last)]);
        if wide {
            out.extend_from_slice(b"\x1b[D");
        }
        let cell = &grid[line][Column(if wide { last - 1 } else { last })];
        let look = Look::of(cell);
        look.write(&Look::plain(), out);
        character(cell, wide, out);
        Look::plain().write(&look, out);
    }
}

/// The shape of the cursor, colors, the title, and how the next character looks.
fn finish(handling: &Handling, out: &mut Vec<u8>) {
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
        put(out, format_args!("\x1b[{} q", shape + steady));
    }
    let colors = handling.term.colors();
    for index in 0..256 {
        if let Some(rgb) = colors[index] {
            put(out, format_args!("\x1b]4;{index};{rgb}\x1b\\"));
        }
    }
    for (index, code) in [(256, 10), (257, 11), (258, 12)] {
        if let Some(rgb) = colors[index] {
            put(out, format_args!("\x1b]{code};{rgb}\x1b\\"));
        }
    }
    if let Some(title) = handling.title.as_ref().filter(|title| !title.is_empty()) {
        put(out, format_args!("\x1b]2;{title}\x1b\\"));
    }
    let cursor = &handling.term.grid().cursor;
    Look::of(&cursor.template).write(&Look::plain(), out);
    charsets(cursor, handling.charset, out);
    last_character(handling, out);
}

/// Writes the last character once more, at its place, if it was the last thing
/// that was written: what comes next may be a mark that joins it.
fn last_character(handling: &Handling, out: &mut Vec<u8>) {
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
    if !Look::of(template).is_of(cell) {
        return;
    }
    let above = if mode.contains(TermMode::ORIGIN) { handling.margins.0 } else { 0 };
    let line = usize::try_from(point.line.0).unwrap_or(0).saturating_sub(above);
    put(out, format_args!("\x1b[{};{}H", line + 1, column + 1));
    character(cell, wide, out);
}
