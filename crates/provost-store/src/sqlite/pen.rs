//! Who writes, and when.
//!
//! A thread takes whatever requests wait, has them done in one transaction and
//! answers them after the commit: many durable appends share one `fsync` (group
//! commit), and while it syncs, the next group gathers. If a group fails, each of
//! its requests is tried alone, so that one bad request cannot fail others.
//!
//! An append that is alone and need not wait for the disk is written by whoever
//! brings it: waking the thread and being woken by it would cost several times
//! what the commit does. See [`Pen::write_here`].

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::hot::Hot;
use super::request::{Answer, Answers, Request};
use super::writer::Writer;
use crate::recent::Recent;
use crate::{Appended, Clock, Durability, StoreError};
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

/// The writer, for the thread and for whoever may write in its place.
#[derive(Clone)]
pub(super) struct Pen {
    /// `None` when the log was closed.
    writer: Arc<Mutex<Option<Writer>>>,
    load: Arc<Load>,
    shared: Shared,
}

/// How much the thread has to do.
#[derive(Debug, Default)]
struct Load {
    /// Requests that were sent to the thread and are not committed.
    sent: AtomicUsize,
    /// Whether the thread's last group was more than one.
    several: AtomicBool,
}

impl fmt::Debug for Pen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pen").field("load", &self.load).finish_non_exhaustive()
    }
}

/// Starts the thread. It ends when the last sender is gone.
pub(super) fn start(
    db: Connection,
    path: &Path,
    clock: Clock,
    shared: Shared,
    requests: mpsc::Receiver<Request>,
) -> Result<(Pen, JoinHandle<()>, watch::Receiver<Seq>), StoreError> {
    let (writer, head) = Writer::open(db, path, clock, &shared)?;
    let pen = Pen { writer: Arc::new(Mutex::new(Some(writer))), load: Arc::default(), shared };
    let work = pen.clone();
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || work.run(requests))
        .map_err(|error| StoreError::io("the log's thread", &error))?;
    Ok((pen, thread, head))
}

impl Pen {
    /// A request is about to be sent to the thread.
    pub(super) fn sending(&self) {
        self.load.sent.fetch_add(1, Ordering::AcqRel);
    }

    /// Does an append here and now, if it can wait for nobody and nothing: no other
    /// writes or has sent something to the thread, which keeps the order of appends
    /// that one caller sends one after the other; the last ones came alone, so that
    /// no group is torn apart; neither the append nor what is due with it needs the
    /// disk. Else, and if it fails, the thread has to do it.
    pub(super) fn write_here(&self, request: &Request) -> Option<Result<Appended, StoreError>> {
        if request.durability() != Durability::Process
            || self.load.sent.load(Ordering::Acquire) > 0
            || self.load.several.load(Ordering::Relaxed)
        {
            return None;
        }
        let mut held = match self.writer.try_lock() {
            Ok(held) => held,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return None,
        };
        let writer = held.as_mut().filter(|writer| !writer.is_due())?;
        let answer = writer.commit_at_once(std::slice::from_ref(request)).ok()?.pop()?;
        self.shared.note(None);
        drop(held);
        match answer {
            Ok(Answer::Appended(appended)) => Some(Ok(appended)),
            Ok(Answer::Done) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn run(self, mut requests: mpsc::Receiver<Request>) {
        let mut group = Vec::with_capacity(GROUP);
        while let Some(first) = requests.blocking_recv() {
            group.push(first);
            // Where several came together, more are about to, if they are let: one
            // commit for all costs little more than one for each. Whoever is alone
            // waits for nobody.
            if self.load.several.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            while group.len() < GROUP
                && let Ok(next) = requests.try_recv()
            {
                group.push(next);
            }
            self.load.several.store(group.len() > 1, Ordering::Relaxed);
            self.serve(&mut group);
        }
        let writer = self.held().take();
        if let Some(writer) = writer {
            writer.close();
        }
    }

    /// Does all requests of the group together, or else each alone.
    fn serve(&self, group: &mut Vec<Request>) {
        let committed = self.commit(group);
        match committed {
            Ok(answers) => {
                self.load.sent.fetch_sub(group.len(), Ordering::AcqRel);
                self.hand_out(HandOut(group.drain(..).zip(answers).collect()));
            }
            Err(error) if group.len() == 1 => {
                self.load.sent.fetch_sub(1, Ordering::AcqRel);
                tracing::warn!(%error, "the log could not be written");
                group.drain(..).for_each(|request| request.answer(Err(error.clone())));
            }
            Err(_) => {
                for request in group.drain(..) {
                    self.serve(&mut vec![request]);
                }
            }
        }
    }

    fn commit(&self, group: &[Request]) -> Result<Answers, StoreError> {
        let mut held = self.held();
        let committed = held.as_mut().ok_or(StoreError::Closed)?.commit(group);
        // Before another writes, so that what is noted last was last.
        match &committed {
            Ok(_) => self.shared.note(None),
            Err(error) if group.len() == 1 => self.shared.note(Some(error.clone())),
            Err(_) => {}
        }
        committed
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

/// Answers that wait to be handed out; they are when this is dropped.
struct HandOut(Vec<(Request, Result<Answer, StoreError>)>);

impl Drop for HandOut {
    fn drop(&mut self) {
        for (request, answer) in self.0.drain(..) {
            request.answer(answer);
        }
    }
}
