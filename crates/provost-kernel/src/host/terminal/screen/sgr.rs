//! The style of cells, as the sequences that set it.

use std::io::Write as _;

use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, NamedColor};

/// The style of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CellStyle {
    fg: Color,
    bg: Color,
    underline: Option<Color>,
    flags: Flags,
    link: Option<(String, String)>,
}

/// The flags that are visible.
const VISIBLE_FLAGS: Flags = Flags::INVERSE
    .union(Flags::BOLD)
    .union(Flags::ITALIC)
    .union(Flags::DIM)
    .union(Flags::HIDDEN)
    .union(Flags::STRIKEOUT)
    .union(Flags::ALL_UNDERLINES);

const FLAG_CODES: [(Flags, &str); 11] = [
    (Flags::BOLD, "1"),
    (Flags::DIM, "2"),
    (Flags::ITALIC, "3"),
    (Flags::UNDERLINE, "4"),
    (Flags::DOUBLE_UNDERLINE, "4:2"),
    (Flags::UNDERCURL, "4:3"),
    (Flags::DOTTED_UNDERLINE, "4:4"),
    (Flags::DASHED_UNDERLINE, "4:5"),
    (Flags::INVERSE, "7"),
    (Flags::HIDDEN, "8"),
    (Flags::STRIKEOUT, "9"),
];

impl CellStyle {
    pub(super) fn plain() -> Self {
        Self::from_cell(&Cell::default())
    }

    pub(super) fn from_cell(cell: &Cell) -> Self {
        let link = cell.hyperlink().map(|link| {
            // Without an id of the program, the grid assigns one that means nothing.
            let id = if link.id().ends_with("_alacritty") { "" } else { link.id() };
            (id.to_owned(), link.uri().to_owned())
        });
        let flags = cell.flags & VISIBLE_FLAGS;
        let underline =
            cell.underline_color().filter(|_| cell.flags.intersects(Flags::ALL_UNDERLINES));
        Self { fg: cell.fg, bg: cell.bg, underline, flags, link }
    }

    /// Whether it is the default style, except for a link.
    fn is_plain(&self) -> bool {
        self.flags.is_empty()
            && self.underline.is_none()
            && self.fg == Color::Named(NamedColor::Foreground)
            && self.has_plain_background()
    }

    /// Whether a cell has this style; faster than [`Self::from_cell`].
    pub(super) fn matches_cell(&self, cell: &Cell) -> bool {
        let same =
            self.fg == cell.fg && self.bg == cell.bg && self.flags == (cell.flags & VISIBLE_FLAGS);
        match &cell.extra {
            None => same && self.underline.is_none() && self.link.is_none(),
            Some(_) => same && *self == Self::from_cell(cell),
        }
    }

    /// Whether a blank cell with this style shows only its background.
    pub(super) fn is_background_only(&self) -> bool {
        self.flags.is_empty()
            && self.link.is_none()
            && self.fg == Color::Named(NamedColor::Foreground)
    }

    pub(super) fn has_plain_background(&self) -> bool {
        self.bg == Color::Named(NamedColor::Background)
    }

    /// Writes the sequences that change the style from `before` to this one.
    pub(super) fn write_transition(&self, before: &Self, out: &mut Vec<u8>) {
        if self == before {
            return;
        }
        let same_letters = self.fg == before.fg
            && self.bg == before.bg
            && self.flags == before.flags
            && self.underline == before.underline;
        if !same_letters {
            out.extend_from_slice(b"\x1b[");
            let start = out.len();
            // An empty parameter means zero: reset.
            if !before.is_plain() {
                out.push(b'0');
            }
            for (flag, code) in FLAG_CODES {
                if self.flags.contains(flag) {
                    out.push(b';');
                    out.extend_from_slice(code.as_bytes());
                }
            }
            write_color(self.fg, &SgrColorCodes { first: 30, bright: 90, other: 38 }, out);
            write_color(self.bg, &SgrColorCodes { first: 40, bright: 100, other: 48 }, out);
            if let Some(underline) = self.underline {
                write_underline_color(underline, out);
            }
            if out.get(start) == Some(&b';') {
                out.remove(start);
            }
            if self.is_plain() {
                out.truncate(start);
            }
            out.push(b'm');
        }
        if self.link != before.link {
            let (id, uri) = self.link.as_ref().map_or(("", ""), |(id, uri)| (id, uri));
            let id = if id.is_empty() { String::new() } else { format!("id={id}") };
            push_formatted(out, format_args!("\x1b]8;{id};{uri}\x1b\\"));
        }
    }
}

struct SgrColorCodes {
    first: u16,
    bright: u16,
    other: u16,
}

fn write_color(color: Color, codes: &SgrColorCodes, out: &mut Vec<u8>) {
    match color {
        Color::Named(name) => {
            let index = name as u16;
            match index {
                0..=7 => push_formatted(out, format_args!(";{}", codes.first + index)),
                8..=15 => push_formatted(out, format_args!(";{}", codes.bright + index - 8)),
                _ => {}
            }
        }
        Color::Indexed(index) => push_formatted(out, format_args!(";{};5;{index}", codes.other)),
        Color::Spec(rgb) => {
            push_formatted(out, format_args!(";{};2;{};{};{}", codes.other, rgb.r, rgb.g, rgb.b));
        }
    }
}

fn write_underline_color(color: Color, out: &mut Vec<u8>) {
    match color {
        Color::Named(name) if (name as u16) < 16 => {
            push_formatted(out, format_args!(";58:5:{}", name as u16));
        }
        Color::Named(_) => {}
        Color::Indexed(index) => push_formatted(out, format_args!(";58:5:{index}")),
        Color::Spec(rgb) => {
            push_formatted(out, format_args!(";58:2::{}:{}:{}", rgb.r, rgb.g, rgb.b));
        }
    }
}

/// Writes into memory, which cannot fail.
pub(super) fn push_formatted(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _cannot_fail = out.write_fmt(text);
}
