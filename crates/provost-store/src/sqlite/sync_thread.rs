//! Syncs committed data to disk, on a thread of its own: the writer continues meanwhile, and so
//! do clients that need the sync only later.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use crate::StoreError;

/// The most waiting requests.
const SYNC_QUEUE_CAPACITY: usize = 1024;

/// Receives the result when everything that was committed before is on disk.
pub(super) type SyncReply = oneshot::Sender<Result<(), StoreError>>;

/// The sync thread.
#[derive(Debug)]
pub(super) struct SyncThread {
    /// `None` only while it is being dropped.
    pub(super) inbox: Option<mpsc::Sender<SyncReply>>,
    thread: Option<JoinHandle<()>>,
}

impl SyncThread {
    pub(super) fn start(database: &Path) -> Result<Self, StoreError> {
        let mut wal = database.as_os_str().to_owned();
        wal.push("-wal");
        let (inbox, waiting) = mpsc::channel(SYNC_QUEUE_CAPACITY);
        let thread = thread::Builder::new()
            .name("log-sync".to_owned())
            .spawn(move || run_sync_loop(&PathBuf::from(wal), waiting))
            .map_err(|error| StoreError::io("the log's thread", &error))?;
        Ok(Self { inbox: Some(inbox), thread: Some(thread) })
    }
}

fn run_sync_loop(wal: &Path, mut waiting: mpsc::Receiver<SyncReply>) {
    let mut together = Vec::new();
    while waiting.blocking_recv_many(&mut together, SYNC_QUEUE_CAPACITY) > 0 {
        let done = sync_wal(wal).map_err(|error| StoreError::io("the log's WAL", &error));
        for reply in together.drain(..) {
            // The receiver may be gone.
            drop(reply.send(done.clone()));
        }
    }
}

/// Afterwards the WAL is on disk; what is no longer in it was moved into the database by a
/// checkpoint, which syncs itself. The database file must not be opened here: closing it would
/// release the locks that SQLite holds.
fn sync_wal(wal: &Path) -> io::Result<()> {
    match File::open(wal) {
        Ok(file) => file.sync_data(),
        // Nothing was committed yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl Drop for SyncThread {
    fn drop(&mut self) {
        self.inbox = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that waits for the disk ended with a panic");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_asked_and_its_refusal_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let wal = folder.path().join("log.db-wal");
        sync_wal(&wal).unwrap();
        std::fs::write(&wal, "frames").unwrap();
        sync_wal(&wal).unwrap();
        // A device without a disk refuses to sync.
        let error = sync_wal(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
