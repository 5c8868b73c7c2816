//! One word of the shell: its text without quotes, and whether that is all there is to it.

use super::Why;

/// A word, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Without quotes; more or less as written where it is not literal.
    pub(super) text: String,
    /// Why it is not literal.
    pub(super) why: Option<Why>,
}

/// Removes the quotes of a word, as bash does, unless something in it expands.
pub(super) fn read(raw: &str) -> Word {
    if !raw.is_empty() && raw.bytes().all(plain) {
        return Word { text: raw.to_owned(), why: None };
    }
    match Unquote::new(raw).run() {
        Ok(text) => Word { text, why: None },
        Err(why) => Word { text: shown(raw).to_owned(), why: Some(why) },
    }
}

/// What is shown of a word that is not literal: without quotes that surround all of it.
fn shown(raw: &str) -> &str {
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains(['"', '\\'])).unwrap_or(raw)
}

/// Bytes that mean themselves wherever they stand.
fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'/' | b',' | b'+' | b'@' | b'%')
}

struct Unquote<'a> {
    raw: &'a str,
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
    out: String,
}

impl<'a> Unquote<'a> {
    fn new(raw: &'a str) -> Self {
        Self { raw, rest: raw.char_indices().peekable(), out: String::with_capacity(raw.len()) }
    }

    fn next(&mut self) -> Option<char> {
        self.rest.next().map(|(_, c)| c)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().map(|(_, c)| *c)
    }

    fn run(mut self) -> Result<String, Why> {
        while let Some((at, c)) = self.rest.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(c) => self.out.push(c),
                    None => self.out.push('\\'),
                },
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' => self.dollar(Within::Nothing)?,
                '`' => return Err(Why::Substitution),
                '*' | '?' => return Err(Why::Glob),
                // Alone it is a program. Elsewhere it is a pattern, or an index that
                // goes on in the next word: bash reads `a[ b ]` as one.
                '[' if self.raw != "[" => return Err(Why::Glob),
                '{' if expands(&self.raw[at..]) => return Err(Why::Braces),
                '~' if at == 0 || self.raw[..at].ends_with(['=', ':']) => return Err(Why::Tilde),
                '!' if at == 0 && self.peek().is_some() => return Err(Why::History),
                '(' | ')' | '<' | '>' | '|' | '&' | ';' => return Err(Why::Quoting),
                c if c.is_ascii_whitespace() => return Err(Why::Quoting),
                c => self.out.push(c),
            }
        }
        Ok(self.out)
    }

    fn single(&mut self) -> Result<(), Why> {
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(c) => self.out.push(c),
                None => return Err(Why::Quoting),
            }
        }
    }

    fn double(&mut self) -> Result<(), Why> {
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.out.push(c),
                    Some(c) => self.out.extend(['\\', c]),
                    None => return Err(Why::Quoting),
                },
                Some('$') => self.dollar(Within::Quotes)?,
                Some('`') => return Err(Why::Substitution),
                // Interactive shells would take it for an earlier command; others do not.
                Some(c) => self.out.push(c),
                None => return Err(Why::Quoting),
            }
        }
    }

    /// A dollar means itself only at the end of a word or of a quotation.
    fn dollar(&mut self, within: Within) -> Result<(), Why> {
        match (self.peek(), within) {
            (None, Within::Nothing) | (Some('"'), Within::Quotes) => {
                self.out.push('$');
                Ok(())
            }
            (Some('\'' | '"'), Within::Nothing) => Err(Why::Quoting),
            (Some('('), _) => {
                let mut ahead = self.rest.clone();
                ahead.next();
                Err(match ahead.next() {
                    Some((_, '(')) => Why::Arithmetic,
                    Some(_) | None => Why::Substitution,
                })
            }
            (Some('['), _) => Err(Why::Arithmetic),
            (Some(_), _) | (None, Within::Quotes) => Err(Why::Expansion),
        }
    }
}

#[derive(Clone, Copy)]
enum Within {
    Nothing,
    Quotes,
}

/// Whether what begins with `{` may be a brace expansion: `{a,b}`, `{1..3}`.
fn expands(from: &str) -> bool {
    from.contains('}') && (from.contains(',') || from.contains(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn literal(raw: &str, text: &str) {
        assert_eq!(read(raw), Word { text: text.to_owned(), why: None }, "{raw}");
    }

    #[track_caller]
    fn opaque(raw: &str, why: Why) {
        assert_eq!(read(raw).why, Some(why), "{raw}");
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
        opaque("$x", Why::Expansion);
        opaque("\"a$x\"", Why::Expansion);
        opaque("${IFS}", Why::Expansion);
        opaque("$(id)", Why::Substitution);
        opaque("\"`id`\"", Why::Substitution);
        opaque("$((1))", Why::Arithmetic);
        opaque("$[1]", Why::Arithmetic);
        opaque("$'a'", Why::Quoting);
        opaque("$\"a\"", Why::Quoting);
        opaque("*.rs", Why::Glob);
        opaque("a[b]", Why::Glob);
        opaque("a[", Why::Glob);
        opaque("{a,b}", Why::Braces);
        opaque("a{1..3}", Why::Braces);
        opaque("~/x", Why::Tilde);
        opaque("A=~", Why::Tilde);
        opaque("!!", Why::History);
    }
}
