//! The table of segments.

use provost_proto::{Hash, LogSegment, Seq, UnixMicros};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::StoreError;

const COLUMNS: &str = "first, last, prev, hash, first_at, last_at, name, digest, bytes";

fn decode_row(row: &Row<'_>) -> rusqlite::Result<LogSegment> {
    let hash = |column: usize| {
        let bytes = row.get_ref(column)?.as_blob()?;
        Hash::try_from(bytes).map_err(|error| {
            let kind = rusqlite::types::Type::Blob;
            rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
        })
    };
    Ok(LogSegment {
        first: row.get(0)?,
        last: row.get(1)?,
        prev: hash(2)?,
        hash: hash(3)?,
        first_at: row.get(4)?,
        last_at: row.get(5)?,
        file: row.get(6)?,
        digest: hash(7)?,
        bytes: row.get(8)?,
    })
}

fn find_one(
    db: &Connection,
    rest: &str,
    key: impl rusqlite::Params,
) -> Result<Option<LogSegment>, StoreError> {
    let mut find = db.prepare_cached(&format!("SELECT {COLUMNS} FROM segments {rest}"))?;
    Ok(find.query_row(key, decode_row).optional()?)
}

/// Whether the file is new enough to have segments.
pub(in crate::sqlite) fn has_segments(db: &Connection) -> Result<bool, StoreError> {
    let known = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'segments'";
    Ok(db.query_row(known, [], |row| row.get::<_, u32>(0))? > 0)
}

/// The last event that is in a segment; 0 if none is.
pub(in crate::sqlite) fn last_archived(db: &Connection) -> Result<Seq, StoreError> {
    let mut find = db.prepare_cached("SELECT coalesce(max(last), 0) FROM segments")?;
    Ok(find.query_row([], |row| row.get(0))?)
}

/// The last segment.
pub(in crate::sqlite) fn last_segment(db: &Connection) -> Result<Option<LogSegment>, StoreError> {
    find_one(db, "ORDER BY first DESC LIMIT 1", [])
}

/// The segment that holds an event.
pub(in crate::sqlite) fn find_segment_of(
    db: &Connection,
    seq: Seq,
) -> Result<Option<LogSegment>, StoreError> {
    let found = find_one(db, "WHERE first <= ?1 ORDER BY first DESC LIMIT 1", [seq])?;
    Ok(found.filter(|row| seq <= row.last))
}

/// The first segment with an event at or after a time.
pub(in crate::sqlite) fn find_segment_at_time(
    db: &Connection,
    at: UnixMicros,
) -> Result<Option<LogSegment>, StoreError> {
    // A later time than the database can hold is after every event.
    let Ok(at) = i64::try_from(at) else { return Ok(None) };
    find_one(db, "WHERE last_at >= ?1 ORDER BY first LIMIT 1", [at])
}

/// All segments, the oldest first.
pub(in crate::sqlite) fn list_segments(db: &Connection) -> Result<Vec<LogSegment>, StoreError> {
    let mut list = db.prepare(&format!("SELECT {COLUMNS} FROM segments ORDER BY first"))?;
    Ok(list.query_map([], decode_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Adds a row.
pub(in crate::sqlite) fn insert_segment(
    db: &Connection,
    segment: &LogSegment,
) -> Result<(), StoreError> {
    let LogSegment { first, last, prev, hash, first_at, last_at, file, digest, bytes } = segment;
    let mut insert = db.prepare_cached(&format!(
        "INSERT INTO segments ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    ))?;
    insert.execute(params![
        first,
        last,
        prev.as_bytes(),
        hash.as_bytes(),
        first_at,
        last_at,
        file,
        digest.as_bytes(),
        bytes
    ])?;
    Ok(())
}
