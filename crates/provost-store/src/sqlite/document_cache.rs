//! Recently changed documents, in memory.
//!
//! An action is requested, allowed and finished within a moment, and each event changes its
//! document. So documents are not written with every event but in batches, in the transaction of
//! a later one; until then they are here, where readers look first. This is safe: the file
//! records up to which event its documents are folded, and the rest is folded again when it is
//! opened.
//!
//! Only the writer changes the cache.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::HashMap;

use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::Seq;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::listed_columns::encode_listing;
use crate::StoreError;

/// The most documents that wait to be written: few enough for the next append to write them.
const MAX_DIRTY_DOCUMENTS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct DocumentCache(RwLock<CacheEntries>);

#[derive(Debug, Default)]
struct CacheEntries {
    docs: HashMap<DocumentKey, CachedDocument>,
    waiting: usize,
}

#[derive(Debug)]
struct CachedDocument {
    doc: ViewDocument,
    /// The end of the log when it was last changed.
    seq: Seq,
    state: CachedDocumentState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CachedDocumentState {
    /// Not written to disk yet.
    Dirty,
    /// Written to disk, and kept because it may change again.
    Clean,
}

impl DocumentCache {
    fn lock_read(&self) -> RwLockReadGuard<'_, CacheEntries> {
        self.0.read()
    }

    fn lock_write(&self) -> RwLockWriteGuard<'_, CacheEntries> {
        self.0.write()
    }

    /// The newest state of a document; `None` if only the disk has it.
    pub(super) fn get(&self, key: &DocumentKey) -> Option<ViewDocument> {
        self.lock_read().docs.get(key).map(|cached| cached.doc.clone())
    }

    /// The newest state of a document, and how far that is folded.
    pub(super) fn get_with_seq(&self, key: &DocumentKey) -> Option<(Seq, ViewDocument)> {
        self.lock_read().docs.get(key).map(|cached| (cached.seq, cached.doc.clone()))
    }

    /// The documents of a view that are not on disk yet.
    pub(super) fn dirty_documents(&self, view: ViewKind) -> HashMap<Uuid, (Seq, ViewDocument)> {
        let held = self.lock_read();
        let all = held.docs.iter().filter(|(key, cached)| key.view == view && cached.is_dirty());
        all.map(|(key, cached)| (key.key, (cached.seq, cached.doc.clone()))).collect()
    }

    /// Whether so many documents wait that they must be written now.
    pub(super) fn is_full(&self) -> bool {
        self.lock_read().waiting >= MAX_DIRTY_DOCUMENTS
    }

    /// Adds the documents of a committed transaction.
    pub(super) fn insert_dirty(
        &self,
        seq: Seq,
        docs: impl IntoIterator<Item = (DocumentKey, ViewDocument)>,
    ) {
        let mut held = self.lock_write();
        for (key, doc) in docs {
            let had = held
                .docs
                .insert(key, CachedDocument { doc, seq, state: CachedDocumentState::Dirty });
            held.waiting += usize::from(!had.is_some_and(|cached| cached.is_dirty()));
        }
    }

    /// Writes all dirty documents, in key order.
    pub(super) fn write_dirty(&self, db: &Connection) -> Result<(), StoreError> {
        let held = self.lock_read();
        let mut waiting: Vec<_> =
            held.docs.iter().filter(|(_, cached)| cached.is_dirty()).collect();
        waiting.sort_unstable_by_key(|(key, _)| **key);
        write_documents(
            db,
            waiting.into_iter().map(|(key, cached)| (*key, cached.seq, &cached.doc)),
        )
    }

    /// Marks all documents as written. Those that were not changed since the last time are
    /// evicted.
    pub(super) fn mark_clean(&self) {
        let mut held = self.lock_write();
        held.waiting = 0;
        held.docs.retain(|_, cached| {
            let keep = cached.is_dirty();
            cached.state = CachedDocumentState::Clean;
            keep
        });
    }

    /// Evicts everything: the disk is newer.
    pub(super) fn clear(&self) {
        *self.lock_write() = CacheEntries::default();
    }
}

impl CachedDocument {
    fn is_dirty(&self) -> bool {
        self.state == CachedDocumentState::Dirty
    }
}

/// Writes documents, which should be in key order.
pub(super) fn write_documents<'d>(
    db: &Connection,
    docs: impl Iterator<Item = (DocumentKey, Seq, &'d ViewDocument)>,
) -> Result<(), StoreError> {
    let mut put = db.prepare_cached("REPLACE INTO docs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    let mut bytes = Vec::with_capacity(512);
    for (key, seq, doc) in docs {
        bytes.clear();
        serde_json::to_writer(&mut bytes, doc)
            .map_err(|error| StoreError::NotCanonical(error.to_string()))?;
        let (parent, open, at) = encode_listing(doc.listing());
        let (view, key) = (key.view.storage_id(), key.key.as_bytes());
        put.execute(params![view, key, seq, bytes, parent, open, at])?;
    }
    Ok(())
}
