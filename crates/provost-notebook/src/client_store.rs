//! What a client shows: the confirmed documents, and its own edits that are not confirmed yet.
//!
//! Pending edits are taken back before events are applied, and decided again after: those that do
//! not hold any more are rejected with the reason. They are confirmed by the key of their command,
//! never by their place. Runs, and all that runtimes do, are never shown before they happened.

mod journal;
mod pending;
mod rebase;

use std::collections::BTreeSet;

use provost_proto::notebook::{NotebookCommand, NotebookDocument, NotebookEvent, ResumePoint};
use provost_proto::{Code, IdempotencyKey, NotebookId, StreamVersion, UnixMicros};

use crate::decide::{CommandContext, CommandRights, Refusal, decide_all, decide_undoable, refuse};
use crate::document_key::NotebookDocumentKey;
use crate::fold::{FactMetadata, affected_documents};
use crate::state::{NotebookState, UndoLog};
use crate::text::ChangeSet;

pub use journal::{JournalBatch, JournalMark, StoreJournal};
use pending::{Pending, is_edit};
use rebase::{foreign_change, rebase, rebase_to};

/// Commands to send, all of which are applied or none.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandBatch {
    /// Their idempotency key.
    pub id: IdempotencyKey,
    /// The commands.
    pub commands: Vec<NotebookCommand>,
}

/// Commands that do not hold any more.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedBatch {
    /// The key with which they were submitted.
    pub id: IdempotencyKey,
    /// The index of the refused command.
    pub index: usize,
    /// Why.
    pub refusal: Refusal,
    /// The commands, so that nothing typed is lost.
    pub commands: Vec<NotebookCommand>,
}

/// What changed in a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoreChange {
    /// The documents that may be different now.
    pub documents: BTreeSet<NotebookDocumentKey>,
    /// Whether all are: after a snapshot.
    pub is_everything: bool,
    /// What was given up.
    pub rejected: Vec<RejectedBatch>,
    /// What was confirmed, by the keys with which it was submitted.
    pub confirmed: Vec<IdempotencyKey>,
}

/// Events between the known ones and these are missing: subscribe again from the resume point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the events before version {0} are missing; subscribe again")]
pub struct MissingEvents(pub StreamVersion);

/// The documents of a notebook in a client.
#[derive(Debug)]
pub struct ClientStore {
    principal: String,
    /// The time for edits that are not confirmed.
    at: UnixMicros,
    /// The confirmed documents with the pending edits in them.
    state: NotebookState,
    /// What takes the pending edits back, the oldest first.
    undo: Vec<UndoLog>,
    pending: Vec<Pending>,
    resume: Option<ResumePoint>,
    /// A snapshot of which parts are missing.
    incoming: Option<NotebookState>,
    /// A snapshot that is not shown yet: whether it holds what was sent last, only the answer
    /// to that tells.
    held: Option<NotebookState>,
    is_live: bool,
}

impl ClientStore {
    /// A store without documents, of an authenticated principal.
    pub fn new(notebook: NotebookId, principal: &str) -> Self {
        Self {
            principal: principal.to_owned(),
            at: 0,
            state: NotebookState::new(notebook),
            undo: Vec::new(),
            pending: Vec::new(),
            resume: None,
            incoming: None,
            held: None,
            is_live: false,
        }
    }

    /// The state to show.
    pub const fn state(&self) -> &NotebookState {
        &self.state
    }

    /// Where to resume; `None` before the first snapshot is complete.
    pub const fn resume_point(&self) -> Option<ResumePoint> {
        self.resume
    }

    /// What was submitted and is not confirmed, for a journal that survives the client.
    pub fn pending(&self) -> impl Iterator<Item = CommandBatch> {
        self.pending.iter().map(|pending| CommandBatch {
            id: pending.id.clone(),
            commands: pending.commands.clone(),
        })
    }

    /// Takes a part of a snapshot. The last one makes it the state.
    pub fn apply_snapshot(
        &mut self,
        at: ResumePoint,
        part: u32,
        last: bool,
        documents: Vec<NotebookDocument>,
    ) -> StoreChange {
        if part == 0 {
            self.incoming = Some(NotebookState::new(self.state.id()));
        }
        let Some(incoming) = &mut self.incoming else { return StoreChange::default() };
        for document in documents {
            incoming.insert(document);
        }
        if !last {
            return StoreChange::default();
        }
        let mut change = StoreChange::default();
        self.withdraw(&mut change);
        self.held = self.incoming.take();
        self.resume = Some(at);
        self.drop_accepted(&mut change);
        self.show_held(&mut change);
        self.decide_pending(&mut change);
        change
    }

