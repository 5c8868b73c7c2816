//! The single writer: executes requests in a transaction.
//!
//! [`super::group_commit_writer`] schedules it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use provost_proto::{LogCursor, Seq};
use rusqlite::Connection;
use tokio::sync::watch;

use super::checkpoint_thread::CheckpointThread;
use super::document_cache::DocumentCache;
use super::group_commit_writer::WriterSharedState;
use super::head_file::{HeadFile, LogPosition, read_head};
use super::log_reader::LogReader;
use super::schema;
use super::segment::SegmentSet;
use super::write_batch::{BatchChanges, LogState, WriteBatch, set_folded_seq};
use super::write_request::{WriteReplies, WriteReply, WriteRequest};
use crate::recent_events::RecentEvents;
use crate::{Clock, Durability, StoreError};

/// The most events whose documents are not written yet: after a crash this many must be folded.
const MAX_UNFOLDED_EVENTS: u64 = 8192;

pub(super) struct LogWriter {
    db: Connection,
    clock: Clock,
    state: LogState,
    cache: Arc<DocumentCache>,
    /// The event up to which the documents on disk are folded.
    folded: Seq,
    recent: Arc<RecentEvents>,
    head: watch::Sender<LogCursor>,
    synchronous: Durability,
    checkpoints: CheckpointThread,
    head_file: HeadFile,
    segments: Arc<SegmentSet>,
    /// The pages of the file that hold nothing.
    free_pages: Arc<AtomicU64>,
}

impl LogWriter {
    /// A writer at the end of the log; folds what a crash left unfolded.
    pub(super) fn open(
        db: Connection,
        path: &Path,
        clock: Clock,
        shared: &WriterSharedState,
    ) -> Result<(Self, watch::Receiver<LogCursor>), StoreError> {
        db.pragma_update(None, "synchronous", "FULL")?;
        let state = LogState::load(&db, &clock)?;
        let known_head = read_head(path).unwrap_or_else(|error| {
            tracing::warn!(%error, "the head beside the log is lost; a new one is written");
            None
        });
        clock.advance_to(state.last_time());
        let at = known_head.as_ref().map_or(0, |head| head.at);
        let at = clock.advance_to(at);
        let (head, follow) = watch::channel(LogCursor::from_seq(state.seq));
        let required = known_head.map_or(LogPosition::START, |head| head.required());
        // What is known is kept until what is missing is recorded.
        let known_position = if required.seq > 0 { required } else { state.position() };
        let mut writer = Self {
            db,
            clock,
            cache: Arc::clone(&shared.cache),
            folded: state.seq,
            state,
            recent: Arc::clone(&shared.recent),
            head,
            synchronous: Durability::Synced,
            checkpoints: CheckpointThread::start(path)?,
            head_file: HeadFile::open(path, known_position, at)?,
            segments: Arc::clone(&shared.segments),
            free_pages: Arc::clone(&shared.free_pages),
        };
        writer.count_free_pages()?;
        writer.record_truncation(required)?;
        writer.head_file.record_commit(writer.state.position(), true, at);
        writer.fold_pending_events()?;
        Ok((writer, follow))
    }

