//! Checks before parsing: a line must be short, shallow and visible.
//!
//! The parser recurses without a limit of its own, and misses one form of command substitution,
//! so neither may reach it.

use crate::action::text::{LineBreaks, find_invisible, has_lookalike_letters};
use unicode_normalization::{is_nfc, is_nfkc};

/// The longest line, in bytes.
pub const MAX_COMMAND_BYTES: usize = 16 * 1024;
/// The deepest nesting of groups, substitutions and compound commands.
pub const MAX_COMMAND_DEPTH: usize = 16;

/// Why a line is not analyzed at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableCommand {
    /// More than [`MAX_COMMAND_BYTES`] bytes.
    #[error(
        "the command has {0} bytes, more than the {MAX_COMMAND_BYTES} that are read; put it in a file"
    )]
    TooLong(usize),
    /// Nested deeper than [`MAX_COMMAND_DEPTH`].
    #[error(
        "the command is nested more than {MAX_COMMAND_DEPTH} deep at character {at}; put it in a file"
    )]
    TooDeep {
        /// The position in characters, from 1.
        at: usize,
    },
    /// A character that is invisible, or that hides others.
    #[error("the command holds {} at character {at}, which cannot be seen; remove it", .found.escape_unicode())]
    InvisibleCharacter {
        /// The character.
        found: char,
        /// The position in characters, from 1.
        at: usize,
    },
    /// The text is not in a normal form, so that it could be written in two ways.
    #[error("the command is not in Unicode's normal form C; compose its characters")]
    NotNormalized,
    /// The name of a program with characters that look like others.
    #[error("the program at character {at} is named in letters that look like others: {}", .name.escape_unicode())]
    LookalikeName {
        /// As written, without quotes.
        name: String,
        /// The position in characters, from 1.
        at: usize,
    },
    /// `${ cmd; }`: bash 5.3 runs it, others do not.
    #[error(
        "the command holds `${{` with a space or `|` after it at character {at}, which newer shells run as a command; write `$(…)`"
    )]
    BraceSubstitution {
        /// The position in characters, from 1.
        at: usize,
    },
    /// `select`, which needs a person at a terminal.
    #[error("the command may hold `select`, which is not read here; put it in a file")]
    UnsupportedSelect,
    /// Invalid syntax.
    #[error("the command is not valid bash at character {at}")]
    SyntaxError {
        /// The position in characters, from 1.
        at: usize,
    },
    /// Something is not closed.
    #[error("the command ends too early: a quote, a bracket or a word such as `fi` is missing")]
    UnexpectedEnd,
}

/// Runs all checks.
pub(crate) fn validate_line(line: &str) -> Result<(), UnreadableCommand> {
    if line.len() > MAX_COMMAND_BYTES {
        return Err(UnreadableCommand::TooLong(line.len()));
    }
    check_characters(line)?;
    check_brace_substitution(line)?;
    check_nesting(line)
}

/// Whether a word names a program or an option with characters that look like others.
pub(crate) fn is_lookalike(word: &str, program: bool) -> bool {
    if word.is_ascii() {
        return false;
    }
    if program {
        return !is_nfkc(word) || has_lookalike_letters(word);
    }
    let name = word.split('=').next().unwrap_or(word);
    let dash = name.chars().next().is_some_and(|c| {
        matches!(
            c,
            '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
        )
    });
    // A dash alone, or before a space, is text.
    let letters = name.chars().nth(1).is_some_and(char::is_alphanumeric) || name.starts_with("--");
    let is_other = !name.starts_with('-') || !is_nfkc(name) || has_lookalike_letters(name);
    dash && letters && is_other
}

/// The position in characters, from 1, of this byte offset.
pub(crate) fn char_position(line: &str, byte: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < byte).count() + 1
}

