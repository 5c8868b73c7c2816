//! Errors of the log.

use std::io;
use std::path::{Path, PathBuf};

use provost_core::canonical::NotCanonical;
use provost_proto::{Seq, Stream, StreamVersion};

/// Why a request to the store failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The disk is full. Nothing was written.
    #[error("the disk that holds the log is full; free some space and try again")]
    NoSpace,
    /// The stream has another version than the caller expected.
    #[error("{stream} is at version {actual}, not {expected}; another request was first")]
    Conflict {
        /// The stream.
        stream: Stream,
        /// The expected version.
        expected: StreamVersion,
        /// The actual version.
        actual: StreamVersion,
    },
    /// The idempotency key was used for another request.
    #[error("the idempotency key `{0}` was used for another request; use a new one")]
    CommandReused(String),
    /// The bytes exceed the size limit of a blob.
    #[error("{size} bytes are more than the {limit} that a blob may have")]
    TooLarge {
        /// The size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The body has no canonical JSON form.
    #[error("this event has no canonical form: {0}")]
    NotCanonical(String),
    /// The data on disk is not what was written.
    #[error("the log is damaged: {0}; run `provost audit verify`")]
    Damaged(String),
    /// A document of a view cannot be read; the log itself can.
    #[error(
        "{key} in the view `{view}` cannot be read: {why}; stop the daemon, and `provost audit \
         rebuild` folds the views again from the log"
    )]
    UnreadableView {
        /// The view.
        view: &'static str,
        /// The key of the document.
        key: String,
        /// The reason.
        why: String,
    },
    /// A segment file is missing or damaged; the rest of the log can be read.
    #[error(
        "events {first} to {last} are in {path}, which {why}; put back a copy of the file, if you \
         have one"
    )]
    UnreadableSegment {
        /// The file.
        path: PathBuf,
        /// Its first event.
        first: Seq,
        /// Its last event.
        last: Seq,
        /// What is wrong with the file.
        why: String,
    },
    /// The file is not a log, or damaged beyond reading.
    #[error("{path} cannot be read as a log: {why}; put back a copy of it, if you have one")]
    NotALog {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A newer version of Provost wrote this file.
    #[error("{path} was written by a newer Provost (schema {found}, this one knows {known})")]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: u32,
        /// The schema version of this program.
        known: u32,
    },
    /// A document changed since the decision that was based on it.
    #[error("{view}/{key} has changed since it was read")]
    DocumentChanged {
        /// The view.
        view: &'static str,
        /// The key of the document.
        key: uuid::Uuid,
    },
    /// The store was closed.
    #[error("the log is closed")]
    Closed,
    /// The file system returned an error.
    #[error("cannot use {path}: {why}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        why: String,
    },
    /// The database returned an error.
    #[error("the log's database failed: {0}")]
    Database(String),
    /// Another program holds a lock on the file.
    #[error("the log is locked by another program; close what has its database open")]
    Locked,
}

impl StoreError {
    /// A file system error at a path.
    pub(crate) fn io(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        Self::Io { path: path.into(), why: error.to_string() }
    }

    /// The same error, if even the file as a whole cannot be read: then there is no event to
    /// name.
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
            | Self::UnreadableSegment { .. }
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
