//! Which turn is meant, and how it ended.

use provost_proto::session::FinishReason;
use provost_proto::{Code, Event, Fact, MessageId, TurnId};

/// The statuses of `provost chat -p`; 0 is for an answer that is whole.
pub(super) const FAILED: u8 = 1;
/// The answer has as many tokens as it may.
const CUT: u8 = 7;
/// The model, or a filter, declined.
const DECLINED: u8 = 8;
/// A budget is spent, or the turn took as much as one may.
const LIMIT: u8 = 9;

/// The status of a program that was interrupted.
pub(super) const INTERRUPTED: u8 = 130;

/// How a turn ended.
pub(super) enum End {
    /// In order, though maybe not with a whole answer.
    Well(FinishReason),
    Badly {
        why: String,
        status: u8,
    },
    /// Somebody stopped it, so that what waits goes on waiting.
    Stopped {
        why: String,
        status: u8,
    },
    /// Somebody stopped the turn before, so that what was said waits for a person.
    Held {
        message: MessageId,
        status: u8,
    },
    /// The daemon ended in its midst.
    CutOff {
        why: String,
    },
    /// The person left before, with this status.
    Left(u8),
}

impl End {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Badly { why: why.into(), status: FAILED }
    }

    fn stopped(why: &str) -> Self {
        Self::Stopped { why: why.to_owned(), status: FAILED }
    }

    /// The same after Ctrl-C: what was stopped has not failed.
    pub(super) fn interrupted(self) -> Self {
        match self {
            Self::Badly { why, .. } => Self::Badly { why, status: INTERRUPTED },
            Self::Stopped { why, .. } => Self::Stopped { why, status: INTERRUPTED },
            Self::Held { message, .. } => Self::Held { message, status: INTERRUPTED },
            Self::Well(_) | Self::CutOff { .. } | Self::Left(_) => self,
        }
    }
}

/// What a person must know of an answer that is not whole, and the status for it.
pub(super) fn lacks(reason: FinishReason) -> Option<(&'static str, u8)> {
    match reason {
        FinishReason::Done => None,
        FinishReason::MaxTokens => {
            Some(("The answer was cut: it has as many tokens as it may.", CUT))
        }
        FinishReason::Refused => {
            Some(("The model, or a filter of its provider, declined to answer.", DECLINED))
        }
    }
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
            own(end.turn).then_some(End::Well(end.reason))
        } else if let Fact::TurnFailed(end) = &fact {
            let why = format!("{} ({})", end.fault.message, end.fault.code);
            let is_limit = matches!(end.fault.code, Code::BudgetExceeded | Code::TurnLimit);
            let status = if is_limit { LIMIT } else { FAILED };
            own(end.turn).then_some(End::Badly { why, status })
        } else if let Fact::TurnCancelled(end) = &fact {
            if own(end.turn) {
                return Some(End::stopped("the turn was cancelled (CANCELLED)"));
            }
            // What was said here waits for another turn, which was stopped.
            let waits = self.turn.is_none() && !end.withdrawn;
            self.message.filter(|_| waits).map(|message| End::Held { message, status: FAILED })
        } else if let Fact::MessageWithdrawn(taken) = &fact {
            let own = self.message == Some(taken.message);
            own.then(|| End::failed("what you said was taken back (CANCELLED)"))
        } else if let Fact::TurnInterrupted(end) = &fact {
            own(end.turn).then(|| End::CutOff { why: end.why.clone() })
        } else if let Fact::SessionClosed(_) = &fact {
            Some(End::failed("the session was closed (SESSION_CLOSED)"))
        } else {
            None
        }
    }
}
