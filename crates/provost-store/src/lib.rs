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
mod archive;
mod clock;
mod error;
mod event_query;
mod list_position;
mod log_tail;
mod recent_events;
mod recorded_event;
mod sqlite;

use std::sync::Arc;

use futures::future::BoxFuture;
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::{
    AuditReport, BlobRef, Hash, LogCursor, LogSegment, ProjectId, Stream, StreamVersion, UnixMicros,
};
use tokio::sync::watch;
use uuid::Uuid;

pub use append::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent};
pub use archive::{ArchiveObserver, ArchiveOutcome, ArchiveRequest, ArchiveStep};
pub use clock::Clock;
pub use error::StoreError;
pub use event_query::{EventFilter, EventMatcher, EventQuery, SearchFrom, SearchPage};
pub use list_position::{ListPosition, ParseListPositionError};
pub use log_tail::LogTail;
pub use recorded_event::{RecordedEvent, hydrate_fact};
pub use sqlite::{SqliteStore, StatementCost, StatementObserver, StoreOptions};

/// Which events to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventScope {
    /// The whole log.
    All,
    /// One stream of it.
    Stream(Stream),
    /// The stream of a project, and the events of other streams that name the project.
    Project(ProjectId),
}

impl EventScope {
    /// The stream that has its events, or most of them; `None` for the whole log.
    pub(crate) const fn stream(self) -> Option<Stream> {
        match self {
            Self::All => None,
            Self::Stream(stream) => Some(stream),
            Self::Project(project) => Some(Stream::Project(project)),
        }
    }

    /// The project whose events of other streams are part of it.
    pub(crate) const fn project(self) -> Option<ProjectId> {
        match self {
            Self::All | Self::Stream(_) => None,
            Self::Project(project) => Some(project),
        }
    }
}

/// Consecutive events.
#[derive(Debug, Clone, Default)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<Arc<RecordedEvent>>,
    /// All events of the scope up to this position have been read.
    pub up_to: LogCursor,
}

/// A document of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDocument {
    /// Its key in the view.
    pub key: Uuid,
    /// It includes the events up to here that change it.
    pub up_to: LogCursor,
    /// The document.
    pub doc: ViewDocument,
}

/// Which documents to list: see [`provost_core::fold::DocumentListing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListQuery {
    /// The view.
    pub view: ViewKind,
    /// What they belong to.
    pub parent: Uuid,
    /// Those that are still going on, or the others.
    pub is_open: bool,
    /// Only those with a later time.
    pub after: UnixMicros,
    /// Only those before this position.
    pub before: ListPosition,
    /// The most documents, the latest first.
    pub limit: usize,
}

impl ListQuery {
    /// All documents of a parent that are still going on.
    pub const fn open(view: ViewKind, parent: Uuid) -> Self {
        let (after, before) = (0, ListPosition::END);
        Self { view, parent, is_open: true, after, before, limit: usize::MAX }
    }

    /// The latest documents of a parent that are over.
    pub const fn latest(view: ViewKind, parent: Uuid, limit: usize) -> Self {
        Self { is_open: false, limit, ..Self::open(view, parent) }
    }
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

    /// Searches events, one page per call.
    fn search_events(&self, query: EventQuery) -> BoxFuture<'_, Result<SearchPage, StoreError>>;

    /// How many bytes of the log's database hold something. Space that archived events left is
    /// used again, so it does not count.
    fn size_bytes(&self) -> u64;

    /// Remembers that the time reached this, also across a crash: a clock that is set back must
    /// not revive what has expired.
    fn record_time(&self, at: UnixMicros);

    /// The position after the last event, as a watch.
    fn watch_head(&self) -> watch::Receiver<LogCursor>;

    /// The position after the last event.
    fn head(&self) -> LogCursor {
        *self.watch_head().borrow()
    }

    /// Whether a position is after the last event: it belongs to another log.
    fn is_beyond_head(&self, cursor: LogCursor) -> bool {
        !self.head().has_reached(cursor)
    }

    /// The event at a position; `None` if the log has none there, such as at its start.
    fn read_event_at(
        &self,
        cursor: LogCursor,
    ) -> BoxFuture<'_, Result<Option<Arc<RecordedEvent>>, StoreError>> {
        let Some(before) = cursor.seq().checked_sub(1) else {
            return Box::pin(std::future::ready(Ok(None)));
        };
        let page = self.read_events(EventScope::All, LogCursor::from_seq(before), 1);
        Box::pin(async move {
            let found = page.await?.events.into_iter().next();
            Ok(found.filter(|event| event.cursor() == cursor))
        })
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

    /// The event of a stream with this version; `None` if there is none, or if it is archived.
    fn find_stream_event(
        &self,
        stream: Stream,
        version: StreamVersion,
    ) -> BoxFuture<'_, Result<Option<Arc<RecordedEvent>>, StoreError>>;

    /// One document of a view.
    fn get_document(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> BoxFuture<'_, Result<Option<ViewDocument>, StoreError>>;

    /// Documents by key, each with the position that it includes. Those that do not exist are
    /// left out.
    fn get_documents(
        &self,
        keys: Vec<DocumentKey>,
    ) -> BoxFuture<'_, Result<Vec<(DocumentKey, StoredDocument)>, StoreError>>;

    /// The documents that are listed under parents, query by query, the latest first. The cost is
    /// that of the result, whatever else the views hold.
    fn list_under(
        &self,
        queries: Vec<ListQuery>,
    ) -> BoxFuture<'_, Result<Vec<StoredDocument>, StoreError>>;

    /// The latest of the documents that are listed under several parents, at most `limit` of all.
    /// Only these are read.
    fn list_latest(
        &self,
        queries: Vec<ListQuery>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredDocument>, StoreError>>;

    /// All documents of a view in order of creation, each with the position that it includes.
    fn list_stored_documents(
        &self,
        view: ViewKind,
    ) -> BoxFuture<'_, Result<Vec<StoredDocument>, StoreError>>;

    /// All documents of a view, in order of creation.
    fn list_documents(
        &self,
        view: ViewKind,
    ) -> BoxFuture<'_, Result<Vec<ViewDocument>, StoreError>> {
        let docs = self.list_stored_documents(view);
        Box::pin(async move { Ok(docs.await?.into_iter().map(|stored| stored.doc).collect()) })
    }

    /// Stores bytes under their hash.
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>>;

    /// The bytes with this hash.
    fn get_blob(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>>;

    /// Verifies the hash chain from the first event to the last.
    fn verify_log(&self) -> BoxFuture<'_, Result<AuditReport, StoreError>>;

    /// Discards the views and folds them again from the log.
    fn rebuild_views(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Moves older events into segment files, where they are read as before. It first completes
    /// what an earlier archive began. Dropping the future does not cancel it; closing the log
    /// does.
    fn archive_log(
        &self,
        request: ArchiveRequest,
    ) -> BoxFuture<'_, Result<ArchiveOutcome, StoreError>>;

    /// The segment files, the oldest first.
    fn list_segments(&self) -> BoxFuture<'_, Result<Vec<LogSegment>, StoreError>>;
}
