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
    if let Some((_, c)) = find_invisible(text, breaks) {
        return Err(BadText::Invisible(c));
    }
    if is_nfc(text) { Ok(()) } else { Err(BadText::NotComposed) }
}

/// The first character that cannot be seen, and its position in characters.
pub(crate) fn find_invisible(text: &str, breaks: LineBreaks) -> Option<(usize, char)> {
    let taken = |c: char| breaks == LineBreaks::Allowed && matches!(c, '\n' | '\t');
    let mut context = CharacterContext::default();
    text.chars().enumerate().find(|(_, c)| context.hides(*c) && !taken(*c))
}

/// More marks on one letter than any script needs: they cover the lines around it.
const MAX_STACKED_MARKS: usize = 4;

/// Makes a symbol an emoji.
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// The characters before one, on which it depends whether it can be seen.
#[derive(Debug, Default)]
struct CharacterContext {
    after_symbol: bool,
    n_marks: usize,
}

impl CharacterContext {
    /// Whether the next character is invisible, or hides others.
    fn hides(&mut self, c: char) -> bool {
        use GeneralCategory::{
            EnclosingMark, MathSymbol, NonspacingMark, OtherPunctuation, OtherSymbol,
        };
        let category = c.general_category();
        let is_mark = matches!(category, NonspacingMark | EnclosingMark);
        self.n_marks = if is_mark { self.n_marks + 1 } else { 0 };
        let is_emoji = c == EMOJI_SELECTOR && self.after_symbol;
        self.after_symbol =
            !c.is_ascii() && matches!(category, OtherSymbol | MathSymbol | OtherPunctuation);
        is_invisible(c) && !is_emoji || self.n_marks > MAX_STACKED_MARKS
    }
}

/// Whether a character is invisible, reorders others or is not assigned.
pub(crate) fn is_invisible(c: char) -> bool {
    // Letters and marks by category, but rendered as nothing.
    let blank = matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'
            ..='\u{180f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'
            ..='\u{fe0f}' | '\u{ffa0}' | '\u{16fe4}' | '\u{1d159}' | '\u{e0100}'..='\u{e01ef}'
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

/// Letters of other scripts with the shape of an ASCII letter.
const LOOKALIKE_LETTERS: &str = "аеорсухіјѕһԁԛԝгӏАВЕЗКМНОРСТХУЅІЈԌԜοορνυγιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ\
                                 օոսցհքԼՕՏ";

/// The positions of letters that look like ASCII letters, in words that have such letters too:
/// `gіthub.com`.
fn find_lookalikes(text: &str) -> Vec<usize> {
    let is_lookalike = |c: char| !c.is_ascii() && LOOKALIKE_LETTERS.contains(c);
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let (mut word, mut has_ascii) = (Vec::new(), false);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() {
            has_ascii |= c.is_ascii_alphabetic();
            word.extend(is_lookalike(c).then_some(at));
            continue;
        }
        if has_ascii {
            found.append(&mut word);
        }
        word.clear();
        has_ascii = false;
    }
    found
}

/// Whether a word mixes ASCII letters with others of the same shape.
pub(crate) fn has_lookalike_letters(text: &str) -> bool {
    !find_lookalikes(text).is_empty()
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
    let lookalikes = find_lookalikes(text);
    let mut rest = text.char_indices().peekable();
    let mut context = CharacterContext::default();
    while let Some((at, c)) = rest.next() {
        let is_space = c.general_category() == GeneralCategory::SpaceSeparator;
        let is_hidden =
            context.hides(c) || c != ' ' && is_space || lookalikes.binary_search(&at).is_ok();
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '`' => out.push_str("\\`"),
            '\\' => {
                // Of the others, what comes before them decides.
                let escape = |(_, next): &(usize, char)| {
                    matches!(next, 'n' | 't' | 'r' | 'u' | '`' | '\\')
                        || next.is_control()
                        || !next.is_ascii()
                };
                // A long run of spaces is escaped as one, too.
                let ahead = rest.clone().take(LONG_SPACE_RUN.len());
                let ahead = ahead.filter(|(_, c)| *c == ' ').count();
                let escaped = rest.peek().is_none_or(escape) || ahead == LONG_SPACE_RUN.len();
                out.push_str(if escaped { "\\\\" } else { "\\" });
            }
            ' ' => {
                let mut n_spaces = 1;
                while rest.next_if(|(_, c)| *c == ' ').is_some() {
                    n_spaces += 1;
                }
                if n_spaces >= LONG_SPACE_RUN.len() {
                    let _ = write!(out, "\\u{{{n_spaces} spaces}}");
                } else {
                    out.extend(std::iter::repeat_n(' ', n_spaces));
                }
            }
            c if is_hidden => {
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
        shown("a\u{fe0f}\u{e0101}b", "a\\u{fe0f}\\u{e0101}b");
        shown("⚠\u{fe0f}\u{fe0f}", "⚠\u{fe0f}\\u{fe0f}");
        shown("e\u{301}\u{302}\u{303}\u{304}\u{305}", "e\u{301}\u{302}\u{303}\u{304}\\u{305}");
        shown("\u{16fe4}\u{1d159}", "\\u{16fe4}\\u{1d159}");
    }

    #[test]
    fn letters_of_another_script_in_a_word_are_spelled_out() {
        shown("https://gіthub.com/x", "https://g\\u{456}thub.com/x");
        shown("rm сonfig", "rm \\u{441}onfig");
        shown("привет, мир: Δt 5 µs λx", "привет, мир: Δt 5 µs λx");
        shown("\\оk", "\\\\\\u{43e}k");
    }

    #[test]
    fn names_that_look_alike_are_refused_and_emoji_are_not() {
        let check = |text: &str| check_visible(text, LineBreaks::Allowed);
        assert_eq!(check("git commit -m '⚠\u{fe0f} ❤\u{fe0f}'"), Ok(()));
        for text in ["notes\u{fe0e}.md", "\u{fe0f}", "❤\u{fe0f}\u{fe0f}", "x\u{e0173}"] {
            assert!(check(text).is_err(), "{}", text.escape_unicode());
        }
        let marks = format!("a{}", "\u{363}".repeat(5));
        assert_eq!(check(&marks), Err(BadText::Invisible('\u{363}')));
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
