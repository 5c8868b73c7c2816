//! Completions whose end could not be appended, as when the disk was full: their journals stay,
//! and what they hold goes into the log as soon as that is possible.

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_gateway::{JournaledDraft, SessionAppend};
use provost_proto::session::{
    CompletionDraft, ItemNumber, MessageAdded, MessageAuthor, SessionView, TurnView,
};
use provost_proto::{Fact, Stream, TurnId};
use provost_store::{EventScope, LogTail, hydrate_fact};

use super::interrupt_turn::{draft_parts, list_attempt_bytes};
use crate::session::history::session_log::SessionLog;
use crate::session::{Runner, RunnerError, history};

/// Whether what a completion used is in the accounts of this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DraftCharge {
    /// It was charged when the completion ended.
    Charged,
    /// An earlier daemon ran the completion.
    Missing,
}

impl Runner {
    /// Puts into the log what earlier completions of a session had streamed and this daemon could
    /// not append. Until that succeeds, the session does not go on, so that its journals stay in
    /// order.
    pub(crate) async fn record_unlogged_drafts(
        self: &Arc<Self>,
        log: &SessionLog,
    ) -> Result<(), RunnerError> {
        for journaled in self.gateway.drafts.list_unlogged(log.session)? {
            let session = self.load_session(log.session).await?;
            let item = log.next_item_number();
            self.record_journaled(&session, &journaled, item, DraftCharge::Charged).await?;
            journaled.remove_journal()?;
        }
        Ok(())
    }

    /// Appends what a completion had streamed, as a message of its turn, and what it used by
    /// estimate, unless the log has its end.
    pub(super) async fn record_journaled(
        self: &Arc<Self>,
        session: &SessionView,
        journaled: &JournaledDraft,
        item: ItemNumber,
        charge: DraftCharge,
    ) -> Result<(), RunnerError> {
        let Some(turn) = self.find_turn(journaled.turn).await? else {
            tracing::warn!(turn = %journaled.turn, "a draft belongs to no turn of the log");
            return Ok(());
        };
        let Some(draft) = self.find_unlogged(session, journaled).await? else { return Ok(()) };
        let read = history::load_history(&**self.gateway.store(), session).await?;
        let attempts = list_attempt_bytes(&draft);
        let mut facts = Vec::new();
        facts.extend(build_message(session, journaled, draft, item));
        facts.extend(
            self.charge_interrupted_completion(session, &turn, read, &attempts, charge).await?,
        );
        if facts.is_empty() {
            return Ok(());
        }
        let append = SessionAppend::by_daemon(turn.principal.clone(), facts);
        self.gateway.sessions.append_session_events(session.id, append).await?;
        Ok(())
    }

    async fn find_turn(&self, turn: TurnId) -> Result<Option<TurnView>, RunnerError> {
        let doc = self.gateway.store().get_document(ViewKind::Turns, turn.uuid()).await?;
        Ok(doc.and_then(ViewDocument::into_turn).map(|turn| turn.turn))
    }

    /// What a completion had streamed; `None` if the log has its end.
    pub(super) async fn find_unlogged(
        &self,
        session: &SessionView,
        journaled: &JournaledDraft,
    ) -> Result<Option<CompletionDraft>, RunnerError> {
        let store = self.gateway.store();
        let scope = EventScope::Stream(Stream::Session(session.id));
        let mut tail = LogTail::new(Arc::clone(store), scope, journaled.since);
        let mut restarts = 0;
        loop {
            let events = tail.next_available().await?;
            if events.is_empty() {
                break;
            }
            for event in events {
                let fact = hydrate_fact(&**store, &event.decode_event()?).await?;
                match fact {
                    Some(Fact::UsageRecorded(used)) if used.turn == journaled.turn => {
                        return Ok(None);
                    }
                    Some(Fact::MessageAdded(added)) if added.message == journaled.message => {
                        return Ok(None);
                    }
                    Some(Fact::AttemptRestarted(again)) if again.turn == journaled.turn => {
                        restarts += 1;
                    }
                    Some(_) | None => {}
                }
            }
        }
        let mut draft = journaled.draft.clone();
        if restarts > journaled.restarts {
            // The last restart is in the log and not in the journal.
            (draft.text, draft.reasoning) = (String::new(), String::new());
            draft.calls.clear();
        }
        Ok(Some(draft))
    }
}

/// The message that a draft becomes; `None` if it says nothing.
fn build_message(
    session: &SessionView,
    journaled: &JournaledDraft,
    mut draft: CompletionDraft,
    item: ItemNumber,
) -> Option<Fact> {
    let cut_calls = std::mem::take(&mut draft.calls);
    let parts = draft_parts(draft);
    (!parts.is_empty() || !cut_calls.is_empty()).then(|| {
        Fact::MessageAdded(MessageAdded {
            session: session.id,
            item,
            message: journaled.message,
            turn: Some(journaled.turn),
            from: MessageAuthor::Assistant,
            parts,
            answer: None,
            answer_texts: Vec::new(),
            cut_calls,
        })
    })
}
