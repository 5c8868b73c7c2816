//! The append-only log, the views folded from it, and blobs.
//!
//! One trait, [`EventStore`]; SQLite behind it, a server database later. The store
//! stamps what it is given with place, time and hash. It does not know who
//! asked, and it decides nothing: principal and actor come in with the append.
//!
//! Readers follow the log with a [`LogTail`]: history from disk, then live,
//! without a gap or a duplicate. A reader is a cursor. A slow one costs
//! nothing, because what it has not read stays on disk.

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
use provost_proto::{AuditReport, BlobRef, Hash, Seq, Stream, StreamVersion};
use tokio::sync::watch;
use uuid::Uuid;

pub use append::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent};
pub use clock::Clock;
pub use error::StoreError;
pub use log_tail::LogTail;
pub use recorded_event::{RecordedEvent, hydrate_fact};
pub use sqlite::{SqliteStore, StoreOptions};

/// Which events a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventScope {
    /// The whole log.
    All,
    /// One stream of it.
    Stream(Stream),
}

/// Some events in a row.
#[derive(Debug, Clone, Default)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<Arc<RecordedEvent>>,
    /// Everything of the scope up to this place has been read.
    pub up_to: Seq,
}

/// What every engine of the log can do.
pub trait EventStore: Send + Sync + std::fmt::Debug + 'static {
    /// Appends events, all or none. When the future is done they are in the log,
    /// as durably as was asked. They are on their way before it is first polled,
    /// and dropping it does not call them back.
    fn append(&self, append: AppendRequest) -> BoxFuture<'_, Result<AppendOutcome, StoreError>>;

    /// Done when everything that was appended before this call is on disk, however
    /// durable that was asked to be. Begins at once, and not when it is polled.
    fn sync_all(&self) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Reads at most `limit` events of the scope after a place.
    fn read_events(
        &self,
        scope: EventScope,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<EventPage, StoreError>>;

    /// The place of the last event, now and whenever it changes.
    fn watch_head(&self) -> watch::Receiver<Seq>;

    /// Why the log could not be written the last time something was; `None` as soon
    /// as it could again.
    fn last_write_error(&self) -> Option<StoreError>;

    /// The events of a command that was carried out before, if it was.
    fn find_command_events(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> BoxFuture<'_, Result<Option<Vec<Arc<RecordedEvent>>>, StoreError>>;

    /// How many events a stream has; the version to expect in an [`AppendRequest`].
    fn stream_version(&self, stream: Stream) -> BoxFuture<'_, Result<StreamVersion, StoreError>>;

    /// One document of a view.
    fn get_document(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> BoxFuture<'_, Result<Option<ViewDocument>, StoreError>>;

    /// All documents of a view, in the order they were made.
    fn list_documents(
        &self,
        view: ViewKind,
    ) -> BoxFuture<'_, Result<Vec<ViewDocument>, StoreError>>;

    /// Keeps bytes under their hash.
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>>;

    /// The bytes with this hash.
    fn get_blob(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Walks the hash chain from the first event to the last.
    fn verify_log(&self) -> BoxFuture<'_, Result<AuditReport, StoreError>>;

    /// Throws the views away and folds them again from the log.
    fn rebuild_views(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}
