//! Moves older events into segment files.
//!
//! For each segment: write the file under a temporary name, sync it, rename it, sync the folder;
//! then, in one transaction, record it in the table and as an event; then remove its rows in small
//! parts, between which the writer serves others. The process may be killed between any two of
//! these: before the transaction, the log does not know of the file and the next archive removes
//! it; after it, the events are read from the file and the next archive removes the rows.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use provost_core::hash_chain::{self, EventRecord};
use provost_proto::{Fact, Hash, LogSegment, Seq, Stream, UnixMicros};
use rusqlite::{Connection, OptionalExtension as _};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::event_row::blob_references;
use super::group_commit_writer::{GroupCommitWriter, WriterMessage};
use super::log_reader::LogReader;
use super::schema;
use super::search_index::{BLOCK_EVENTS, block_end};
use super::segment::{
    FinishedSegment, SEGMENT_EVENTS, SegmentFile, SegmentSet, SegmentWriter, last_segment,
    list_segments,
};
use super::write_request::{PreparedAppend, SegmentRecord, WriteRequest};
use crate::append::PreparedEvent;
use crate::archive::{ArchiveOutcome, ArchiveRequest, ArchiveStep};
use crate::{Durability, NewEvent, StoreError};

/// How long one removal of rows should take: appends wait for it.
const TARGET_REMOVAL_TIME: Duration = Duration::from_millis(5);

/// The fewest and the most rows that are removed at once.
const REMOVED_ROWS: (usize, usize) = (64, 4096);

/// How many of the newest events stay in the database, however large it is.
const KEPT_EVENTS: u64 = 8192;

/// Archives, one request at a time.
#[derive(Debug, Clone)]
pub(super) struct LogArchiver {
    pub(super) path: PathBuf,
    pub(super) segments: Arc<SegmentSet>,
    /// Does not keep the log open.
    pub(super) inbox: mpsc::WeakSender<WriterMessage>,
    pub(super) writer: GroupCommitWriter,
    pub(super) free_pages: Arc<AtomicU64>,
    pub(super) turn: Arc<Mutex<()>>,
}

