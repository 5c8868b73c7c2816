//! Markdown on a terminal, piece by piece as it is streamed. Pure.
//!
//! What may still become something else is held back: the beginning of a line, and
//! asterisks. Everything else is shown at once. Text is made harmless first.

use crate::output::plain;

const OFF: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const FAINT: &str = "\x1b[2m";
const CODE: &str = "\x1b[36m";

/// Where in a line we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// At its beginning: it is not known yet what it is.
    Start,
    /// In a text or a list.
    Text,
    /// In a heading.
    Heading,
    /// In the line that begins or ends a block of code.
    Fence,
    /// In a line of such a block.
    Code,
}

/// Text as it comes, and what was held back of it.
#[derive(Debug)]
pub(super) struct Markdown {
    at: At,
    held: String,
    in_block: bool,
    is_bold: bool,
    is_code: bool,
}

impl Markdown {
    pub(super) fn new() -> Self {
        Self { at: At::Start, held: String::new(), in_block: false, is_bold: false, is_code: false }
    }

    /// What can be shown of a further piece.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match (c, self.at) {
                ('\r', _) => {}
                ('\n', _) => self.end_line(&mut out),
                (c, At::Start) => {
                    self.held.push(c);
                    self.begin_line(&mut out);
                }
                (c, At::Text | At::Heading) => self.inline(c, &mut out),
                (c, At::Fence | At::Code) => out.push_str(&harmless(c)),
            }
        }
        out
    }

    /// The rest, at the end of all.
    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.release(&mut out);
        if self.is_styled() {
            out.push_str(OFF);
        }
        *self = Self::new();
        out
    }

    fn is_styled(&self) -> bool {
        let is_block = matches!(self.at, At::Heading | At::Fence | At::Code);
        is_block || self.is_bold || self.is_code
    }

    fn end_line(&mut self, out: &mut String) {
        let was_blank = self.at == At::Start && self.held.trim().is_empty();
        self.release(out);
        if self.is_styled() && !was_blank {
            out.push_str(OFF);
        }
        out.push('\n');
        if self.at == At::Fence {
            self.in_block = !self.in_block;
        }
        (self.at, self.is_bold, self.is_code) = (At::Start, false, false);
    }

    /// Shows what was held back, as what it is now known to be.
    fn release(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        match self.at {
            At::Start if held.is_empty() => {}
            At::Start if self.in_block => self.code_line(&held, out),
            At::Start => {
                self.text_line(&held, out);
                self.release(out);
            }
            At::Text | At::Heading if held == "**" && self.is_bold => {
                self.is_bold = false;
                self.style(out);
            }
            At::Text | At::Heading | At::Fence | At::Code => {
                held.chars().for_each(|c| out.push_str(&harmless(c)));
            }
        }
    }

    fn text_line(&mut self, held: &str, out: &mut String) {
        self.at = At::Text;
        for c in held.chars() {
            self.inline(c, out);
        }
    }

    fn code_line(&mut self, held: &str, out: &mut String) {
        self.at = At::Code;
        out.push_str(CODE);
        held.chars().for_each(|c| out.push_str(&harmless(c)));
    }

    /// Decides what a line is, as soon as it can be.
    fn begin_line(&mut self, out: &mut String) {
        let held = self.held.clone();
        let text = held.trim_start();
        if text.starts_with("```") {
            self.at = At::Fence;
            out.push_str(FAINT);
            out.push_str(&held);
            self.held.clear();
            return;
        }
        if "```".starts_with(text) {
            return;
        }
        if self.in_block {
            self.held.clear();
            return self.code_line(&held, out);
        }
        let indent = &held[..held.len() - text.len()];
        let hashes = text.trim_start_matches('#');
        let is_marks = hashes.is_empty() && text.len() <= 6;
        if is_marks || matches!(text, "-" | "*" | "+" | ">") {
            return;
        }
        self.held.clear();
        self.at = At::Text;
        if hashes == " " && text.len() <= 7 {
            self.at = At::Heading;
            out.push_str(BOLD);
        } else if matches!(text, "- " | "* " | "+ ") {
            out.push_str(indent);
            out.push_str("• ");
        } else if text == "> " {
            out.push_str(indent);
            out.push_str("│ ");
        } else {
            self.text_line(&held, out);
        }
    }

    /// A character in a text. Held back is nothing, `*` or `**`.
    fn inline(&mut self, c: char, out: &mut String) {
        match (c, self.held.as_str()) {
            ('*', "" | "*") if !self.is_code => self.held.push('*'),
            (c, "**") if self.is_bold || !c.is_whitespace() => {
                self.held.clear();
                self.is_bold = !self.is_bold;
                self.style(out);
                self.inline(c, out);
            }
            ('`', "") => {
                self.is_code = !self.is_code;
                self.style(out);
            }
            (c, "") => out.push_str(&harmless(c)),
            (c, _) => {
                out.push_str(&std::mem::take(&mut self.held));
                self.inline(c, out);
            }
        }
    }

    fn style(&self, out: &mut String) {
        out.push_str(OFF);
        if self.at == At::Heading || self.is_bold {
            out.push_str(BOLD);
        }
        if self.is_code {
            out.push_str(CODE);
        }
    }
}

