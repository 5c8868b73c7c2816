//! What can go wrong with the log.

use std::io;
use std::path::{Path, PathBuf};

use provost_core::canonical::NotCanonical;
use provost_proto::{Stream, StreamVersion};

/// Why the store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk is full. Nothing was written.
    #[error("the disk that holds the log is full; free some space and try again")]
    NoSpace,
    /// The stream has moved on since the caller looked.
    #[error("{stream} is at version {actual}, not {expected}; someone else was first")]
    Conflict {
        /// The stream.
        stream: Stream,
        /// What the caller expected.
        expected: StreamVersion,
        /// Where it is.
        actual: StreamVersion,
    },
    /// The idempotency key was used for something else.
    #[error("the idempotency key `{0}` was used for another request; use a new one")]
    CommandReused(String),
    /// The bytes are more than a blob may have.
    #[error("{size} bytes are more than the {limit} that a blob may have")]
    TooLarge {
        /// How many there are.
        size: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The body has no canonical JSON.
    #[error("this event has no canonical form: {0}")]
    NotCanonical(String),
    /// What is on disk is not what was written.
    #[error("the log is damaged: {0}; run `provost audit verify`")]
    Damaged(String),
    /// What was folded from the log cannot be read; the log itself can.
    #[error(
        "{key} in the view `{view}` cannot be read: {why}; stop the daemon, and `provost audit \
         rebuild` folds the views again from the log"
    )]
    UnreadableView {
        /// Which view.
        view: &'static str,
        /// Which of its documents.
        key: String,
        /// Why not.
        why: String,
    },
    /// The file is not a log, or so badly damaged that it is none any more.
    #[error("{path} cannot be read as a log: {why}; put back a copy of it, if you have one")]
    NotALog {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A newer Provost wrote this file.
    #[error("{path} was written by a newer Provost (schema {found}, this one knows {known})")]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A document is not what it was when the decision was made.
    #[error("{view}/{key} has changed in the meantime")]
    DocumentChanged {
        /// The view.
        view: &'static str,
        /// The document in it.
        key: uuid::Uuid,
    },
    /// The store was closed.
    #[error("the log is closed")]
    Closed,
    /// The file system refused.
    #[error("cannot use {path}: {why}")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The database refused.
    #[error("the log's database failed: {0}")]
    Database(String),
    /// Another program has locked the file, and does not let it go.
    #[error("the log is locked by another program; close what has its database open")]
    Locked,
}

impl StoreError {
    /// An error of the file system at a path.
    pub(crate) fn io(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        Self::Io { path: path.into(), why: error.to_string() }
    }

    /// The same error, when even the file as a whole cannot be read: there is
    /// no event to name then.
    pub(crate) fn into_file_error(self, path: &Path) -> Self {
        match self {
            Self::Damaged(why) | Self::Database(why) => Self::NotALog { path: path.into(), why },
            error @ (Self::NoSpace
            | Self::Conflict { .. }
            | Self::CommandReused(_)
            | Self::TooLarge { .. }
            | Self::NotCanonical(_)
            | Self::UnreadableView { .. }
            | Self::DocumentChanged { .. }
            | Self::NotALog { .. }
            | Self::NewerSchema { .. }
            | Self::Closed
            | Self::Locked
            | Self::Io { .. }) => error,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::NoSpace,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(_) | None => Self::Database(error.to_string()),
        }
    }
}

impl From<NotCanonical> for StoreError {
    fn from(error: NotCanonical) -> Self {
        Self::NotCanonical(error.to_string())
    }
}
