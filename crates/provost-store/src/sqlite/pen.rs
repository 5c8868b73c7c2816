//! Who writes, and when.
//!
//! A thread takes whatever requests wait, has them done in one transaction and
//! answers them after the commit: many durable appends share one `fsync` (group
//! commit), and while it syncs, the next group gathers. If a group fails, each of
//! its requests is tried alone, so that one bad request cannot fail others.
//!
//! Appends that need not wait for the disk are gathered and written by one of those
//! who brought them: waking the thread and being woken by it would cost several
//! times what the commit does. See [`Pen::write_gathered`].

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::hot::Hot;
use super::request::{Answer, Answers, Request};
use super::writer::Writer;
use crate::recent::Recent;
use crate::{Clock, Durability, StoreError};
use provost_proto::Seq;

/// Requests done in one transaction, at most.
const GROUP: usize = 256;

/// What the writer shares with those who ask it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    pub(super) recent: Arc<Recent>,
    pub(super) hot: Arc<Hot>,
    /// Where those who append run, if that is a runtime with threads of its own.
    pub(super) runtime: Arc<OnceLock<Handle>>,
    /// Why the log could not be written, from then until it could again.
    pub(super) failure: Arc<Mutex<Option<StoreError>>>,
}

impl Shared {
    /// Notes whether the log can be written.
    fn note(&self, failure: Option<StoreError>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

/// What the thread is sent.
#[derive(Debug)]
pub(super) enum Message {
    /// Something to do.
    Do(Request),
    /// Those who gathered appends leave them to the thread.
    Gathered,
}

/// The writer, for the thread and for whoever may write in its place.
#[derive(Clone)]
pub(super) struct Pen {
    /// `None` when the log was closed. Locked before `gathered`.
    writer: Arc<Mutex<Option<Writer>>>,
    /// Appends that wait for one of those who brought them, in their order.
    gathered: Arc<Mutex<Vec<Request>>>,
    /// Requests that were sent to the thread, or that it has taken, and that are not
    /// committed.
    sent: Arc<AtomicUsize>,
    shared: Shared,
}

/// Who is to write what was gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Nobody: it is written, or whoever writes now looks again.
    ToNobody,
    /// The thread.
    ToThread,
}

impl fmt::Debug for Pen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pen").field("sent", &self.sent).finish_non_exhaustive()
    }
}

/// Starts the thread. It ends when the last sender is gone.
pub(super) fn start(
    db: Connection,
    path: &Path,
    clock: Clock,
    shared: Shared,
    messages: mpsc::Receiver<Message>,
) -> Result<(Pen, JoinHandle<()>, watch::Receiver<Seq>), StoreError> {
    let (writer, head) = Writer::open(db, path, clock, &shared)?;
    let pen = Pen {
        writer: Arc::new(Mutex::new(Some(writer))),
        gathered: Arc::default(),
        sent: Arc::default(),
        shared,
    };
    let work = pen.clone();
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || work.run(messages))
        .map_err(|error| StoreError::io("the log's thread", &error))?;
    Ok((pen, thread, head))
}

impl Pen {
    /// A request is about to be sent to the thread.
    pub(super) fn sending(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
    }

    /// Takes an append that need not wait for the disk; whoever brings it sees to it that
    /// it is written. Gives it back if the thread must have it: what a caller sent there
    /// before comes first.
    pub(super) fn gather(&self, request: Request) -> Result<(), Request> {
        let mut gathered = self.gathered();
        if request.durability() == Durability::Process
            && self.sent.load(Ordering::Acquire) == 0
            && gathered.len() < GROUP
        {
            gathered.push(request);
            return Ok(());
        }
        Err(request)
    }

    /// Writes what was gathered, here and now, if that waits for nobody: neither for
    /// another who writes, nor for a program that has locked the file.
    pub(super) fn write_gathered(&self) -> Left {
        loop {
            let mut held = match self.writer.try_lock() {
                Ok(held) => held,
                // They look again when they have let it go.
                Err(TryLockError::WouldBlock) => return Left::ToNobody,
                Err(TryLockError::Poisoned(_)) => return Left::ToThread,
            };
            let Some(writer) = held.as_mut() else { return Left::ToThread };
            let mut group = std::mem::take(&mut *self.gathered());
            let committed =
                if group.is_empty() { Ok(Vec::new()) } else { writer.commit_at_once(&group) };
            let Ok(answers) = committed else {
                // In their place before those that came meanwhile.
                let mut gathered = self.gathered();
                group.append(&mut gathered);
                *gathered = group;
                return Left::ToThread;
            };
            if !group.is_empty() {
                self.shared.note(None);
            }
            drop(held);
            drop(HandOut(group.into_iter().zip(answers).collect()));
            // Whoever came while we had the pen has left it to us.
            if self.gathered().is_empty() {
                return Left::ToNobody;
            }
        }
    }

