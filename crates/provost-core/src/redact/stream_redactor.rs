//! Redacts a stream.

use std::sync::Arc;

use super::Redactor;

/// Redacts a stream as if it were whole, however it is split.
///
/// It holds back only the longest suffix that may be the beginning of a secret.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
    /// How many of the bytes held back are covered by a mark already.
    covered: usize,
}

impl StreamRedactor {
    /// A redactor at the beginning of a stream.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new(), covered: 0 }
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
        let (covered, _) = self.redactor.write_redacted(&self.held, cut, self.covered, out);
        self.covered = covered;
        self.held.drain(..cut);
    }

    /// Ends the stream: writes what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        let covered = std::mem::take(&mut self.covered);
        self.redactor.write_redacted(&held, held.len(), covered, out);
    }
}
