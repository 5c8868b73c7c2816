//! Which characters are visible, and how the others are shown.
//!
//! What a person approves must be what it looks like. So commands and paths contain no character
//! that is invisible, reorders others or is unassigned, and such characters are escaped in any
//! other text that is shown to a person.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_normalization::is_nfc;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    /// A character that is invisible, or that hides others.
    #[error("contains {}, which cannot be seen", .0.escape_unicode())]
    Invisible(char),
    /// Not in normal form C, so that the text could be written in two ways.
    #[error("is not in Unicode's normal form C; compose its characters")]
    NotComposed,
}

/// Whether a text may have line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineBreaks {
    /// One line, without tabs.
    Forbidden,
    /// Line feeds and tabs are allowed.
    Allowed,
}

/// Checks that a text contains only visible characters and is normalized.
pub(crate) fn check_visible(text: &str, breaks: LineBreaks) -> Result<(), BadText> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    let taken = |c: char| breaks == LineBreaks::Allowed && matches!(c, '\n' | '\t');
    if let Some(c) = text.chars().find(|c| is_invisible(*c) && !taken(*c)) {
        return Err(BadText::Invisible(c));
    }
    if is_nfc(text) { Ok(()) } else { Err(BadText::NotComposed) }
}

/// Whether a character is invisible, reorders others or is not assigned.
pub(crate) fn is_invisible(c: char) -> bool {
    // Letters and marks by category, but rendered as nothing.
    let blank = matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'
            ..='\u{180f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    );
    blank
        || matches!(
            c.general_category(),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::Surrogate
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
        )
}

/// Whether a person would mistake the character for something else.
fn needs_escape(c: char) -> bool {
    c != ' ' && (is_invisible(c) || c.general_category() == GeneralCategory::SpaceSeparator)
}

/// A run of spaces that is longer than a person expects.
const LONG_SPACE_RUN: &str = "                ";

/// The text with invisible characters escaped, so that no two texts look alike.
///
/// A backslash is doubled only if the next characters would make it look like an escape, so
/// regular expressions remain readable.
///
/// Long runs of spaces are replaced by their count, since they would push the rest out of view:
/// `\u{3000 spaces}`.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\' | b'`');
    if text.bytes().all(plain) && !text.contains(LONG_SPACE_RUN) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '`' => out.push_str("\\`"),
            '\\' => {
                let escape = |next: &char| {
                    matches!(next, 'n' | 't' | 'r' | 'u' | '`' | '\\') || needs_escape(*next)
                };
                // A long run of spaces is escaped as one, too.
                let ahead = rest.clone().take(LONG_SPACE_RUN.len()).filter(|c| *c == ' ').count();
                let escaped = rest.peek().is_none_or(escape) || ahead == LONG_SPACE_RUN.len();
                out.push_str(if escaped { "\\\\" } else { "\\" });
            }
            ' ' => {
                let mut n_spaces = 1;
                while rest.next_if_eq(&' ').is_some() {
                    n_spaces += 1;
                }
                if n_spaces >= LONG_SPACE_RUN.len() {
                    let _ = write!(out, "\\u{{{n_spaces} spaces}}");
                } else {
                    out.extend(std::iter::repeat_n(' ', n_spaces));
                }
            }
            c if needs_escape(c) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "{}", c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The whole text between backquotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", escape_invisible(text))
}

/// The most characters of a text that an error message repeats.
const EXCERPT: usize = 400;

/// The beginning of a text between backquotes, with a note if it is truncated.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => quoted(text),
        Some((end, _)) => {
            format!("{} (and {} bytes more)", quoted(&text[..end]), text.len() - end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn shown(text: &str, expected: &str) {
        assert_eq!(escape_invisible(text), expected);
    }

    #[test]
    fn what_cannot_be_seen_is_spelled_out() {
        shown("npm test", "npm test");
        shown("größe 日本 👍🏽", "größe 日本 👍🏽");
        shown("a\nb\tc\r", "a\\nb\\tc\\r");
        shown("\u{202e}gpj.exe", "\\u{202e}gpj.exe");
        shown("no\u{a0}break", "no\\u{a0}break");
        shown("\u{1b}[31m", "\\u{1b}[31m");
        shown("z\u{200b}w", "z\\u{200b}w");
        shown(&format!("ls{}; rm x", " ".repeat(3000)), "ls\\u{3000 spaces}; rm x");
        shown("a   b", "a   b");
    }

    #[test]
    fn a_backslash_is_doubled_only_where_it_could_be_taken_for_an_escape() {
        shown(r"grep '\.rs$'", r"grep '\.rs$'");
        shown(r"printf '\n'", r"printf '\\n'");
        shown("\\\n", r"\\\n");
        shown(r"a\", r"a\\");
        shown("`id`", r"\`id\`");
    }

    /// Reverses [`escape_invisible`].
    fn read(shown: &str) -> String {
        let mut out = String::new();
        let mut rest = shown.chars().peekable();
        while let Some(c) = rest.next() {
            let escape = rest.peek().copied();
            match (c, escape) {
                ('\\', Some('n' | 't' | 'r' | '`' | '\\')) => {
                    let c = rest.next().unwrap();
                    out.push(match c {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        c => c,
                    });
                }
                ('\\', Some('u')) => {
                    let digits: String = rest.by_ref().skip(2).take_while(|c| *c != '}').collect();
                    if let Some(n_spaces) = digits.strip_suffix(" spaces") {
                        out.push_str(&" ".repeat(n_spaces.parse().unwrap()));
                        continue;
                    }
                    out.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
                }
                _ => out.push(c),
            }
        }
        out
    }

    proptest! {
        #[test]
        fn no_two_texts_look_alike(text in "(?s)([\\\\ntru`{}\n\u{202e}\u{a0}]|.| {14,18})*") {
            prop_assert_eq!(read(&escape_invisible(&text)), text);
        }
    }
}
