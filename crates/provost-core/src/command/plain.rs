//! The quick way to read lines of plain words between plain operators.
//!
//! Most lines are such, and the whole grammar of bash takes three times as long
//! for them. Whatever is not certain here is left to it: reading nothing is
//! always right. That both read the same is a property test
//! in `agree`.

/// A line: lists, each of pipelines, each of commands.
pub(super) type Lists<'a> = Vec<Vec<(Joint, Vec<Plain<'a>>)>>;

/// How a pipeline follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    First,
    And,
    Or,
}

/// A simple command; its words as written.
#[derive(Debug, Default)]
pub(super) struct Plain<'a> {
    pub(super) words: Vec<&'a str>,
    pub(super) redirects: Vec<(Direction, &'a str)>,
}

/// What a redirection does with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Reads a line, if it is of the plain kind.
pub(super) fn read(line: &str) -> Option<Lists<'_>> {
    let mut reader = Reader { line, at: 0, lists: Vec::new(), joint: Joint::First };
    reader.run()?;
    Some(reader.lists)
}

struct Reader<'a> {
    line: &'a str,
    at: usize,
    lists: Lists<'a>,
    /// How the next pipeline follows.
    joint: Joint,
}

/// What ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    List,
    Joint(Joint),
    Pipe,
    Line,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.line.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.line[self.at..].starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn skip(&mut self, blanks: &[u8]) {
        while self.peek().is_some_and(|byte| blanks.contains(&byte)) {
            self.at += 1;
        }
    }

    fn run(&mut self) -> Option<()> {
        let mut list = Vec::new();
        let mut pipeline = Vec::new();
        self.skip(b" \t\n");
        while self.at < self.line.len() || !pipeline.is_empty() || self.joint != Joint::First {
            pipeline.push(self.command()?);
            let end = self.end()?;
            if end == End::Pipe {
                continue;
            }
            list.push((self.joint, std::mem::take(&mut pipeline)));
            self.joint = if let End::Joint(joint) = end { joint } else { Joint::First };
            if self.joint == Joint::First {
                self.lists.push(std::mem::take(&mut list));
                self.skip(b" \t\n");
            }
        }
        Some(())
    }

    fn end(&mut self) -> Option<End> {
        match self.peek() {
            None => Some(End::Line),
            Some(b'\n' | b';') => {
                self.at += 1;
                (self.peek() != Some(b';') && self.peek() != Some(b'&')).then_some(End::List)
            }
            Some(b'&') if self.eat("&&") => Some(End::Joint(Joint::And)),
            Some(b'|') if self.eat("||") => Some(End::Joint(Joint::Or)),
            Some(byte @ (b'&' | b'|')) => {
                self.at += 1;
                let end = if byte == b'|' { End::Pipe } else { End::List };
                (!matches!(self.peek(), Some(b'>' | b'&' | b'|' | b';'))).then_some(end)
            }
            Some(_) => None,
        }
    }

    /// One simple command, up to what ends it.
    fn command(&mut self) -> Option<Plain<'a>> {
        let mut plain = Plain::default();
        loop {
            self.skip(b" \t");
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|') => break,
                Some(b'<' | b'>') => self.redirect(&mut plain)?,
                Some(_) => {
                    let word = self.word()?;
                    let number = word.bytes().all(|byte| byte.is_ascii_digit());
                    if number && matches!(self.peek(), Some(b'<' | b'>')) {
                        self.redirect(&mut plain)?;
                    } else {
                        plain.words.push(word);
                    }
                }
            }
        }
        let program = plain.words.first()?;
        // A variable, a word of the grammar or a name to look at closely.
        let closely = program.contains('=') || !program.is_ascii() || RESERVED.contains(program);
        (!closely).then_some(plain)
    }

    fn redirect(&mut self, plain: &mut Plain<'a>) -> Option<()> {
        let direction = if self.eat("<") { Direction::Read } else { Direction::Write };
        // Of those that end in `&`, only `>&` is plain.
        let once = direction == Direction::Write && self.eat(">") && !self.eat(">");
        if once && self.eat("&") {
            return self.descriptor();
        }
        if matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
            return None;
        }
        self.skip(b" \t");
        let target = self.word()?;
        if target.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        plain.redirects.push((direction, target));
        Some(())
    }

    /// The end of `2>&1`.
    fn descriptor(&mut self) -> Option<()> {
        let word = self.word()?;
        let more = matches!(self.peek(), Some(b'<' | b'>'));
        (!more && word.bytes().all(|byte| byte.is_ascii_digit())).then_some(())
    }

    /// A word of plain characters and plain quotes; never empty.
    fn word(&mut self) -> Option<&'a str> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' => break,
                b'\'' => self.quoted(|byte| byte == b'\'')?,
                b'"' => self.quoted(|byte| matches!(byte, b'"' | b'$' | b'`' | b'\\' | b'!'))?,
                b'-' | b'_' | b'.' | b'/' | b',' | b'+' | b'@' | b'%' | b':' | b'=' | b'^' => {}
                byte if byte.is_ascii_alphanumeric() || !byte.is_ascii() => {}
                _ => return None,
            }
            self.at += 1;
        }
        (self.at > start).then(|| &self.line[start..self.at])
    }

    /// Goes to the closing quote; nothing that the quotes do not cover may come first.
    fn quoted(&mut self, stops: impl Fn(u8) -> bool) -> Option<()> {
        let quote = self.peek()?;
        let rest = self.line.as_bytes().get(self.at + 1..)?;
        let length = rest.iter().position(|byte| stops(*byte))?;
        self.at += length + 1;
        (self.peek() == Some(quote)).then_some(())
    }
}

/// Words that may belong to the grammar.
pub(super) const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done", "case",
    "esac", "select", "function", "coproc", "time", "{", "}", "!", "[[", "]]", "((", "))",
];
