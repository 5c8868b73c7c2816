//! What is said in a session, and what waits there for its turn.

use provost_proto::session::{
    MessageAdded, MessageAuthor, MessagePart, MessageWithdrawn, SendMessageResponse,
};
use provost_proto::{Fact, MessageId, Seq, limits};
use provost_store::{AppendOutcome, Idempotency, hydrate_fact};

use super::inbox::{AcceptedMessage, PendingMessage, SessionActivity, TurnPrompt};
use super::session_actor::SessionActor;
use crate::session::{CallerIdentity, RunnerError};

impl SessionActor {
    /// Who said this has gone: if it waits, it waits no more.
    pub(crate) async fn cancel_pending_message(&mut self, message: MessageId) {
        let mut waiting = self.waiting.iter().filter(|waiting| waiting.message == message);
        let Some(by) = waiting.next().map(|waiting| waiting.by.clone()) else { return };
        if let Err(error) = self.withdraw_message(&by, message, None).await {
            tracing::error!(%error, "a message that nobody waits for goes on waiting");
        }
    }

    /// Lets a message that waits have no turn, in the log too.
    pub(crate) async fn withdraw_message(
        &mut self,
        by: &CallerIdentity,
        message: MessageId,
        command: Option<Idempotency>,
    ) -> Result<(), RunnerError> {
        let at = self.waiting.iter().position(|waiting| waiting.message == message);
        let found = at.and_then(|at| Some((at, self.waiting.get(at)?.item)));
        let (at, item) = found.ok_or(RunnerError::MessageNotQueued)?;
        let session = self.journal.session;
        let fact = Fact::MessageWithdrawn(MessageWithdrawn { session, item, message });
        self.journal.append_as_person(by, command, vec![fact]).await?;
        self.waiting.remove(at);
        Ok(())
    }

    /// Writes a message down. Tells whether it is new.
    pub(crate) async fn accept_message(
        &mut self,
        by: &CallerIdentity,
        prompt: TurnPrompt,
        moment: SessionActivity,
    ) -> Result<(AcceptedMessage, bool), RunnerError> {
        let TurnPrompt { text, command, most } = prompt;
        let moment = if self.waiting.is_empty() { moment } else { SessionActivity::Busy };
        if self.waiting.len() >= limits::MAX_QUEUED_MESSAGES {
            return Err(RunnerError::QueueFull);
        }
        let clock = self.runner.gateway.clock();
        let (session, item) = (self.journal.session, self.journal.next_item_number());
        let (message, turn) = (clock.new_id(), clock.new_id());
        let (parts, answer, from) = (vec![MessagePart::Text { text }], None, MessageAuthor::User);
        let said = MessageAdded { session, item, message, turn: None, from, parts, answer };
        let mut facts = vec![Fact::MessageAdded(said)];
        if moment == SessionActivity::Idle {
            facts.push(self.turn_started_fact(turn, Some(message), Some(item)));
        }
        let appended = self.journal.append_as_person(by, command, facts).await?;
        if let AppendOutcome::Replayed(_) = appended {
            return Ok((self.load_repeated_message(&appended).await?, false));
        }
        // Whoever says something wants what waits before it to be said too.
        self.is_held = false;
        if moment == SessionActivity::Busy {
            self.waiting.push_back(PendingMessage { by: by.clone(), message, item, most });
        }
        let queued = moment == SessionActivity::Busy;
        let turn = (!queued).then_some(turn);
        let sent = SendMessageResponse { session, message, turn, queued };
        Ok((AcceptedMessage { sent, after: seq_before_events(&appended) }, true))
    }

    /// The same was said before: what was answered then.
    async fn load_repeated_message(
        &self,
        appended: &AppendOutcome,
    ) -> Result<AcceptedMessage, RunnerError> {
        let (session, store) = (self.journal.session, self.runner.gateway.store());
        let (mut message, mut turn) = (None, None);
        for event in appended.events() {
            // A long message is kept beside the log, and its name with it.
            let fact = hydrate_fact(&**store, &event.decode_event()?).await?;
            if let Some(Fact::MessageAdded(said)) = &fact {
                message = Some(said.message);
            } else if let Some(Fact::TurnStarted(started)) = &fact {
                turn = Some(started.turn);
            }
        }
        let message = message.ok_or(RunnerError::IdempotencyKeyReused)?;
        let sent = SendMessageResponse { session, message, turn, queued: turn.is_none() };
        Ok(AcceptedMessage { sent, after: seq_before_events(appended) })
    }
}

/// The place before the first of these.
fn seq_before_events(appended: &AppendOutcome) -> Seq {
    appended.events().first().map_or(0, |event| event.seq.saturating_sub(1))
}
