//! The documents that were touched lately, in memory.
//!
//! An action is asked for, allowed and finished within a moment, and each time its
//! document changes. So documents are not written with every event but many at
//! once, into the transaction of a later one; until then they are here, where
//! readers look first. Nothing hangs on that: the file says up to which event its
//! documents go, and what lies behind is folded again when it is opened.
//!
//! Only the writer changes anything here.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::Seq;
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::StoreError;

/// Documents that may wait to be written: few enough that whoever appends next can.
const DOCS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Hot(RwLock<Held>);

#[derive(Debug, Default)]
struct Held {
    docs: HashMap<DocumentKey, HotDoc>,
    waiting: usize,
}

#[derive(Debug)]
struct HotDoc {
    doc: ViewDocument,
    /// The end of the log when it was last touched.
    seq: Seq,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not on disk as it is here.
    Waits,
    /// On disk, and still here because it may be touched again.
    Written,
}

impl Hot {
    fn read(&self) -> RwLockReadGuard<'_, Held> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Held> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest state of a document; `None` if only the disk has it.
    pub(super) fn get(&self, key: &DocumentKey) -> Option<ViewDocument> {
        self.read().docs.get(key).map(|hot| hot.doc.clone())
    }

    /// The documents of a view that are not on disk as they are here.
    pub(super) fn waiting(&self, view: ViewKind) -> HashMap<Uuid, (Seq, ViewDocument)> {
        let held = self.read();
        let all = held.docs.iter().filter(|(key, hot)| key.view == view && hot.waits());
        all.map(|(key, hot)| (key.key, (hot.seq, hot.doc.clone()))).collect()
    }

    /// Whether so many wait that they must be written now.
    pub(super) fn is_full(&self) -> bool {
        self.read().waiting >= DOCS
    }

    /// Takes over what a committed transaction touched.
    pub(super) fn touch(
        &self,
        seq: Seq,
        docs: impl IntoIterator<Item = (DocumentKey, ViewDocument)>,
    ) {
        let mut held = self.change();
        for (key, doc) in docs {
            let had = held.docs.insert(key, HotDoc { doc, seq, place: Place::Waits });
            held.waiting += usize::from(!had.is_some_and(|hot| hot.waits()));
        }
    }

    /// Writes all that wait, in the order in which they lie on disk.
    pub(super) fn write(&self, db: &Connection) -> Result<(), StoreError> {
        let held = self.read();
        let mut waiting: Vec<_> = held.docs.iter().filter(|(_, hot)| hot.waits()).collect();
        waiting.sort_unstable_by_key(|(key, _)| **key);
        put(db, waiting.into_iter().map(|(key, hot)| (*key, hot.seq, &hot.doc)))
    }

    /// All that waited has been written and committed. What was not touched since
    /// the time before is forgotten.
    pub(super) fn written(&self) {
        let mut held = self.change();
        held.waiting = 0;
        held.docs.retain(|_, hot| {
            let keep = hot.waits();
            hot.place = Place::Written;
            keep
        });
    }

    /// Forgets everything: the disk has it better.
    pub(super) fn clear(&self) {
        *self.change() = Held::default();
    }
}

impl HotDoc {
    fn waits(&self) -> bool {
        self.place == Place::Waits
    }
}

/// Writes documents, which should come in the order of their keys.
pub(super) fn put<'d>(
    db: &Connection,
    docs: impl Iterator<Item = (DocumentKey, Seq, &'d ViewDocument)>,
) -> Result<(), StoreError> {
    let mut put = db.prepare_cached("REPLACE INTO docs VALUES (?1, ?2, ?3, ?4)")?;
    let mut bytes = Vec::with_capacity(512);
    for (key, seq, doc) in docs {
        bytes.clear();
        serde_json::to_writer(&mut bytes, doc)
            .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
        put.execute(params![key.view.storage_id(), key.key.as_bytes(), seq, bytes])?;
    }
    Ok(())
}
