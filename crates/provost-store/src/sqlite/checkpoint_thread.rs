//! Moves committed pages from the WAL into the database file, on a thread of its own: this waits
//! for the disk, and appends should not.
//!
//! While the log is written continuously, a checkpoint never moves everything, and only a WAL
//! that was moved completely is reset. So the small remainder is moved while the writer is
//! blocked; otherwise the WAL would grow until SQLite made the writer move all of it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::schema;
use crate::StoreError;

/// Approximate size of the WAL in bytes that triggers a checkpoint. Each one costs the writer
/// some milliseconds, and after a crash the whole WAL must be read.
const CHECKPOINT_THRESHOLD_BYTES: usize = 32 * 1024 * 1024;

/// Approximate bytes that a commit writes beside its events: a few pages of indexes and
/// documents.
const COMMIT_OVERHEAD_BYTES: usize = 5 * 4096;

/// How long a checkpoint waits for the writer and for readers while it blocks the other.
const CHECKPOINT_BUSY_TIMEOUT: Duration = Duration::from_millis(20);

/// The checkpoint thread.
#[derive(Debug)]
pub(super) struct CheckpointThread {
    /// `None` only while it is being dropped.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    committed_bytes: usize,
}

impl CheckpointThread {
    /// Starts the thread, with a connection of its own.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let db = schema::open_for_checkpoints(path)?;
        db.busy_timeout(CHECKPOINT_BUSY_TIMEOUT)?;
        let (wake, woken): (SyncSender<()>, Receiver<()>) = sync_channel(1);
        let work = move || {
            while woken.recv().is_ok() {
                if let Err(error) = checkpoint_wal(&db) {
                    tracing::warn!(%error, "the log's WAL could not be shortened");
                }
            }
        };
        let thread = thread::Builder::new()
            .name("log-checkpoint".to_owned())
            .spawn(work)
            .map_err(|error| StoreError::io("the log's thread", &error))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), committed_bytes: 0 })
    }

    /// Adds to the committed bytes.
    pub(super) fn record_committed(&mut self, bytes: usize) {
        self.committed_bytes += bytes + COMMIT_OVERHEAD_BYTES;
        // If the thread is busy, the next commit tries again.
        if self.committed_bytes >= CHECKPOINT_THRESHOLD_BYTES
            && let Some(wake) = &self.wake
            && wake.try_send(()).is_ok()
        {
            self.committed_bytes = 0;
        }
    }
}

/// Moves everything, most of it without blocking the writer: each pass leaves only what was
/// committed during it. If someone reads an old snapshot, the rest is moved next time.
fn checkpoint_wal(db: &Connection) -> rusqlite::Result<()> {
    for how in ["PASSIVE", "PASSIVE", "FULL"] {
        db.pragma(None, "wal_checkpoint", how, |_| Ok(()))?;
    }
    Ok(())
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that shortens the log's WAL ended with a panic");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    const ROUNDS: usize = 8;

    /// How often a WAL was reset, according to its header.
    fn beginnings(path: &Path) -> u32 {
        let wal = fs::read(path.with_extension("db-wal")).unwrap();
        u32::from_be_bytes(*wal[12..].first_chunk().unwrap())
    }

    #[test]
    fn the_wal_begins_anew_though_the_log_is_written_all_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let writer = schema::open_and_migrate(&path).unwrap();
        writer.pragma_update(None, "synchronous", "NORMAL").unwrap();
        // With a longer timeout: on a busy machine the writer can be descheduled for long.
        let beside = schema::open_for_checkpoints(&path).unwrap();
        let (written, enough) = (AtomicU32::new(0), AtomicBool::new(false));
        let anew = thread::scope(|scope| {
            let (count, stop) = (&written, &enough);
            scope.spawn(move || {
                let sql = "INSERT INTO blobs VALUES (randomblob(32), randomblob(4096))";
                while !stop.load(Ordering::Relaxed) {
                    writer.execute(sql, []).unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
            let wait_for = |more: u32| {
                let begin = written.load(Ordering::Relaxed);
                while written.load(Ordering::Relaxed) < begin + more {
                    thread::yield_now();
                }
            };
            let round = |_: &usize| {
                // Enough that more is written during the checkpoint.
                wait_for(500);
                let before = beginnings(&path);
                checkpoint_wal(&beside).unwrap();
                wait_for(2);
                beginnings(&path) > before
            };
            let anew = (0..ROUNDS).filter(round).count();
            enough.store(true, Ordering::Relaxed);
            anew
        });
        assert!(anew >= ROUNDS / 2, "in {anew} of {ROUNDS} rounds");
    }
}
