//! The columns by which documents are listed: they must say what the documents say.

use std::collections::BTreeMap;

use provost_core::fold::{DocumentListing, ViewDocument, ViewKind};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::schema;

/// Where a document is listed, as its columns say.
type ListedColumns = (Option<Vec<u8>>, Option<i64>, Option<i64>);

/// The columns of a document in this place.
pub(super) fn encode_listing(
    listing: Option<DocumentListing>,
) -> (Option<[u8; 16]>, Option<bool>, Option<i64>) {
    let Some(DocumentListing { group, is_open, at }) = listing else { return (None, None, None) };
    (Some(group.into_bytes()), Some(is_open), Some(i64::try_from(at).unwrap_or(i64::MAX)))
}

/// The first document of a view whose columns differ from it. Older files have other columns,
/// which are written when such a file is opened.
pub(super) fn find_difference(
    db: &Connection,
    view: ViewKind,
    docs: &BTreeMap<Uuid, ViewDocument>,
) -> Option<String> {
    let unreadable = |error: rusqlite::Error| format!("{} cannot be read: {error}", view.name());
    match read_version(db) {
        Ok(version) if version == schema::current_version() => {}
        Ok(_) => return None,
        Err(error) => return Some(unreadable(error)),
    }
    match find_wrong_row(db, view, docs) {
        Ok(None) => None,
        Ok(Some(key)) => Some(format!("{} {key} is listed in the wrong place", view.name())),
        Err(error) => Some(unreadable(error)),
    }
}

fn read_version(db: &Connection) -> rusqlite::Result<u32> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn find_wrong_row(
    db: &Connection,
    view: ViewKind,
    docs: &BTreeMap<Uuid, ViewDocument>,
) -> rusqlite::Result<Option<Uuid>> {
    let mut list = db.prepare("SELECT key, parent, open, at FROM docs WHERE view = ?1")?;
    let mut rows = list.query(params![view.storage_id()])?;
    while let Some(row) = rows.next()? {
        let Ok(key) = Uuid::from_slice(&row.get::<_, Vec<u8>>(0)?) else { continue };
        let (parent, open, at) = encode_listing(docs.get(&key).and_then(ViewDocument::listing));
        let expected = (parent.map(Vec::from), open.map(i64::from), at);
        // A column of another type is as wrong as one with another value.
        if read_columns(row).ok() != Some(expected) {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

fn read_columns(row: &Row<'_>) -> rusqlite::Result<ListedColumns> {
    Ok((row.get(1)?, row.get(2)?, row.get(3)?))
}
