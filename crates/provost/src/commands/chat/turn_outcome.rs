//! Which turn is meant, and how it ended.

use provost_proto::session::FinishReason;
use provost_proto::{Code, Event, Fact, MessageId, TurnId};

/// The statuses of `provost chat -p`; 0 is for an answer that is whole.
pub(super) const EXIT_FAILED: u8 = 1;
/// The answer has as many tokens as it may.
const EXIT_TRUNCATED: u8 = 7;
/// The model, or a filter, declined.
const EXIT_DECLINED: u8 = 8;
/// A budget is spent, or the turn took as much as one may.
const EXIT_LIMIT_REACHED: u8 = 9;

/// The status of a program that was interrupted.
pub(super) const EXIT_INTERRUPTED: u8 = 130;

/// How a turn ended.
pub(super) enum ChatTurnOutcome {
    /// In order, though maybe not with a whole answer.
    Finished(FinishReason),
    Failed {
        why: String,
        status: u8,
    },
    /// Somebody stopped it, so that what waits goes on waiting.
    Cancelled {
        why: String,
        status: u8,
    },
    /// Somebody stopped the turn before, so that what was said waits for a person.
    MessageHeld {
        message: MessageId,
        status: u8,
    },
    /// The daemon ended in its midst.
    Interrupted {
        why: String,
    },
    /// The person left before, with this status.
    UserLeft(u8),
}

impl ChatTurnOutcome {
    pub(super) fn from_failure(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), status: EXIT_FAILED }
    }

    fn from_cancellation(why: &str) -> Self {
        Self::Cancelled { why: why.to_owned(), status: EXIT_FAILED }
    }

    /// The same after Ctrl-C: what was stopped has not failed.
    pub(super) fn with_interrupt_status(self) -> Self {
        match self {
            Self::Failed { why, .. } => Self::Failed { why, status: EXIT_INTERRUPTED },
            Self::Cancelled { why, .. } => Self::Cancelled { why, status: EXIT_INTERRUPTED },
            Self::MessageHeld { message, .. } => {
                Self::MessageHeld { message, status: EXIT_INTERRUPTED }
            }
            Self::Finished(_) | Self::Interrupted { .. } | Self::UserLeft(_) => self,
        }
    }
}

/// What a person must know of an answer that is not whole, and the status for it.
pub(super) fn describe_incomplete_answer(reason: FinishReason) -> Option<(&'static str, u8)> {
    match reason {
        FinishReason::Done => None,
        FinishReason::MaxTokens => {
            Some(("The answer was cut: it has as many tokens as it may.", EXIT_TRUNCATED))
        }
        FinishReason::Refused => {
            Some(("The model, or a filter of its provider, declined to answer.", EXIT_DECLINED))
        }
    }
}

/// The turn that is meant: by its name, or by the message that begins it.
pub(super) struct ChatTurnSelector {
    pub(super) turn: Option<TurnId>,
    pub(super) message: Option<MessageId>,
}

impl ChatTurnSelector {
    /// Whether an event is of this turn. What comes while the message still waits is of
    /// the turn before its own.
    pub(super) fn includes_event(&self, event: &Event) -> bool {
        let own = |added: MessageId| self.message == Some(added);
        let fact = || event.fact();
        self.turn.is_some()
            || matches!(fact(), Some(Fact::MessageAdded(added)) if own(added.message))
    }

    /// How the turn ended, if it did with this.
    pub(super) fn detect_outcome(&mut self, event: &Event) -> Option<ChatTurnOutcome> {
        let fact = event.fact()?;
        let own = |turn: TurnId| self.turn == Some(turn);
        if let Fact::TurnStarted(started) = &fact {
            if started.message.is_some() && started.message == self.message {
                self.turn = Some(started.turn);
            }
            None
        } else if let Fact::TurnFinished(end) = &fact {
            own(end.turn).then_some(ChatTurnOutcome::Finished(end.reason))
        } else if let Fact::TurnFailed(end) = &fact {
            let why = format!("{} ({})", end.fault.message, end.fault.code);
            let is_limit = matches!(end.fault.code, Code::BudgetExceeded | Code::TurnLimit);
            let status = if is_limit { EXIT_LIMIT_REACHED } else { EXIT_FAILED };
            own(end.turn).then_some(ChatTurnOutcome::Failed { why, status })
        } else if let Fact::TurnCancelled(end) = &fact {
            if own(end.turn) {
                return Some(ChatTurnOutcome::from_cancellation(
                    "the turn was cancelled (CANCELLED)",
                ));
            }
            // What was said here waits for another turn, which was stopped.
            let waits = self.turn.is_none() && !end.withdrawn;
            self.message
                .filter(|_| waits)
                .map(|message| ChatTurnOutcome::MessageHeld { message, status: EXIT_FAILED })
        } else if let Fact::MessageWithdrawn(taken) = &fact {
            let own = self.message == Some(taken.message);
            own.then(|| ChatTurnOutcome::from_failure("what you said was taken back (CANCELLED)"))
        } else if let Fact::TurnInterrupted(end) = &fact {
            own(end.turn).then(|| ChatTurnOutcome::Interrupted { why: end.why.clone() })
        } else if let Fact::SessionClosed(_) = &fact {
            Some(ChatTurnOutcome::from_failure("the session was closed (SESSION_CLOSED)"))
        } else {
            None
        }
    }
}
