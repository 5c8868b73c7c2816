//! A turn whose daemon stopped during a completion: the text so far is kept and charged.

use std::sync::Arc;

use provost_core::fold::session::unpaid_bytes;
use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::reservation_ledger::AccountKey;
use provost_gateway::{JournaledDraft, SessionAppend};
use provost_proto::session::{
    CompletionDraft, CompletionPurpose, MessageAdded, MessageAuthor, MessagePart, SessionView,
    TurnInterrupted, TurnView,
};
use provost_proto::{Actor, Fact, MessageId};
use tokio_util::sync::CancellationToken;

use super::unlogged_drafts::DraftCharge;
use crate::model::ModelRequest;
use crate::session::budget::completion_allowance::UsedAttempts;
use crate::session::budget::shared_ledger::day_number;
use crate::session::history::ConversationHistory;
use crate::session::history::session_log::SessionLog;
use crate::session::turn::Turn;
use crate::session::turn::request_completion::estimate_usage;
use crate::session::{CallerIdentity, Runner, RunnerError};

impl Runner {
    /// Keeps the text so far as an item, charges it, and ends the turn as interrupted.
    pub(crate) async fn interrupt_turn(
        self: &Arc<Self>,
        session: &SessionView,
        read: ConversationHistory,
        journaled: Option<JournaledDraft>,
    ) -> Result<(), RunnerError> {
        let Some(turn) = &session.turn else { return Ok(()) };
        let mut facts = Vec::new();
        if let Some((message, mut draft)) = self.find_cut_draft(session, turn, journaled).await? {
            let attempts = list_attempt_bytes(&draft);
            let cut_calls = std::mem::take(&mut draft.calls);
            let parts = draft_parts(draft);
            if !parts.is_empty() || !cut_calls.is_empty() {
                facts.push(Fact::MessageAdded(MessageAdded {
                    session: session.id,
                    item: session.items,
                    message,
                    turn: Some(turn.id),
                    from: MessageAuthor::Assistant,
                    parts,
                    answer: None,
                    answer_texts: Vec::new(),
                    cut_calls,
                }));
            }
            let charge = DraftCharge::Missing;
            facts.extend(
                self.charge_interrupted_completion(session, turn, read, &attempts, charge).await?,
            );
        }
        let why = "the daemon stopped during a completion".to_owned();
        facts.push(Fact::TurnInterrupted(TurnInterrupted {
            session: session.id,
            turn: turn.id,
            why,
        }));
        let append = SessionAppend::by_daemon(turn.principal.clone(), facts);
        self.gateway.sessions.append_session_events(session.id, append).await?;
        self.ledger.lock_accounts().remove_account(AccountKey::Turn(turn.id));
        Ok(())
    }

    /// What the completion had streamed that the turn was cut off in, and its message: from the
    /// journal, if the log does not have it yet, or from the log of an earlier version.
    async fn find_cut_draft(
        &self,
        session: &SessionView,
        turn: &TurnView,
        journaled: Option<JournaledDraft>,
    ) -> Result<Option<(MessageId, CompletionDraft)>, RunnerError> {
        let store = self.gateway.store();
        if let Some(journaled) = journaled.filter(|journaled| journaled.turn == turn.id) {
            let draft = self.find_unlogged(session, &journaled).await?;
            return Ok(draft.map(|draft| (journaled.message, draft)));
        }
        let doc = store.get_document(ViewKind::Drafts, session.id.uuid()).await?;
        let draft = doc.and_then(ViewDocument::into_draft).filter(|draft| draft.turn == turn.id);
        Ok(draft.map(|draft| (self.gateway.clock().new_id(), draft)))
    }

    /// Charges all attempts of a completion that was cut off, by an estimate from the bytes that
    /// each one streamed: the provider's usage reports are lost.
    pub(super) async fn charge_interrupted_completion(
        self: &Arc<Self>,
        session: &SessionView,
        turn: &TurnView,
        ConversationHistory { messages, touched, .. }: ConversationHistory,
        attempts: &[usize],
        charge: DraftCharge,
    ) -> Result<Vec<Fact>, RunnerError> {
        let interrupted = Turn {
            runner: Arc::clone(self),
            log: Arc::new(SessionLog::new(Arc::clone(&self.gateway), session)),
            id: turn.id,
            by: CallerIdentity { principal: turn.principal.clone(), actor: Actor::Daemon },
            max_output_tokens: None,
            cancel: CancellationToken::new(),
            stopped: CancellationToken::new(),
        };
        let minimal = ModelRequest::new(session.model.clone(), messages);
        let built = interrupted.build_request(session, minimal.messages.clone(), &touched).await;
        let request = match built {
            Ok(request) => request,
            Err(error) => {
                // The role may not exist any more; the conversation is known all the same.
                tracing::warn!(?error, "estimating an interrupted completion without its role");
                minimal
            }
        };
        let attempts: Vec<_> =
            attempts.iter().filter_map(|bytes| estimate_usage(&request, *bytes)).collect();
        if attempts.is_empty() {
            return Ok(Vec::new());
        }
        let lineage = self.load_lineage(session, turn.id).await?;
        let today = day_number(self.gateway.clock().now());
        let purpose = CompletionPurpose::Answer;
        let used = UsedAttempts { attempts: &attempts, is_estimated: true, purpose, day: today };
        let (spent, facts) = interrupted.build_usage_facts(session, &lineage, &used);
        if charge == DraftCharge::Missing {
            self.ledger.record_spending(lineage.account_keys(today), spent);
        }
        Ok(facts)
    }
}

/// The bytes that each attempt streamed. One that has streamed nothing may not have begun.
pub(super) fn list_attempt_bytes(draft: &CompletionDraft) -> Vec<usize> {
    let last = Some(unpaid_bytes(draft)).filter(|bytes| *bytes > 0);
    let attempts = draft.broken_attempts.iter().copied().chain(last);
    attempts.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)).collect()
}

pub(super) fn draft_parts(draft: CompletionDraft) -> Vec<MessagePart> {
    let reasoning = MessagePart::Reasoning { text: draft.reasoning };
    let text = MessagePart::Text { text: draft.text };
    let is_not_empty = |part: &MessagePart| match part {
        MessagePart::Text { text }
        | MessagePart::Reasoning { text }
        | MessagePart::Refusal { text } => !text.is_empty(),
    };
    [reasoning, text].into_iter().filter(is_not_empty).collect()
}