impl LogArchiver {
    /// Archives on a blocking thread. Dropping the future does not end it.
    pub(super) async fn archive(
        self,
        request: ArchiveRequest,
    ) -> Result<ArchiveOutcome, StoreError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let task = tokio::task::spawn_blocking(move || {
            let outcome = self.run(&request);
            drop(turn);
            outcome
        });
        task.await.unwrap_or(Err(StoreError::Closed))
    }

    fn run(&self, request: &ArchiveRequest) -> Result<ArchiveOutcome, StoreError> {
        let db = schema::open_read_only(&self.path)?;
        self.remove_unrecorded_files(&db)?;
        request.observer.notify(ArchiveStep::CleanedUp);
        self.remove_rows(request)?;
        let mut outcome = ArchiveOutcome::default();
        while let Some(last) = self.find_last(&db, request)? {
            let finished = self.write_segment(&db, last, request)?;
            request.observer.notify(ArchiveStep::FileSynced);
            finished.publish()?;
            request.observer.notify(ArchiveStep::FilePublished);
            let segment = finished.segment.clone();
            self.record_segment(finished, request)?;
            request.observer.notify(ArchiveStep::Recorded);
            self.remove_rows(request)?;
            outcome.segments.push(segment);
        }
        let log = LogReader::new(&db, &self.segments);
        let before = log.find_first_row_at(request.before, read_head(&db)?)?;
        outcome.left = before.saturating_sub(log.last_archived()? + 1);
        Ok(outcome)
    }

    /// The last event of the next segment, if there is enough to archive.
    fn find_last(
        &self,
        db: &Connection,
        request: &ArchiveRequest,
    ) -> Result<Option<Seq>, StoreError> {
        let log = LogReader::new(db, &self.segments);
        let (archived, head) = (log.last_archived()?, read_head(db)?);
        let mut last = log.find_first_row_at(request.before, head)?.saturating_sub(1);
        let limit = request.max_log_bytes.unwrap_or(u64::MAX);
        if used_bytes(&self.path, &self.free_pages) > limit {
            last = last.max(head.saturating_sub(KEPT_EVENTS));
        }
        // The last event of the log stays: the state of the log is read from it.
        let last = last.min(head.saturating_sub(1));
        let last = last - last % BLOCK_EVENTS;
        let is_enough = last >= archived + request.min_events.max(BLOCK_EVENTS);
        Ok(is_enough.then_some(last.min(archived + SEGMENT_EVENTS)))
    }

    /// Writes the next segment, up to an event or until the file is large.
    fn write_segment(
        &self,
        db: &Connection,
        last: Seq,
        request: &ArchiveRequest,
    ) -> Result<FinishedSegment, StoreError> {
        let before = last_segment(db)?;
        let (archived, prev) = before.map_or((0, Hash::ZERO), |row| (row.last, row.hash));
        let mut writer = SegmentWriter::create(self.segments.folder(), archived, prev)?;
        let mut last_at = 0;
        while writer.last() < last && !writer.is_full() {
            // Each block is read on its own, so that the WAL can be shortened meanwhile.
            last_at = write_block(db, &mut writer)?;
            request.observer.notify(ArchiveStep::BlockWritten);
            if self.inbox.strong_count() == 0 {
                return Err(StoreError::Closed);
            }
        }
        writer.finish(last_at)
    }

    fn record_segment(
        &self,
        finished: FinishedSegment,
        request: &ArchiveRequest,
    ) -> Result<(), StoreError> {
        let fact = Fact::LogArchived(finished.segment.clone());
        let event = PreparedEvent::new(NewEvent { stream: Stream::Sys, fact, cause: None })?;
        let append = PreparedAppend {
            principal: request.principal.clone(),
            actor: request.actor.clone(),
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability: Durability::Synced,
            events: vec![event],
        };
        let record = Box::new(SegmentRecord { finished, append });
        // What the removal of rows wrote is synced here, so that the writer does not wait for it.
        let mut wal = self.path.as_os_str().to_owned();
        wal.push("-wal");
        if let Err(error) = fs::File::open(&wal).and_then(|wal| wal.sync_data()) {
            tracing::debug!(%error, "the WAL was not synced before a segment was recorded");
        }
        self.send(|reply| WriteRequest::RecordSegment(record, reply))
    }

    /// Removes the rows of archived events, a few at a time.
    fn remove_rows(&self, request: &ArchiveRequest) -> Result<(), StoreError> {
        let (fewest, most) = REMOVED_ROWS;
        let mut limit = fewest * 4;
        loop {
            let removed = self.send(|reply| WriteRequest::RemoveArchived(limit, reply))?;
            if removed.n_rows == 0 {
                return Ok(());
            }
            request.observer.notify(ArchiveStep::RowsRemoved);
            if removed.took > TARGET_REMOVAL_TIME {
                limit /= 2;
            } else if removed.took < TARGET_REMOVAL_TIME / 2 {
                limit *= 2;
            }
            limit = limit.clamp(fewest, most);
        }
    }

    /// Sends a request to the writer and waits for its reply.
    fn send<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> WriteRequest,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let inbox = self.inbox.upgrade().ok_or(StoreError::Closed)?;
        self.writer.register_sent();
        let sent = inbox.blocking_send(WriterMessage::Request(request(reply)));
        drop(inbox);
        sent.map_err(|_| StoreError::Closed)?;
        answer.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Removes what an archive that was interrupted left: temporary files, and files that no
    /// segment refers to if the database holds their events. A file with other events belongs to
    /// another copy of the log, and stays.
    fn remove_unrecorded_files(&self, db: &Connection) -> Result<(), StoreError> {
        let folder = self.segments.folder();
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        let known = list_segments(db)?;
        let log = LogReader::new(db, &self.segments);
        let archived = log.last_archived()?;
        for entry in entries {
            let entry = entry.map_err(|error| StoreError::io(folder, &error))?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if known.iter().any(|row: &LogSegment| row.file == name) {
                continue;
            }
            let is_temporary = SegmentWriter::is_temporary(&name);
            let is_copy = !is_temporary
                && match SegmentFile::claimed_end(&path) {
                    Some((last, hash)) if last > archived => {
                        log.read_hash(last)?.as_deref() == Some(hash.as_bytes())
                    }
                    Some(_) | None => false,
                };
            if is_temporary || is_copy {
                fs::remove_file(&path).map_err(|error| StoreError::io(&path, &error))?;
            } else {
                tracing::warn!(file = %path.display(), "this log does not refer to this file");
            }
        }
        Ok(())
    }
}

