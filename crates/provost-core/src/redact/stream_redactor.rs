//! Redacts a stream.

use std::sync::Arc;

use super::{Redactor, WrittenBytes};

/// Redacts a stream as if it were whole, however it is split.
///
/// It holds back only the longest suffix that may be the beginning of a secret.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
    /// How many of the bytes held back are covered by a mark already.
    covered: usize,
    /// How many of the bytes held back were written all the same.
    shown: usize,
    held_back: HeldBack,
}

/// What a stream waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldBack {
    /// Every suffix that may be the beginning of a secret.
    All,
    /// Only suffixes that would tell something of a secret.
    Telling,
}

impl StreamRedactor {
    /// A redactor at the beginning of a stream.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new(), covered: 0, shown: 0, held_back: HeldBack::All }
    }

    /// A redactor that does not hold back what tells little of a secret: its first bytes, and the
    /// beginning that all of Provost's tokens share. A text that people read while it is written
    /// is not delayed then, since the end of nearly every word may begin some secret. When these
    /// bytes turn out to be of a secret, the mark follows them.
    pub fn prompt(redactor: Arc<Redactor>) -> Self {
        Self { held_back: HeldBack::Telling, ..Self::new(redactor) }
    }

    /// Whether this piece, as the next one, would pass immediately and unchanged.
    pub fn passes_unchanged(&self, piece: &[u8]) -> bool {
        self.held.is_empty()
            && !self.redactor.may_contain_secret(piece)
            && self.redactor.find_incomplete_match(piece) == piece.len()
    }

    /// Takes the next piece, and writes what is certain.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.passes_unchanged(piece) {
            out.extend_from_slice(piece);
            return;
        }
        self.held.extend_from_slice(piece);
        let cut = self.redactor.find_incomplete_match(&self.held);
        self.write_up_to(cut, out);
        if self.held_back == HeldBack::Telling
            && self.covered == 0
            && self.redactor.tells_little(&self.held)
        {
            out.extend_from_slice(self.held.get(self.shown..).unwrap_or_default());
            self.shown = self.held.len();
        }
    }

    /// Ends the stream: writes what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.write_up_to(self.held.len(), out);
        self.covered = 0;
    }

    fn write_up_to(&mut self, cut: usize, out: &mut Vec<u8>) {
        let done = WrittenBytes { covered: self.covered, shown: self.shown };
        let (covered, _) = self.redactor.write_redacted(&self.held, cut, done, out);
        self.covered = covered;
        self.shown = self.shown.saturating_sub(cut);
        self.held.drain(..cut);
    }
}
