//! The one writer.
//!
//! It takes whatever requests wait, does them in one transaction and answers
//! them after the commit: many durable appends share one `fsync` (group
//! commit), and while it syncs, the next group gathers. If a group fails, each
//! of its requests is tried alone, so that one bad request cannot fail others.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use provost_core::fold::{Doc, Key};
use provost_proto::{Actor, Hash, Principal, Seq, Stream, Version};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::batch::{Batch, State};
use super::checkpoint::Checkpoints;
use crate::append::Prepared;
use crate::recent::Recent;
use crate::{Appended, Clock, Durability, Idempotency, StoreError};

/// Requests done in one transaction, at most.
const GROUP: usize = 256;

/// Where an answer goes.
type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What can be asked of the writer.
#[derive(Debug)]
pub(super) enum Request {
    Append(Job, Reply<Appended>),
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

    fn refuse(self, error: StoreError) {
        // Whoever no longer waits for the answer does not need it.
        match self {
            Self::Append(_, reply) => drop(reply.send(Err(error))),
            Self::Blob(_, _, reply) | Self::Rebuild(reply) => drop(reply.send(Err(error))),
        }
    }
}

/// An answer that waits for the commit.
enum Answer {
    Appended(Appended),
    Done,
}

struct Writer {
    db: Connection,
    clock: Clock,
    state: State,
    recent: Arc<Recent>,
    head: watch::Sender<Seq>,
    synchronous: Durability,
    checkpoints: Checkpoints,
}

/// Starts the writer. It ends when the last sender is gone.
pub(super) fn start(
    db: Connection,
    path: &Path,
    clock: Clock,
    recent: Arc<Recent>,
    requests: mpsc::Receiver<Request>,
) -> Result<(JoinHandle<()>, watch::Receiver<Seq>), StoreError> {
    db.pragma_update(None, "synchronous", "FULL")?;
    let state = State::load(&db, &clock)?;
    let (head, follow) = watch::channel(state.seq);
    let checkpoints = Checkpoints::start(path)?;
    let synchronous = Durability::Power;
    let writer = Writer { db, clock, state, recent, head, synchronous, checkpoints };
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || writer.run(requests))
        .map_err(|error| StoreError::io("the log's thread", &error))?;
    Ok((thread, follow))
}

impl Writer {
    fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut group = Vec::with_capacity(GROUP);
        while let Some(first) = requests.blocking_recv() {
            group.push(first);
            while group.len() < GROUP
                && let Ok(next) = requests.try_recv()
            {
                group.push(next);
            }
            self.serve(&mut group);
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
            Ok(answers) => answer_all(group.drain(..), answers),
            Err(error) if group.len() == 1 => {
                tracing::warn!(%error, "the log could not be written");
                group.drain(..).for_each(|request| request.refuse(error.clone()));
            }
            Err(_) => {
                for request in group.drain(..) {
                    self.serve(&mut vec![request]);
                }
            }
        }
    }

    /// One transaction. On an error nothing of it has happened.
    fn commit(&mut self, group: &[Request]) -> Result<Vec<Result<Answer, StoreError>>, StoreError> {
        let durability = group.iter().map(Request::durability).max().unwrap_or(Durability::Power);
        self.set_synchronous(durability)?;
        let step = self.db.transaction()?;
        let mut batch = Batch::new(&step, &self.state, &self.clock);
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let answer = match request {
                Request::Append(job, _) => batch.append(job).map(Answer::Appended),
                Request::Blob(hash, bytes, _) => batch.blob(hash, bytes).map(|()| Answer::Done),
                Request::Rebuild(_) => batch.rebuild().map(|()| Answer::Done),
            };
            match answer {
                // The request is at fault; it has written nothing.
                Err(error @ (StoreError::Conflict { .. } | StoreError::CommandReused(_))) => {
                    answers.push(Err(error));
                }
                Err(error) => return Err(error),
                Ok(answer) => answers.push(Ok(answer)),
            }
        }
        let written = batch.finish()?;
        step.commit()?;
        self.checkpoints.committed(written.bytes());
        let fresh = self.state.advance(written);
        self.recent.push(fresh);
        self.head
            .send_if_modified(|head| std::mem::replace(head, self.state.seq) != self.state.seq);
        Ok(answers)
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

fn answer_all(requests: impl Iterator<Item = Request>, answers: Vec<Result<Answer, StoreError>>) {
    for (request, answer) in requests.zip(answers) {
        match (request, answer) {
            (Request::Append(_, reply), Ok(Answer::Appended(appended))) => {
                drop(reply.send(Ok(appended)));
            }
            (Request::Blob(_, _, reply) | Request::Rebuild(reply), Ok(Answer::Done)) => {
                drop(reply.send(Ok(())));
            }
            (request, Err(error)) => request.refuse(error),
            // Answers are made beside their requests, so this pair cannot come about;
            // dropping the request tells its sender that the log is closed.
            (Request::Append(..), Ok(Answer::Done))
            | (Request::Blob(..) | Request::Rebuild(_), Ok(Answer::Appended(_))) => {}
        }
    }
}
