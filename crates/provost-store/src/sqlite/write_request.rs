//! Requests to the writer, and its replies.

use std::time::Duration;

use provost_core::fold::{DocumentKey, ViewDocument};
use provost_proto::{Actor, Hash, Principal, Stream, StreamVersion};
use tokio::sync::oneshot;

use super::segment::FinishedSegment;
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
    /// Records a segment file, whose events are then read from it.
    RecordSegment(Box<SegmentRecord>, ReplySender<()>),
    /// Removes at most this many rows of archived events; answers how many.
    RemoveArchived(usize, ReplySender<RemovedRows>),
}

/// A segment file that is on disk, and the event that says so.
#[derive(Debug)]
pub(super) struct SegmentRecord {
    pub(super) finished: FinishedSegment,
    pub(super) append: PreparedAppend,
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
            Self::Blob(..) | Self::Rebuild(_) | Self::RecordSegment(..) => Durability::Synced,
            // After a crash it is done again.
            Self::RemoveArchived(..) => Durability::Buffered,
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
            (
                Self::Blob(_, _, reply) | Self::Rebuild(reply) | Self::RecordSegment(_, reply),
                Ok(WriteReply::Done),
            ) => {
                drop(reply.send(Ok(())));
            }
            (
                Self::Blob(_, _, reply) | Self::Rebuild(reply) | Self::RecordSegment(_, reply),
                Err(error),
            ) => {
                drop(reply.send(Err(error)));
            }
            (Self::RemoveArchived(_, reply), Ok(WriteReply::Removed(removed))) => {
                drop(reply.send(Ok(removed)));
            }
            (Self::RemoveArchived(_, reply), Err(error)) => drop(reply.send(Err(error))),
            // Replies are created for their requests, so this pair cannot occur; dropping the
            // request tells its sender that the log is closed.
            (
                Self::Append(..)
                | Self::Blob(..)
                | Self::Rebuild(_)
                | Self::RecordSegment(..)
                | Self::RemoveArchived(..),
                Ok(WriteReply::Appended(_) | WriteReply::Done | WriteReply::Removed(_)),
            ) => {}
        }
    }
}

/// A reply that waits for the commit.
pub(super) enum WriteReply {
    Appended(AppendOutcome),
    Done,
    Removed(RemovedRows),
}

/// What was removed, and how long that took without the commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemovedRows {
    pub(super) n_rows: usize,
    pub(super) took: Duration,
}

/// The replies to a group of requests, in order.
pub(super) type WriteReplies = Vec<Result<WriteReply, StoreError>>;
