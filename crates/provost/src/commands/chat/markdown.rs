//! Renders streamed Markdown for a terminal, character by character. Pure.
//!
//! Only what is still ambiguous is held back: the start of a line, asterisks, and the text
//! after one, which is italic only if it is closed. Everything else is printed at once.
//! Text is sanitized. docs/adr/0016 says why this is not a Markdown library.

mod inline;

use crate::output::sanitize_text;
use inline::PendingItalic;

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const ITALIC: &str = "\x1b[3m";
const FAINT: &str = "\x1b[2m";
const CODE: &str = "\x1b[36m";

/// What the current line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownLineKind {
    /// Not known yet; only its start was read.
    Undecided,
    /// Text or a list item.
    Text,
    /// A heading.
    Heading,
    /// The line that opens or closes a code block.
    Fence,
    /// A line in a code block.
    Code,
}

/// The style of the current text.
#[derive(Debug, Clone, Copy, Default)]
struct InlineStyle {
    is_bold: bool,
    is_italic: bool,
    is_code: bool,
}

/// The state of the renderer.
#[derive(Debug)]
pub(super) struct MarkdownRenderer {
    line: MarkdownLineKind,
    held: String,
    in_block: bool,
    style: InlineStyle,
    /// The character before the held text.
    last: char,
    /// The text after an asterisk that may open italic text.
    pending_italic: Option<PendingItalic>,
}

impl MarkdownRenderer {
    pub(super) fn new() -> Self {
        Self {
            line: MarkdownLineKind::Undecided,
            held: String::new(),
            in_block: false,
            style: InlineStyle::default(),
            last: ' ',
            pending_italic: None,
        }
    }

    /// Adds text; returns what can be printed.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match (c, self.line) {
                ('\r', _) => {}
                ('\n', _) => self.end_line(&mut out),
                (c, MarkdownLineKind::Undecided) => {
                    self.held.push(c);
                    self.classify_line(&mut out);
                }
                (c, MarkdownLineKind::Text | MarkdownLineKind::Heading) => {
                    self.push_inline(c, &mut out);
                }
                (c, MarkdownLineKind::Fence | MarkdownLineKind::Code) => {
                    out.push_str(&sanitize_char(c));
                }
            }
        }
        out
    }

    /// Ends the text; returns the rest.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.flush_held(&mut out);
        if self.is_styled() {
            out.push_str(RESET);
        }
        *self = Self::new();
        out
    }

    fn is_styled(&self) -> bool {
        let is_block = matches!(
            self.line,
            MarkdownLineKind::Heading | MarkdownLineKind::Fence | MarkdownLineKind::Code
        );
        is_block || self.style.is_bold || self.style.is_code
    }

    fn end_line(&mut self, out: &mut String) {
        let was_blank = self.line == MarkdownLineKind::Undecided && self.held.trim().is_empty();
        self.flush_held(out);
        if self.is_styled() && !was_blank {
            out.push_str(RESET);
        }
        out.push('\n');
        if self.line == MarkdownLineKind::Fence {
            self.in_block = !self.in_block;
        }
        (self.line, self.style, self.last) =
            (MarkdownLineKind::Undecided, InlineStyle::default(), ' ');
    }

    /// Prints the held text, now that its meaning is known.
    fn flush_held(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        match self.line {
            MarkdownLineKind::Undecided if held.is_empty() => {}
            MarkdownLineKind::Undecided if self.in_block => self.begin_code_line(&held, out),
            MarkdownLineKind::Undecided => {
                self.begin_text_line(&held, out);
                self.flush_held(out);
            }
            MarkdownLineKind::Text | MarkdownLineKind::Heading => {
                self.push_asterisks(held.len(), ' ', out);
                // Nothing can close it any more.
                while self.pending_italic.is_some() {
                    self.abandon_italic(out);
                }
            }
            MarkdownLineKind::Fence | MarkdownLineKind::Code => {
                held.chars().for_each(|c| out.push_str(&sanitize_char(c)));
            }
        }
    }

    fn begin_text_line(&mut self, held: &str, out: &mut String) {
        self.line = MarkdownLineKind::Text;
        for c in held.chars() {
            self.push_inline(c, out);
        }
    }

    fn begin_code_line(&mut self, held: &str, out: &mut String) {
        self.line = MarkdownLineKind::Code;
        out.push_str(CODE);
        held.chars().for_each(|c| out.push_str(&sanitize_char(c)));
    }

    /// Decides what the line is, as soon as that is possible.
    fn classify_line(&mut self, out: &mut String) {
        let held = self.held.clone();
        // Other white space controls the terminal, and is text.
        let text = held.trim_start_matches([' ', '\t']);
        if text.starts_with("```") {
            self.line = MarkdownLineKind::Fence;
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
            return self.begin_code_line(&held, out);
        }
        let indent = &held[..held.len() - text.len()];
        let hashes = text.trim_start_matches('#');
        let is_marks = hashes.is_empty() && text.len() <= 6;
        if is_marks || matches!(text, "-" | "*" | "+" | ">") {
            return;
        }
        self.held.clear();
        self.line = MarkdownLineKind::Text;
        if hashes == " " && text.len() <= 7 {
            self.line = MarkdownLineKind::Heading;
            out.push_str(BOLD);
        } else if matches!(text, "- " | "* " | "+ ") {
            out.push_str(indent);
            out.push_str("• ");
        } else if text == "> " {
            out.push_str(indent);
            out.push_str("│ ");
        } else {
            self.begin_text_line(&held, out);
        }
    }

    fn write_style(&self, out: &mut String) {
        out.push_str(RESET);
        if self.line == MarkdownLineKind::Heading || self.style.is_bold {
            out.push_str(BOLD);
        }
        if self.style.is_italic {
            out.push_str(ITALIC);
        }
        if self.style.is_code {
            out.push_str(CODE);
        }
    }
}

fn sanitize_char(c: char) -> String {
    if c == '\t' { c.to_string() } else { sanitize_text(c.encode_utf8(&mut [0; 4])) }
}

#[cfg(test)]
mod tests;
