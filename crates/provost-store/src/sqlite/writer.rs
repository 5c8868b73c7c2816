//! The one writer.
//!
//! It takes whatever requests wait, does them in one transaction and answers
//! them after the commit: many durable appends share one `fsync` (group
//! commit), and while it syncs, the next group gathers. If a group fails, each
//! of its requests is tried alone, so that one bad request cannot fail others.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use provost_core::fold::{Doc, Key};
use provost_proto::{Actor, Hash, Principal, Seq, Stream, Version};
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use super::batch::{Batch, State, Written, set_folded};
use super::checkpoint::Checkpoints;
use super::hot::Hot;
use crate::append::Prepared;
use crate::recent::Recent;
use crate::{Appended, Clock, Durability, Idempotency, StoreError};

/// Requests done in one transaction, at most.
const GROUP: usize = 256;

/// Events whose documents may wait to be written: as many must be folded after a crash.
const UNFOLDED: u64 = 8192;

/// Where an answer goes.
type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// The answer to an append. The job goes back with it, to be dropped by whoever
/// made it: memory is cheapest to free where it was taken, and the one writer has
/// less to do.
#[derive(Debug)]
pub(super) struct Receipt {
    pub(super) result: Result<Appended, StoreError>,
    pub(super) _job: Box<Job>,
}

/// What can be asked of the writer.
#[derive(Debug)]
pub(super) enum Request {
    Append(Box<Job>, oneshot::Sender<Receipt>),
    Blob(Hash, Vec<u8>, Reply<()>),
    Rebuild(Reply<()>),
}

/// An append, prepared.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) principal: Principal,
    pub(super) actor: Actor,
    pub(super) command: Option<Idempotency>,
    pub(super) expect: Vec<(Stream, Version)>,
    pub(super) unchanged: Vec<(Key, Doc)>,
    pub(super) durability: Durability,
    pub(super) events: Vec<Prepared>,
}

impl Request {
    fn durability(&self) -> Durability {
        match self {
            Self::Append(job, _) => job.durability,
            Self::Blob(..) | Self::Rebuild(_) => Durability::Power,
        }
    }

    fn answer(self, answer: Result<Answer, StoreError>) {
        // Whoever no longer waits for the answer does not need it.
        match (self, answer) {
            (Self::Append(job, reply), Ok(Answer::Appended(appended))) => {
                drop(reply.send(Receipt { result: Ok(appended), _job: job }));
            }
            (Self::Append(job, reply), Err(error)) => {
                drop(reply.send(Receipt { result: Err(error), _job: job }));
            }
            (Self::Blob(_, _, reply) | Self::Rebuild(reply), Ok(Answer::Done)) => {
                drop(reply.send(Ok(())));
            }
            (Self::Blob(_, _, reply) | Self::Rebuild(reply), Err(error)) => {
                drop(reply.send(Err(error)));
            }
            // Answers are made beside their requests, so this pair cannot come about;
            // dropping the request tells its sender that the log is closed.
            (Self::Append(..), Ok(Answer::Done))
            | (Self::Blob(..) | Self::Rebuild(_), Ok(Answer::Appended(_))) => {}
        }
    }
}

/// An answer that waits for the commit.
enum Answer {
    Appended(Appended),
    Done,
}

/// The answers to a group of requests, in their order.
type Answers = Vec<Result<Answer, StoreError>>;

struct Writer {
    db: Connection,
    clock: Clock,
    state: State,
    hot: Arc<Hot>,
    /// Up to which event the documents on disk go.
    folded: Seq,
    recent: Arc<Recent>,
    head: watch::Sender<Seq>,
    synchronous: Durability,
    checkpoints: Checkpoints,
    runtime: Arc<OnceLock<Handle>>,
    failure: Arc<Mutex<Option<StoreError>>>,
}

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

/// Starts the writer. It ends when the last sender is gone.
pub(super) fn start(
    db: Connection,
    path: &Path,
    clock: Clock,
    shared: Shared,
    requests: mpsc::Receiver<Request>,
) -> Result<(JoinHandle<()>, watch::Receiver<Seq>), StoreError> {
    db.pragma_update(None, "synchronous", "FULL")?;
    let state = State::load(&db, &clock)?;
    let (head, follow) = watch::channel(state.seq);
    let Shared { recent, hot, runtime, failure } = shared;
    let checkpoints = Checkpoints::start(path)?;
    let (folded, synchronous) = (state.seq, Durability::Power);
    let mut writer = Writer {
        db,
        clock,
        state,
        hot,
        folded,
        recent,
        head,
        synchronous,
        checkpoints,
        runtime,
        failure,
    };
    writer.catch_up()?;
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || writer.run(requests))
        .map_err(|error| StoreError::io("the log's thread", &error))?;
    Ok((thread, follow))
}

