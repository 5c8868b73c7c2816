//! What survives a client: its commands that are not confirmed, and what they were decided on.
//!
//! It is stored before anything in it is sent. So a client that starts from it knows for the first
//! batch only that it may have been sent, exactly as it is there.

use std::collections::BTreeSet;

use provost_proto::notebook::{NotebookCommand, NotebookDocument};
use provost_proto::{IdempotencyKey, NotebookId};
use serde::Serialize;

use super::pending::Pending;
use super::{ClientStore, StoreChange};
use crate::state::UndoLog;

/// What is stored for another client.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StoreJournal {
    /// The confirmed documents that the commands change.
    pub documents: Vec<NotebookDocument>,
    /// The commands, the oldest first.
    pub pending: Vec<JournalBatch>,
}

/// Commands that are not confirmed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalBatch {
    /// The key with which they were submitted.
    pub id: IdempotencyKey,
    /// How often they were changed after they were sent.
    pub attempt: u32,
    /// Whether they may have been sent like this.
    pub was_sent: bool,
    /// The commands.
    pub commands: Vec<NotebookCommand>,
}

/// What of a batch makes a difference to another client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalMark {
    id: IdempotencyKey,
    attempt: u32,
    was_sent: bool,
}

impl ClientStore {
    /// A store that goes on where another client of the same principal ended. Commands that are
    /// rejected are not in it.
    pub fn restore(
        notebook: NotebookId,
        principal: &str,
        journal: StoreJournal,
    ) -> (Self, StoreChange) {
        let mut store = Self::new(notebook, principal);
        for document in journal.documents {
            store.state.insert(document);
        }
        let pending = journal.pending.into_iter().map(|batch| {
            let JournalBatch { id, attempt, was_sent, commands } = batch;
            Pending { was_sent, attempt, ..Pending::new(id, commands) }
        });
        store.pending = pending.collect();
        let mut change = StoreChange { is_everything: true, ..StoreChange::default() };
        store.decide_pending(&mut change);
        (store, change)
    }

    /// What to store for another client.
    pub fn journal(&self) -> StoreJournal {
        let notebook = self.state.notebook_key();
        let shown = std::iter::once((notebook, self.state.document(notebook)));
        let mut seen = BTreeSet::new();
        let mut documents = Vec::new();
        // What the first edit found is what is confirmed.
        for (key, document) in self.undo.iter().flat_map(UndoLog::documents).chain(shown) {
            if seen.insert(key) {
                documents.extend(document.cloned());
            }
        }
        let pending = self.pending.iter().map(|pending| JournalBatch {
            id: pending.id.clone(),
            attempt: pending.attempt,
            was_sent: pending.was_sent,
            commands: pending.commands.clone(),
        });
        StoreJournal { documents, pending: pending.collect() }
    }

    /// The journal has to be stored again when these change: before anything else is sent.
    pub fn journal_marks(&self) -> impl Iterator<Item = JournalMark> {
        self.pending.iter().map(|Pending { id, attempt, was_sent, .. }| JournalMark {
            id: id.clone(),
            attempt: *attempt,
            was_sent: *was_sent,
        })
    }
}