    /// Takes consecutive events. Those that are known change nothing.
    ///
    /// # Errors
    /// If events before these are missing; the ones up to the gap are applied.
    pub fn apply_events(&mut self, events: &[NotebookEvent]) -> Result<StoreChange, MissingEvents> {
        let mut change = StoreChange::default();
        let Some(mut resume) = self.resume else { return Err(MissingEvents(1)) };
        self.withdraw(&mut change);
        let mut missing = None;
        for event in events {
            if event.version <= resume.version {
                continue;
            }
            if event.version != resume.version + 1 {
                missing = Some(MissingEvents(event.version));
                break;
            }
            self.take_event(event, &mut change);
            resume = ResumePoint { version: event.version, hash: event.hash };
        }
        self.resume = Some(resume);
        self.drop_accepted(&mut change);
        self.show_held(&mut change);
        self.decide_pending(&mut change);
        missing.map_or(Ok(change), Err)
    }

    fn take_event(&mut self, event: &NotebookEvent, change: &mut StoreChange) {
        self.at = self.at.max(event.at);
        let own = event.command.as_deref().map(submitted_key);
        let index = self.pending.iter().position(|pending| Some(pending.id.as_str()) == own);
        if let Some(index) = index {
            let pending = self.pending.remove(index);
            self.confirm(pending, change);
        } else if self.held.is_none()
            && own != change.confirmed.last().map(String::as_str)
            && let Some((cell, changes)) = foreign_change(&self.state, &event.fact)
        {
            rebase(&mut self.pending, cell, &changes);
        }
        change.documents.extend(affected_documents(&event.fact).into_iter().flatten());
        let metadata = FactMetadata { at: event.at, principal: &event.principal };
        self.held.as_mut().unwrap_or(&mut self.state).apply(metadata, &event.fact);
    }

    /// The store has all events up to now: what waits can be sent.
    pub fn went_live(&mut self) {
        self.is_live = true;
    }

    /// The connection was lost: what was not answered is sent again.
    pub fn disconnected(&mut self) {
        self.is_live = false;
        for pending in &mut self.pending {
            pending.is_sent = false;
        }
    }

    /// Submits commands of this client. Edits are shown at once, others are sent only.
    ///
    /// # Errors
    /// If an edit is refused: nothing is changed or sent.
    pub fn submit(
        &mut self,
        id: IdempotencyKey,
        commands: Vec<NotebookCommand>,
    ) -> Result<StoreChange, (usize, Refusal)> {
        if let Some(index) = commands.iter().position(|command| !is_edit(command)) {
            if commands.iter().any(is_edit) {
                let error = "edits are sent apart from what is executed";
                return Err((index, refuse(Code::InvalidRequest, error)));
            }
            self.pending.push(Pending::new(id, commands));
            return Ok(StoreChange::default());
        }
        let mut undo = UndoLog::default();
        let context = Self::context(&self.principal, self.at);
        if let Err(refused) = decide_undoable(&mut self.state, &context, &commands, &mut undo) {
            self.state.undo(undo);
            return Err(refused);
        }
        let documents = undo.seen().clone();
        self.undo.push(undo);
        self.pending.push(Pending::new(id, commands));
        Ok(StoreChange { documents, ..StoreChange::default() })
    }

