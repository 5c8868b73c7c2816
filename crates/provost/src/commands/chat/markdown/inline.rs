//! Inline styles: bold, italic, code, and literal asterisks.

use super::{MarkdownRenderer, sanitize_char};

/// Longest text that is held back after an asterisk, in characters.
const MAX_ITALIC_CHARS: usize = 200;

/// Text that is italic if an asterisk closes it.
#[derive(Debug, Default)]
pub(super) struct PendingItalic {
    text: String,
    n_chars: usize,
    is_bold: bool,
    is_code: bool,
}

impl MarkdownRenderer {
    /// Adds a character; asterisks are held back.
    pub(super) fn push_inline(&mut self, c: char, out: &mut String) {
        let is_code =
            self.pending_italic.as_ref().map_or(self.style.is_code, |pending| pending.is_code);
        if c == '*' && !is_code {
            return self.held.push('*');
        }
        let n_stars = std::mem::take(&mut self.held).len();
        self.push_asterisks(n_stars, c, out);
        self.push_letter(c, out);
    }

    fn push_letter(&mut self, c: char, out: &mut String) {
        self.last = c;
        if let Some(pending) = &mut self.pending_italic {
            pending.is_code ^= c == '`';
            pending.text.push(c);
            pending.n_chars += 1;
            if pending.n_chars > MAX_ITALIC_CHARS {
                self.abandon_italic(out);
            }
        } else if c == '`' {
            self.style.is_code = !self.style.is_code;
            self.write_style(out);
        } else {
            out.push_str(&sanitize_char(c));
        }
    }

    /// Handles a run of asterisks, given the character after it.
    pub(super) fn push_asterisks(&mut self, n_stars: usize, next: char, out: &mut String) {
        let (opens, closes) = (!next.is_whitespace(), !self.last.is_whitespace());
        if let Some(pending) = &mut self.pending_italic {
            match n_stars {
                1 if closes => self.close_italic(out),
                1 if opens => {
                    self.abandon_italic(out);
                    self.pending_italic = Some(PendingItalic::default());
                }
                2 => {
                    pending.is_bold = !pending.is_bold;
                    pending.text.push_str("**");
                }
                3 if closes && pending.is_bold => {
                    pending.text.push_str("**");
                    self.close_italic(out);
                }
                3 if closes => {
                    self.close_italic(out);
                    self.push_asterisks(2, next, out);
                }
                n_stars => pending.text.push_str(&"*".repeat(n_stars)),
            }
            return;
        }
        match n_stars {
            1 if opens && !self.style.is_italic => {
                self.pending_italic = Some(PendingItalic::default());
            }
            2 if self.style.is_bold || opens => {
                self.style.is_bold = !self.style.is_bold;
                self.write_style(out);
            }
            3 if self.style.is_bold && closes => {
                self.push_asterisks(2, next, out);
                out.push('*');
            }
            3 if opens => {
                self.push_asterisks(2, next, out);
                self.push_asterisks(1, next, out);
            }
            n_stars => out.push_str(&"*".repeat(n_stars)),
        }
    }

    /// Prints the held text in italics.
    fn close_italic(&mut self, out: &mut String) {
        let Some(pending) = self.pending_italic.take() else { return };
        self.style.is_italic = true;
        self.write_style(out);
        self.replay_text(&pending.text, out);
        self.style.is_italic = false;
        self.write_style(out);
    }

    /// Prints the held text as it is, with a literal asterisk.
    pub(super) fn abandon_italic(&mut self, out: &mut String) {
        if let Some(pending) = self.pending_italic.take() {
            out.push('*');
            self.replay_text(&pending.text, out);
        }
    }

    /// Renders a held text.
    fn replay_text(&mut self, text: &str, out: &mut String) {
        self.last = ' ';
        text.chars().for_each(|c| self.push_inline(c, out));
        let n_stars = std::mem::take(&mut self.held).len();
        self.push_asterisks(n_stars, ' ', out);
    }
}
