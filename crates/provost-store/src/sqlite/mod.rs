//! The log in one SQLite file.
//!
//! One writes at a time; see [`pen`]. Readers have connections of their own,
//! and mostly do not need them, because the newest events are in memory.

mod batch;
mod checkpoint;
mod gathered;
mod hot;
mod pen;
mod reader;
mod request;
mod schema;
mod sync;
mod verify;
mod writer;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use futures::future::{self, BoxFuture};
use futures::{FutureExt as _, TryFutureExt as _};
use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_core::hash_chain;
use provost_proto::{AuditReport, BlobRef, Hash, Seq, Stream, StreamVersion};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use crate::append::{self, Prepared};
use crate::{Append, Appended, Clock, Idempotency, Page, Recorded, Scope, Store, StoreError};
use gathered::Gathered;
use pen::{Left, Message, Pen, Shared};
use reader::Readers;
use request::{Job, Receipt, Request};
use sync::Syncs;

/// Requests that may wait for the writer before their senders do.
const INBOX: usize = 1024;

/// How to open a log.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The database file; made if it is not there.
    pub path: PathBuf,
    /// What stamps the events.
    pub clock: Clock,
}

/// The log in one SQLite file.
#[derive(Debug)]
pub struct Sqlite {
    /// `None` only while it is being dropped.
    inbox: Option<mpsc::Sender<Message>>,
    writer: Option<JoinHandle<()>>,
    pen: Pen,
    head: watch::Receiver<Seq>,
    shared: Shared,
    readers: Readers,
    syncs: Syncs,
    path: PathBuf,
}

impl Sqlite {
    /// Opens the log and starts its writer. Dropping it waits until the writer
    /// has written what it was given and closed the file.
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { path, clock } = options;
        let db = schema::open(&path)?;
        let shared = Shared::default();
        let (inbox, messages) = mpsc::channel(INBOX);
        let (pen, writer, head) = pen::start(db, &path, clock, shared.clone(), messages)?;
        let readers = Readers::new(path.clone());
        let syncs = Syncs::start(&path)?;
        let writer = Some(writer);
        Ok(Self { inbox: Some(inbox), writer, pen, head, shared, readers, syncs, path })
    }

    /// Verifies a log that no daemon has open, without writing to it or beside
    /// it where that is not allowed. It need not be fit to be opened: that its
    /// last event is damaged is one of the things it finds.
    pub fn verify_file(path: &Path) -> Result<AuditReport, StoreError> {
        let mut db = schema::open_as_it_is(path).map_err(|error| error.of_file(path))?;
        verify::walk(&mut db).map_err(|error| error.of_file(path))
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands the writer a request. It is on its way when this returns, unless
    /// what comes back must first wait for room.
    fn send(&self, request: Request) -> Result<Option<Waiting<'_>>, StoreError> {
        if self.shared.runtime.get().is_none()
            && let Ok(runtime) = Handle::try_current()
            && let RuntimeFlavor::MultiThread = runtime.runtime_flavor()
        {
            // Another may have been first, and is as good.
            drop(self.shared.runtime.set(runtime));
        }
        let inbox = self.inbox.as_ref().ok_or(StoreError::Closed)?;
        match inbox.try_reserve() {
            Ok(room) => {
                self.pen.sending();
                room.send(Message::Do(request));
                Ok(None)
            }
            Err(TrySendError::Full(())) => Ok(Some(Waiting { inbox, pen: &self.pen, request })),
            Err(TrySendError::Closed(())) => Err(StoreError::Closed),
        }
    }

    /// Has what was gathered written, by whoever can.
    fn write_gathered(&self) {
        if self.pen.write_gathered() == Left::ToThread {
            let inbox = self.inbox.as_ref();
            match inbox.map(|inbox| inbox.try_send(Message::Gathered)) {
                // With something else to do, it looks here, too.
                Some(Ok(()) | Err(TrySendError::Full(_))) => {}
                Some(Err(TrySendError::Closed(_))) | None => self.pen.give_up(),
            }
        }
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        if let Some(waiting) = self.send(request(reply))? {
            waiting.send().await?;
        }
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// A request for which there was no room.
struct Waiting<'a> {
    inbox: &'a mpsc::Sender<Message>,
    pen: &'a Pen,
    request: Request,
}

impl Waiting<'_> {
    async fn send(self) -> Result<(), StoreError> {
        let room = self.inbox.reserve().await.map_err(|_| StoreError::Closed)?;
        self.pen.sending();
        room.send(Message::Do(self.request));
        Ok(())
    }
}