    fn context(principal: &str, at: UnixMicros) -> CommandContext<'_> {
        CommandContext { principal, rights: CommandRights::Edit, at }
    }

    /// What to send now: one batch at a time, since later ones are decided on top of it.
    pub fn take_outgoing(&mut self) -> Option<CommandBatch> {
        let version = self.resume?.version;
        let next = self.pending.first_mut()?;
        if !self.is_live || next.is_sent || next.not_before > version {
            return None;
        }
        next.is_sent = true;
        next.was_sent = true;
        Some(CommandBatch { id: next.key(), commands: next.commands.clone() })
    }

    /// The daemon applied a batch, up to this version.
    pub fn accepted(&mut self, id: &str, version: StreamVersion) -> StoreChange {
        let mut change = StoreChange::default();
        let own = submitted_key(id);
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.id == own) {
            pending.accepted_at = Some(version);
        }
        self.withdraw(&mut change);
        self.drop_accepted(&mut change);
        self.show_held(&mut change);
        self.decide_pending(&mut change);
        change
    }

    /// The daemon refused a batch; the notebook was at this version.
    pub fn refused(
        &mut self,
        id: &str,
        index: usize,
        refusal: Refusal,
        version: StreamVersion,
    ) -> StoreChange {
        let mut change = StoreChange::default();
        let Some(found) = self.pending.iter().position(|pending| pending.id == submitted_key(id))
        else {
            return change;
        };
        self.withdraw(&mut change);
        let is_done = self.pending[found].commands.is_empty();
        if is_done || refusal.code == Code::StaleRevision && self.pending[found].is_rebasable() {
            let pending = &mut self.pending[found];
            pending.is_sent = false;
            pending.not_before = version;
            // Another content needs another key, and it will have one.
            pending.was_sent = false;
            pending.attempt += 1;
        } else {
            let Pending { id, commands, .. } = self.pending.remove(found);
            change.rejected.push(RejectedBatch { id, index, refusal, commands });
        }
        self.show_held(&mut change);
        self.decide_pending(&mut change);
        change
    }

    /// What was accepted, and whose events are in the state, is not pending any more.
    fn drop_accepted(&mut self, change: &mut StoreChange) {
        let version = self.resume.map_or(0, |resume| resume.version);
        let is_confirmed =
            |pending: &Pending| pending.accepted_at.is_some_and(|accepted| accepted <= version);
        while self.pending.first().is_some_and(is_confirmed) {
            let pending = self.pending.remove(0);
            self.confirm(pending, change);
        }
    }

    fn confirm(&mut self, pending: Pending, change: &mut StoreChange) {
        if self.held.is_some() {
            // What is shown lags behind: the snapshot holds this edit.
            let context = Self::context(&self.principal, self.at);
            drop(decide_all(&mut self.state, &context, &pending.commands));
        }
        change.confirmed.push(pending.id);
    }

    /// Shows the snapshot, once it is known what it holds of this client.
    fn show_held(&mut self, change: &mut StoreChange) {
        if self.pending.iter().any(|pending| pending.was_sent) {
            return;
        }
        let Some(held) = self.held.take() else { return };
        // Not collected: that would sort, which is much code for a page to load.
        let mut cells = BTreeSet::new();
        for pending in &self.pending {
            cells.extend(pending.edited_cells());
        }
        for id in cells {
            if let (Some(cell), Some(now)) = (self.state.cell(id), held.cell(id)) {
                let changes = ChangeSet::between(&cell.source, &now.source);
                rebase_to(&mut self.pending, id, &changes, now.revision);
            }
        }
        self.state = held;
        change.is_everything = true;
    }

    fn withdraw(&mut self, change: &mut StoreChange) {
        while let Some(undo) = self.undo.pop() {
            change.documents.extend(undo.seen());
            self.state.undo(undo);
        }
    }

    /// Decides pending edits again.
    fn decide_pending(&mut self, change: &mut StoreChange) {
        let version = self.resume.map_or(0, |resume| resume.version);
        let mut kept = Vec::with_capacity(self.pending.len());
        for pending in std::mem::take(&mut self.pending) {
            if pending.commands.is_empty() && !pending.is_sent {
                // Somebody else did the same before.
                change.confirmed.push(pending.id);
                continue;
            }
            if !pending.commands.iter().all(is_edit) {
                kept.push(pending);
                continue;
            }
            let mut undo = UndoLog::default();
            let context = Self::context(&self.principal, self.at);
            let decided = decide_undoable(&mut self.state, &context, &pending.commands, &mut undo);
            match decided {
                Ok(_) => {
                    change.documents.extend(undo.seen());
                    self.undo.push(undo);
                    kept.push(pending);
                }
                Err((index, refusal)) => {
                    self.state.undo(undo);
                    // What was sent is answered by the daemon, with its reason.
                    if pending.is_sent
                        || pending.accepted_at.is_some()
                        || pending.not_before > version
                    {
                        kept.push(pending);
                    } else {
                        let Pending { id, commands, .. } = pending;
                        change.rejected.push(RejectedBatch { id, index, refusal, commands });
                    }
                }
            }
        }
        self.pending = kept;
    }
}

/// The key with which a batch was submitted: it is sent with a number behind it once it was
/// rebased.
fn submitted_key(key: &str) -> &str {
    key.split_once('~').map_or(key, |(id, _)| id)
}
