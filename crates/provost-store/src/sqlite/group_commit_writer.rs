//! Schedules writes.
//!
//! A thread takes all waiting requests, executes them in one transaction and answers them after
//! the commit: many durable appends share one `fsync` (group commit), and while it syncs, the
//! next group collects. If a group fails, each of its requests is tried alone, so that one bad
//! request cannot fail others.
//!
//! Buffered appends are collected in a batch and written by one of the appending tasks: waking
//! the thread and being woken by it would cost several times the commit. See
//! [`GroupCommitWriter::write_batched`].

use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::document_cache::DocumentCache;
use super::head_file::HeadFile;
use super::log_writer::LogWriter;
use super::segment::SegmentSet;
use super::write_request::{WriteReplies, WriteReply, WriteRequest};
use crate::recent_events::RecentEvents;
use crate::{Clock, Durability, StoreError};
use provost_proto::LogCursor;

/// The most requests in one transaction.
const MAX_GROUP_REQUESTS: usize = 256;

/// State that the writer shares with its clients.
#[derive(Debug, Clone)]
pub(super) struct WriterSharedState {
    pub(super) recent: Arc<RecentEvents>,
    pub(super) cache: Arc<DocumentCache>,
    /// The runtime of the appending tasks, if it is multi-threaded.
    pub(super) runtime: Arc<OnceLock<Handle>>,
    /// The last write error, until a write succeeds.
    pub(super) failure: Arc<Mutex<Option<StoreError>>>,
    /// The damage that was found: nothing is written to a damaged database.
    damage: Arc<OnceLock<StoreError>>,
    /// The files that older events are in.
    pub(super) segments: Arc<SegmentSet>,
    /// How many pages of the database hold nothing.
    pub(super) free_pages: Arc<AtomicU64>,
}

impl WriterSharedState {
    pub(super) fn new(segments: Arc<SegmentSet>) -> Self {
        Self {
            recent: Arc::default(),
            cache: Arc::default(),
            runtime: Arc::default(),
            failure: Arc::default(),
            damage: Arc::default(),
            segments,
            free_pages: Arc::default(),
        }
    }

    /// Stops writes if an error shows that the database is damaged.
    pub(super) fn note_damage(&self, error: &StoreError) {
        if let StoreError::Damaged(why) = error
            && self.damage.get().is_none()
        {
            tracing::error!(%error, "the log is damaged; nothing more is written to it");
            let stopped =
                StoreError::Damaged(format!("nothing more is written to it, because {why}"));
            self.set_failure(Some(stopped.clone()));
            // Another thread may have set it first, which is equivalent.
            drop(self.damage.set(stopped));
        }
    }

    /// The error with which writes are refused after damage was found.
    pub(super) fn check_undamaged(&self) -> Result<(), StoreError> {
        self.damage.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Records whether the log can be written.
    fn set_failure(&self, failure: Option<StoreError>) {
        *self.failure.lock() = failure;
    }
}

/// A message to the thread.
#[derive(Debug)]
pub(super) enum WriterMessage {
    /// A request.
    Request(WriteRequest),
    /// The batched appends are left to the thread.
    FlushBatched,
}

/// The writer, for the thread and for tasks that write in its place.
#[derive(Clone)]
pub(super) struct GroupCommitWriter {
    /// `None` after the log was closed. Locked before `batched`.
    writer: Arc<Mutex<Option<LogWriter>>>,
    /// Batched appends, in order.
    batched: Arc<Mutex<Vec<WriteRequest>>>,
    /// Requests that were sent to the thread and are not committed yet.
    sent: Arc<AtomicUsize>,
    shared: WriterSharedState,
}

/// Who has to write the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextBatchWriter {
    /// Nobody: it is written, or the current writer checks again.
    None,
    /// The thread.
    WriterThread,
}

impl fmt::Debug for GroupCommitWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCommitWriter").field("sent", &self.sent).finish_non_exhaustive()
    }
}

