//! Which characters are visible, and how the others are shown.
//!
//! What a person approves must be what it looks like. So commands and paths contain no character
//! that is invisible, reorders others or is unassigned, and such characters are escaped in any
//! other text that is shown to a person.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_normalization::is_nfc;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use super::lookalikes::{find_disguises, find_lookalikes};

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

/// Whether a word mixes ASCII letters with others of the same shape.
pub(crate) fn has_lookalike_letters(text: &str) -> bool {
    !find_lookalikes(text).is_empty()
}

/// How many spaces in a row are counted instead of printed: they would push the rest out of view.
const LONG_SPACE_RUN: usize = 16;

/// The text with invisible characters escaped, so that no two texts look alike.
///
/// A backslash is doubled only if the next characters would make it look like an escape, so
/// regular expressions remain readable.
///
/// Long runs of spaces are replaced by their count: `\u{3000 spaces}`. So are letters that look
/// like ASCII letters, in words that have such letters too.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\' | b'`');
    if text.bytes().all(plain) && !text.contains(&" ".repeat(LONG_SPACE_RUN)) {
        return Cow::Borrowed(text);
    }
    let (disguised, n_spaces) = (find_lookalikes(text), LONG_SPACE_RUN);
    Cow::Owned(TextEscaper { disguised, n_spaces, kind: TextKind::Quoted }.escape(text))
}

/// [`escape_invisible`] for the name or path of a file, which a person compares with names that
/// they know: also any character that may be taken for another one, more than one space in a row,
/// and a space at the beginning or end of a name.
pub fn escape_name(name: &str) -> Cow<'_, str> {
    let plain = |byte: u8| matches!(byte, b'!'..=b'~') && !matches!(byte, b'\\' | b'`');
    if name.bytes().all(plain) {
        return Cow::Borrowed(name);
    }
    let disguised = find_disguises(name);
    Cow::Owned(TextEscaper { disguised, n_spaces: 2, kind: TextKind::Name }.escape(name))
}

/// [`escape_invisible`] for a line of a file, which is not quoted: backslashes, backquotes, tabs and
/// its indentation are printed as they are.
pub fn escape_line(line: &str) -> Cow<'_, str> {
    // The sign of a diff comes before the indentation.
    let start = line.trim_start_matches(['+', '-', ' ', '\t']);
    let (indent, text) = line.split_at(line.len() - start.len());
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    if text.bytes().all(plain) && !text.contains(&" ".repeat(LONG_SPACE_RUN)) {
        return Cow::Borrowed(line);
    }
    let (disguised, n_spaces) = (find_lookalikes(text), LONG_SPACE_RUN);
    let text = TextEscaper { disguised, n_spaces, kind: TextKind::Line }.escape(text);
    Cow::Owned(format!("{indent}{text}"))
}

/// What a text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Quoted,
    Name,
    Line,
}

/// How a text is escaped.
struct TextEscaper {
    /// The positions of characters that look like others.
    disguised: Vec<usize>,
    /// How many spaces in a row are replaced by their count.
    n_spaces: usize,
    kind: TextKind,
}

impl TextEscaper {
    fn escape(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 16);
        let mut rest = text.char_indices().peekable();
        let mut context = CharacterContext::default();
        let mut before = '/';
        while let Some((at, c)) = rest.next() {
            let is_space = c.general_category() == GeneralCategory::SpaceSeparator;
            let is_hidden = context.hides(c)
                || c != ' ' && is_space
                || self.disguised.binary_search(&at).is_ok();
            match c {
                '\t' | '`' | '\\' if self.kind == TextKind::Line => out.push(c),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '`' => out.push_str("\\`"),
                '\\' => {
                    let is_escaped = self.escapes_backslash(&text[at + 1..]);
                    out.push_str(if is_escaped { "\\\\" } else { "\\" });
                }
                ' ' => {
                    let mut n_spaces = 1;
                    while rest.next_if(|(_, c)| *c == ' ').is_some() {
                        n_spaces += 1;
                    }
                    let after = rest.peek().map_or('/', |(_, c)| *c);
                    self.push_spaces(n_spaces, before == '/' || after == '/', &mut out);
                }
                c if is_hidden => out.extend(c.escape_unicode()),
                c => out.push(c),
            }
            before = c;
        }
        out
    }

    /// Whether a backslash before this text would look like an escape with it.
    fn escapes_backslash(&self, rest: &str) -> bool {
        let looks_escaped = |next: char| {
            matches!(next, 'n' | 't' | 'r' | 'u' | '`' | '\\')
                || next.is_control()
                || !next.is_ascii()
        };
        let n_spaces = rest.bytes().take(self.n_spaces).take_while(|byte| *byte == b' ').count();
        rest.chars().next().is_none_or(looks_escaped)
            || n_spaces >= self.n_spaces
            || self.kind == TextKind::Name && n_spaces > 0
    }

    fn push_spaces(&self, n_spaces: usize, is_edge: bool, out: &mut String) {
        if n_spaces >= self.n_spaces {
            let _ = write!(out, "\\u{{{n_spaces} spaces}}");
        } else if self.kind == TextKind::Name && is_edge {
            out.push_str("\\u{20}");
        } else {
            out.extend(std::iter::repeat_n(' ', n_spaces));
        }
    }
}

/// The name or path of a file between backquotes.
pub(crate) fn quoted_name(name: &str) -> String {
    format!("`{}`", escape_name(name))
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
        shown("rm сору.md привет.md", "rm \\u{441}\\u{43e}\\u{440}\\u{443}.md привет.md");
        shown("а он у моря", "а он у моря");
        shown("\\оk", "\\\\\\u{43e}k");
    }

    #[test]
    fn a_name_shows_whatever_may_be_mistaken() {
        for (name, expected) in [
            ("src/main.rs", "src/main.rs"),
            ("my file.txt", "my file.txt"),
            ("Käse/größe-ñ.md", "Käse/größe-ñ.md"),
            ("привет.md", "привет.md"),
            ("テスト日本語v2.md", "テスト日本語v2.md"),
            ("notes 👍.md", "notes 👍.md"),
            ("a  b", "a\\u{2 spaces}b"),
            (" a/b /c ", "\\u{20}a/b\\u{20}/c\\u{20}"),
            ("a   ", "a\\u{3 spaces}"),
            ("pаckage.json", "p\\u{430}ckage.json"),
            ("сору.md", "\\u{441}\\u{43e}\\u{440}\\u{443}.md"),
            ("MakeЯfile", "Make\\u{42f}file"),
            ("Ꮇakefile", "\\u{13b7}akefile"),
            ("𝐬rc/𝟏", "\\u{1d42c}rc/\\u{1d7cf}"),
            ("a∕b․c–d", "a\\u{2215}b\\u{2024}c\\u{2013}d"),
            ("ı\u{17f}x", "\\u{131}\\u{17f}x"),
            ("a\\ b", "a\\\\ b"),
        ] {
            assert_eq!(escape_name(name), expected, "{name}");
        }
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
        fn no_two_texts_look_alike(text in "(?s)([\\\\ntru`{}/\n\u{202e}\u{a0}а–]|.| {1,18})*") {
            prop_assert_eq!(read(&escape_invisible(&text)), &*text);
            prop_assert_eq!(read(&escape_name(&text)), text);
        }
    }
}
