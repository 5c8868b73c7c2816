//! Which turn a chat follows, and how it ended.

use provost_proto::session::FinishReason;
use provost_proto::{Code, Event, Fact, MessageId, TurnId};

/// Exit status of `provost chat -p` for failures without a status of their own; 0 is a
/// complete answer.
pub(super) const EXIT_FAILED: u8 = 1;
/// The answer reached its token limit.
const EXIT_TRUNCATED: u8 = 7;
/// The model or a filter declined to answer.
const EXIT_DECLINED: u8 = 8;
/// A budget is spent, or the turn reached a limit.
const EXIT_LIMIT_REACHED: u8 = 9;

/// Exit status after Ctrl-C: 128 + SIGINT.
pub(super) const EXIT_INTERRUPTED: u8 = 130;

/// How a turn ended.
pub(super) enum ChatTurnOutcome {
    /// Without an error, though the answer may be incomplete.
    Finished(FinishReason),
    Failed {
        why: String,
        status: u8,
    },
    /// The provider of the model has no key, as the daemon sees it.
    NoKey {
        why: String,
    },
    /// It was cancelled; queued messages stay queued.
    Cancelled {
        why: String,
        status: u8,
    },
    /// The turn before was cancelled, so that the queued message is held until a person acts.
    MessageHeld {
        message: MessageId,
        status: u8,
    },
    /// The daemon stopped during the turn.
    Interrupted {
        why: String,
    },
    /// The user left before its end; exit with this status.
    UserLeft(u8),
}

impl ChatTurnOutcome {
    pub(super) fn from_failure(why: impl Into<String>) -> Self {
        Self::Failed { why: why.into(), status: EXIT_FAILED }
    }

    fn from_cancellation(why: &str) -> Self {
        Self::Cancelled { why: why.to_owned(), status: EXIT_FAILED }
    }

    /// The outcome after Ctrl-C, which has its own exit status.
    pub(super) fn with_interrupt_status(self) -> Self {
        match self {
            Self::Failed { why, .. } | Self::NoKey { why } => {
                Self::Failed { why, status: EXIT_INTERRUPTED }
            }
            Self::Cancelled { why, .. } => Self::Cancelled { why, status: EXIT_INTERRUPTED },
            Self::MessageHeld { message, .. } => {
                Self::MessageHeld { message, status: EXIT_INTERRUPTED }
            }
            Self::Finished(_) | Self::Interrupted { .. } | Self::UserLeft(_) => self,
        }
    }
}

/// The message and the exit status for an incomplete answer.
pub(super) fn describe_incomplete_answer(reason: FinishReason) -> Option<(&'static str, u8)> {
    match reason {
        FinishReason::Done => None,
        FinishReason::MaxTokens => {
            Some(("The answer is truncated: it reached the token limit.", EXIT_TRUNCATED))
        }
        FinishReason::Refused => {
            Some(("The model or a filter of its provider declined to answer.", EXIT_DECLINED))
        }
    }
}

/// The turn to follow: known by its id, or by the message that begins it.
pub(super) struct ChatTurnSelector {
    pub(super) turn: Option<TurnId>,
    pub(super) message: Option<MessageId>,
}

impl ChatTurnSelector {
    /// Whether an event belongs to this turn. While the message is queued, events belong
    /// to the turn before it.
    pub(super) fn includes_event(&self, event: &Event) -> bool {
        let is_own = |added: MessageId| self.message == Some(added);
        self.turn.is_some()
            || matches!(event.fact(), Some(Fact::MessageAdded(added)) if is_own(added.message))
    }

    /// How the turn ended, if this event ends it. Learns the turn when the message begins it.
    pub(super) fn detect_outcome(&mut self, event: &Event) -> Option<ChatTurnOutcome> {
        let is_own = |turn: TurnId| self.turn == Some(turn);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all other facts neither start nor end a turn"
        )]
        match event.fact()? {
            Fact::TurnStarted(started) => {
                if started.message.is_some() && started.message == self.message {
                    self.turn = Some(started.turn);
                }
                None
            }
            Fact::TurnFinished(end) => {
                is_own(end.turn).then_some(ChatTurnOutcome::Finished(end.reason))
            }
            Fact::TurnFailed(end) => {
                let why = format!("{} ({})", end.fault.message, end.fault.code);
                if end.fault.code == Code::ModelKey {
                    return is_own(end.turn).then_some(ChatTurnOutcome::NoKey { why });
                }
                let is_limit = matches!(end.fault.code, Code::BudgetExceeded | Code::TurnLimit);
                let status = if is_limit { EXIT_LIMIT_REACHED } else { EXIT_FAILED };
                is_own(end.turn).then_some(ChatTurnOutcome::Failed { why, status })
            }
            Fact::TurnCancelled(end) if is_own(end.turn) => {
                Some(ChatTurnOutcome::from_cancellation("the turn was cancelled (CANCELLED)"))
            }
            Fact::TurnCancelled(end) => {
                // Our message is queued behind another turn, which was cancelled.
                let is_queued = self.turn.is_none() && !end.withdrawn;
                self.message
                    .filter(|_| is_queued)
                    .map(|message| ChatTurnOutcome::MessageHeld { message, status: EXIT_FAILED })
            }
            Fact::MessageWithdrawn(withdrawn) => (self.message == Some(withdrawn.message))
                .then(|| ChatTurnOutcome::from_failure("your message was withdrawn (CANCELLED)")),
            Fact::TurnInterrupted(end) => {
                is_own(end.turn).then_some(ChatTurnOutcome::Interrupted { why: end.why })
            }
            Fact::SessionClosed(_) => {
                Some(ChatTurnOutcome::from_failure("the session was closed (SESSION_CLOSED)"))
            }
            _ => None,
        }
    }
}
