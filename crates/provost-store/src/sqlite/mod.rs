//! The log in one SQLite file.
//!
//! There is one writer; see `group_commit_writer`. Readers have connections of their own, and
//! mostly do not need them, because the newest events are in memory.

mod archive_writes;
mod archiver;
mod batched_append;
mod checkpoint_thread;
mod database_checks;
mod document_cache;
mod event_row;
mod group_commit_writer;
mod head_file;
mod latest_documents;
mod listed_columns;
mod log_reader;
mod log_verifier;
mod log_writer;
mod reader;
mod schema;
mod scope_index;
mod search;
mod search_index;
mod segment;
mod segment_verifier;
mod statement_costs;
mod sync_thread;
mod write_batch;
mod write_request;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use futures::future::{self, BoxFuture};
use futures::{FutureExt as _, TryFutureExt as _};
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_core::hash_chain;
use provost_proto::{
    AuditReport, BlobRef, Hash, LogCursor, LogSegment, Seq, Stream, StreamVersion, UnixMicros,
};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use uuid::Uuid;

use crate::append::{self, PreparedEvent};
use crate::{
    AppendOutcome, AppendRequest, ArchiveOutcome, ArchiveRequest, Clock, EventPage, EventQuery,
    EventScope, EventStore, Idempotency, ListQuery, RecordedEvent, SearchPage, StoreError,
    StoredDocument,
};
use archiver::LogArchiver;
use batched_append::BatchedAppend;
use group_commit_writer::{
    GroupCommitWriter, NextBatchWriter, StartedWriter, WriterMessage, WriterSharedState,
};
use head_file::HeadFile;
use log_reader::LogReader;
use log_verifier::VerifiedLog;
use reader::ReaderPool;
use search_index::{BLOCK_EVENTS, SearchIndex};
use segment::SegmentSet;
pub use statement_costs::{StatementCost, StatementObserver};
use sync_thread::SyncThread;
use write_request::{AppendReceipt, PreparedAppend, WriteRequest};

/// The most requests that wait for the writer before their senders do.
const WRITE_QUEUE_CAPACITY: usize = 1024;

/// How to open a log.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The database file; created if it does not exist.
    pub path: PathBuf,
    /// The clock that stamps events.
    pub clock: Clock,
}

/// The log in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    /// `None` only while it is being dropped.
    inbox: Option<mpsc::Sender<WriterMessage>>,
    writer_thread: Option<JoinHandle<()>>,
    writer: GroupCommitWriter,
    head: watch::Receiver<LogCursor>,
    shared: WriterSharedState,
    readers: ReaderPool,
    search_index: SearchIndex,
    syncs: SyncThread,
    head_file: HeadFile,
    archive_turn: Arc<Mutex<()>>,
    path: PathBuf,
}