fn harmless(c: char) -> String {
    if c == '\t' { c.to_string() } else { plain(c.encode_utf8(&mut [0; 4])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut markdown = Markdown::new();
        let shown = markdown.push(text);
        // As people see it: the styles by short names.
        let all = shown + &markdown.end();
        let all = all.replace(OFF, "<>").replace(BOLD, "<b>");
        all.replace(FAINT, "<f>").replace(CODE, "<c>")
    }

    #[test]
    fn what_people_write_in_markdown_is_shown_as_they_mean_it() {
        for (text, looks) in [
            ("plain text\n", "plain text\n"),
            ("two\n\nparagraphs", "two\n\nparagraphs"),
            ("# Title\nx", "<b>Title<>\nx"),
            ("#hashtag\n", "#hashtag\n"),
            ("a **bold** word\n", "a <><b>bold<> word\n"),
            ("**all**\n", "<><b>all<>\n"),
            ("2 ** 3 * 4\n", "2 ** 3 * 4\n"),
            ("run `ls -l **` now\n", "run <><c>ls -l **<> now\n"),
            ("- one\n  * two\n+ three\n", "• one\n  • two\n• three\n"),
            ("-5 and *x*\n", "-5 and *x*\n"),
            ("1. first\n", "1. first\n"),
            ("> said\n", "│ said\n"),
            (
                "```rust\nfn **x**()\n\n# no title\n```\nout",
                "<f>```rust<>\n<c>fn **x**()<>\n\n<c># no title<>\n<f>```<>\nout",
            ),
            ("open **bold\nnext", "open <><b>bold<>\nnext"),
            ("ends with *", "ends with *"),
            ("steers \x1b[31m\u{202e}", "steers \\u{1b}[31m\\u{202e}"),
        ] {
            assert_eq!(shown(text), looks, "{text:?}");
        }
    }

    #[test]
    fn however_it_is_cut_it_looks_the_same() {
        let text = "# A **b** `c`\n- *x* **y z**\n```\n**no** `no`\n```\n> q\n\n12 ** 3\tend";
        let mut whole = Markdown::new();
        let all = whole.push(text) + &whole.end();
        let chars: Vec<char> = text.chars().collect();
        for size in 1..=chars.len() {
            let mut cut = Markdown::new();
            let mut seen: String =
                chars.chunks(size).map(|part| cut.push(&part.iter().collect::<String>())).collect();
            seen.push_str(&cut.end());
            assert_eq!(seen, all, "in pieces of {size}");
        }
    }

    #[test]
    fn a_word_is_shown_before_its_line_ends() {
        let mut markdown = Markdown::new();
        assert_eq!(markdown.push("Hello"), "Hello");
        assert_eq!(markdown.push(" you"), " you");
    }
}
