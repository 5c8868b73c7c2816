//! The append-only log, the views folded from it, and blobs.
//!
//! One trait, [`Store`]; SQLite behind it, a server database later. The store
//! stamps what it is given with place, time and hash. It does not know who
//! asked, and it decides nothing: principal and actor come in with the append.
//!
//! Readers follow the log with a [`Tail`]: history from disk, then live,
//! without a gap or a duplicate. A reader is a cursor. A slow one costs
//! nothing, because what it has not read stays on disk.

mod append;
mod clock;
mod error;
mod recent;
mod recorded;
mod sqlite;
mod tail;

use std::sync::Arc;

use futures::future::BoxFuture;
use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{AuditReport, BlobRef, Hash, Seq, Stream, StreamVersion};
use tokio::sync::watch;
use uuid::Uuid;

pub use append::{Append, Appended, Durability, Idempotency, NewEvent};
pub use clock::Clock;
pub use error::StoreError;
pub use recorded::{Recorded, whole_fact};
pub use sqlite::{Sqlite, StoreOptions};
pub use tail::Tail;

/// Which events a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole log.
    All,
    /// One stream of it.
    One(Stream),
}

/// Some events in a row.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The events, oldest first.
    pub events: Vec<Arc<Recorded>>,
    /// Everything of the scope up to this place has been read.
    pub up_to: Seq,
}

/// What every engine of the log can do.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Appends events, all or none. When the future is done they are in the log,
    /// as durably as was asked. They are on their way before it is first polled,
    /// and dropping it does not call them back.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StoreError>>;

    /// Done when everything that was appended before this call is on disk, however
    /// durable that was asked to be. Begins at once, and not when it is polled.
    fn on_disk(&self) -> BoxFuture<'static, Result<(), StoreError>>;

    /// Reads at most `limit` events of the scope after a place.
    fn read(
        &self,
        scope: Scope,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// The place of the last event, now and whenever it changes.
    fn head(&self) -> watch::Receiver<Seq>;

    /// Why the log could not be written the last time something was; `None` as soon
    /// as it could again.
    fn failure(&self) -> Option<StoreError>;

    /// The events of a command that was carried out before, if it was.
    fn repeated(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> BoxFuture<'_, Result<Option<Vec<Arc<Recorded>>>, StoreError>>;

    /// How many events a stream has; the version to expect in an [`Append`].
    fn version(&self, stream: Stream) -> BoxFuture<'_, Result<StreamVersion, StoreError>>;

    /// One document of a view.
    fn doc(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> BoxFuture<'_, Result<Option<ViewDocument>, StoreError>>;

    /// All documents of a view, in the order they were made.
    fn docs(&self, view: ViewKind) -> BoxFuture<'_, Result<Vec<ViewDocument>, StoreError>>;

    /// Keeps bytes under their hash.
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>>;

    /// The bytes with this hash.
    fn blob(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Walks the hash chain from the first event to the last.
    fn verify(&self) -> BoxFuture<'_, Result<AuditReport, StoreError>>;

    /// Throws the views away and folds them again from the log.
    fn rebuild(&self) -> BoxFuture<'_, Result<(), StoreError>>;
}
