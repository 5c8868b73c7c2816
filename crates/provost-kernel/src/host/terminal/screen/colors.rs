//! The colors that the terminal reports to programs.

use alacritty_terminal::term::color::Colors;
use alacritty_terminal::vte::ansi::Rgb;

/// The default colors.
const FOREGROUND: Rgb = Rgb { r: 0xd4, g: 0xd4, b: 0xd4 };
const BACKGROUND: Rgb = Rgb { r: 0x12, g: 0x14, b: 0x17 };

/// The color of an index. Of the 256 indexed colors that the program did not set,
/// only the client knows the appearance.
pub(super) fn resolve_color(colors: &Colors, index: usize) -> Option<Rgb> {
    let fallback = match index {
        256 | 258 => Some(FOREGROUND),
        257 => Some(BACKGROUND),
        0..=15 => ANSI.get(index).map(|&(r, g, b)| Rgb { r, g, b }),
        16..=231 => {
            let level =
                |n: usize| if n == 0 { 0 } else { u8::try_from(55 + n * 40).unwrap_or(255) };
            let n = index - 16;
            Some(Rgb { r: level(n / 36), g: level(n / 6 % 6), b: level(n % 6) })
        }
        232..=255 => {
            let gray = u8::try_from(8 + (index - 232) * 10).unwrap_or(255);
            Some(Rgb { r: gray, g: gray, b: gray })
        }
        _ => None,
    };
    if index < 269 { colors[index].or(fallback) } else { None }
}

/// The defaults of xterm.
const ANSI: [(u8, u8, u8); 16] = [
    (0x2e, 0x34, 0x36),
    (0xcc, 0x00, 0x00),
    (0x4e, 0x9a, 0x06),
    (0xc4, 0xa0, 0x00),
    (0x34, 0x65, 0xa4),
    (0x75, 0x50, 0x7b),
    (0x06, 0x98, 0x9a),
    (0xd3, 0xd7, 0xcf),
    (0x55, 0x57, 0x53),
    (0xef, 0x29, 0x29),
    (0x8a, 0xe2, 0x34),
    (0xfc, 0xe9, 0x4f),
    (0x72, 0x9f, 0xcf),
    (0xad, 0x7f, 0xa8),
    (0x34, 0xe2, 0xe2),
    (0xee, 0xee, 0xec),
];