/// The parts of a writer that was started.
pub(super) struct StartedWriter {
    pub(super) writer: GroupCommitWriter,
    pub(super) thread: JoinHandle<()>,
    pub(super) head: watch::Receiver<LogCursor>,
    pub(super) head_file: HeadFile,
}

/// Starts the thread. It ends when the last sender is dropped.
pub(super) fn start_writer(
    db: Connection,
    path: &Path,
    clock: Clock,
    shared: WriterSharedState,
    messages: mpsc::Receiver<WriterMessage>,
) -> Result<StartedWriter, StoreError> {
    let (writer, head) = LogWriter::open(db, path, clock, &shared)?;
    let head_file = writer.head_file();
    let writer = GroupCommitWriter {
        writer: Arc::new(Mutex::new(Some(writer))),
        batched: Arc::default(),
        sent: Arc::default(),
        shared,
    };
    let work = writer.clone();
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || work.run_thread(messages))
        .map_err(|error| StoreError::io("the log's thread", &error))?;
    Ok(StartedWriter { writer, thread, head, head_file })
}

impl GroupCommitWriter {
    /// Counts a request that is about to be sent to the thread.
    pub(super) fn register_sent(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
    }

    /// Adds a buffered append to the batch; the caller then has to write it. Returns the request
    /// if the thread must execute it, because the caller's earlier requests come first.
    pub(super) fn try_batch(&self, request: WriteRequest) -> Result<(), WriteRequest> {
        let mut batched = self.lock_batched();
        if request.durability() == Durability::Buffered
            && self.sent.load(Ordering::Acquire) == 0
            && batched.len() < MAX_GROUP_REQUESTS
        {
            batched.push(request);
            return Ok(());
        }
        Err(request)
    }

    /// Writes the batch immediately, unless that has to wait for another writer or for a program
    /// that has locked the file.
    pub(super) fn write_batched(&self) -> NextBatchWriter {
        loop {
            // Whoever holds the writer checks for new appends after releasing it.
            let Some(mut held) = self.writer.try_lock() else { return NextBatchWriter::None };
            let Some(writer) = held.as_mut() else { return NextBatchWriter::WriterThread };
            let mut group = std::mem::take(&mut *self.lock_batched());
            let committed = if group.is_empty() {
                Ok(Vec::new())
            } else if let Err(error) = self.shared.check_undamaged() {
                Err(error)
            } else {
                writer.commit_without_waiting(&group)
            };
            let Ok(replies) = committed else {
                // Before those that were added meanwhile.
                let mut batched = self.lock_batched();
                group.append(&mut batched);
                *batched = group;
                return NextBatchWriter::WriterThread;
            };
            if !group.is_empty() {
                self.shared.set_failure(None);
            }
            drop(held);
            drop(PendingReplies(group.into_iter().zip(replies).collect()));
            // Appends that were added while we held the writer are ours to write.
            if self.lock_batched().is_empty() {
                return NextBatchWriter::None;
            }
        }
    }

    /// Nobody will write the batch: its futures complete with an error.
    pub(super) fn discard_batched(&self) {
        self.lock_batched().clear();
    }

    fn run_thread(self, mut messages: mpsc::Receiver<WriterMessage>) {
        let mut group = Vec::with_capacity(MAX_GROUP_REQUESTS);
        let mut several = false;
        while let Some(first) = messages.blocking_recv() {
            group.extend(first.into_request());
            // If several requests came together, more will probably follow: one commit for all
            // costs little more than one for each. A single request does not wait.
            if several {
                thread::yield_now();
            }
            while group.len() < MAX_GROUP_REQUESTS
                && let Ok(next) = messages.try_recv()
            {
                group.extend(next.into_request());
            }
            several = group.len() > 1;
            self.commit_group(&mut group);
            // Appends that were added while the writer was held are ours to write.
            while !self.lock_batched().is_empty() {
                self.commit_group(&mut group);
            }
        }
        self.commit_group(&mut group);
        let writer = self.lock_writer().take();
        if let Some(writer) = writer {
            writer.close();
        }
    }