    /// Nobody will write what was gathered: whoever waits for it learns that.
    pub(super) fn give_up(&self) {
        self.gathered().clear();
    }

    fn run(self, mut messages: mpsc::Receiver<Message>) {
        let mut group = Vec::with_capacity(GROUP);
        let mut several = false;
        while let Some(first) = messages.blocking_recv() {
            group.extend(first.request());
            // Where several came together, more are about to, if they are let: one
            // commit for all costs little more than one for each. Whoever is alone
            // waits for nobody.
            if several {
                thread::yield_now();
            }
            while group.len() < GROUP
                && let Ok(next) = messages.try_recv()
            {
                group.extend(next.request());
            }
            several = group.len() > 1;
            self.serve(&mut group);
            // Whoever gathered while the pen was taken has left it to us.
            while !self.gathered().is_empty() {
                self.serve(&mut group);
            }
        }
        self.serve(&mut group);
        let writer = self.held().take();
        if let Some(writer) = writer {
            writer.close();
        }
    }

    /// Does what was gathered and all requests of the group together, or else each alone.
    fn serve(&self, group: &mut Vec<Request>) {
        let mut held = self.held();
        self.collect(group);
        if group.is_empty() {
            return;
        }
        let committed = self.commit(&mut held, group);
        drop(held);
        match committed {
            Ok(answers) => {
                self.sent.fetch_sub(group.len(), Ordering::AcqRel);
                self.hand_out(HandOut(group.drain(..).zip(answers).collect()));
            }
            // Alone, each would wait as long for the same.
            Err(error) if group.len() == 1 || matches!(error, StoreError::Locked) => {
                self.sent.fetch_sub(group.len(), Ordering::AcqRel);
                tracing::warn!(%error, "the log could not be written");
                group.drain(..).for_each(|request| request.answer(Err(error.clone())));
            }
            Err(_) => {
                for request in std::mem::take(group) {
                    self.serve_alone(request);
                }
            }
        }
    }

    fn serve_alone(&self, request: Request) {
        let group = [request];
        let committed = self.commit(&mut self.held(), &group);
        self.sent.fetch_sub(1, Ordering::AcqRel);
        if let Err(error) = &committed {
            tracing::warn!(%error, "the log could not be written");
        }
        let answer =
            committed.and_then(|mut answers| answers.pop().unwrap_or(Err(StoreError::Closed)));
        let [request] = group;
        request.answer(answer);
    }

    /// Puts what was gathered before the group. With the writer in hand, so that nobody has
    /// taken any of it and not written it.
    fn collect(&self, group: &mut Vec<Request>) {
        let mut gathered = self.gathered();
        self.sent.fetch_add(gathered.len(), Ordering::AcqRel);
        gathered.append(group);
        std::mem::swap(&mut *gathered, group);
    }

    fn commit(&self, held: &mut Option<Writer>, group: &[Request]) -> Result<Answers, StoreError> {
        let committed = held.as_mut().ok_or(StoreError::Closed)?.commit(group);
        // Before another writes, so that what is noted last was last.
        match &committed {
            Ok(_) => self.shared.note(None),
            Err(error) if group.len() == 1 || matches!(error, StoreError::Locked) => {
                self.shared.note(Some(error.clone()));
            }
            Err(_) => {}
        }
        committed
    }

    fn gathered(&self) -> MutexGuard<'_, Vec<Request>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, when nobody else has it.
    fn held(&self) -> MutexGuard<'_, Option<Writer>> {
        // Of what somebody panicked in, nothing counts: what is in memory changes after
        // the commit, and the next transaction takes the open one back.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a group. Waking many tasks from here would wake a sleeping thread of
    /// theirs for nearly each, so they are woken by one task among them. Only a
    /// runtime with threads of its own is sure to run it; one that ends drops it,
    /// which answers too.
    fn hand_out(&self, answers: HandOut) {
        if answers.0.len() > 1
            && let Some(runtime) = self.shared.runtime.get()
        {
            drop(runtime.spawn(async move { drop(answers) }));
        }
    }
}

impl Message {
    fn request(self) -> Option<Request> {
        match self {
            Self::Do(request) => Some(request),
            Self::Gathered => None,
        }
    }
}

/// Answers that wait to be handed out; they are when this is dropped.
struct HandOut(Vec<(Request, Result<Answer, StoreError>)>);

impl Drop for HandOut {
    fn drop(&mut self) {
        for (request, answer) in self.0.drain(..) {
            request.answer(answer);
        }
    }
}