fn check_characters(line: &str) -> Result<(), UnreadableCommand> {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Ok(());
    }
    if let Some((at, found)) = find_invisible(line, LineBreaks::Allowed) {
        return Err(UnreadableCommand::InvisibleCharacter { found, at: at + 1 });
    }
    if is_nfc(line) { Ok(()) } else { Err(UnreadableCommand::NotNormalized) }
}

fn check_brace_substitution(line: &str) -> Result<(), UnreadableCommand> {
    for (at, _) in line.match_indices("${") {
        // Bash joins a line that is continued with a backslash before it parses it.
        let after = line[at + 2..].trim_start_matches("\\\n");
        if after.starts_with([' ', '\t', '\n', '|']) {
            return Err(UnreadableCommand::BraceSubstitution { at: char_position(line, at) });
        }
    }
    // The same, with the line continued between the two.
    for (at, _) in line.match_indices("$\\\n") {
        if line[at + 1..].trim_start_matches("\\\n").starts_with('{') {
            return Err(UnreadableCommand::BraceSubstitution { at: char_position(line, at) });
        }
    }
    Ok(())
}

/// The most `case` commands: each one that is not closed doubles the work of the parser.
const MAX_CASE_COMMANDS: usize = 4;

/// Words that begin a compound command.
const COMPOUND_KEYWORDS: [&str; 9] =
    ["if", "for", "while", "until", "case", "select", "function", "coproc", "time"];

/// Refuses a line that may be nested too deeply.
///
/// It first counts everything that could begin a nesting, quoted or not, which is safe and
/// suffices for most lines. Only a line with more is scanned for quotes, as long as they are of
/// the two plain kinds.
fn check_nesting(line: &str) -> Result<(), UnreadableCommand> {
    let opens = |byte: &u8| matches!(byte, b'(' | b'{' | b'`' | b'[' | b'!');
    let brackets = line.bytes().filter(|byte| opens(byte)).count();
    if brackets + count_compound_keywords(line) <= MAX_COMMAND_DEPTH
        && count_case_commands(line) <= MAX_CASE_COMMANDS
    {
        return Ok(());
    }
    NestingScanner::default().scan_line(line)
}

fn count_compound_keywords(text: &str) -> usize {
    split_identifiers(text).filter(|word| COMPOUND_KEYWORDS.contains(word)).count()
}

/// Whether it contains the word `select`.
pub(crate) fn contains_select(text: &str) -> bool {
    split_identifiers(text).any(|word| word == "select")
}

fn count_case_commands(text: &str) -> usize {
    split_identifiers(text).filter(|word| *word == "case").count()
}

fn split_identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

/// Scans a line for its nesting, skipping quotes.
#[derive(Default)]
struct NestingScanner {
    open: Vec<u8>,
    /// The text outside quotes, for its keywords.
    outside: String,
    /// `!` outside quotes: each nests a pipeline.
    negations: usize,
}

