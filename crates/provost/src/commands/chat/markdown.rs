//! Markdown on a terminal, piece by piece as it is streamed. Pure.
//!
//! What may still become something else is held back: the beginning of a line,
//! asterisks, and what stands between two of them, which is slanted only if the second
//! comes. Everything else is shown at once. Text is made harmless first.

mod inline;

use crate::output::plain;
use inline::Slant;

const OFF: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const SLANTED: &str = "\x1b[3m";
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

/// How letters look.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    is_bold: bool,
    is_slanted: bool,
    is_code: bool,
}

/// Text as it comes, and what was held back of it.
#[derive(Debug)]
pub(super) struct Markdown {
    at: At,
    held: String,
    in_block: bool,
    look: Look,
    /// The letter before what is held back.
    last: char,
    /// What follows an asterisk that may begin something slanted.
    slant: Option<Slant>,
}

impl Markdown {
    pub(super) fn new() -> Self {
        Self {
            at: At::Start,
            held: String::new(),
            in_block: false,
            look: Look::default(),
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
        is_block || self.look.is_bold || self.look.is_code
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
        (self.at, self.look, self.last) = (At::Start, Look::default(), ' ');
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
            At::Text | At::Heading => {
                self.stars(held.len(), ' ', out);
                // Nothing more comes that could end it.
                while self.slant.is_some() {
                    self.give_up(out);
                }
            }
            At::Fence | At::Code => held.chars().for_each(|c| out.push_str(&harmless(c))),
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

    fn style(&self, out: &mut String) {
        out.push_str(OFF);
        if self.at == At::Heading || self.look.is_bold {
            out.push_str(BOLD);
        }
        if self.look.is_slanted {
            out.push_str(SLANTED);
        }
        if self.look.is_code {
            out.push_str(CODE);
        }
    }
}

fn harmless(c: char) -> String {
    if c == '\t' { c.to_string() } else { plain(c.encode_utf8(&mut [0; 4])) }
}

#[cfg(test)]
mod tests;
