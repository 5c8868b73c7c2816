//! The latest documents of several lists: the index tells which they are, and only those are read.

use std::cmp::Reverse;
use std::collections::HashMap;

use provost_core::fold::{DocumentKey, DocumentListing, ViewDocument, ViewKind};
use provost_proto::{LogCursor, Seq};
use rusqlite::Connection;
use uuid::Uuid;

use super::reader;
use crate::{ListPosition, ListQuery, StoreError, StoredDocument};

/// The documents of a view that are not on disk yet.
pub(super) type DirtyDocuments = HashMap<Uuid, (Seq, ViewDocument)>;

/// The latest documents of these lists, at most `limit` of all.
pub(super) fn list_latest(
    db: &Connection,
    queries: &[ListQuery],
    limit: usize,
    caches: &HashMap<ViewKind, DirtyDocuments>,
) -> Result<Vec<StoredDocument>, StoreError> {
    let mut found = Vec::new();
    for query in queries {
        let none = DirtyDocuments::new();
        let cache = caches.get(&query.view).unwrap_or(&none);
        // As many more as could have left the list in memory.
        let most = limit.saturating_add(cache.len());
        let on_disk = list_keys(db, ListQuery { limit: most.min(query.limit), ..*query })?;
        found.extend(on_disk.into_iter().filter(|(_, key)| !cache.contains_key(&key.key)));
        found.extend(cache.iter().filter_map(|(key, (_, doc))| {
            let listing = doc.listing().filter(|listing| is_selected(query, *key, listing))?;
            Some((listing.at, DocumentKey { view: query.view, key: *key }))
        }));
    }
    found.sort_by_key(|(at, key)| Reverse((*at, key.key)));
    found.truncate(limit);
    let mut docs = Vec::with_capacity(found.len());
    for (_, key) in found {
        let dirty = caches.get(&key.view).and_then(|cache| cache.get(&key.key));
        docs.extend(match dirty {
            Some((seq, doc)) => {
                let (key, up_to) = (key.key, LogCursor::from_seq(*seq));
                Some(StoredDocument { key, up_to, doc: doc.clone() })
            }
            None => reader::read_stored_document(db, key)?,
        });
    }
    Ok(docs)
}

/// Whether a document in this place is in the list.
pub(super) fn is_selected(query: &ListQuery, key: Uuid, listing: &DocumentListing) -> bool {
    listing.group == query.parent
        && listing.is_open == query.is_open
        && (listing.at > query.after || query.after == 0)
        && ListPosition { at: listing.at, key } < query.before
}

/// Times and keys of the documents of a list on disk, the latest first; the index has both.
fn list_keys(db: &Connection, query: ListQuery) -> Result<Vec<(u64, DocumentKey)>, StoreError> {
    reader::read_list(db, "key, at", query, |row| {
        let bytes: Vec<u8> = row.get(0)?;
        // A row with another key is damaged; verification names it.
        let Ok(key) = Uuid::from_slice(&bytes) else { return Ok(None) };
        let at: i64 = row.get(1)?;
        Ok(Some((u64::try_from(at).unwrap_or(0), DocumentKey { view: query.view, key })))
    })
}
