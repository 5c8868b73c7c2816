//! Who writes, and when.
//!
//! A thread takes whatever requests wait, has them done in one transaction and
//! answers them after the commit: many durable appends share one `fsync` (group
//! commit), and while it syncs, the next group gathers. If a group fails, each of
//! its requests is tried alone, so that one bad request cannot fail others.
//!
//! Appends that need not wait for the disk are gathered and written by one of those
//! who brought them: waking the thread and being woken by it would cost several
//! times what the commit does. See [`GroupCommitWriter::write_batched`].

use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::document_cache::DocumentCache;
use super::log_writer::LogWriter;
use super::write_request::{WriteReplies, WriteReply, WriteRequest};
use crate::recent_events::RecentEvents;
use crate::{Clock, Durability, StoreError};
use provost_proto::Seq;

/// Requests done in one transaction, at most.
const MAX_GROUP_REQUESTS: usize = 256;

/// What the writer shares with those who ask it.
#[derive(Debug, Clone, Default)]
pub(super) struct WriterSharedState {
    pub(super) recent: Arc<RecentEvents>,
    pub(super) hot: Arc<DocumentCache>,
    /// Where those who append run, if that is a runtime with threads of its own.
    pub(super) runtime: Arc<OnceLock<Handle>>,
    /// Why the log could not be written, from then until it could again.
    pub(super) failure: Arc<Mutex<Option<StoreError>>>,
}

impl WriterSharedState {
    /// Notes whether the log can be written.
    fn set_failure(&self, failure: Option<StoreError>) {
        *self.failure.lock() = failure;
    }
}

/// What the thread is sent.
#[derive(Debug)]
pub(super) enum WriterMessage {
    /// Something to do.
    Request(WriteRequest),
    /// Those who gathered appends leave them to the thread.
    FlushBatched,
}

/// The writer, for the thread and for whoever may write in its place.
#[derive(Clone)]
pub(super) struct GroupCommitWriter {
    /// `None` when the log was closed. Locked before `gathered`.
    writer: Arc<Mutex<Option<LogWriter>>>,
    /// Appends that wait for one of those who brought them, in their order.
    gathered: Arc<Mutex<Vec<WriteRequest>>>,
    /// Requests that were sent to the thread, or that it has taken, and that are not
    /// committed.
    sent: Arc<AtomicUsize>,
    shared: WriterSharedState,
}

/// Who is to write what was gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handoff {
    /// Nobody: it is written, or whoever writes now looks again.
    None,
    /// The thread.
    WriterThread,
}

impl fmt::Debug for GroupCommitWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pen").field("sent", &self.sent).finish_non_exhaustive()
    }
}

/// Starts the thread. It ends when the last sender is gone.
pub(super) fn start_writer(
    db: Connection,
    path: &Path,
    clock: Clock,
    shared: WriterSharedState,
    messages: mpsc::Receiver<WriterMessage>,
) -> Result<(GroupCommitWriter, JoinHandle<()>, watch::Receiver<Seq>), StoreError> {
    let (writer, head) = LogWriter::open(db, path, clock, &shared)?;
    let pen = GroupCommitWriter {
        writer: Arc::new(Mutex::new(Some(writer))),
        gathered: Arc::default(),
        sent: Arc::default(),
        shared,
    };
    let work = pen.clone();
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || work.run_thread(messages))
        .map_err(|error| StoreError::io("the log's thread", &error))?;
    Ok((pen, thread, head))
}