impl SqliteStore {
    /// Opens the log and starts its writer. Dropping it waits until the writer has executed all
    /// requests and closed the file.
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_with(options, None)
    }

    /// The same, with an observer of what its readers execute.
    pub fn open_observed(
        options: StoreOptions,
        observer: StatementObserver,
    ) -> Result<Self, StoreError> {
        Self::open_with(options, Some(observer))
    }

    fn open_with(
        options: StoreOptions,
        observer: Option<StatementObserver>,
    ) -> Result<Self, StoreError> {
        let StoreOptions { path, clock } = options;
        let db = schema::open_and_migrate(&path)?;
        let segments = Arc::new(SegmentSet::new(&path));
        let shared = WriterSharedState::new(Arc::clone(&segments));
        let (inbox, messages) = mpsc::channel(WRITE_QUEUE_CAPACITY);
        let StartedWriter { writer, thread, head, head_file } =
            group_commit_writer::start_writer(db, &path, clock, shared.clone(), messages)?;
        let readers = ReaderPool::new(path.clone(), Arc::clone(&segments), observer);
        let search_index = SearchIndex::start(&path, segments)?;
        let syncs = SyncThread::start(&path)?;
        Ok(Self {
            inbox: Some(inbox),
            writer_thread: Some(thread),
            writer,
            head,
            shared,
            readers,
            search_index,
            syncs,
            head_file,
            archive_turn: Arc::default(),
            path,
        })
    }

    /// Verifies a log that no daemon has open, without writing to it. It need not be possible to
    /// open it: a damaged last event is one of the errors that are found.
    pub fn verify_file(path: &Path) -> Result<AuditReport, StoreError> {
        let head = head_file::read_head(path);
        let mut db =
            schema::open_for_verification(path).map_err(|error| error.into_file_error(path))?;
        let segments = SegmentSet::new(path);
        let verified = db.transaction().map_err(StoreError::from).and_then(|step| {
            log_verifier::verify_log(LogReader::of_any_version(&step, &segments)?, head)
        });
        Ok(verified.map_err(|error| error.into_file_error(path))?.report)
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends a request to the writer. It is sent when this returns, unless the returned future
    /// must first wait for capacity.
    fn send_request(&self, request: WriteRequest) -> Result<Option<PendingSend<'_>>, StoreError> {
        if self.shared.runtime.get().is_none()
            && let Ok(runtime) = Handle::try_current()
            && let RuntimeFlavor::MultiThread = runtime.runtime_flavor()
        {
            // Another caller may have set it first, which is equivalent.
            drop(self.shared.runtime.set(runtime));
        }
        let inbox = self.inbox.as_ref().ok_or(StoreError::Closed)?;
        match inbox.try_reserve() {
            Ok(room) => {
                self.writer.register_sent();
                room.send(WriterMessage::Request(request));
                Ok(None)
            }
            Err(TrySendError::Full(())) => {
                Ok(Some(PendingSend { inbox, writer: &self.writer, request }))
            }
            Err(TrySendError::Closed(())) => Err(StoreError::Closed),
        }
    }

    /// Continues the index if a block is complete that it does not have. Until then, a search
    /// reads that block.
    fn wake_search_index(&self) {
        if self.head.borrow().seq() / BLOCK_EVENTS > self.search_index.n_blocks() {
            self.search_index.wake_up();
        }
    }

    /// Writes the batch, here or on the thread.
    fn write_batched(&self) {
        if self.writer.write_batched() == NextBatchWriter::WriterThread {
            let inbox = self.inbox.as_ref();
            match inbox.map(|inbox| inbox.try_send(WriterMessage::FlushBatched)) {
                // If the thread has another message, it checks the batch, too.
                Some(Ok(()) | Err(TrySendError::Full(_))) => {}
                Some(Err(TrySendError::Closed(_))) | None => self.writer.discard_batched(),
            }
        }
    }

    async fn request_and_wait<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> WriteRequest,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        if let Some(waiting) = self.send_request(request(reply))? {
            waiting.send().await?;
        }
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// A request that waits for capacity.
struct PendingSend<'a> {
    inbox: &'a mpsc::Sender<WriterMessage>,
    writer: &'a GroupCommitWriter,
    request: WriteRequest,
}

impl PendingSend<'_> {
    async fn send(self) -> Result<(), StoreError> {
        let room = self.inbox.reserve().await.map_err(|_| StoreError::Closed)?;
        self.writer.register_sent();
        room.send(WriterMessage::Request(self.request));
        Ok(())
    }
}

/// Merges the documents on disk with the dirty ones: the newer of each, in key order.
fn merge_documents(
    disk: Vec<StoredDocument>,
    cache: HashMap<Uuid, (Seq, ViewDocument)>,
) -> Vec<StoredDocument> {
    let mut docs: BTreeMap<Uuid, StoredDocument> =
        disk.into_iter().map(|stored| (stored.key, stored)).collect();
    for (key, (seq, doc)) in cache {
        if docs.get(&key).is_none_or(|stored| seq > stored.up_to.seq()) {
            docs.insert(key, StoredDocument { key, up_to: LogCursor::from_seq(seq), doc });
        }
    }
    docs.into_values().collect()
}

/// The documents of a list, from disk and from memory, the latest first.
fn merge_listed(
    disk: Vec<StoredDocument>,
    cache: HashMap<Uuid, (Seq, ViewDocument)>,
    query: ListQuery,
) -> Vec<StoredDocument> {
    let mut listed: Vec<_> = merge_documents(disk, cache)
        .into_iter()
        .filter_map(|stored| Some((stored.doc.listing()?, stored)))
        .filter(|(listing, stored)| latest_documents::is_selected(&query, stored.key, listing))
        .collect();
    listed.sort_by_key(|(listing, stored)| std::cmp::Reverse((listing.at, stored.key)));
    listed.truncate(query.limit);
    listed.into_iter().map(|(_, stored)| stored).collect()
}

/// The result of an append.
fn append_result(
    answer: Result<AppendReceipt, oneshot::error::RecvError>,
) -> Result<AppendOutcome, StoreError> {
    answer.map_or(Err(StoreError::Closed), |receipt| receipt.result)
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.inbox = None;
        // The last one to close the file removes the WAL, and only the writer can.
        self.readers.close_idle();
        if let Some(writer_thread) = self.writer_thread.take()
            && writer_thread.join().is_err()
        {
            tracing::error!("the log's writer ended with a panic");
        }
    }
}

