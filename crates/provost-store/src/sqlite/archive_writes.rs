//! What the writer does for the archive: it records a segment, and removes rows in small parts.

use std::collections::HashSet;
use std::time::Instant;

use provost_proto::{Hash, Seq};
use rusqlite::{OptionalExtension as _, params};

use super::event_row::blob_references;
use super::segment::insert_segment;
use super::write_batch::WriteBatch;
use super::write_request::{RemovedRows, SegmentRecord};
use crate::StoreError;

/// The most bytes of blobs that one request removes, beside those of its last event: appends
/// wait meanwhile.
const MAX_REMOVED_BLOB_BYTES: usize = 1024 * 1024;

impl WriteBatch<'_> {
    /// Records a segment file and the event about it. From then on its events are read from it.
    pub(super) fn record_segment(&mut self, record: &SegmentRecord) -> Result<(), StoreError> {
        let segment = &record.finished.segment;
        // Both hold unless another archive ran, which a lock prevents.
        let log = self.log;
        let is_next = segment.first == log.last_archived()? + 1;
        let hash = log.read_hash(segment.last)?;
        if !is_next || hash.as_deref() != Some(segment.hash.as_bytes()) {
            let why = format!("{} does not continue the segments of this log", segment.file);
            return Err(StoreError::Database(why));
        }
        insert_segment(log.db, segment)?;
        let mut set = log.db.prepare_cached("UPDATE streams SET archived = ?2 WHERE name = ?1")?;
        for (stream, version) in &record.finished.streams {
            set.execute(params![stream.to_string(), version])?;
        }
        let mut put = log.db.prepare_cached("INSERT INTO segment_blobs VALUES (?1, ?2)")?;
        for hash in &record.finished.blobs {
            put.execute(params![hash.as_bytes(), segment.first])?;
        }
        self.append_events(&record.append).map(drop)
    }

    /// Removes at most `limit` rows of events that are in segments, with their blobs. Returns how
    /// many; 0 if there are none.
    pub(super) fn remove_archived(&mut self, limit: usize) -> Result<RemovedRows, StoreError> {
        let began = Instant::now();
        let db = self.log.db;
        let mut find = db.prepare_cached(
            "SELECT seq, record FROM events
             WHERE seq <= (SELECT coalesce(max(last), 0) FROM segments) ORDER BY seq LIMIT ?1",
        )?;
        let mut rows = find.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let (mut n_rows, mut last, mut blob_bytes) = (0, 0, 0);
        let mut blobs: HashSet<Hash> = HashSet::new();
        while let Some(row) = rows.next()? {
            last = row.get::<_, Seq>(0)?;
            n_rows += 1;
            let record = row.get_ref(1)?.as_blob().unwrap_or_default();
            self.written.removed += record.len();
            for hash in blob_references(record) {
                blob_bytes += if blobs.insert(hash) { self.removable_bytes(&hash)? } else { 0 };
            }
            if blob_bytes > MAX_REMOVED_BLOB_BYTES {
                break;
            }
        }
        drop(rows);
        if n_rows == 0 {
            return Ok(RemovedRows { n_rows, took: began.elapsed() });
        }
        self.written.removed += blob_bytes;
        // A later event with the same content finds it in the segment.
        let mut remove = db.prepare_cached(
            "DELETE FROM blobs WHERE hash = ?1
             AND EXISTS (SELECT 1 FROM segment_blobs a WHERE a.hash = ?1)",
        )?;
        for hash in &blobs {
            remove.execute([hash.as_bytes()])?;
        }
        db.prepare_cached("DELETE FROM events WHERE seq <= ?1")?.execute([last])?;
        Ok(RemovedRows { n_rows, took: began.elapsed() })
    }

    /// The size of a blob, if it is in the database.
    fn removable_bytes(&self, hash: &Hash) -> Result<usize, StoreError> {
        let mut find =
            self.log.db.prepare_cached("SELECT length(bytes) FROM blobs WHERE hash = ?1")?;
        Ok(find.query_row([hash.as_bytes()], |row| row.get(0)).optional()?.unwrap_or(0))
    }
}
