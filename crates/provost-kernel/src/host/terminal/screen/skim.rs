//! Skips output of a flood that cannot be seen any more.
//!
//! Of a hundred megabytes of lines only the last ones remain on the screen and in
//! the scrollback; the others need not be drawn. That holds for lines and colors
//! only: other effects, such as cursor movements or the bell, must be performed.

use memchr::memchr_iter;

/// How many color sequences are repeated; with more of them it does not pay off.
const MAX_COLOR_SEQUENCES: usize = 4096;

/// A flood, reduced to what remains visible.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkimmedOutput<'a> {
    /// The color sequences in effect where the rest begins.
    pub(super) colors: Vec<u8>,
    /// The last lines, with the end of the line before them.
    pub(super) rest: &'a [u8],
}

/// Skips all but the last `lines` of a flood. The error is the offset up to which it
/// contains more than lines and colors, and must be drawn.
pub(super) fn skim_output(bytes: &[u8], lines: usize) -> Result<SkimmedOutput<'_>, usize> {
    let ends = memchr::memrchr_iter(b'\n', bytes).skip(lines);
    let mut ends = ends.filter(|&at| at > 0 && bytes[at - 1] == b'\r');
    let start = ends.next().ok_or(bytes.len())? - 1;
    let (left_out, rest) = bytes.split_at(start);
    let mut colors: Vec<&[u8]> = Vec::new();
    for at in memchr_iter(0x1b, left_out) {
        let color = parse_color_sequence(&left_out[at..]).ok_or(at + 1)?;
        if is_color_reset(color) {
            colors.clear();
        } else if colors.len() == MAX_COLOR_SEQUENCES {
            return Err(at + 1);
        }
        colors.push(color);
    }
    if let Some(at) = find_control_byte(left_out) {
        return Err(at + 1);
    }
    Ok(SkimmedOutput { colors: colors.concat(), rest })
}

/// The sequence that begins here, if it only sets colors.
fn parse_color_sequence(bytes: &[u8]) -> Option<&[u8]> {
    let parameters = bytes.strip_prefix(b"\x1b[")?;
    let length = parameters.iter().take_while(|byte| matches!(byte, b'0'..=b';')).count();
    (parameters.get(length) == Some(&b'm')).then(|| &bytes[..length + 3])
}

/// Whether earlier color sequences have no effect any more.
fn is_color_reset(color: &[u8]) -> bool {
    matches!(color.get(2..), Some([b'm', ..] | [b'0', b'm' | b';', ..]))
}

/// The first control byte other than line ends, tabs and escapes.
fn find_control_byte(bytes: &[u8]) -> Option<usize> {
    let control = |byte: u8| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b);
    // First without stopping early, which the compiler vectorizes.
    let found = bytes.iter().fold(false, |found, &byte| found | control(byte));
    if found {
        return bytes.iter().position(|&byte| control(byte));
    }
    // C1 controls, encoded in UTF-8.
    let mut high = memchr_iter(0xc2, bytes);
    high.find(|&at| bytes.get(at + 1).is_some_and(|byte| (0x80..=0x9f).contains(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_and_colors_are_left_out() {
        let skimmed = |colors: &str, rest| Ok(SkimmedOutput { colors: colors.into(), rest });
        for (sentence, bytes, expected) in [
            ("lines", &b"1\r\n2\r\n3\r\n4"[..], skimmed("", &b"\r\n3\r\n4"[..])),
            ("the last end counts", b"1\r\n2\r\n3\r\n", skimmed("", b"\r\n3\r\n")),
            ("too few lines", b"1\r\n2", Err(4)),
            (
                "an end without return is no place to begin",
                b"1\r\n2\n3\r\n4",
                skimmed("", b"\r\n2\n3\r\n4"),
            ),
            (
                "colors since the reset",
                b"\x1b[1m\x1b[0;31ma\x1b[4mb\r\n2\r\n3",
                skimmed("\x1b[0;31m\x1b[4m", b"\r\n2\r\n3"),
            ),
            (
                "a reset without numbers",
                b"\x1b[1m\x1b[m\r\n2\r\n3",
                skimmed("\x1b[m", b"\r\n2\r\n3"),
            ),
            (
                "colors without reset",
                b"\x1b[38:2::1:2:3m\x1b[4m\r\n2\r\n3",
                skimmed("\x1b[38:2::1:2:3m\x1b[4m", b"\r\n2\r\n3"),
            ),
            ("colors in what is drawn", b"1\r\n\x1b[2m2\r\n3", skimmed("", b"\r\n\x1b[2m2\r\n3")),
            ("a motion", b"a\x1b[2A\r\n2\r\n3", Err(2)),
            ("a motion in what is drawn", b"1\r\n\x1b[2A2\r\n3", skimmed("", b"\r\n\x1b[2A2\r\n3")),
            ("a mode", b"\x1b[?1049h\r\n2\r\n3", Err(1)),
            ("a title", b"\x1b]0;x\x07\r\n2\r\n3", Err(1)),
            ("the bell", b"a\x07\r\n2\r\n3", Err(2)),
            ("a control as a character", b"a\xc2\x9b2A\r\n2\r\n3", Err(2)),
            ("letters that are none", "ä…漢\r\n2\r\n3".as_bytes(), skimmed("", b"\r\n2\r\n3")),
            ("a color that is cut off", b"\x1b[3\r\n2\r\n3", Err(1)),
        ] {
            assert_eq!(skim_output(bytes, 1), expected, "{sentence}");
        }
    }
}
