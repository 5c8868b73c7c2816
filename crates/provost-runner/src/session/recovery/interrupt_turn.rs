//! A turn that ended with its daemon while the model spoke: what had been said stays,
//! and is paid for.

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::session::reservation_ledger::AccountKey;
use provost_gateway::SessionAppend;
use provost_proto::session::{
    CompletionDraft, CompletionPurpose, MessageAdded, MessageAuthor, MessagePart, SessionView,
    TurnInterrupted, TurnView,
};
use provost_proto::{Actor, Fact};
use provost_store::Durability;
use tokio_util::sync::CancellationToken;

use crate::model::{CompletionUsage, ModelRequest};
use crate::session::budget::shared_ledger::day_number;
use crate::session::history::ConversationHistory;
use crate::session::history::session_log::SessionLog;
use crate::session::turn::Turn;
use crate::session::turn::request_completion::estimate_usage;
use crate::session::{CallerIdentity, Runner, RunnerError};

impl Runner {
    /// What the model had said stays, as an item, and is paid for; the turn is over.
    pub(crate) async fn interrupt_turn(
        self: &Arc<Self>,
        session: &SessionView,
        read: ConversationHistory,
    ) -> Result<(), RunnerError> {
        let Some(turn) = &session.turn else { return Ok(()) };
        let doc = self.gateway.store().get_document(ViewKind::Drafts, session.id.uuid()).await?;
        let draft = doc.and_then(ViewDocument::into_draft).filter(|draft| draft.turn == turn.id);
        let mut facts = Vec::new();
        if let Some(draft) = draft {
            let written = draft_bytes(&draft);
            let parts = draft_parts(draft);
            if !parts.is_empty() {
                facts.push(Fact::MessageAdded(MessageAdded {
                    session: session.id,
                    item: session.items,
                    message: self.gateway.clock().new_id(),
                    turn: Some(turn.id),
                    from: MessageAuthor::Assistant,
                    parts,
                    answer: None,
                }));
            }
            facts.extend(self.charge_interrupted_completion(session, turn, read, written).await?);
        }
        let why = "the daemon ended while the model spoke".to_owned();
        facts.push(Fact::TurnInterrupted(TurnInterrupted {
            session: session.id,
            turn: turn.id,
            why,
        }));
        let saying = SessionAppend {
            principal: turn.principal.clone(),
            actor: Actor::Daemon,
            command: None,
            durability: Durability::Buffered,
            facts,
        };
        self.gateway.append_session_events(session.id, saying).await?;
        self.ledger.lock_accounts().remove_account(AccountKey::Turn(turn.id));
        Ok(())
    }

    /// What was used by an answer that was cut off with so many bytes written, by an
    /// estimate: whoever could have told is gone.
    async fn charge_interrupted_completion(
        self: &Arc<Self>,
        session: &SessionView,
        turn: &TurnView,
        ConversationHistory { messages, touched, .. }: ConversationHistory,
        written: usize,
    ) -> Result<Vec<Fact>, RunnerError> {
        let work = Turn {
            runner: Arc::clone(self),
            journal: Arc::new(SessionLog::new(Arc::clone(&self.gateway), session)),
            id: turn.id,
            by: CallerIdentity { principal: turn.principal.clone(), actor: Actor::Daemon },
            most: None,
            cancel: CancellationToken::new(),
            stopped: CancellationToken::new(),
        };
        let bare = ModelRequest::new(session.model.clone(), messages);
        let request = match work.build_request(session, bare.messages.clone(), &touched).await {
            Ok(request) => request,
            Err(error) => {
                // Its role may be gone by now; what was said to it is known all the same.
                tracing::warn!(?error, "what a cut off answer used is counted without its role");
                bare
            }
        };
        let usage = estimate_usage(&request, written);
        if usage == CompletionUsage::default() {
            return Ok(Vec::new());
        }
        let line = self.load_lineage(session, turn.id).await?;
        let today = day_number(self.gateway.clock().now());
        let how = (CompletionPurpose::Answer, true);
        let (spent, facts) = work.build_usage_facts((session, &line), today, &usage, how);
        self.ledger.record_spending(line.account_keys(today), spent);
        Ok(facts)
    }
}

/// How many bytes the model wrote.
fn draft_bytes(draft: &CompletionDraft) -> usize {
    let calls = draft.calls.iter().map(|call| call.tool.len() + call.arguments.len());
    draft.text.len() + draft.reasoning.len() + calls.sum::<usize>()
}

fn draft_parts(draft: CompletionDraft) -> Vec<MessagePart> {
    let reasoning = MessagePart::Reasoning { text: draft.reasoning };
    let text = MessagePart::Text { text: draft.text };
    let says = |part: &MessagePart| match part {
        MessagePart::Text { text }
        | MessagePart::Reasoning { text }
        | MessagePart::Refusal { text } => !text.is_empty(),
    };
    [reasoning, text].into_iter().filter(says).collect()
}
