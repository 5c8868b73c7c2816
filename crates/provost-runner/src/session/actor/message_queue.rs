//! Accepting messages, and the queue of those that wait for the running turn.

use provost_proto::session::{
    MessageAdded, MessageAuthor, MessagePart, MessageWithdrawn, SendMessageResponse,
};
use provost_proto::{Fact, LogCursor, MessageId, limits};
use provost_store::{AppendOutcome, Idempotency, hydrate_fact};

use super::inbox::{AcceptedMessage, PendingMessage, SessionActivity, TurnPrompt};
use super::session_actor::SessionActor;
use crate::session::{CallerIdentity, RunnerError};

impl SessionActor {
    /// Removes a message from the queue because its client disconnected.
    pub(crate) async fn cancel_pending_message(&mut self, message: MessageId) {
        let mut matching = self.queue.iter().filter(|queued| queued.message == message);
        let Some(by) = matching.next().map(|queued| queued.by.clone()) else { return };
        if let Err(error) = self.withdraw_message(&by, message, None).await {
            tracing::error!(%error, "cannot withdraw the message of a disconnected client");
        }
    }

    /// Removes a message from the queue and records that in the log.
    pub(crate) async fn withdraw_message(
        &mut self,
        by: &CallerIdentity,
        message: MessageId,
        command: Option<Idempotency>,
    ) -> Result<(), RunnerError> {
        let at = self.queue.iter().position(|queued| queued.message == message);
        let found = at.and_then(|at| Some((at, self.queue.get(at)?.item)));
        let (at, item) = found.ok_or(RunnerError::MessageNotQueued)?;
        let session = self.log.session;
        let fact = Fact::MessageWithdrawn(MessageWithdrawn { session, item, message });
        self.log.append_as_person(by, command, vec![fact]).await?;
        self.queue.remove(at);
        Ok(())
    }

    /// Appends a message to the log; returns whether it is new rather than a repeated request.
    pub(crate) async fn accept_message(
        &mut self,
        by: &CallerIdentity,
        prompt: TurnPrompt,
        activity: SessionActivity,
    ) -> Result<(AcceptedMessage, bool), RunnerError> {
        let TurnPrompt { text, command, max_output_tokens } = prompt;
        let activity = if self.queue.is_empty() { activity } else { SessionActivity::Busy };
        if self.queue.len() >= limits::MAX_QUEUED_MESSAGES {
            return Err(RunnerError::QueueFull);
        }
        let clock = self.runner.gateway.clock();
        let (session, item) = (self.log.session, self.log.next_item_number());
        let (message, turn) = (clock.new_id(), clock.new_id());
        let (parts, answer, from) = (vec![MessagePart::Text { text }], None, MessageAuthor::User);
        let added = MessageAdded {
            session,
            item,
            message,
            turn: None,
            from,
            parts,
            answer,
            answer_texts: Vec::new(),
            cut_calls: Vec::new(),
        };
        let mut facts = vec![Fact::MessageAdded(added)];
        if activity == SessionActivity::Idle {
            facts.push(self.turn_started_fact(turn, Some(message), Some(item)));
        }
        let appended = self.log.append_as_person(by, command, facts).await?;
        if let AppendOutcome::Replayed(_) = appended {
            return Ok((self.load_repeated_message(&appended).await?, false));
        }
        // A new message also releases the messages queued before it.
        self.is_held = false;
        if activity == SessionActivity::Busy {
            self.queue.push_back(PendingMessage {
                by: by.clone(),
                message,
                item,
                max_output_tokens,
            });
        }
        let queued = activity == SessionActivity::Busy;
        let turn = (!queued).then_some(turn);
        let sent = SendMessageResponse { session, message, turn, queued };
        Ok((AcceptedMessage { sent, after: cursor_before_events(&appended) }, true))
    }

    /// The response to the first request with this idempotency key.
    async fn load_repeated_message(
        &self,
        appended: &AppendOutcome,
    ) -> Result<AcceptedMessage, RunnerError> {
        let (session, store) = (self.log.session, self.runner.gateway.store());
        let (mut message, mut turn) = (None, None);
        for event in appended.events() {
            // A long message, with its id, is stored as a blob.
            let fact = hydrate_fact(&**store, &event.decode_event()?).await?;
            match &fact {
                Some(Fact::MessageAdded(added)) => message = Some(added.message),
                Some(Fact::TurnStarted(started)) => turn = Some(started.turn),
                _ => {}
            }
        }
        let message = message.ok_or(RunnerError::IdempotencyKeyReused)?;
        let sent = SendMessageResponse { session, message, turn, queued: turn.is_none() };
        Ok(AcceptedMessage { sent, after: cursor_before_events(appended) })
    }
}

/// The position in the log before the first of these events.
fn cursor_before_events(appended: &AppendOutcome) -> LogCursor {
    appended.events().first().map_or(LogCursor::START, |event| event.cursor_before())
}
