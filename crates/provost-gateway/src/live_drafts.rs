//! The completions that models are writing now, beside the log.
//!
//! A piece of streamed text is written to the journal of its session and is then shown to whoever
//! follows the session; it is no event. When the completion ends, its text goes into the log once,
//! with the completion, and the journal is removed. The journal is what is left of a completion
//! whose daemon was killed: the next daemon puts it into the log
//! ([ADR 25](../../../docs/adr/0025-streamed-text-beside-the-log.md)).
//!
//! There is no queue: a follower reads the shared draft from where it was, so a slow one costs
//! nothing, and one that attaches late gets the draft so far.

mod journal;
mod live_draft;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use provost_proto::{MessageId, SessionId, TurnId};
use tokio::sync::watch;

pub use journal::JournaledDraft;
pub use live_draft::{DraftPosition, DraftState, LiveDraft};
pub use writer::{DraftPart, DraftWriter};

use crate::GatewayError;
use crate::event_log::EventLog;
use journal::DraftJournals;

/// The drafts of all sessions.
#[derive(Debug)]
pub struct LiveDrafts {
    log: Arc<EventLog>,
    journals: DraftJournals,
    slots: Mutex<HashMap<SessionId, Weak<DraftSlot>>>,
    /// The sessions with journals that this daemon left, because what they hold could not be
    /// appended.
    unlogged: Arc<UnloggedSessions>,
}

type UnloggedSessions = Mutex<HashSet<SessionId>>;

/// The draft of one session. Its writer and its followers keep it.
#[derive(Debug)]
struct DraftSlot {
    current: Mutex<Option<Arc<LiveDraft>>>,
    /// Counts the changes of the current draft, and of which one it is.
    changes: watch::Sender<u64>,
}

impl DraftSlot {
    fn new() -> Self {
        Self { current: Mutex::new(None), changes: watch::Sender::new(0) }
    }

    fn set(&self, draft: Option<Arc<LiveDraft>>) {
        *self.current.lock() = draft;
        self.notify();
    }

    /// A draft is over.
    fn clear(&self, draft: &Arc<LiveDraft>) {
        let mut current = self.current.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, draft)) {
            *current = None;
        }
        drop(current);
        self.notify();
    }

    fn notify(&self) {
        self.changes.send_modify(|changes| *changes = changes.wrapping_add(1));
    }
}

/// Follows the draft of one session. Whoever makes one has checked that its reader may see the
/// session.
#[derive(Debug)]
pub struct DraftFollower {
    slot: Arc<DraftSlot>,
    changes: watch::Receiver<u64>,
}

impl DraftFollower {
    /// The draft as it is now. What changes afterwards ends the next wait.
    pub fn current(&mut self) -> Option<Arc<LiveDraft>> {
        self.changes.mark_unchanged();
        self.slot.current.lock().clone()
    }

    /// Waits for a change since the last look at the draft. Dropping the future loses nothing.
    pub async fn changed(&mut self) {
        // The slot holds the sender, so that it is never closed.
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl LiveDrafts {
    /// Drafts with their journals in a folder, which is made when it is needed.
    pub(crate) fn new(log: Arc<EventLog>, folder: PathBuf) -> Self {
        let journals = DraftJournals::new(folder);
        Self { log, journals, slots: Mutex::default(), unlogged: Arc::default() }
    }

    /// Begins the draft of a completion, which becomes this message. A session writes one at a
    /// time.
    pub fn begin(
        &self,
        session: SessionId,
        turn: TurnId,
        message: MessageId,
    ) -> Result<DraftWriter, GatewayError> {
        let since = self.log.store().head();
        let draft = LiveDraft::new(session, turn, message, since);
        let journal = self.journals.create(&draft)?;
        let (slot, redactor) = (self.slot(session), self.log.shared_redactor());
        Ok(DraftWriter::new(slot, draft, journal, redactor, Arc::clone(&self.unlogged)))
    }

    /// Follows the draft of a session.
    pub fn follow(&self, session: SessionId) -> DraftFollower {
        let slot = self.slot(session);
        let changes = slot.changes.subscribe();
        DraftFollower { slot, changes }
    }

    /// What completions had streamed whose end an earlier daemon did not append, in the order in
    /// which they began.
    pub fn read_journals(&self) -> Result<Vec<JournaledDraft>, GatewayError> {
        self.journals.read_all()
    }

    /// What completions of a session had streamed whose end this daemon could not append, in the
    /// order in which they began. To be called while none is being written.
    pub fn list_unlogged(&self, session: SessionId) -> Result<Vec<JournaledDraft>, GatewayError> {
        if !self.unlogged.lock().contains(&session) {
            return Ok(Vec::new());
        }
        let mut journals = self.journals.read_all()?;
        journals.retain(|journaled| journaled.draft.session == session);
        if journals.is_empty() {
            self.unlogged.lock().remove(&session);
        }
        Ok(journals)
    }

    /// Removes all journals, when what they hold is in the log.
    pub fn remove_journals(&self) -> Result<(), GatewayError> {
        self.journals.remove_all()
    }

    fn slot(&self, session: SessionId) -> Arc<DraftSlot> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(&session).and_then(Weak::upgrade) {
            return slot;
        }
        slots.retain(|_, slot| slot.strong_count() > 0);
        let slot = Arc::new(DraftSlot::new());
        slots.insert(session, Arc::downgrade(&slot));
        slot
    }
}
