//! One shell word: its unquoted text, and whether it is literal.

use crate::command::OpaqueReason;

/// A parsed word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellWord {
    /// Unquoted; roughly as written if it is not literal.
    pub(crate) text: String,
    /// Why it is not literal.
    pub(crate) why: Option<OpaqueReason>,
}

/// Removes the quotes of a word, as bash does, unless it contains an expansion.
pub(crate) fn parse_shell_word(raw: &str) -> ShellWord {
    if !raw.is_empty() && raw.bytes().all(is_plain_byte) {
        return ShellWord { text: raw.to_owned(), why: None };
    }
    match WordUnquoter::new(raw).unquote() {
        Ok(text) => ShellWord { text, why: None },
        Err(why) => ShellWord { text: displayed_text(raw).to_owned(), why: Some(why) },
    }
}

/// The displayed text of a word that is not literal: without surrounding quotes.
fn displayed_text(raw: &str) -> &str {
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains(['"', '\\'])).unwrap_or(raw)
}

/// Bytes without a special meaning.
fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'/' | b',' | b'+' | b'@' | b'%')
}

struct WordUnquoter<'a> {
    raw: &'a str,
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
    out: String,
}

impl<'a> WordUnquoter<'a> {
    fn new(raw: &'a str) -> Self {
        Self { raw, rest: raw.char_indices().peekable(), out: String::with_capacity(raw.len()) }
    }

    fn next(&mut self) -> Option<char> {
        self.rest.next().map(|(_, c)| c)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, c)| *c)
    }

    fn unquote(mut self) -> Result<String, OpaqueReason> {
        while let Some((at, c)) = self.rest.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c) => self.out.push(c),
                    None => self.out.push('\\'),
                },
                '\'' => self.read_single_quoted()?,
                '"' => self.read_double_quoted()?,
                '$' => self.read_dollar(QuoteContext::Unquoted)?,
                '`' => return Err(OpaqueReason::Substitution),
                '*' | '?' => return Err(OpaqueReason::Glob),
                // Alone it is a program. Elsewhere it is a pattern, or an index that continues in
                // the next word: bash reads `a[ b ]` as one.
                '[' if self.raw != "[" => return Err(OpaqueReason::Glob),
                '{' if may_be_brace_expansion(&self.raw[at..]) => return Err(OpaqueReason::Braces),
                '~' if at == 0 || self.raw[..at].ends_with(['=', ':']) => {
                    return Err(OpaqueReason::Tilde);
                }
                '!' if at == 0 && self.peek().is_some() => return Err(OpaqueReason::History),
                '(' | ')' | '<' | '>' | '|' | '&' | ';' => return Err(OpaqueReason::Quoting),
                c if c.is_ascii_whitespace() => return Err(OpaqueReason::Quoting),
                c => self.out.push(c),
            }
        }
        Ok(self.out)
    }

    fn read_single_quoted(&mut self) -> Result<(), OpaqueReason> {
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(c) => self.out.push(c),
                None => return Err(OpaqueReason::Quoting),
            }
        }
    }

    fn read_double_quoted(&mut self) -> Result<(), OpaqueReason> {
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.out.push(c),
                    Some(c) => self.out.extend(['\\', c]),
                    None => return Err(OpaqueReason::Quoting),
                },
                Some('$') => self.read_dollar(QuoteContext::DoubleQuoted)?,
                Some('`') => return Err(OpaqueReason::Substitution),
                // Interactive shells would expand it to an earlier command; others do not.
                Some(c) => self.out.push(c),
                None => return Err(OpaqueReason::Quoting),
            }
        }
    }

    /// A dollar is literal only at the end of a word or of a quotation.
    fn read_dollar(&mut self, within: QuoteContext) -> Result<(), OpaqueReason> {
        match (self.peek(), within) {
            (None, QuoteContext::Unquoted) | (Some('"'), QuoteContext::DoubleQuoted) => {
                self.out.push('$');
                Ok(())
            }
            (Some('\'' | '"'), QuoteContext::Unquoted) => Err(OpaqueReason::Quoting),
            (Some('('), _) => {
                let mut ahead = self.rest.clone();
                ahead.next();
                Err(match ahead.next() {
                    Some((_, '(')) => OpaqueReason::Arithmetic,
                    Some(_) | None => OpaqueReason::Substitution,
                })
            }
            (Some('['), _) => Err(OpaqueReason::Arithmetic),
            (Some(_), _) | (None, QuoteContext::DoubleQuoted) => Err(OpaqueReason::Expansion),
        }
    }
}

#[derive(Clone, Copy)]
enum QuoteContext {
    Unquoted,
    DoubleQuoted,
}

/// Whether text that begins with `{` may be a brace expansion: `{a,b}`, `{1..3}`.
fn may_be_brace_expansion(from: &str) -> bool {
    from.contains('}') && (from.contains(',') || from.contains(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn literal(raw: &str, text: &str) {
        assert_eq!(parse_shell_word(raw), ShellWord { text: text.to_owned(), why: None }, "{raw}");
    }

    #[track_caller]
    fn opaque(raw: &str, why: OpaqueReason) {
        assert_eq!(parse_shell_word(raw).why, Some(why), "{raw}");
    }

    #[test]
    fn quotes_are_removed_as_bash_does() {
        literal("r''m", "rm");
        literal(r"\rm", "rm");
        literal("\"rm\"", "rm");
        literal(r#"a"b c"'d "e'\ f"#, r#"ab cd "e f"#);
        literal(r#""\$x \n \\""#, r"$x \n \");
        literal("''", "");
        literal("a\\\nb", "ab");
        literal("x$", "x$");
        literal("\"x$\"", "x$");
        literal("HEAD~1", "HEAD~1");
        literal("stash@{1}", "stash@{1}");
        literal("[", "[");
        literal("a!", "a!");
        literal("!", "!");
    }

    #[test]
    fn what_expands_is_not_literal() {
        opaque("$x", OpaqueReason::Expansion);
        opaque("\"a$x\"", OpaqueReason::Expansion);
        opaque("${IFS}", OpaqueReason::Expansion);
        opaque("$(id)", OpaqueReason::Substitution);
        opaque("\"`id`\"", OpaqueReason::Substitution);
        opaque("$((1))", OpaqueReason::Arithmetic);
        opaque("$[1]", OpaqueReason::Arithmetic);
        opaque("$'a'", OpaqueReason::Quoting);
        opaque("$\"a\"", OpaqueReason::Quoting);
        opaque("*.rs", OpaqueReason::Glob);
        opaque("a[b]", OpaqueReason::Glob);
        opaque("a[", OpaqueReason::Glob);
        opaque("{a,b}", OpaqueReason::Braces);
        opaque("a{1..3}", OpaqueReason::Braces);
        opaque("~/x", OpaqueReason::Tilde);
        opaque("A=~", OpaqueReason::Tilde);
        opaque("!!", OpaqueReason::History);
    }
}
