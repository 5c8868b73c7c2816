//! The append-only log, the views folded from it, and blobs.
//!
//! One trait, [`EventStore`], with an implementation in SQLite; a server database may follow. The
//! store adds position, time and hash to an event. It does not know who made a request, and it
//! decides nothing: principal and actor are part of the append.
//!
//! Readers follow the log with a [`LogTail`]: history from disk, then live, without a gap or a
//! duplicate. A reader is just a cursor. A slow one costs nothing, because the events that it has
//! not read are on disk.

mod append;
mod clock;
mod error;
mod log_tail;
mod recent_events;
mod recorded_event;
mod sqlite;

use std::sync::Arc;

use futures::future::BoxFuture;
use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{AuditReport, BlobRef, Hash, LogCursor, Stream, StreamVersion, UnixMicros};
use tokio::sync::watch;
use uuid::Uuid;

pub use append::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent};
pub use clock::Clock;
pub use error::StoreError;
pub use log_tail::LogTail;
pub use recorded_event::{RecordedEvent, hydrate_fact};
pub use sqlite::{SqliteStore, StoreOptions};

/// Which events to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventScope {
    /// The whole log.
    All,
    /// One stream of it.
    Stream(Stream),
}

/// Consecutive events.
#[derive(Debug, Clone, Default)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<Arc<RecordedEvent>>,
    /// All events of the scope up to this position have been read.
    pub up_to: LogCursor,
}

/// The log as a service.
pub trait EventStore: Send + Sync + std::fmt::Debug + 'static {
    /// Appends events, all or none. When the future completes they are in the log, as durable as
    /// requested. They are sent before the future is first polled, and dropping it does not
    /// cancel them.
    fn append(&self, append: AppendRequest) -> BoxFuture<'_, Result<AppendOutcome, StoreError>>;

    /// Completes when everything that was appended before this call is on disk, whatever its
    /// durability. Starts immediately, not when it is polled.
    fn sync_all(&self) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Reads at most `limit` events of the scope after a position.
    fn read_events(
        &self,
        scope: EventScope,
        after: LogCursor,
        limit: usize,
    ) -> BoxFuture<'_, Result<EventPage, StoreError>>;

    /// The size of the log on disk, in bytes.
    fn size_bytes(&self) -> u64;

    /// Remembers that the time reached this, also across a crash: a clock that is set back must
    /// not revive what has expired.
    fn record_time(&self, at: UnixMicros);

    /// The position after the last event, as a watch.
    fn watch_head(&self) -> watch::Receiver<LogCursor>;

    /// Whether a position is after the last event: it belongs to another log.
    fn is_beyond_head(&self, cursor: LogCursor) -> bool {
        cursor.seq() > self.watch_head().borrow().seq()
    }

    /// Why the last write to the log failed; `None` if it succeeded.
    fn last_write_error(&self) -> Option<StoreError>;

    /// The events of a command that was executed before, if it was.
    fn find_command_events(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> BoxFuture<'_, Result<Option<Vec<Arc<RecordedEvent>>>, StoreError>>;

    /// The current version of a stream, for [`AppendRequest::expect`].
    fn stream_version(&self, stream: Stream) -> BoxFuture<'_, Result<StreamVersion, StoreError>>;

    /// One document of a view.
    fn get_document(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> BoxFuture<'_, Result<Option<ViewDocument>, StoreError>>;

    /// All documents of a view, in order of creation.
    fn list_documents(
        &self,
        view: ViewKind,
    ) -> BoxFuture<'_, Result<Vec<ViewDocument>, StoreError>>;

    /// Stores bytes under their hash.
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>>;

    /// The bytes with this hash.
    fn get_blob(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Verifies the hash chain from the first event to the last.
    fn verify_log(&self) -> BoxFuture<'_, Result<AuditReport, StoreError>>;

    /// Discards the views and folds them again from the log.
    fn rebuild_views(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}
