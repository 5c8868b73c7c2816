//! Which turn is meant, and how it ended.

use provost_proto::{Event, Fact, MessageId, TurnId};

/// How a turn ended.
pub(super) enum End {
    Well,
    Badly(String),
    /// Somebody stopped it, so that what waits goes on waiting.
    Stopped(String),
    /// The person left before, with this status.
    Left(u8),
}

/// The turn that is meant: by its name, or by the message that begins it.
pub(super) struct Which {
    pub(super) turn: Option<TurnId>,
    pub(super) message: Option<MessageId>,
}

impl Which {
    /// Whether an event is of this turn. What comes while the message still waits is of
    /// the turn before its own.
    pub(super) fn is_heard(&self, event: &Event) -> bool {
        let own = |added: MessageId| self.message == Some(added);
        let fact = || event.fact();
        self.turn.is_some()
            || matches!(fact(), Some(Fact::MessageAdded(added)) if own(added.message))
    }

    /// How the turn ended, if it did with this.
    pub(super) fn ends(&mut self, event: &Event) -> Option<End> {
        let fact = event.fact()?;
        let own = |turn: TurnId| self.turn == Some(turn);
        if let Fact::TurnStarted(started) = &fact {
            if started.message.is_some() && started.message == self.message {
                self.turn = Some(started.turn);
            }
            None
        } else if let Fact::TurnFinished(end) = &fact {
            own(end.turn).then_some(End::Well)
        } else if let Fact::TurnFailed(end) = &fact {
            let why = format!("{} ({})", end.fault.message, end.fault.code);
            own(end.turn).then_some(End::Badly(why))
        } else if let Fact::TurnCancelled(end) = &fact {
            if own(end.turn) {
                return Some(End::Stopped("the turn was cancelled (CANCELLED)".to_owned()));
            }
            // What was said here waits for another turn, which was stopped.
            let waits = self.turn.is_none() && !end.withdrawn;
            let why = "the turn before was stopped, so that what you said waits (CANCELLED); \
                       /continue sends it, /drop takes it back";
            waits.then(|| End::Stopped(why.to_owned()))
        } else if let Fact::MessageWithdrawn(taken) = &fact {
            let own = self.message == Some(taken.message);
            own.then(|| End::Badly("what you said was taken back (CANCELLED)".to_owned()))
        } else if let Fact::TurnInterrupted(end) = &fact {
            own(end.turn).then(|| End::Badly(format!("{}; /continue goes on", end.why)))
        } else if let Fact::SessionClosed(_) = &fact {
            Some(End::Badly("the session was closed (SESSION_CLOSED)".to_owned()))
        } else {
            None
        }
    }
}
