//! What is said in a session, and what waits there for its turn.

use provost_proto::session::{
    MessageAdded, MessageAuthor, MessagePart, MessageWithdrawn, SendMessageResponse,
};
use provost_proto::{Fact, MessageId, Seq, limits};
use provost_store::{AppendOutcome, Idempotency, hydrate_fact};

use super::actor::Actor;
use super::inbox::{Moment, Prompt, Taken, Waiting};
use super::{RunnerError, Speaker};

impl Actor {
    /// Who said this has gone: if it waits, it waits no more.
    pub(super) async fn withdraw(&mut self, message: MessageId) {
        let mut waiting = self.waiting.iter().filter(|waiting| waiting.message == message);
        let Some(by) = waiting.next().map(|waiting| waiting.by.clone()) else { return };
        if let Err(error) = self.take_back(&by, message, None).await {
            tracing::error!(%error, "a message that nobody waits for goes on waiting");
        }
    }

    /// Lets a message that waits have no turn, in the log too.
    pub(super) async fn take_back(
        &mut self,
        by: &Speaker,
        message: MessageId,
        command: Option<Idempotency>,
    ) -> Result<(), RunnerError> {
        let at = self.waiting.iter().position(|waiting| waiting.message == message);
        let found = at.and_then(|at| Some((at, self.waiting.get(at)?.item)));
        let (at, item) = found.ok_or(RunnerError::NotWaiting)?;
        let session = self.journal.session;
        let fact = Fact::MessageWithdrawn(MessageWithdrawn { session, item, message });
        self.journal.person(by, command, vec![fact]).await?;
        self.waiting.remove(at);
        Ok(())
    }

    /// Writes a message down. Tells whether it is new.
    pub(super) async fn message(
        &mut self,
        by: &Speaker,
        prompt: Prompt,
        moment: Moment,
    ) -> Result<(Taken, bool), RunnerError> {
        let Prompt { text, command, most } = prompt;
        let moment = if self.waiting.is_empty() { moment } else { Moment::Busy };
        if self.waiting.len() >= limits::MAX_QUEUED_MESSAGES {
            return Err(RunnerError::QueueFull);
        }
        let clock = self.runner.gateway.clock();
        let (session, item) = (self.journal.session, self.journal.place());
        let (message, turn) = (clock.new_id(), clock.new_id());
        let (parts, answer, from) = (vec![MessagePart::Text { text }], None, MessageAuthor::User);
        let said = MessageAdded { session, item, message, turn: None, from, parts, answer };
        let mut facts = vec![Fact::MessageAdded(said)];
        if moment == Moment::Idle {
            facts.push(self.started(turn, Some(message), Some(item)));
        }
        let appended = self.journal.person(by, command, facts).await?;
        if let AppendOutcome::Replayed(_) = appended {
            return Ok((self.taken_before(&appended).await?, false));
        }
        // Whoever says something wants what waits before it to be said too.
        self.is_held = false;
        if moment == Moment::Busy {
            self.waiting.push_back(Waiting { by: by.clone(), message, item, most });
        }
        let queued = moment == Moment::Busy;
        let turn = (!queued).then_some(turn);
        let sent = SendMessageResponse { session, message, turn, queued };
        Ok((Taken { sent, after: place(&appended) }, true))
    }

    /// The same was said before: what was answered then.
    async fn taken_before(&self, appended: &AppendOutcome) -> Result<Taken, RunnerError> {
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
        let message = message.ok_or(RunnerError::NothingSaid)?;
        let sent = SendMessageResponse { session, message, turn, queued: turn.is_none() };
        Ok(Taken { sent, after: place(appended) })
    }
}

/// The place before the first of these.
fn place(appended: &AppendOutcome) -> Seq {
    appended.events().first().map_or(0, |event| event.seq.saturating_sub(1))
}
