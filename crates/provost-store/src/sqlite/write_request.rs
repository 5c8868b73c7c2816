//! What is asked of the writer, and how it answers.

use provost_core::fold::{DocumentKey, ViewDocument};
use provost_proto::{Actor, Hash, Principal, Stream, StreamVersion};
use tokio::sync::oneshot;

use crate::append::PreparedEvent;
use crate::{AppendOutcome, Durability, Idempotency, StoreError};

/// Where an answer goes.
type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// The answer to an append. The job goes back with it, to be dropped by whoever
/// made it: memory is cheapest to free where it was taken, and the one writer has
/// less to do.
#[derive(Debug)]
pub(super) struct AppendReceipt {
    pub(super) result: Result<AppendOutcome, StoreError>,
    pub(super) _job: Box<PreparedAppend>,
}

/// What can be asked of the writer.
#[derive(Debug)]
pub(super) enum WriteRequest {
    Append(Box<PreparedAppend>, oneshot::Sender<AppendReceipt>),
    Blob(Hash, Vec<u8>, ReplySender<()>),
    Rebuild(ReplySender<()>),
}

/// An append, prepared.
#[derive(Debug)]
pub(super) struct PreparedAppend {
    pub(super) principal: Principal,
    pub(super) actor: Actor,
    pub(super) command: Option<Idempotency>,
    pub(super) expect: Vec<(Stream, StreamVersion)>,
    pub(super) unchanged: Vec<(DocumentKey, ViewDocument)>,
    pub(super) durability: Durability,
    pub(super) events: Vec<PreparedEvent>,
}

impl WriteRequest {
    pub(super) fn durability(&self) -> Durability {
        match self {
            Self::Append(job, _) => job.durability,
            Self::Blob(..) | Self::Rebuild(_) => Durability::Synced,
        }
    }

    pub(super) fn send_reply(self, answer: Result<WriteReply, StoreError>) {
        // Whoever no longer waits for the answer does not need it.
        match (self, answer) {
            (Self::Append(job, reply), Ok(WriteReply::Appended(appended))) => {
                drop(reply.send(AppendReceipt { result: Ok(appended), _job: job }));
            }
            (Self::Append(job, reply), Err(error)) => {
                drop(reply.send(AppendReceipt { result: Err(error), _job: job }));
            }
            (Self::Blob(_, _, reply) | Self::Rebuild(reply), Ok(WriteReply::Done)) => {
                drop(reply.send(Ok(())));
            }
            (Self::Blob(_, _, reply) | Self::Rebuild(reply), Err(error)) => {
                drop(reply.send(Err(error)));
            }
            // Answers are made beside their requests, so this pair cannot come about;
            // dropping the request tells its sender that the log is closed.
            (Self::Append(..), Ok(WriteReply::Done))
            | (Self::Blob(..) | Self::Rebuild(_), Ok(WriteReply::Appended(_))) => {}
        }
    }
}

/// An answer that waits for the commit.
pub(super) enum WriteReply {
    Appended(AppendOutcome),
    Done,
}

/// The answers to a group of requests, in their order.
pub(super) type WriteReplies = Vec<Result<WriteReply, StoreError>>;