impl Writer {
    fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut group = Vec::with_capacity(GROUP);
        let mut several = false;
        while let Some(first) = requests.blocking_recv() {
            group.push(first);
            // Where several came together, more are about to, if they are let: one
            // commit for all costs little more than one for each. Whoever is alone
            // waits for nobody.
            if several {
                thread::yield_now();
            }
            while group.len() < GROUP
                && let Ok(next) = requests.try_recv()
            {
                group.push(next);
            }
            several = group.len() > 1;
            self.serve(&mut group);
        }
        if let Err(error) = self.transaction(Self::write_docs) {
            tracing::debug!(%error, "the log was closed without its newest documents");
        }
        // The last connection to close clears the WAL away; that is this one.
        drop(self.checkpoints);
        if let Err(error) = self.db.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())) {
            tracing::debug!(%error, "the log was closed without a checkpoint");
        }
    }

    /// Does all requests of the group together, or else each alone.
    fn serve(&mut self, group: &mut Vec<Request>) {
        match self.commit(group) {
            Ok(answers) => {
                self.note(None);
                self.hand_out(HandOut(group.drain(..).zip(answers).collect()));
            }
            Err(error) if group.len() == 1 => {
                tracing::warn!(%error, "the log could not be written");
                self.note(Some(error.clone()));
                group.drain(..).for_each(|request| request.answer(Err(error.clone())));
            }
            Err(_) => {
                for request in group.drain(..) {
                    self.serve(&mut vec![request]);
                }
            }
        }
    }

    /// Notes whether the log can be written.
    fn note(&self, failure: Option<StoreError>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Answers a group. Waking many tasks from here would wake a sleeping thread of
    /// theirs for nearly each, so they are woken by one task among them. Only a
    /// runtime with threads of its own is sure to run it; one that ends drops it,
    /// which answers too.
    fn hand_out(&self, answers: HandOut) {
        if answers.0.len() > 1
            && let Some(runtime) = self.runtime.get()
        {
            drop(runtime.spawn(async move { drop(answers) }));
        }
    }

    /// One transaction. On an error nothing of it has happened.
    fn commit(&mut self, group: &[Request]) -> Result<Answers, StoreError> {
        let durability = group.iter().map(Request::durability).max().unwrap_or(Durability::Power);
        self.set_synchronous(durability)?;
        let due = self.hot.is_full() || self.state.seq.saturating_sub(self.folded) >= UNFOLDED;
        let (written, answers) = self.transaction(|writer| {
            if due {
                writer.write_docs()?;
            }
            writer.fill(group)
        })?;
        if due {
            self.hot.written();
            self.folded = self.state.seq;
        }
        self.checkpoints.committed(written.bytes());
        let fresh = self.state.advance(written, &self.hot);
        self.recent.push(fresh);
        self.head
            .send_if_modified(|head| std::mem::replace(head, self.state.seq) != self.state.seq);
        Ok(answers)
    }

    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = work(self).and_then(|done| {
            self.db.prepare_cached("COMMIT")?.execute([])?;
            Ok(done)
        });
        // Some errors have ended it already.
        if done.is_err() && !self.db.is_autocommit() {
            self.db.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Writes the documents that wait, as they are at the end of the log.
    fn write_docs(&mut self) -> Result<(), StoreError> {
        self.hot.write(&self.db)?;
        set_folded(&self.db, self.state.seq)
    }

    /// Folds what was appended before a crash and whose documents were not written.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        let folded: Seq = self.db.query_row("SELECT folded FROM reached", [], |row| row.get(0))?;
        if folded >= self.state.seq {
            return Ok(());
        }
        self.transaction(|writer| {
            let mut batch = Batch::new(&writer.db, &writer.state, &writer.hot, &writer.clock)?;
            match batch.refold(folded) {
                // A document cannot be read; the log can.
                Err(StoreError::View { .. }) => batch.rebuild(),
                done => done,
            }
        })
    }

    /// Does the requests in the transaction that was begun.
    fn fill(&self, group: &[Request]) -> Result<(Written, Answers), StoreError> {
        let mut batch = Batch::new(&self.db, &self.state, &self.hot, &self.clock)?;
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let answer = match request {
                Request::Append(job, _) => batch.append(job).map(Answer::Appended),
                Request::Blob(hash, bytes, _) => batch.blob(hash, bytes).map(|()| Answer::Done),
                Request::Rebuild(_) => batch.rebuild().map(|()| Answer::Done),
            };
            match answer {
                // The request is at fault; it has written nothing.
                Err(
                    error @ (StoreError::Conflict { .. }
                    | StoreError::Changed { .. }
                    | StoreError::CommandReused(_)),
                ) => {
                    answers.push(Err(error));
                }
                Err(error) => return Err(error),
                Ok(answer) => answers.push(Ok(answer)),
            }
        }
        Ok((batch.finish()?, answers))
    }

    fn set_synchronous(&mut self, wanted: Durability) -> Result<(), StoreError> {
        if self.synchronous != wanted {
            let level = match wanted {
                Durability::Power => "FULL",
                Durability::Process => "NORMAL",
            };
            self.db.pragma_update(None, "synchronous", level)?;
            self.synchronous = wanted;
        }
        Ok(())
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