/// How many bytes of the database hold something.
pub(super) fn used_bytes(path: &std::path::Path, free_pages: &AtomicU64) -> u64 {
    /// The size of a page; SQLite's default, which no log changes.
    const PAGE_BYTES: u64 = 4096;
    // A file that cannot be examined is reported by whoever writes to it.
    let size = fs::metadata(path).map_or(0, |file| file.len());
    size.saturating_sub(free_pages.load(Ordering::Relaxed).saturating_mul(PAGE_BYTES))
}

fn read_head(db: &Connection) -> Result<Seq, StoreError> {
    let mut find = db.prepare_cached("SELECT coalesce(max(seq), 0) FROM events")?;
    Ok(find.query_row([], |row| row.get(0))?)
}

/// Adds the next block and its blobs; returns the time of its last event.
fn write_block(db: &Connection, writer: &mut SegmentWriter) -> Result<UnixMicros, StoreError> {
    let (first, last) = (writer.last() + 1, block_end(writer.last() + 1));
    let mut find = db.prepare_cached(
        "SELECT e.seq, s.name, e.hash, e.record FROM events e
         LEFT JOIN streams s ON s.id = e.stream WHERE e.seq >= ?1 AND e.seq <= ?2 ORDER BY e.seq",
    )?;
    let mut rows = find.query([first, last])?;
    let (mut first_at, mut last_at) = (0, 0);
    let mut blobs = Vec::new();
    while let Some(row) = rows.next()? {
        let seq: Seq = row.get(0)?;
        let damaged = |what: &str| StoreError::Damaged(format!("event {seq}: {what}"));
        if seq != writer.last() + 1 {
            return Err(damaged("the one before is missing"));
        }
        let stream = row.get_ref(1)?.as_str().unwrap_or_default();
        let hash = row.get_ref(2)?.as_blob().unwrap_or_default();
        let record = row.get_ref(3)?.as_blob().unwrap_or_default();
        if seq == first || seq == last {
            let read = EventRecord::parse(record).map_err(|error| damaged(&error.to_string()))?;
            first_at = if seq == first { read.at } else { first_at };
            last_at = read.at;
        }
        let stream = stream.parse().map_err(|_| damaged("its stream has no name"))?;
        writer.add_event(stream, hash, record)?;
        blobs.extend(blob_references(record));
    }
    if writer.last() != last {
        return Err(StoreError::Damaged(format!("event {} is missing", writer.last() + 1)));
    }
    writer.finish_block(first_at)?;
    let mut find = db.prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?;
    for hash in blobs {
        if writer.has_blob(&hash) {
            continue;
        }
        // What is not there is in an earlier segment, or no blob.
        let bytes: Option<Vec<u8>> =
            find.query_row([hash.as_bytes()], |row| row.get(0)).optional()?;
        let Some(bytes) = bytes else { continue };
        if hash_chain::digest(&bytes) != hash {
            return Err(StoreError::Damaged(format!("blob {hash} was changed")));
        }
        writer.add_blob(hash, &bytes)?;
    }
    Ok(last_at)
}