/// The documents on disk and those that waited a moment before, each as it is in
/// the newer of both, in the order of their keys.
fn newest(
    disk: Vec<reader::Filed>,
    mut hot: HashMap<Uuid, (Seq, ViewDocument)>,
) -> Vec<ViewDocument> {
    let mut docs: BTreeMap<Uuid, ViewDocument> = BTreeMap::new();
    for reader::Filed { key, seq, doc } in disk {
        let newer = hot.remove(&key).filter(|(touched, _)| *touched > seq);
        docs.insert(key, newer.map_or(doc, |(_, doc)| doc));
    }
    docs.extend(hot.into_iter().map(|(key, (_, doc))| (key, doc)));
    docs.into_values().collect()
}

/// What became of an append.
fn result(answer: Result<Receipt, oneshot::error::RecvError>) -> Result<Appended, StoreError> {
    answer.map_or(Err(StoreError::Closed), |receipt| receipt.result)
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.inbox = None;
        // Whoever closes the file last clears the WAL away, and only the writer can.
        self.readers.close();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the log's writer ended with a panic");
        }
    }
}

impl Store for Sqlite {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StoreError>> {
        let Append { principal, actor, command, expect, unchanged, durability, events } = append;
        let events = match events.into_iter().map(Prepared::new).collect() {
            Ok(events) => events,
            Err(error) => return future::ready(Err(error)).boxed(),
        };
        let job =
            Box::new(Job { principal, actor, command, expect, unchanged, durability, events });
        let (reply, answer) = oneshot::channel();
        let request = match self.pen.gather(Request::Append(job, reply)) {
            Ok(()) => return Gathered::new(self, answer).boxed(),
            Err(request) => request,
        };
        // The future is made small by sending before it is made: it is moved to the heap.
        match self.send(request) {
            Ok(None) => answer.map(result).boxed(),
            Ok(Some(waiting)) => waiting.send().and_then(|()| answer.map(result)).boxed(),
            Err(error) => future::ready(Err(error)).boxed(),
        }
    }

    fn on_disk(&self) -> BoxFuture<'static, Result<(), StoreError>> {
        let (reply, done) = oneshot::channel();
        let Some(inbox) = &self.syncs.inbox else {
            return future::ready(Err(StoreError::Closed)).boxed();
        };
        let done = done.map(|done| done.unwrap_or(Err(StoreError::Closed)));
        match inbox.try_send(reply) {
            Ok(()) => done.boxed(),
            Err(TrySendError::Full(reply)) => {
                // Whoever does not go on waiting must not keep the log open.
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

    fn read(
        &self,
        scope: Scope,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        async move {
            if let Some(page) = self.shared.recent.read(scope, after, limit) {
                return Ok(page);
            }
            let head = *self.head.borrow();
            if after >= head {
                return Ok(Page { events: Vec::new(), up_to: after });
            }
            self.readers.with(move |db| reader::page(db, scope, after, limit, head)).await
        }
        .boxed()
    }

    fn head(&self) -> watch::Receiver<Seq> {
        self.head.clone()
    }

    fn failure(&self) -> Option<StoreError> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn repeated(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> BoxFuture<'_, Result<Option<Vec<Arc<Recorded>>>, StoreError>> {
        let (principal, command) = (principal.to_owned(), command.clone());
        self.readers.with(move |db| reader::repeated(db, &principal, &command)).boxed()
    }

    fn version(&self, stream: Stream) -> BoxFuture<'_, Result<StreamVersion, StoreError>> {
        self.readers
            .with(move |db| Ok(reader::stream(db, stream)?.map_or(0, |(_, version)| version)))
            .boxed()
    }

    fn doc(
        &self,
        view: ViewKind,
        key: Uuid,
    ) -> BoxFuture<'_, Result<Option<ViewDocument>, StoreError>> {
        let key = DocumentKey { view, key };
        match self.shared.hot.get(&key) {
            Some(doc) => future::ready(Ok(Some(doc))).boxed(),
            None => self.readers.with(move |db| reader::doc(db, key)).boxed(),
        }
    }

    fn docs(&self, view: ViewKind) -> BoxFuture<'_, Result<Vec<ViewDocument>, StoreError>> {
        let hot = self.shared.hot.waiting(view);
        self.readers.with(move |db| Ok(newest(reader::docs(db, view)?, hot))).boxed()
    }

    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>> {
        async move {
            append::check_blob(&bytes)?;
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let hash = hash_chain::digest(&bytes);
            self.ask(|reply| Request::Blob(hash, bytes, reply)).await?;
            Ok(BlobRef { hash, size })
        }
        .boxed()
    }

    fn blob(&self, hash: Hash) -> BoxFuture<'_, Result<Option<Vec<u8>>, StoreError>> {
        self.readers.with(move |db| reader::blob(db, &hash)).boxed()
    }

    fn verify(&self) -> BoxFuture<'_, Result<AuditReport, StoreError>> {
        self.readers.with(verify::walk).boxed()
    }

    fn rebuild(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.ask(Request::Rebuild).boxed()
    }
}
