//! Moving what was committed from the WAL into the database file, beside the
//! writer and not in it: this waits for the disk, and events should not.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::schema;
use crate::StoreError;

/// Bytes in the WAL, about, after which they are moved.
const ENOUGH: usize = 8 * 1024 * 1024;

/// What a commit writes beside its events, about: a few pages of indexes and documents.
const COMMIT: usize = 5 * 4096;

/// The thread that does it.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// `None` only while it is being dropped.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    since: usize,
}

impl Checkpoints {
    /// Starts the thread, with a connection of its own.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let db = schema::open_beside(path)?;
        let (wake, woken): (SyncSender<()>, Receiver<()>) = sync_channel(1);
        let work = move || {
            while woken.recv().is_ok() {
                // If someone reads an old state it moves what it can, and the rest next time.
                if let Err(error) = db.pragma(None, "wal_checkpoint", "PASSIVE", |_| Ok(())) {
                    tracing::warn!(%error, "the log's WAL could not be shortened");
                }
            }
        };
        let thread = thread::Builder::new()
            .name("log-checkpoint".to_owned())
            .spawn(work)
            .map_err(|error| StoreError::io("the log's thread", &error))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), since: 0 })
    }

    /// So many bytes were committed.
    pub(super) fn committed(&mut self, bytes: usize) {
        self.since += bytes + COMMIT;
        // If it is at work still, it is asked again with the next commit.
        if self.since >= ENOUGH
            && let Some(wake) = &self.wake
            && wake.try_send(()).is_ok()
        {
            self.since = 0;
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that shortens the log's WAL ended with a panic");
        }
    }
}
