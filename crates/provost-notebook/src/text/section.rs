//! The sections of a change set.

use super::ChangeSet;

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Section {
    /// So much text stays.
    Keep(u64),
    /// Text is deleted, inserted or both.
    Replace {
        /// How much is deleted.
        deleted: u64,
        /// What is inserted, in UTF-16: a change may be cut between the halves of a pair.
        inserted: Vec<u16>,
    },
}

impl Section {
    pub(super) const fn old_length(&self) -> u64 {
        match self {
            Self::Keep(length) => *length,
            Self::Replace { deleted, .. } => *deleted,
        }
    }
}

/// Joins sections as CodeMirror's `addSection` does.
#[derive(Debug, Default)]
pub(super) struct SectionBuilder {
    sections: Vec<Section>,
}

impl SectionBuilder {
    pub(super) fn keep(&mut self, length: u64) {
        if length == 0 {
            return;
        }
        if let Some(Section::Keep(last)) = self.sections.last_mut() {
            *last = last.saturating_add(length);
        } else {
            self.sections.push(Section::Keep(length));
        }
    }

    pub(super) fn replace(&mut self, length: u64, text: &[u16]) {
        self.add(length, text, false);
    }

    /// Adds to the last replacement, whatever it is.
    pub(super) fn extend(&mut self, length: u64, text: &[u16]) {
        self.add(length, text, true);
    }

    fn add(&mut self, length: u64, text: &[u16], join: bool) {
        if length == 0 && text.is_empty() {
            return;
        }
        if let Some(Section::Replace { deleted, inserted }) = self.sections.last_mut() {
            let is_deletion = text.is_empty() && inserted.is_empty();
            let is_insertion = length == 0 && *deleted == 0;
            if join || is_deletion || is_insertion {
                *deleted = deleted.saturating_add(length);
                inserted.extend_from_slice(text);
                return;
            }
        }
        self.sections.push(Section::Replace { deleted: length, inserted: text.to_vec() });
    }

    pub(super) const fn len(&self) -> usize {
        self.sections.len()
    }

    pub(super) fn finish(self) -> ChangeSet {
        ChangeSet { sections: self.sections }
    }
}

/// A position in the sections of a change set.
#[derive(Debug)]
pub(super) struct SectionCursor<'a> {
    sections: &'a [Section],
    /// The index of the section after this one.
    pub(super) index: usize,
    /// How much of the old text of this section is left.
    pub(super) length: u64,
    /// What is left to insert; `None` where the text stays.
    pub(super) inserted: Option<&'a [u16]>,
    /// How much of this section is behind.
    pub(super) offset: u64,
    pub(super) is_done: bool,
}

impl<'a> SectionCursor<'a> {
    pub(super) fn new(set: &'a ChangeSet) -> Self {
        let mut cursor = Self {
            sections: &set.sections,
            index: 0,
            length: 0,
            inserted: None,
            offset: 0,
            is_done: false,
        };
        cursor.next();
        cursor
    }

    pub(super) fn next(&mut self) {
        self.offset = 0;
        (self.length, self.inserted) = match self.sections.get(self.index) {
            Some(Section::Keep(length)) => (*length, None),
            Some(Section::Replace { deleted, inserted }) => (*deleted, Some(inserted.as_slice())),
            None => {
                self.is_done = true;
                (0, None)
            }
        };
        self.index += 1;
    }

    pub(super) const fn keeps(&self) -> bool {
        !self.is_done && self.inserted.is_none()
    }

    /// How much this section has in the new text.
    pub(super) const fn new_length(&self) -> u64 {
        match self.inserted {
            Some(inserted) => inserted.len() as u64,
            None => self.length,
        }
    }

    /// Moves on in the old text.
    pub(super) fn forward(&mut self, length: u64) {
        if length == self.length {
            self.next();
        } else {
            self.length = self.length.saturating_sub(length);
            self.offset += length;
        }
    }

    /// Moves on in the new text.
    pub(super) fn forward_new(&mut self, length: u64) {
        let Some(inserted) = self.inserted else { return self.forward(length) };
        if length == inserted.len() as u64 {
            self.next();
        } else {
            let start = usize::try_from(length).unwrap_or(usize::MAX).min(inserted.len());
            self.inserted = Some(&inserted[start..]);
            self.offset += length;
        }
    }
}