impl SqliteStore {
    /// The documents that are not on disk yet, of the views that are listed.
    fn collect_dirty_documents(
        &self,
        queries: &[ListQuery],
    ) -> HashMap<ViewKind, latest_documents::DirtyDocuments> {
        let views: HashSet<_> = queries.iter().map(|query| query.view).collect();
        views.into_iter().map(|view| (view, self.shared.cache.dirty_documents(view))).collect()
    }
}

impl EventStore for SqliteStore {
    fn append(&self, append: AppendRequest) -> BoxFuture<'_, Result<AppendOutcome, StoreError>> {
        let AppendRequest { principal, actor, command, expect, unchanged, durability, events } =
            append;
        let events = match events.into_iter().map(PreparedEvent::new).collect() {
            Ok(events) => events,
            Err(error) => return future::ready(Err(error)).boxed(),
        };
        let prepared = Box::new(PreparedAppend {
            principal,
            actor,
            command,
            expect,
            unchanged,
            durability,
            events,
        });
        self.wake_search_index();
        let (reply, answer) = oneshot::channel();
        let request = match self.writer.try_batch(WriteRequest::Append(prepared, reply)) {
            Ok(()) => return BatchedAppend::new(self, answer).boxed(),
            Err(request) => request,
        };
        // Sending before the future is created keeps it small: it is moved to the heap.
        match self.send_request(request) {
            Ok(None) => answer.map(append_result).boxed(),
            Ok(Some(waiting)) => waiting.send().and_then(|()| answer.map(append_result)).boxed(),
            Err(error) => future::ready(Err(error)).boxed(),
        }
    }

    fn sync_all(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        let (reply, done) = oneshot::channel();
        let Some(inbox) = &self.syncs.inbox else {
            return future::ready(Err(StoreError::Closed)).boxed();
        };
        let done = done.map(|done| done.unwrap_or(Err(StoreError::Closed)));
        match inbox.try_send(reply) {
            Ok(()) => done.boxed(),
            Err(TrySendError::Full(reply)) => {
                // A future that waits must not keep the log open.
                let inbox = inbox.downgrade();
                async move {
                    let inbox = inbox.upgrade().ok_or(StoreError::Closed)?;
                    inbox.send(reply).await.map_err(|_| StoreError::Closed)?;
                    drop(inbox);
                    done.await
                }
                .boxed()
            }
            Err(TrySendError::Closed(_)) => future::ready(Err(StoreError::Closed)).boxed(),
        }
    }

    fn read_events(
        &self,
        scope: EventScope,
        after: LogCursor,
        limit: usize,
    ) -> BoxFuture<'_, Result<EventPage, StoreError>> {
        async move {
            let after = after.seq();
            if let Some(page) = self.shared.recent.read_after(scope, after, limit) {
                return Ok(page);
            }
            let head = self.head.borrow().seq();
            if after >= head {
                return Ok(EventPage { events: Vec::new(), up_to: LogCursor::from_seq(after) });
            }
            self.readers.run_read(move |log| log.read_page(scope, after, limit, head)).await
        }
        .boxed()
    }

    fn search_events(&self, query: EventQuery) -> BoxFuture<'_, Result<SearchPage, StoreError>> {
        let head = self.head.borrow().seq();
        let signatures = self.search_index.signatures();
        self.readers
            .run_read(move |log| search::search_events(log, &signatures, query, head))
            .boxed()
    }

    fn size_bytes(&self) -> u64 {
        archiver::used_bytes(&self.path, &self.shared.free_pages)
    }

    fn record_time(&self, at: UnixMicros) {
        self.head_file.record_time(at);
    }

    fn watch_head(&self) -> watch::Receiver<LogCursor> {
        self.head.clone()
    }

    fn last_write_error(&self) -> Option<StoreError> {
        self.shared.failure.lock().clone()
    }

    fn find_command_events(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> BoxFuture<'_, Result<Option<Vec<Arc<RecordedEvent>>>, StoreError>> {
        let (principal, command) = (principal.to_owned(), command.clone());
        self.readers.run_read(move |log| log.find_command_events(&principal, &command)).boxed()
    }

    fn stream_version(&self, stream: Stream) -> BoxFuture<'_, Result<StreamVersion, StoreError>> {
        self.readers
            .run_read(move |log| {
                Ok(reader::find_stream(log.db, stream)?.map_or(0, |(_, version)| version))
            })
            .boxed()
    }

    fn find_stream_event(
        &self,
        stream: Stream,
        version: StreamVersion,
    ) -> BoxFuture<'_, Result<Option<Arc<RecordedEvent>>, StoreError>> {
        self.readers.run_read(move |log| log.find_stream_event(stream, version)).boxed()
    }

    fn get_document(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> BoxFuture<'_, Result<Option<ViewDocument>, StoreError>> {
        let key = DocumentKey { view, key };
        match self.shared.cache.get(&key) {
            Some(doc) => future::ready(Ok(Some(doc))).boxed(),
            None => self.readers.run_read(move |log| reader::read_document(log.db, key)).boxed(),
        }
    }

    fn get_documents(
        &self,
        keys: Vec<DocumentKey>,
    ) -> BoxFuture<'_, Result<Vec<(DocumentKey, StoredDocument)>, StoreError>> {
        let (mut found, mut missing) = (Vec::with_capacity(keys.len()), Vec::new());
        for key in keys {
            match self.shared.cache.get_with_seq(&key) {
                Some((seq, doc)) => {
                    let up_to = LogCursor::from_seq(seq);
                    found.push((key, StoredDocument { key: key.key, up_to, doc }));
                }
                None => missing.push(key),
            }
        }
        if missing.is_empty() {
            return future::ready(Ok(found)).boxed();
        }
        self.readers
            .run_read(move |log| {
                for key in missing {
                    if let Some(stored) = reader::read_stored_document(log.db, key)? {
                        found.push((key, stored));
                    }
                }
                Ok(found)
            })
            .boxed()
    }

    fn list_under(
        &self,
        queries: Vec<ListQuery>,
    ) -> BoxFuture<'_, Result<Vec<StoredDocument>, StoreError>> {
        let caches = self.collect_dirty_documents(&queries);
        self.readers
            .run_read(move |log| {
                let mut listed = Vec::new();
                for query in queries {
                    let cache = caches.get(&query.view).cloned().unwrap_or_default();
                    // As many more as could have left the list in memory.
                    let limit = query.limit.saturating_add(cache.len());
                    let disk = reader::list_under(log.db, ListQuery { limit, ..query })?;
                    listed.extend(merge_listed(disk, cache, query));
                }
                Ok(listed)
            })
            .boxed()
    }

    fn list_latest(
        &self,
        queries: Vec<ListQuery>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredDocument>, StoreError>> {
        let caches = self.collect_dirty_documents(&queries);
        self.readers
            .run_read(move |log| latest_documents::list_latest(log.db, &queries, limit, &caches))
            .boxed()
    }

    fn list_stored_documents(
        &self,
        view: ViewKind,
    ) -> BoxFuture<'_, Result<Vec<StoredDocument>, StoreError>> {
        let cache = self.shared.cache.dirty_documents(view);
        self.readers
            .run_read(move |log| Ok(merge_documents(reader::list_documents(log.db, view)?, cache)))
            .boxed()
    }

    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>> {
        async move {
            append::check_blob_size(&bytes)?;
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let hash = hash_chain::digest(&bytes);
            self.request_and_wait(|reply| WriteRequest::Blob(hash, bytes, reply)).await?;
            Ok(BlobRef { hash, size })
        }
        .boxed()
    }

    fn get_blob(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.readers.run_read(move |log| log.read_blob(&hash)).boxed()
    }

    fn verify_log(&self) -> BoxFuture<'_, Result<AuditReport, StoreError>> {
        // Read before the events, because commits go on.
        let head = head_file::read_head(&self.path);
        let shared = self.shared.clone();
        let verify = move |log: LogReader<'_>| {
            let VerifiedLog { report, is_writable } = log_verifier::verify_log(log, head)?;
            if let (false, Some(why)) = (is_writable, &report.database) {
                shared.note_damage(&StoreError::Damaged(why.clone()));
            }
            Ok(report)
        };
        self.readers.run_read(verify).boxed()
    }

    fn rebuild_views(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.request_and_wait(WriteRequest::Rebuild).boxed()
    }

    fn archive_log(
        &self,
        request: ArchiveRequest,
    ) -> BoxFuture<'_, Result<ArchiveOutcome, StoreError>> {
        let Some(inbox) = &self.inbox else {
            return future::ready(Err(StoreError::Closed)).boxed();
        };
        let archiver = LogArchiver {
            path: self.path.clone(),
            segments: Arc::clone(&self.shared.segments),
            inbox: inbox.downgrade(),
            writer: self.writer.clone(),
            free_pages: Arc::clone(&self.shared.free_pages),
            turn: Arc::clone(&self.archive_turn),
        };
        archiver.archive(request).boxed()
    }

    fn list_segments(&self) -> BoxFuture<'_, Result<Vec<LogSegment>, StoreError>> {
        self.readers.run_read(|log| segment::list_segments(log.db)).boxed()
    }
}
