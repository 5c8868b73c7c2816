//! The one writer: it makes a transaction of what it is given.
//!
//! Who gives it what, and when, is the business of [`super::pen`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::Seq;
use rusqlite::Connection;
use tokio::sync::watch;

use super::checkpoint_thread::CheckpointThread;
use super::document_cache::DocumentCache;
use super::group_commit_writer::WriterSharedState;
use super::schema;
use super::write_batch::{BatchChanges, LogState, WriteBatch, set_folded_seq};
use super::write_request::{WriteReplies, WriteReply, WriteRequest};
use crate::recent_events::RecentEvents;
use crate::{Clock, Durability, StoreError};

/// Events whose documents may wait to be written: as many must be folded after a crash.
const MAX_UNFOLDED_EVENTS: u64 = 8192;

pub(super) struct LogWriter {
    db: Connection,
    clock: Clock,
    state: LogState,
    hot: Arc<DocumentCache>,
    /// Up to which event the documents on disk go.
    folded: Seq,
    recent: Arc<RecentEvents>,
    head: watch::Sender<Seq>,
    synchronous: Durability,
    checkpoints: CheckpointThread,
}

impl LogWriter {
    /// A writer at the end of the log; what a crash left unfolded is folded.
    pub(super) fn open(
        db: Connection,
        path: &Path,
        clock: Clock,
        shared: &WriterSharedState,
    ) -> Result<(Self, watch::Receiver<Seq>), StoreError> {
        db.pragma_update(None, "synchronous", "FULL")?;
        let state = LogState::load(&db, &clock)?;
        let (head, follow) = watch::channel(state.seq);
        let mut writer = Self {
            db,
            clock,
            hot: Arc::clone(&shared.hot),
            folded: state.seq,
            state,
            recent: Arc::clone(&shared.recent),
            head,
            synchronous: Durability::Synced,
            checkpoints: CheckpointThread::start(path)?,
        };
        writer.record_truncation()?;
        writer.fold_pending_events()?;
        Ok((writer, follow))
    }

    /// Writes what waits, and clears the WAL away.
    pub(super) fn close(mut self) {
        if let Err(error) = self.run_transaction(Self::write_documents) {
            tracing::debug!(%error, "the log was closed without its newest documents");
        }
        // The last connection to close clears the WAL away; that is this one.
        drop(self.checkpoints);
        if let Err(error) = self.db.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())) {
            tracing::debug!(%error, "the log was closed without a checkpoint");
        }
    }

    /// Whether the next transaction writes the documents that wait, too.
    pub(super) fn should_write_documents(&self) -> bool {
        self.hot.is_full() || self.state.seq.saturating_sub(self.folded) >= MAX_UNFOLDED_EVENTS
    }

    /// One transaction. On an error nothing of it has happened.
    pub(super) fn commit(&mut self, group: &[WriteRequest]) -> Result<WriteReplies, StoreError> {
        let durability =
            group.iter().map(WriteRequest::durability).max().unwrap_or(Durability::Synced);
        self.set_synchronous(durability)?;
        let due = self.should_write_documents();
        let (written, answers) = self.run_transaction(|writer| {
            if due {
                writer.write_documents()?;
            }
            writer.execute_requests(group)
        })?;
        if due {
            self.hot.mark_clean();
            self.folded = self.state.seq;
        }
        self.checkpoints.record_committed(written.written_bytes());
        let fresh = self.state.apply_committed(written, &self.hot);
        self.recent.push(fresh);
        self.head
            .send_if_modified(|head| std::mem::replace(head, self.state.seq) != self.state.seq);
        Ok(answers)
    }

    /// The same, without waiting for another program that has locked the file.
    pub(super) fn commit_without_waiting(
        &mut self,
        group: &[WriteRequest],
    ) -> Result<WriteReplies, StoreError> {
        self.db.busy_timeout(Duration::ZERO)?;
        let answers = self.commit(group);
        self.db.busy_timeout(schema::BUSY_TIMEOUT)?;
        answers
    }

    fn run_transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // Whoever panicked in the midst of one has left it open, and nothing of it counts.
        if !self.db.is_autocommit() {
            self.db.execute_batch("ROLLBACK")?;
        }
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = work(self).and_then(|done| {
            self.db.prepare_cached("COMMIT")?.execute([])?;
            Ok(done)
        });
        // Some errors have ended it already.
        if done.is_err() && !self.db.is_autocommit() {
            self.db.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Writes the documents that wait, as they are at the end of the log.
    fn write_documents(&mut self) -> Result<(), StoreError> {
        self.hot.write_dirty(&self.db)?;
        set_folded_seq(&self.db, self.state.seq)
    }

    /// A log that is shorter than it once was stays known as such, whatever is appended now.
    /// What came from the lost events goes with them: others will have their numbers.
    fn record_truncation(&mut self) -> Result<(), StoreError> {
        let reached: Seq = self.db.query_row("SELECT seq FROM reached", [], |row| row.get(0))?;
        let left = self.state.seq;
        if reached <= left {
            return Ok(());
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
            WriteBatch::new(db, &writer.state, &writer.hot, &writer.clock)?.rebuild_views()
        })
    }

    /// Folds what was appended before a crash and whose documents were not written.
    fn fold_pending_events(&mut self) -> Result<(), StoreError> {
        let folded: Seq = self.db.query_row("SELECT folded FROM reached", [], |row| row.get(0))?;
        if folded >= self.state.seq {
            return Ok(());
        }
        self.run_transaction(|writer| {
            let mut batch = WriteBatch::new(&writer.db, &writer.state, &writer.hot, &writer.clock)?;
            match batch.refold_after(folded) {
                // A document cannot be read; the log can.
                Err(StoreError::UnreadableView { .. }) => batch.rebuild_views(),
                done => done,
            }
        })
    }

    /// Does the requests in the transaction that was begun.
    fn execute_requests(
        &self,
        group: &[WriteRequest],
    ) -> Result<(BatchChanges, WriteReplies), StoreError> {
        let mut batch = WriteBatch::new(&self.db, &self.state, &self.hot, &self.clock)?;
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let answer = match request {
                WriteRequest::Append(job, _) => batch.append_events(job).map(WriteReply::Appended),
                WriteRequest::Blob(hash, bytes, _) => {
                    batch.insert_blob(hash, bytes).map(|()| WriteReply::Done)
                }
                WriteRequest::Rebuild(_) => batch.rebuild_views().map(|()| WriteReply::Done),
            };
            match answer {
                // The request is at fault; it has written nothing.
                Err(
                    error @ (StoreError::Conflict { .. }
                    | StoreError::DocumentChanged { .. }
                    | StoreError::CommandReused(_)),
                ) => {
                    answers.push(Err(error));
                }
                Err(error) => return Err(error),
                Ok(answer) => answers.push(Ok(answer)),
            }
        }
        Ok((batch.finish()?, answers))
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