    /// Executes the batch and all requests of the group together, or else each alone.
    fn commit_group(&self, group: &mut Vec<WriteRequest>) {
        let mut held = self.lock_writer();
        self.prepend_batched(group);
        if group.is_empty() {
            return;
        }
        let committed = self.commit_and_note(&mut held, group);
        drop(held);
        match committed {
            Ok(replies) => {
                self.sent.fetch_sub(group.len(), Ordering::AcqRel);
                self.send_replies(PendingReplies(group.drain(..).zip(replies).collect()));
            }
            // Alone, each would wait just as long for the lock.
            Err(error) if group.len() == 1 || matches!(error, StoreError::Locked) => {
                self.sent.fetch_sub(group.len(), Ordering::AcqRel);
                tracing::warn!(%error, "the log could not be written");
                group.drain(..).for_each(|request| request.send_reply(Err(error.clone())));
            }
            Err(_) => {
                for request in std::mem::take(group) {
                    self.commit_single(request);
                }
            }
        }
    }

    fn commit_single(&self, request: WriteRequest) {
        let group = [request];
        let committed = self.commit_and_note(&mut self.lock_writer(), &group);
        self.sent.fetch_sub(1, Ordering::AcqRel);
        if let Err(error) = &committed {
            tracing::warn!(%error, "the log could not be written");
        }
        let answer =
            committed.and_then(|mut replies| replies.pop().unwrap_or(Err(StoreError::Closed)));
        let [request] = group;
        request.send_reply(answer);
    }

    /// Puts the batch before the group. Holding the writer ensures that nobody has taken a part
    /// of it without writing it.
    fn prepend_batched(&self, group: &mut Vec<WriteRequest>) {
        let mut batched = self.lock_batched();
        self.sent.fetch_add(batched.len(), Ordering::AcqRel);
        batched.append(group);
        std::mem::swap(&mut *batched, group);
    }

    fn commit_and_note(
        &self,
        held: &mut Option<LogWriter>,
        group: &[WriteRequest],
    ) -> Result<WriteReplies, StoreError> {
        self.shared.check_undamaged()?;
        let committed = held.as_mut().ok_or(StoreError::Closed)?.commit(group);
        if let Err(error) = &committed {
            self.shared.note_damage(error);
        }
        // Before the writer is released, so that the last result wins.
        match &committed {
            Ok(_) => self.shared.set_failure(None),
            Err(error) if group.len() == 1 || matches!(error, StoreError::Locked) => {
                self.shared.set_failure(Some(error.clone()));
            }
            Err(_) => {}
        }
        committed
    }

    fn lock_batched(&self) -> MutexGuard<'_, Vec<WriteRequest>> {
        self.batched.lock()
    }

    /// Locks the writer.
    fn lock_writer(&self) -> MutexGuard<'_, Option<LogWriter>> {
        // A panic leaves nothing behind: memory changes after the commit, and the next
        // transaction rolls back the open one.
        self.writer.lock()
    }

    /// Answers a group. Waking many tasks from here would wake a sleeping worker thread for
    /// nearly each, so one task in the runtime wakes them. Only a multi-threaded runtime is sure
    /// to run it; a runtime that ends drops it, which answers too.
    fn send_replies(&self, replies: PendingReplies) {
        if replies.0.len() > 1
            && let Some(runtime) = self.shared.runtime.get()
        {
            drop(runtime.spawn(async move { drop(replies) }));
        }
    }
}

impl WriterMessage {
    fn into_request(self) -> Option<WriteRequest> {
        match self {
            Self::Request(request) => Some(request),
            Self::FlushBatched => None,
        }
    }
}

/// Replies that are sent when this is dropped.
struct PendingReplies(Vec<(WriteRequest, Result<WriteReply, StoreError>)>);

impl Drop for PendingReplies {
    fn drop(&mut self) {
        for (request, answer) in self.0.drain(..) {
            request.send_reply(answer);
        }
    }
}
