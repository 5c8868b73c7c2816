//! A store that counts what is read from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_proto::{
    AuditReport, BlobRef, Hash, LogCursor, LogSegment, Stream, StreamVersion, UnixMicros,
};
use provost_store::{
    AppendOutcome, AppendRequest, ArchiveOutcome, ArchiveRequest, EventPage, EventQuery,
    EventScope, EventStore, Idempotency, ListQuery, RecordedEvent, SearchPage, SqliteStore,
    StoreError, StoredDocument,
};
use tokio::sync::watch;
use uuid::Uuid;

/// Passes everything on, and counts documents and events.
#[derive(Debug)]
pub(crate) struct CountingStore {
    store: SqliteStore,
    n_read: AtomicUsize,
}

type Read<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl CountingStore {
    pub(crate) fn new(store: SqliteStore) -> Self {
        Self { store, n_read: AtomicUsize::new(0) }
    }

    /// How many documents and events were read so far.
    pub(crate) fn n_read(&self) -> usize {
        self.n_read.load(Ordering::Relaxed)
    }

    /// Counts what a read returns.
    fn count<'a, T: Send + 'a>(
        &'a self,
        read: Read<'a, T>,
        size: impl Fn(&T) -> usize + Send + 'a,
    ) -> Read<'a, T> {
        async move {
            let found = read.await?;
            self.n_read.fetch_add(size(&found), Ordering::Relaxed);
            Ok(found)
        }
        .boxed()
    }
}

impl EventStore for CountingStore {
    fn append(&self, append: AppendRequest) -> Read<'_, AppendOutcome> {
        self.store.append(append)
    }

    fn sync_all(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        self.store.sync_all()
    }

    fn read_events(
        &self,
        scope: EventScope,
        after: LogCursor,
        limit: usize,
    ) -> Read<'_, EventPage> {
        self.count(self.store.read_events(scope, after, limit), |page| page.events.len())
    }

    fn search_events(&self, query: EventQuery) -> Read<'_, SearchPage> {
        self.count(self.store.search_events(query), |page| page.events.len())
    }

    fn size_bytes(&self) -> u64 {
        self.store.size_bytes()
    }

    fn record_time(&self, at: UnixMicros) {
        self.store.record_time(at);
    }

    fn watch_head(&self) -> watch::Receiver<LogCursor> {
        self.store.watch_head()
    }

    fn last_write_error(&self) -> Option<StoreError> {
        self.store.last_write_error()
    }

    fn find_command_events(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> Read<'_, Option<Vec<Arc<RecordedEvent>>>> {
        self.store.find_command_events(principal, command)
    }

    fn stream_version(&self, stream: Stream) -> Read<'_, StreamVersion> {
        self.store.stream_version(stream)
    }

    fn find_stream_event(
        &self,
        stream: Stream,
        version: StreamVersion,
    ) -> Read<'_, Option<Arc<RecordedEvent>>> {
        self.count(self.store.find_stream_event(stream, version), |found| {
            usize::from(found.is_some())
        })
    }

    fn get_document(&self, view: ViewKind, key: Uuid) -> Read<'_, Option<ViewDocument>> {
        self.count(self.store.get_document(view, key), |doc| usize::from(doc.is_some()))
    }

    fn get_documents(
        &self,
        keys: Vec<DocumentKey>,
    ) -> Read<'_, Vec<(DocumentKey, StoredDocument)>> {
        self.count(self.store.get_documents(keys), Vec::len)
    }

    fn list_under(&self, queries: Vec<ListQuery>) -> Read<'_, Vec<StoredDocument>> {
        self.count(self.store.list_under(queries), Vec::len)
    }

    fn list_latest(&self, queries: Vec<ListQuery>, limit: usize) -> Read<'_, Vec<StoredDocument>> {
        self.count(self.store.list_latest(queries, limit), Vec::len)
    }

    fn list_stored_documents(&self, view: ViewKind) -> Read<'_, Vec<StoredDocument>> {
        self.count(self.store.list_stored_documents(view), Vec::len)
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Read<'_, BlobRef> {
        self.store.put_blob(bytes)
    }

    fn get_blob(&self, hash: Hash) -> Read<'_, Option<Vec<u8>>> {
        self.store.get_blob(hash)
    }

    fn verify_log(&self) -> Read<'_, AuditReport> {
        self.store.verify_log()
    }

    fn rebuild_views(&self) -> Read<'_, ()> {
        self.store.rebuild_views()
    }

    fn archive_log(&self, request: ArchiveRequest) -> Read<'_, ArchiveOutcome> {
        self.store.archive_log(request)
    }

    fn list_segments(&self) -> Read<'_, Vec<LogSegment>> {
        self.count(self.store.list_segments(), Vec::len)
    }
}
