//! The log in one SQLite file.
//!
//! One thread writes; see [`writer`]. Readers have connections of their own,
//! and mostly do not need them, because the newest events are in memory.

mod batch;
mod checkpoint;
mod reader;
mod schema;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use futures::FutureExt;
use futures::future::BoxFuture;
use provost_core::chain;
use provost_core::fold::{Doc, View};
use provost_proto::{AuditReport, BlobRef, Hash, Seq, Stream, Version};
use tokio::sync::{mpsc, oneshot, watch};

use crate::append::{self, Prepared};
use crate::recent::Recent;
use crate::{Append, Appended, Clock, Idempotency, Page, Recorded, Scope, Store, StoreError};
use reader::Readers;
use writer::{Job, Request};

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
    inbox: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    head: watch::Receiver<Seq>,
    recent: Arc<Recent>,
    readers: Readers,
    path: PathBuf,
}

impl Sqlite {
    /// Opens the log and starts its writer. Dropping it waits until the writer
    /// has written what it was given and closed the file.
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { path, clock } = options;
        let db = schema::open(&path)?;
        let recent = Arc::new(Recent::default());
        let (inbox, requests) = mpsc::channel(INBOX);
        let (writer, head) = writer::start(db, &path, clock, Arc::clone(&recent), requests)?;
        let readers = Readers::new(path.clone());
        Ok(Self { inbox: Some(inbox), writer: Some(writer), head, recent, readers, path })
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

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let inbox = self.inbox.as_ref().ok_or(StoreError::Closed)?;
        inbox.send(request(reply)).await.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
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
        async move {
            let Append { principal, actor, command, expect, unchanged, durability, events } =
                append;
            let events = events.into_iter().map(Prepared::new).collect::<Result<_, _>>()?;
            let job = Job { principal, actor, command, expect, unchanged, durability, events };
            self.ask(|reply| Request::Append(job, reply)).await
        }
        .boxed()
    }

    fn read(
        &self,
        scope: Scope,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'_, Result<Page, StoreError>> {
        async move {
            if let Some(page) = self.recent.read(scope, after, limit) {
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

    fn repeated(
        &self,
        principal: &str,
        command: &Idempotency,
    ) -> BoxFuture<'_, Result<Option<Vec<Arc<Recorded>>>, StoreError>> {
        let (principal, command) = (principal.to_owned(), command.clone());
        self.readers.with(move |db| reader::repeated(db, &principal, &command)).boxed()
    }

    fn version(&self, stream: Stream) -> BoxFuture<'_, Result<Version, StoreError>> {
        self.readers
            .with(move |db| Ok(reader::stream(db, stream)?.map_or(0, |(_, version)| version)))
            .boxed()
    }

    fn doc(&self, view: View, key: String) -> BoxFuture<'_, Result<Option<Doc>, StoreError>> {
        self.readers.with(move |db| reader::doc(db, view, &key)).boxed()
    }

    fn docs(&self, view: View) -> BoxFuture<'_, Result<Vec<Doc>, StoreError>> {
        self.readers
            .with(move |db| Ok(reader::docs(db, view)?.into_iter().map(|(_, doc)| doc).collect()))
            .boxed()
    }

    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobRef, StoreError>> {
        async move {
            append::check_blob(&bytes)?;
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let hash = chain::digest(&bytes);
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
