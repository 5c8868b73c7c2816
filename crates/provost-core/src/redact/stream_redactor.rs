//! Redacting what comes in pieces.

use std::sync::Arc;

use super::Redactor;

/// Redacts a stream as if it were whole, however it is cut into pieces.
///
/// It holds back the longest end that may be the beginning of a secret, and no
/// more: what cannot be part of one goes on at once.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
    /// How many of the bytes held back lie beneath a mark already.
    covered: usize,
}

impl StreamRedactor {
    /// A stream that has not begun.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new(), covered: 0 }
    }

    /// Whether this piece, if it came next, would go on at once and as it is.
    pub fn passes_unchanged(&self, piece: &[u8]) -> bool {
        self.held.is_empty()
            && !self.redactor.may_contain_secret(piece)
            && self.redactor.find_incomplete_match(piece) == piece.len()
    }

    /// Takes the next piece, and writes what can go on.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.passes_unchanged(piece) {
            out.extend_from_slice(piece);
            return;
        }
        self.held.extend_from_slice(piece);
        let cut = self.redactor.find_incomplete_match(&self.held);
        let (covered, _) = self.redactor.write_redacted(&self.held, cut, self.covered, out);
        self.covered = covered;
        self.held.drain(..cut);
    }

    /// Nothing comes any more: writes what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        let covered = std::mem::take(&mut self.covered);
        self.redactor.write_redacted(&held, held.len(), covered, out);
    }
}
