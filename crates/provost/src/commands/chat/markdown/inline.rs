//! What stands within a line: bold, slanted, code, and asterisks that are none of it.

use super::{MarkdownRenderer, sanitize_char};

/// The longest text between two asterisks that is waited for, in characters.
const MAX_ITALIC_CHARS: usize = 200;

/// A text of which it is not known yet whether it is slanted.
#[derive(Debug, Default)]
pub(super) struct PendingItalic {
    text: String,
    n_chars: usize,
    is_bold: bool,
    is_code: bool,
}

impl MarkdownRenderer {
    /// A character in a text. Held back are asterisks.
    pub(super) fn push_inline(&mut self, c: char, out: &mut String) {
        let is_code = self.slant.as_ref().map_or(self.look.is_code, |slant| slant.is_code);
        if c == '*' && !is_code {
            return self.held.push('*');
        }
        let n_stars = std::mem::take(&mut self.held).len();
        self.push_asterisks(n_stars, c, out);
        self.push_letter(c, out);
    }

    fn push_letter(&mut self, c: char, out: &mut String) {
        self.last = c;
        if let Some(slant) = &mut self.slant {
            slant.is_code ^= c == '`';
            slant.text.push(c);
            slant.n_chars += 1;
            if slant.n_chars > MAX_ITALIC_CHARS {
                self.abandon_italic(out);
            }
        } else if c == '`' {
            self.look.is_code = !self.look.is_code;
            self.write_style(out);
        } else {
            out.push_str(&sanitize_char(c));
        }
    }

    /// Asterisks in a row, and what follows them.
    pub(super) fn push_asterisks(&mut self, n_stars: usize, next: char, out: &mut String) {
        let (opens, closes) = (!next.is_whitespace(), !self.last.is_whitespace());
        if let Some(slant) = &mut self.slant {
            match n_stars {
                1 if closes => self.close_italic(out),
                1 if opens => {
                    self.abandon_italic(out);
                    self.slant = Some(PendingItalic::default());
                }
                2 => {
                    slant.is_bold = !slant.is_bold;
                    slant.text.push_str("**");
                }
                3 if closes && slant.is_bold => {
                    slant.text.push_str("**");
                    self.close_italic(out);
                }
                3 if closes => {
                    self.close_italic(out);
                    self.push_asterisks(2, next, out);
                }
                n_stars => slant.text.push_str(&"*".repeat(n_stars)),
            }
            return;
        }
        match n_stars {
            1 if opens && !self.look.is_slanted => self.slant = Some(PendingItalic::default()),
            2 if self.look.is_bold || opens => {
                self.look.is_bold = !self.look.is_bold;
                self.write_style(out);
            }
            3 if self.look.is_bold && closes => {
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

    /// What was held back is slanted.
    fn close_italic(&mut self, out: &mut String) {
        let Some(slant) = self.slant.take() else { return };
        self.look.is_slanted = true;
        self.write_style(out);
        self.replay_text(&slant.text, out);
        self.look.is_slanted = false;
        self.write_style(out);
    }

    /// What was held back is not slanted: the asterisk is one.
    pub(super) fn abandon_italic(&mut self, out: &mut String) {
        if let Some(slant) = self.slant.take() {
            out.push('*');
            self.replay_text(&slant.text, out);
        }
    }

    /// Shows a text that was held back.
    fn replay_text(&mut self, text: &str, out: &mut String) {
        self.last = ' ';
        text.chars().for_each(|c| self.push_inline(c, out));
        let n_stars = std::mem::take(&mut self.held).len();
        self.push_asterisks(n_stars, ' ', out);
    }
}