    /// Writes dirty documents, and removes the WAL.
    pub(super) fn close(mut self) {
        let at = self.clock.now();
        if let Err(error) = self.run_transaction(Self::write_documents) {
            tracing::debug!(%error, "the log was closed without its newest documents");
        }
        // The last connection to close removes the WAL; it must be this one.
        drop(self.checkpoints);
        if let Err(error) = self.db.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())) {
            tracing::debug!(%error, "the log was closed without a checkpoint");
            return;
        }
        self.head_file.record_commit(self.state.position(), true, at);
    }

    /// Reads the log as the writer sees it.
    fn reader(&self) -> LogReader<'_> {
        LogReader::new(&self.db, &self.segments)
    }

    fn count_free_pages(&self) -> Result<(), StoreError> {
        let mut count = self.db.prepare_cached("PRAGMA freelist_count")?;
        let pages = count.query_row([], |row| row.get(0))?;
        self.free_pages.store(pages, Ordering::Relaxed);
        Ok(())
    }

    /// The file that the head is kept in.
    pub(super) fn head_file(&self) -> HeadFile {
        self.head_file.clone()
    }

    /// Whether the next transaction should also write the dirty documents.
    pub(super) fn should_write_documents(&self) -> bool {
        self.cache.is_full() || self.state.seq.saturating_sub(self.folded) >= MAX_UNFOLDED_EVENTS
    }

    /// Executes one transaction. On an error it is rolled back.
    pub(super) fn commit(&mut self, group: &[WriteRequest]) -> Result<WriteReplies, StoreError> {
        let durability =
            group.iter().map(WriteRequest::durability).max().unwrap_or(Durability::Synced);
        self.set_synchronous(durability)?;
        let due = self.should_write_documents();
        let (written, replies) = self.run_transaction(|writer| {
            if due {
                writer.write_documents()?;
            }
            writer.execute_requests(group)
        })?;
        if due {
            self.cache.mark_clean();
            self.folded = self.state.seq;
        }
        self.checkpoints.record_committed(written.written_bytes());
        // Only the removal of rows frees pages; later commits use them again.
        if written.has_removed() || self.free_pages.load(Ordering::Relaxed) > 0 {
            // The commit is done, whatever comes of this.
            if let Err(error) = self.count_free_pages() {
                tracing::warn!(%error, "the free space of the log's database is unknown");
            }
        }
        let fresh = self.state.apply_committed(written, &self.cache);
        if !fresh.is_empty() {
            let is_synced = durability == Durability::Synced;
            let at = self.state.last_time();
            self.head_file.record_commit(self.state.position(), is_synced, at);
        }
        self.recent.push(fresh);
        let reached = LogCursor::from_seq(self.state.seq);
        self.head.send_if_modified(|head| std::mem::replace(head, reached) != reached);
        Ok(replies)
    }

    /// The same, without waiting for another program that has locked the file.
    pub(super) fn commit_without_waiting(
        &mut self,
        group: &[WriteRequest],
    ) -> Result<WriteReplies, StoreError> {
        self.db.busy_timeout(Duration::ZERO)?;
        let replies = self.commit(group);
        self.db.busy_timeout(schema::BUSY_TIMEOUT)?;
        replies
    }

    fn run_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // A panic may have left a transaction open; roll it back.
        if !self.db.is_autocommit() {
            self.db.execute_batch("ROLLBACK")?;
        }
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = work(self).and_then(|done| {
            self.db.prepare_cached("COMMIT")?.execute([])?;
            Ok(done)
        });
        // Some errors have rolled it back already.
        if done.is_err() && !self.db.is_autocommit() {
            self.db.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Writes the dirty documents, as of the end of the log.
    fn write_documents(&mut self) -> Result<(), StoreError> {
        self.cache.write_dirty(&self.db)?;
        set_folded_seq(&self.db, self.state.seq)
    }

    /// Records that the log is shorter than it once was, so that this stays known. What was
    /// derived from the lost events is removed: new events will have their numbers.
    fn record_truncation(&mut self, required: LogPosition) -> Result<(), StoreError> {
        let reached: Seq = self.db.query_row("SELECT seq FROM reached", [], |row| row.get(0))?;
        let reached = reached.max(required.seq);
        let left = self.state.seq;
        if reached <= left {
            return self.record_replacement(required);
        }
        tracing::warn!(
            reached,
            left,
            "the end of the log is missing, and `provost audit verify` will go on saying so; put \
             back a copy of it, if you have one"
        );
        self.run_transaction(|writer| {
            let db = &writer.db;
            db.execute("INSERT INTO cuts VALUES (?1, ?2)", [left, reached])?;
            db.execute("UPDATE reached SET seq = ?1", [left])?;
            db.execute("DELETE FROM commands WHERE first + count - 1 > ?1", [left])?;
            WriteBatch::new(writer.reader(), &writer.state, &writer.cache, &writer.clock)?
                .rebuild_views()
        })
    }

    /// Records that the log has another event than it once had, so that this stays known.
    fn record_replacement(&mut self, required: LogPosition) -> Result<(), StoreError> {
        if required.seq == 0 {
            return Ok(());
        }
        let stored = self.reader().read_hash(required.seq)?;
        if stored.as_deref() == Some(required.hash.as_bytes()) {
            return Ok(());
        }
        tracing::warn!(
            seq = required.seq,
            "this is not the log that was written here last, and `provost audit verify` will go \
             on saying so; put back a copy of it, if you have one"
        );
        self.run_transaction(|writer| {
            let cut = [required.seq - 1, required.seq];
            writer.db.execute("INSERT INTO cuts VALUES (?1, ?2)", cut)?;
            Ok(())
        })
    }

    /// Folds the events whose documents were not written before a crash.
    fn fold_pending_events(&mut self) -> Result<(), StoreError> {
        let folded: Seq = self.db.query_row("SELECT folded FROM reached", [], |row| row.get(0))?;
        if folded >= self.state.seq {
            return Ok(());
        }
        self.run_transaction(|writer| {
            let mut batch =
                WriteBatch::new(writer.reader(), &writer.state, &writer.cache, &writer.clock)?;
            match batch.refold_after(folded) {
                // A document cannot be read; the log can.
                Err(StoreError::UnreadableView { .. }) => batch.rebuild_views(),
                done => done,
            }
        })
    }

    /// Executes the requests in the current transaction.
    fn execute_requests(
        &self,
        group: &[WriteRequest],
    ) -> Result<(BatchChanges, WriteReplies), StoreError> {
        let mut batch = WriteBatch::new(self.reader(), &self.state, &self.cache, &self.clock)?;
        let mut replies = Vec::with_capacity(group.len());
        for request in group {
            let answer = match request {
                WriteRequest::Append(prepared, _) => {
                    batch.append_events(prepared).map(WriteReply::Appended)
                }
                WriteRequest::Blob(hash, bytes, _) => {
                    batch.insert_blob(hash, bytes).map(|()| WriteReply::Done)
                }
                WriteRequest::Rebuild(_) => batch.rebuild_views().map(|()| WriteReply::Done),
                WriteRequest::RecordSegment(record, _) => {
                    batch.record_segment(record).map(|()| WriteReply::Done)
                }
                WriteRequest::RemoveArchived(limit, _) => {
                    batch.remove_archived(*limit).map(WriteReply::Removed)
                }
            };
            match answer {
                // The request is invalid; it has written nothing.
                Err(
                    error @ (StoreError::Conflict { .. }
                    | StoreError::DocumentChanged { .. }
                    | StoreError::CommandReused(_)),
                ) => {
                    replies.push(Err(error));
                }
                // The events of a repeated command cannot be read; nothing was written yet.
                Err(error @ StoreError::UnreadableSegment { .. })
                    if matches!(request, WriteRequest::Append(..)) =>
                {
                    replies.push(Err(error));
                }
                Err(error) => return Err(error),
                Ok(answer) => replies.push(Ok(answer)),
            }
        }
        Ok((batch.finish()?, replies))
    }

    fn set_synchronous(&mut self, wanted: Durability) -> Result<(), StoreError> {
        if self.synchronous != wanted {
            let level = match wanted {
                Durability::Synced => "FULL",
                Durability::Buffered => "NORMAL",
            };
            self.db.pragma_update(None, "synchronous", level)?;
            self.synchronous = wanted;
        }
        Ok(())
    }
}
