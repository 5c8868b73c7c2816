//! Markdown on a terminal, piece by piece as it is streamed. Pure.
//!
//! What may still become something else is held back: the beginning of a line,
//! asterisks, and what stands between two of them, which is slanted only if the second
//! comes. Everything else is shown at once. Text is made harmless first.

mod inline;

use crate::output::sanitize_text;
use inline::PendingItalic;

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const ITALIC: &str = "\x1b[3m";
const FAINT: &str = "\x1b[2m";
const CODE: &str = "\x1b[36m";

/// Where in a line we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkdownLineKind {
    /// At its beginning: it is not known yet what it is.
    Undecided,
    /// In a text or a list.
    Text,
    /// In a heading.
    Heading,
    /// In the line that begins or ends a block of code.
    Fence,
    /// In a line of such a block.
    Code,
}

/// How letters look.
#[derive(Debug, Clone, Copy, Default)]
struct InlineStyle {
    is_bold: bool,
    is_slanted: bool,
    is_code: bool,
}

/// Text as it comes, and what was held back of it.
#[derive(Debug)]
pub(super) struct MarkdownRenderer {
    at: MarkdownLineKind,
    held: String,
    in_block: bool,
    look: InlineStyle,
    /// The letter before what is held back.
    last: char,
    /// What follows an asterisk that may begin something slanted.
    slant: Option<PendingItalic>,
}

impl MarkdownRenderer {
    pub(super) fn new() -> Self {
        Self {
            at: MarkdownLineKind::Undecided,
            held: String::new(),
            in_block: false,
            look: InlineStyle::default(),
            last: ' ',
            slant: None,
        }
    }

    /// What can be shown of a further piece.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match (c, self.at) {
                ('\r', _) => {}
                ('\n', _) => self.end_line(&mut out),
                (c, MarkdownLineKind::Undecided) => {
                    self.held.push(c);
                    self.classify_line(&mut out);
                }
                (c, MarkdownLineKind::Text | MarkdownLineKind::Heading) => {
                    self.push_inline(c, &mut out)
                }
                (c, MarkdownLineKind::Fence | MarkdownLineKind::Code) => {
                    out.push_str(&sanitize_char(c))
                }
            }
        }
        out
    }

    /// The rest, at the end of all.
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
            self.at,
            MarkdownLineKind::Heading | MarkdownLineKind::Fence | MarkdownLineKind::Code
        );
        is_block || self.look.is_bold || self.look.is_code
    }

    fn end_line(&mut self, out: &mut String) {
        let was_blank = self.at == MarkdownLineKind::Undecided && self.held.trim().is_empty();
        self.flush_held(out);
        if self.is_styled() && !was_blank {
            out.push_str(RESET);
        }
        out.push('\n');
        if self.at == MarkdownLineKind::Fence {
            self.in_block = !self.in_block;
        }
        (self.at, self.look, self.last) =
            (MarkdownLineKind::Undecided, InlineStyle::default(), ' ');
    }

    /// Shows what was held back, as what it is now known to be.
    fn flush_held(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        match self.at {
            MarkdownLineKind::Undecided if held.is_empty() => {}
            MarkdownLineKind::Undecided if self.in_block => self.begin_code_line(&held, out),
            MarkdownLineKind::Undecided => {
                self.begin_text_line(&held, out);
                self.flush_held(out);
            }
            MarkdownLineKind::Text | MarkdownLineKind::Heading => {
                self.push_asterisks(held.len(), ' ', out);
                // Nothing more comes that could end it.
                while self.slant.is_some() {
                    self.abandon_italic(out);
                }
            }
            MarkdownLineKind::Fence | MarkdownLineKind::Code => {
                held.chars().for_each(|c| out.push_str(&sanitize_char(c)))
            }
        }
    }

    fn begin_text_line(&mut self, held: &str, out: &mut String) {
        self.at = MarkdownLineKind::Text;
        for c in held.chars() {
            self.push_inline(c, out);
        }
    }

    fn begin_code_line(&mut self, held: &str, out: &mut String) {
        self.at = MarkdownLineKind::Code;
        out.push_str(CODE);
        held.chars().for_each(|c| out.push_str(&sanitize_char(c)));
    }

    /// Decides what a line is, as soon as it can be.
    fn classify_line(&mut self, out: &mut String) {
        let held = self.held.clone();
        let text = held.trim_start();
        if text.starts_with("```") {
            self.at = MarkdownLineKind::Fence;
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
        self.at = MarkdownLineKind::Text;
        if hashes == " " && text.len() <= 7 {
            self.at = MarkdownLineKind::Heading;
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
        if self.at == MarkdownLineKind::Heading || self.look.is_bold {
            out.push_str(BOLD);
        }
        if self.look.is_slanted {
            out.push_str(ITALIC);
        }
        if self.look.is_code {
            out.push_str(CODE);
        }
    }
}

fn sanitize_char(c: char) -> String {
    if c == '\t' { c.to_string() } else { sanitize_text(c.encode_utf8(&mut [0; 4])) }
}

#[cfg(test)]
mod tests;