impl NestingScanner {
    fn scan_line(mut self, line: &str) -> Result<(), UnreadableCommand> {
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let step = self.scan_next(&bytes[at..]);
            match step {
                Some(taken) if self.open.len() <= MAX_COMMAND_DEPTH => at += taken,
                Some(_) | None => {
                    return Err(UnreadableCommand::TooDeep { at: char_position(line, at) });
                }
            }
        }
        // A branch of `case` closes a bracket that it did not open, so each may hide one level.
        let words = count_compound_keywords(&self.outside) + self.negations;
        if words > MAX_COMMAND_DEPTH || count_case_commands(&self.outside) > MAX_CASE_COMMANDS {
            return Err(UnreadableCommand::TooDeep { at: char_position(line, bytes.len()) });
        }
        Ok(())
    }

    /// Scans one step and returns its length in bytes; `None` if the next characters could hide
    /// where quotes begin and end.
    fn scan_next(&mut self, rest: &[u8]) -> Option<usize> {
        let quoted = self.open.last() == Some(&b'"');
        match (rest[0], rest.get(1)) {
            (b'`', _) | (b'$', Some(b'(' | b'{' | b'[')) => return None,
            (b'#', _) | (b'$', Some(b'\'' | b'"')) | (b'(', Some(b'(')) | (b'<', Some(b'<'))
                if !quoted =>
            {
                return None;
            }
            (b'\\', _) => return Some(2),
            (b'\'', _) if !quoted => {
                let end = rest[1..].iter().position(|byte| *byte == b'\'');
                self.outside.push(' ');
                return Some(end.map_or(rest.len(), |length| length + 2));
            }
            (b'"', _) if quoted => self.close_bracket(),
            (byte @ (b'"' | b'(' | b'{' | b'['), _) if !quoted => self.open.push(byte),
            (b')', _) if self.open.last() == Some(&b'(') => self.close_bracket(),
            (b'}', _) if self.open.last() == Some(&b'{') => self.close_bracket(),
            (b']', _) if self.open.last() == Some(&b'[') => self.close_bracket(),
            (b'!', _) if !quoted => self.negations += 1,
            _ => {}
        }
        if !quoted && rest[0].is_ascii() {
            self.outside.push(char::from(rest[0]));
        }
        Some(1)
    }

    fn close_bracket(&mut self) {
        self.open.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_bounded_before_it_is_parsed() {
        assert_eq!(validate_line(&"a".repeat(MAX_COMMAND_BYTES)), Ok(()));
        assert_eq!(
            validate_line(&"a".repeat(MAX_COMMAND_BYTES + 1)),
            Err(UnreadableCommand::TooLong(MAX_COMMAND_BYTES + 1))
        );
        for opener in
            ["(", "$(", "{ ", "`", "\"$(", "if ", "! ", "(( ", "<(", "a[", "case x in a) ", "${x:-"]
        {
            let line = format!("{}ls", opener.repeat(40));
            assert!(
                matches!(validate_line(&line), Err(UnreadableCommand::TooDeep { .. })),
                "{line}"
            );
            let hidden = format!("# '\n{line}");
            assert!(
                matches!(validate_line(&hidden), Err(UnreadableCommand::TooDeep { .. })),
                "{hidden}"
            );
        }
    }

    #[test]
    fn brackets_in_quotes_nest_nothing() {
        assert_eq!(validate_line(&format!("grep '{}' a", "(".repeat(99))), Ok(()));
        assert_eq!(validate_line(&format!("grep \"{}\" a", "(if ".repeat(99))), Ok(()));
        assert_eq!(validate_line(&"(ls);".repeat(50)), Ok(()));
        assert_eq!(validate_line(&format!("node -e '{}'", "f(`${x}`); # (( ".repeat(50))), Ok(()));
    }

    #[test]
    fn the_substitution_that_the_parser_misses_is_refused() {
        for line in [
            "echo ${ id; }",
            "echo ${|id; }",
            "echo ${\tid; }",
            "x ${\nid\n}",
            "x ${\\\n id; }",
            "x $\\\n{ id; }",
            "a $\\\nb $\\\n{ id; }",
        ] {
            assert!(
                matches!(validate_line(line), Err(UnreadableCommand::BraceSubstitution { .. })),
                "{line}"
            );
        }
    }

    #[test]
    fn what_cannot_be_seen_is_refused_with_its_place() {
        let refused = |line: &str| validate_line(line).unwrap_err();
        assert_eq!(
            refused("ls\u{200b}"),
            UnreadableCommand::InvisibleCharacter { found: '\u{200b}', at: 3 }
        );
        assert_eq!(
            refused("é\u{202e}"),
            UnreadableCommand::InvisibleCharacter { found: '\u{202e}', at: 2 }
        );
        assert_eq!(refused("a\0"), UnreadableCommand::InvisibleCharacter { found: '\0', at: 2 });
        assert_eq!(refused("a\r"), UnreadableCommand::InvisibleCharacter { found: '\r', at: 2 });
        assert_eq!(refused("e\u{301}"), UnreadableCommand::NotNormalized);
        assert_eq!(validate_line("echo größe 日本"), Ok(()));
    }
}
