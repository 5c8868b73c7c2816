//! What a client shows: the confirmed state, and its own edits that are not confirmed yet.

use provost_proto::notebook::{NotebookCommand, NotebookDocument, NotebookEvent, ResumePoint};
use provost_proto::{Code, IdempotencyKey, NotebookId};

use crate::decide::{CommandContext, Refusal};
use crate::document_key::DocumentKey;
use crate::state::NotebookState;

/// The state of a notebook in a client.
#[derive(Debug)]
pub struct ClientStore;

/// Commands to send.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandBatch { /// Their idempotency key.
    pub id: IdempotencyKey, /// The commands.
    pub commands: Vec<NotebookCommand> }

/// Commands that do not hold any more.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedBatch { /// The key with which they were submitted.
    pub id: IdempotencyKey, /// The index of the refused command.
    pub index: usize, /// Why.
    pub refusal: Refusal, /// The commands, to offer them again.
    pub commands: Vec<NotebookCommand> }

/// What changed in a step.
#[derive(Debug, Default)]
pub struct StoreChange { /// The documents that are different now.
    pub documents: Vec<DocumentKey>, /// What was given up.
    pub rejected: Vec<RejectedBatch> , /// Batches that were confirmed, by the key with which they were submitted.
    pub confirmed: Vec<IdempotencyKey> }

impl ClientStore {
    /// A store without documents.
    pub fn new(notebook: NotebookId, principal: &str) -> Self { todo!() }
    /// The state to show.
    pub fn state(&self) -> &NotebookState { todo!() }
    /// Where to resume; `None` before the first snapshot is complete.
    pub fn resume_point(&self) -> Option<ResumePoint> { todo!() }
    /// A part of a snapshot; the first one discards the confirmed documents, the last one completes it.
    pub fn apply_snapshot(&mut self, at: ResumePoint, part: u32, last: bool, documents: Vec<NotebookDocument>) -> StoreChange { todo!() }
    /// Consecutive events. Those that are known already change nothing.
    pub fn apply_events(&mut self, events: &[NotebookEvent]) -> Result<StoreChange, MissingEvents> { todo!() }
    /// Commands of this client. Edits are shown at once; others are only sent.
    pub fn submit(&mut self, context: &CommandContext<'_>, id: IdempotencyKey, commands: Vec<NotebookCommand>) -> Result<StoreChange, (usize, Refusal)> { todo!() }
    /// What to send now: each batch once, until it is refused as stale or the connection is lost.
    pub fn take_outgoing(&mut self) -> Vec<CommandBatch> { todo!() }
    /// The connection was lost: what was not answered is sent again.
    pub fn disconnected(&mut self) { todo!() }
    /// The daemon accepted a batch that made no event, or whose events were seen.
    pub fn accepted(&mut self, id: &str) -> StoreChange { todo!() }
    /// The daemon refused a batch.
    pub fn refused(&mut self, id: &str, index: usize, code: Code, error: &str) -> StoreChange { todo!() }
    /// What was submitted and is not confirmed, for a journal.
    pub fn pending(&self) -> impl Iterator<Item = CommandBatch> { std::iter::empty() }
}

/// Events between the known ones and these are missing: subscribe again from the resume point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events before version {0} are missing")]
pub struct MissingEvents(pub u64);
