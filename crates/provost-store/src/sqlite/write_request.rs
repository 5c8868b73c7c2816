//! Requests to the writer, and its replies.

use provost_core::fold::{DocumentKey, ViewDocument};
use provost_proto::{Actor, Hash, Principal, Stream, StreamVersion};
use tokio::sync::oneshot;

use crate::append::PreparedEvent;
use crate::{AppendOutcome, Durability, Idempotency, StoreError};

/// Receives the reply.
type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// The reply to an append. It returns the request, so that the caller drops it: memory is freed
/// most cheaply by the thread that allocated it.
#[derive(Debug)]
pub(super) struct AppendReceipt {
    pub(super) result: Result<AppendOutcome, StoreError>,
    pub(super) _prepared: Box<PreparedAppend>,
}

/// A request to the writer.
#[derive(Debug)]
pub(super) enum WriteRequest {
    Append(Box<PreparedAppend>, oneshot::Sender<AppendReceipt>),
    Blob(Hash, Vec<u8>, ReplySender<()>),
    Rebuild(ReplySender<()>),
}

/// A prepared append.
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
            Self::Append(prepared, _) => prepared.durability,
            Self::Blob(..) | Self::Rebuild(_) => Durability::Synced,
        }
    }

    pub(super) fn send_reply(self, answer: Result<WriteReply, StoreError>) {
        // The receiver may be gone.
        match (self, answer) {
            (Self::Append(prepared, reply), Ok(WriteReply::Appended(appended))) => {
                drop(reply.send(AppendReceipt { result: Ok(appended), _prepared: prepared }));
            }
            (Self::Append(prepared, reply), Err(error)) => {
                drop(reply.send(AppendReceipt { result: Err(error), _prepared: prepared }));
            }
            (Self::Blob(_, _, reply) | Self::Rebuild(reply), Ok(WriteReply::Done)) => {
                drop(reply.send(Ok(())));
            }
            (Self::Blob(_, _, reply) | Self::Rebuild(reply), Err(error)) => {
                drop(reply.send(Err(error)));
            }
            // Replies are created for their requests, so this pair cannot occur; dropping the
            // request tells its sender that the log is closed.
            (Self::Append(..), Ok(WriteReply::Done))
            | (Self::Blob(..) | Self::Rebuild(_), Ok(WriteReply::Appended(_))) => {}
        }
    }
}

/// A reply that waits for the commit.
pub(super) enum WriteReply {
    Appended(AppendOutcome),
    Done,
}

/// The replies to a group of requests, in order.
pub(super) type WriteReplies = Vec<Result<WriteReply, StoreError>>;
