//! A fast parser for lines of plain words and operators.
//!
//! Most lines are plain, and the full grammar of bash takes three times as long for them. In
//! doubt it returns `None`, and the full grammar is used. Property tests in `parser_agreement`
//! compare both.

/// A line: lists of pipelines of commands.
pub(crate) type PlainLists<'a> = Vec<Vec<(ListOperator, Vec<PlainCommand<'a>>)>>;

/// How a pipeline follows the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOperator {
    First,
    And,
    Or,
}

/// A simple command, its words as written.
#[derive(Debug, Default)]
pub(crate) struct PlainCommand<'a> {
    pub(crate) words: Vec<&'a str>,
    pub(crate) redirects: Vec<(RedirectDirection, &'a str)>,
}

/// What a redirection does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectDirection {
    Read,
    Write,
}

/// Parses a line, if it is plain.
pub(crate) fn parse_plain_line(line: &str) -> Option<PlainLists<'_>> {
    let mut reader = PlainLineParser { line, at: 0, lists: Vec::new(), joint: ListOperator::First };
    reader.parse_lists()?;
    Some(reader.lists)
}

struct PlainLineParser<'a> {
    line: &'a str,
    at: usize,
    lists: PlainLists<'a>,
    /// How the next pipeline follows.
    joint: ListOperator,
}

/// What ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandTerminator {
    ListEnd,
    Operator(ListOperator),
    Pipe,
    LineEnd,
}

impl<'a> PlainLineParser<'a> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.line[self.at..].starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn skip_blanks(&mut self, blanks: &[u8]) {
        while self.peek().is_some_and(|byte| blanks.contains(&byte)) {
            self.at += 1;
        }
    }

    fn parse_lists(&mut self) -> Option<()> {
        let mut list = Vec::new();
        let mut pipeline = Vec::new();
        self.skip_blanks(b" \t\n");
        while self.at < self.line.len() || !pipeline.is_empty() || self.joint != ListOperator::First
        {
            pipeline.push(self.parse_command()?);
            let end = self.parse_terminator()?;
            if end == CommandTerminator::Pipe {
                continue;
            }
            list.push((self.joint, std::mem::take(&mut pipeline)));
            self.joint = if let CommandTerminator::Operator(joint) = end {
                joint
            } else {
                ListOperator::First
            };
            if self.joint == ListOperator::First {
                self.lists.push(std::mem::take(&mut list));
                self.skip_blanks(b" \t\n");
            }
        }
        Some(())
    }

    fn parse_terminator(&mut self) -> Option<CommandTerminator> {
        match self.peek() {
            None => Some(CommandTerminator::LineEnd),
            Some(b'\n' | b';') => {
                self.at += 1;
                (self.peek() != Some(b';') && self.peek() != Some(b'&'))
                    .then_some(CommandTerminator::ListEnd)
            }
            Some(b'&') if self.eat("&&") => Some(CommandTerminator::Operator(ListOperator::And)),
            Some(b'|') if self.eat("||") => Some(CommandTerminator::Operator(ListOperator::Or)),
            Some(byte @ (b'&' | b'|')) => {
                self.at += 1;
                let end =
                    if byte == b'|' { CommandTerminator::Pipe } else { CommandTerminator::ListEnd };
                (!matches!(self.peek(), Some(b'>' | b'&' | b'|' | b';'))).then_some(end)
            }
            Some(_) => None,
        }
    }

    /// Parses one simple command.
    fn parse_command(&mut self) -> Option<PlainCommand<'a>> {
        let mut plain = PlainCommand::default();
        loop {
            self.skip_blanks(b" \t");
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|') => break,
                Some(b'<' | b'>') => self.parse_redirect(&mut plain)?,
                Some(_) => {
                    let word = self.parse_word()?;
                    let number = word.bytes().all(|byte| byte.is_ascii_digit());
                    if number && matches!(self.peek(), Some(b'<' | b'>')) {
                        self.parse_redirect(&mut plain)?;
                    } else {
                        plain.words.push(word);
                    }
                }
            }
        }
        let program = plain.words.first()?;
        // A variable, a keyword, or a name that needs a closer check.
        let closely =
            program.contains('=') || !program.is_ascii() || RESERVED_WORDS.contains(program);
        (!closely).then_some(plain)
    }

    fn parse_redirect(&mut self, plain: &mut PlainCommand<'a>) -> Option<()> {
        let direction =
            if self.eat("<") { RedirectDirection::Read } else { RedirectDirection::Write };
        // Of the operators that end in `&`, only `>&` is plain.
        let once = direction == RedirectDirection::Write && self.eat(">") && !self.eat(">");
        if once && self.eat("&") {
            return self.parse_descriptor();
        }
        if matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
            return None;
        }
        self.skip_blanks(b" \t");
        let target = self.parse_word()?;
        if target.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        plain.redirects.push((direction, target));
        Some(())
    }

    /// The end of `2>&1`.
    fn parse_descriptor(&mut self) -> Option<()> {
        let word = self.parse_word()?;
        let more = matches!(self.peek(), Some(b'<' | b'>'));
        (!more && word.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    }

    /// Parses a word of plain characters and plain quotes; never empty.
    fn parse_word(&mut self) -> Option<&'a str> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.skip_quoted(|byte| byte == b'\'')?,
                b'"' => {
                    self.skip_quoted(|byte| matches!(byte, b'"' | b'$' | b'`' | b'\\' | b'!'))?;
                }
                b'-' | b'_' | b'.' | b'/' | b',' | b'+' | b'@' | b'%' | b':' | b'=' | b'^' => {}
                byte if byte.is_ascii_alphanumeric() || !byte.is_ascii() => {}
                _ => return None,
            }
            self.at += 1;
        }
        (self.at > start).then(|| &self.line[start..self.at])
    }

    /// Skips to the closing quote; `None` if a character that quotes do not cover comes first.
    fn skip_quoted(&mut self, stops: impl Fn(u8) -> bool) -> Option<()> {
        let quote = self.peek()?;
        let rest = self.line.as_bytes().get(self.at + 1..)?;
        let length = rest.iter().position(|byte| stops(*byte))?;
        self.at += length + 1;
        (self.peek() == Some(quote)).then_some(())
    }
}

/// Words that may be keywords.
pub(crate) const RESERVED_WORDS: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done", "case",
    "esac", "select", "function", "coproc", "time", "{", "}", "!", "[[", "]]", "((", "))",
];