impl GroupCommitWriter {
    /// A request is about to be sent to the thread.
    pub(super) fn register_sent(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes an append that need not wait for the disk; whoever brings it sees to it that
    /// it is written. Gives it back if the thread must have it: what a caller sent there
    /// before comes first.
    pub(super) fn try_batch(&self, request: WriteRequest) -> Result<(), WriteRequest> {
        let mut gathered = self.lock_batched();
        if request.durability() == Durability::Buffered
            && self.sent.load(Ordering::Acquire) == 0
            && gathered.len() < MAX_GROUP_REQUESTS
        {
            gathered.push(request);
            return Ok(());
        }
        Err(request)
    }

    /// Writes what was gathered, here and now, if that waits for nobody: neither for
    /// another who writes, nor for a program that has locked the file.
    pub(super) fn write_batched(&self) -> Handoff {
        loop {
            // Whoever holds the writer checks for new appends after releasing it.
            let Some(mut held) = self.writer.try_lock() else { return Handoff::None };
            let Some(writer) = held.as_mut() else { return Handoff::WriterThread };
            let mut group = std::mem::take(&mut *self.lock_batched());
            let committed = if group.is_empty() {
                Ok(Vec::new())
            } else {
                writer.commit_without_waiting(&group)
            };
            let Ok(answers) = committed else {
                // In their place before those that came meanwhile.
                let mut gathered = self.lock_batched();
                group.append(&mut gathered);
                *gathered = group;
                return Handoff::WriterThread;
            };
            if !group.is_empty() {
                self.shared.set_failure(None);
            }
            drop(held);
            drop(PendingReplies(group.into_iter().zip(answers).collect()));
            // Whoever came while we had the pen has left it to us.
            if self.lock_batched().is_empty() {
                return Handoff::None;
            }
        }
    }

    /// Nobody will write what was gathered: whoever waits for it learns that.
    pub(super) fn discard_batched(&self) {
        self.lock_batched().clear();
    }

    fn run_thread(self, mut messages: mpsc::Receiver<WriterMessage>) {
        let mut group = Vec::with_capacity(MAX_GROUP_REQUESTS);
        let mut several = false;
        while let Some(first) = messages.blocking_recv() {
            group.extend(first.into_request());
            // Where several came together, more are about to, if they are let: one
            // commit for all costs little more than one for each. Whoever is alone
            // waits for nobody.
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
            // Whoever gathered while the pen was taken has left it to us.
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

    /// Does what was gathered and all requests of the group together, or else each alone.
    fn commit_group(&self, group: &mut Vec<WriteRequest>) {
        let mut held = self.lock_writer();
        self.prepend_batched(group);
        if group.is_empty() {
            return;
        }
        let committed = self.commit_and_note(&mut held, group);
        drop(held);
        match committed {
            Ok(answers) => {
                self.sent.fetch_sub(group.len(), Ordering::AcqRel);
                self.send_replies(PendingReplies(group.drain(..).zip(answers).collect()));
            }
            // Alone, each would wait as long for the same.
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
            committed.and_then(|mut answers| answers.pop().unwrap_or(Err(StoreError::Closed)));
        let [request] = group;
        request.send_reply(answer);
    }

    /// Puts what was gathered before the group. With the writer in hand, so that nobody has
    /// taken any of it and not written it.
    fn prepend_batched(&self, group: &mut Vec<WriteRequest>) {
        let mut gathered = self.lock_batched();
        self.sent.fetch_add(gathered.len(), Ordering::AcqRel);
        gathered.append(group);
        std::mem::swap(&mut *gathered, group);
    }

    fn commit_and_note(
        &self,
        held: &mut Option<LogWriter>,
        group: &[WriteRequest],
    ) -> Result<WriteReplies, StoreError> {
        let committed = held.as_mut().ok_or(StoreError::Closed)?.commit(group);
        // Before another writes, so that what is noted last was last.
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
        self.gathered.lock()
    }

    /// The writer, when nobody else has it.
    fn lock_writer(&self) -> MutexGuard<'_, Option<LogWriter>> {
        // Of what somebody panicked in, nothing counts: what is in memory changes after
        // the commit, and the next transaction takes the open one back.
        self.writer.lock()
    }

    /// Answers a group. Waking many tasks from here would wake a sleeping thread of
    /// theirs for nearly each, so they are woken by one task among them. Only a
    /// runtime with threads of its own is sure to run it; one that ends drops it,
    /// which answers too.
    fn send_replies(&self, answers: PendingReplies) {
        if answers.0.len() > 1
            && let Some(runtime) = self.shared.runtime.get()
        {
            drop(runtime.spawn(async move { drop(answers) }));
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

/// Answers that wait to be handed out; they are when this is dropped.
struct PendingReplies(Vec<(WriteRequest, Result<WriteReply, StoreError>)>);

impl Drop for PendingReplies {
    fn drop(&mut self) {
        for (request, answer) in self.0.drain(..) {
            request.send_reply(answer);
        }
    }
}
