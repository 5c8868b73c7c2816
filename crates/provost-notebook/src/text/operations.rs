//! `compose` and `map`, after `composeSets` and `mapSet` of `@codemirror/state`.

use super::section::{SectionBuilder, SectionCursor};
use super::{ChangeError, ChangeSet};

impl ChangeSet {
    /// This change and then another one, as one.
    ///
    /// # Errors
    /// If the other one is for a text of another length.
    pub fn compose(&self, next: &Self) -> Result<Self, ChangeError> {
        let mut composed = SectionBuilder::default();
        let (mut a, mut b) = (SectionCursor::new(self), SectionCursor::new(next));
        // Whether the next section belongs to the last replacement.
        let mut is_open = false;
        loop {
            match (a.inserted, b.inserted) {
                _ if a.is_done && b.is_done => return Ok(composed.finish()),
                (Some([]), _) => {
                    extend_or_replace(&mut composed, is_open, a.length, &[]);
                    a.next();
                }
                (_, Some(text)) if b.length == 0 => {
                    extend_or_replace(&mut composed, is_open, 0, text);
                    b.next();
                }
                _ if a.is_done || b.is_done => return Err(mismatch(self, next)),
                (from_a, from_b) => {
                    let length = a.new_length().min(b.length);
                    let sections = composed.len();
                    let a_length = if a.offset == 0 { a.length } else { 0 };
                    let b_text = from_b.map(|text| if b.offset == 0 { text } else { &[] });
                    match (from_a, b_text) {
                        (None, None) => composed.keep(length),
                        (None, Some(text)) => {
                            extend_or_replace(&mut composed, is_open, length, text);
                        }
                        (Some(text), None) => {
                            let end = usize::try_from(length).unwrap_or(usize::MAX).min(text.len());
                            extend_or_replace(&mut composed, is_open, a_length, &text[..end]);
                        }
                        (Some(_), Some(text)) => {
                            extend_or_replace(&mut composed, is_open, a_length, text);
                        }
                    }
                    let goes_on = from_a.is_some_and(|text| text.len() as u64 > length)
                        || from_b.is_some() && b.length > length;
                    is_open = goes_on && (is_open || composed.len() > sections);
                    a.forward_new(length);
                    b.forward(length);
                }
            }
        }
    }

    /// This change for the text after another change of the same text. Where both insert at one
    /// place, this one comes first if `before`.
    ///
    /// # Errors
    /// If the other one is for a text of another length.
    pub fn map(&self, other: &Self, before: bool) -> Result<Self, ChangeError> {
        let mut mapped = SectionBuilder::default();
        let (mut a, mut b) = (SectionCursor::new(self), SectionCursor::new(other));
        // The section of this change whose text was inserted already.
        let mut inserted = 0;
        loop {
            if a.is_done && b.length > 0 || b.is_done && a.length > 0 {
                return Err(mismatch(self, other));
            }
            if a.keeps() && b.keeps() {
                let length = a.length.min(b.length);
                mapped.keep(length);
                a.forward(length);
                b.forward(length);
                continue;
            }
            if let Some(text) = b.inserted
                && (a.inserted.is_none()
                    || inserted == a.index
                    || a.offset == 0 && (b.length < a.length || b.length == a.length && !before))
            {
                mapped.keep(text.len() as u64);
                skip(&mut mapped, &mut a, b.length, &mut inserted);
                b.next();
            } else if let Some(text) = a.inserted {
                let text = if inserted < a.index { text } else { &[] };
                let (length, left) = remaining_deletion(a.length, &mut b);
                mapped.replace(length, text);
                inserted = a.index;
                a.forward(a.length - left);
            } else if a.is_done && b.is_done {
                return Ok(mapped.finish());
            } else {
                return Err(mismatch(self, other));
            }
        }
    }
}

fn extend_or_replace(builder: &mut SectionBuilder, is_open: bool, length: u64, text: &[u16]) {
    if is_open { builder.extend(length, text) } else { builder.replace(length, text) }
}

/// Goes over text that the other change deleted; what this one inserts there stays.
fn skip(
    mapped: &mut SectionBuilder,
    a: &mut SectionCursor<'_>,
    mut length: u64,
    inserted: &mut usize,
) {
    while length > 0 && !a.is_done {
        let piece = a.length.min(length);
        if let Some(text) = a.inserted
            && *inserted < a.index
            && a.length <= piece
        {
            mapped.replace(0, text);
            *inserted = a.index;
        }
        a.forward(piece);
        length -= piece;
    }
}

/// How much of a deletion the other change has left, up to its next insertion, and how much of
/// the deletion is behind that.
fn remaining_deletion(deleted: u64, b: &mut SectionCursor<'_>) -> (u64, u64) {
    let (mut length, mut left) = (0, deleted);
    while left > 0 && !b.is_done {
        match b.inserted {
            None => {
                let piece = left.min(b.length);
                length += piece;
                left -= piece;
                b.forward(piece);
            }
            Some([]) if b.length < left => {
                left -= b.length;
                b.next();
            }
            Some(_) => break,
        }
    }
    (length, left)
}

fn mismatch(first: &ChangeSet, second: &ChangeSet) -> ChangeError {
    ChangeError::Length { expected: second.old_length(), actual: first.old_length() }
}
