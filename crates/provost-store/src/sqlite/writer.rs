//! The one writer: it makes a transaction of what it is given.
//!
//! Who gives it what, and when, is the business of [`super::pen`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::Seq;
use rusqlite::Connection;
use tokio::sync::watch;

use super::batch::{Batch, State, Written, set_folded};
use super::checkpoint::Checkpoints;
use super::hot::Hot;
use super::pen::Shared;
use super::request::{Answer, Answers, Request};
use super::schema;
use crate::recent::Recent;
use crate::{Clock, Durability, StoreError};

/// Events whose documents may wait to be written: as many must be folded after a crash.
const UNFOLDED: u64 = 8192;

pub(super) struct Writer {
    db: Connection,
    clock: Clock,
    state: State,
    hot: Arc<Hot>,
    /// Up to which event the documents on disk go.
    folded: Seq,
    recent: Arc<Recent>,
    head: watch::Sender<Seq>,
    synchronous: Durability,
    checkpoints: Checkpoints,
}

impl Writer {
    /// A writer at the end of the log; what a crash left unfolded is folded.
    pub(super) fn open(
        db: Connection,
        path: &Path,
        clock: Clock,
        shared: &Shared,
    ) -> Result<(Self, watch::Receiver<Seq>), StoreError> {
        db.pragma_update(None, "synchronous", "FULL")?;
        let state = State::load(&db, &clock)?;
        let (head, follow) = watch::channel(state.seq);
        let mut writer = Self {
            db,
            clock,
            hot: Arc::clone(&shared.hot),
            folded: state.seq,
            state,
            recent: Arc::clone(&shared.recent),
            head,
            synchronous: Durability::Power,
            checkpoints: Checkpoints::start(path)?,
        };
        writer.remember_cut()?;
        writer.catch_up()?;
        Ok((writer, follow))
    }

    /// Writes what waits, and clears the WAL away.
    pub(super) fn close(mut self) {
        if let Err(error) = self.transaction(Self::write_docs) {
            tracing::debug!(%error, "the log was closed without its newest documents");
        }
        // The last connection to close clears the WAL away; that is this one.
        drop(self.checkpoints);
        if let Err(error) = self.db.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())) {
            tracing::debug!(%error, "the log was closed without a checkpoint");
        }
    }

    /// Whether the next transaction writes the documents that wait, too.
    pub(super) fn is_due(&self) -> bool {
        self.hot.is_full() || self.state.seq.saturating_sub(self.folded) >= UNFOLDED
    }

    /// One transaction. On an error nothing of it has happened.
    pub(super) fn commit(&mut self, group: &[Request]) -> Result<Answers, StoreError> {
        let durability = group.iter().map(Request::durability).max().unwrap_or(Durability::Power);
        self.set_synchronous(durability)?;
        let due = self.is_due();
        let (written, answers) = self.transaction(|writer| {
            if due {
                writer.write_docs()?;
            }
            writer.fill(group)
        })?;
        if due {
            self.hot.written();
            self.folded = self.state.seq;
        }
        self.checkpoints.committed(written.bytes());
        let fresh = self.state.advance(written, &self.hot);
        self.recent.push(fresh);
        self.head
            .send_if_modified(|head| std::mem::replace(head, self.state.seq) != self.state.seq);
        Ok(answers)
    }

    /// The same, without waiting for another program that has locked the file.
    pub(super) fn commit_at_once(&mut self, group: &[Request]) -> Result<Answers, StoreError> {
        self.db.busy_timeout(Duration::ZERO)?;
        let answers = self.commit(group);
        self.db.busy_timeout(schema::BUSY)?;
        answers
    }

    fn transaction<T>(
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
    fn write_docs(&mut self) -> Result<(), StoreError> {
        self.hot.write(&self.db)?;
        set_folded(&self.db, self.state.seq)
    }

    /// A log that is shorter than it once was stays known as such, whatever is appended now.
    /// What came from the lost events goes with them: others will have their numbers.
    fn remember_cut(&mut self) -> Result<(), StoreError> {
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
        self.transaction(|writer| {
            let db = &writer.db;
            db.execute("INSERT INTO cuts VALUES (?1, ?2)", [left, reached])?;
            db.execute("UPDATE reached SET seq = ?1", [left])?;
            db.execute("DELETE FROM commands WHERE first + count - 1 > ?1", [left])?;
            Batch::new(db, &writer.state, &writer.hot, &writer.clock)?.rebuild()
        })
    }

    /// Folds what was appended before a crash and whose documents were not written.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        let folded: Seq = self.db.query_row("SELECT folded FROM reached", [], |row| row.get(0))?;
        if folded >= self.state.seq {
            return Ok(());
        }
        self.transaction(|writer| {
            let mut batch = Batch::new(&writer.db, &writer.state, &writer.hot, &writer.clock)?;
            match batch.refold(folded) {
                // A document cannot be read; the log can.
                Err(StoreError::View { .. }) => batch.rebuild(),
                done => done,
            }
        })
    }

    /// Does the requests in the transaction that was begun.
    fn fill(&self, group: &[Request]) -> Result<(Written, Answers), StoreError> {
        let mut batch = Batch::new(&self.db, &self.state, &self.hot, &self.clock)?;
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let answer = match request {
                Request::Append(job, _) => batch.append(job).map(Answer::Appended),
                Request::Blob(hash, bytes, _) => batch.blob(hash, bytes).map(|()| Answer::Done),
                Request::Rebuild(_) => batch.rebuild().map(|()| Answer::Done),
            };
            match answer {
                // The request is at fault; it has written nothing.
                Err(
                    error @ (StoreError::Conflict { .. }
                    | StoreError::Changed { .. }
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
                Durability::Power => "FULL",
                Durability::Process => "NORMAL",
            };
            self.db.pragma_update(None, "synchronous", level)?;
            self.synchronous = wanted;
        }
        Ok(())
    }
}
