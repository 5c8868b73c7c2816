//! What comes next in a turn.
//!
//! ```text
//!            ┌───────────────── results ────────────────┐
//!   begin ─▶ ask ── calls ─▶ tools ─────────────────────┘
//!             │ ▲ └ stopped ─▶ finish
//!             ▼ │
//!           compact      and from everywhere: fail, at a limit
//! ```

use provost_proto::Code;
use provost_proto::session::{FinishReason, NanoDollars};

/// What one turn may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often the model may be asked.
    pub calls: u32,
    /// How many tokens it may read and write.
    pub tokens: Option<u64>,
    /// What it may cost.
    pub cost: Option<NanoDollars>,
    /// How long it may last, in milliseconds.
    pub millis: u64,
    /// From how many tokens on the conversation is summarized.
    pub compact_at: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls: 50, tokens: None, cost: None, millis: 3_600_000, compact_at: UNKNOWN }
    }
}

/// From how many tokens on a conversation is summarized whose model's size is not
/// known: most models of today hold more.
const UNKNOWN: u64 = 150_000;

/// From how many tokens on a conversation is summarized: at four fifths of what the
/// model holds, so that an answer still fits, and no later than somebody wants it.
pub fn compact_at(wanted: Option<u64>, context: Option<u64>) -> u64 {
    let room = context.map(|context| context - context / 5);
    match (wanted, room) {
        (Some(wanted), Some(room)) => wanted.min(room),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => UNKNOWN,
    }
}

/// How far a turn has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// How often the model was asked.
    pub calls: u32,
    /// How many tokens were used.
    pub tokens: u64,
    /// What it cost.
    pub cost: NanoDollars,
    /// How long it lasts, in milliseconds.
    pub millis: u64,
    /// How many tokens the conversation has, by the last answer.
    pub context: u64,
}

/// What was last heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A message, the results of calls, or a pause that the provider made.
    Ready,
    /// The model calls tools.
    Calls,
    /// The model stopped.
    Stopped(FinishReason),
    /// The conversation does not fit the model.
    TooLong,
    /// The conversation was summarized.
    Compacted,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Ask the model.
    Ask,
    /// Carry out its calls.
    Tools,
    /// Summarize the conversation.
    Compact,
    /// The turn is over, in order.
    Finish(FinishReason),
    /// The turn cannot go on.
    Fail(Stop),
}

/// Why a turn cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The model was asked too often.
    #[error(
        "the model was asked {0} times in this turn, which is the limit; continue if it should go on"
    )]
    Calls(u32),
    /// Too many tokens.
    #[error("this turn used {0} tokens, which is the limit; continue if it should go on")]
    Tokens(u64),
    /// Too much money.
    #[error("this turn cost what one may; continue if it should go on")]
    Cost,
    /// Too long.
    #[error("this turn took {} minutes, which is the limit; continue if it should go on", .0 / 60_000)]
    Time(u64),
    /// Even the summary does not fit.
    #[error("the conversation does not fit the model, even summarized; open a new session")]
    TooLong,
}

impl Stop {
    /// Its code.
    pub fn code(self) -> Code {
        match self {
            Self::Calls(_) | Self::Tokens(_) | Self::Time(_) => Code::TurnLimit,
            Self::Cost => Code::BudgetExceeded,
            Self::TooLong => Code::ContextLength,
        }
    }
}

/// What comes after what was heard. A limit is looked at before the model is asked
/// again, so that what it called last is still carried out and told.
pub fn next(heard: Heard, progress: Progress, limits: &Limits, compacted: bool) -> Step {
    match heard {
        Heard::Stopped(reason) => Step::Finish(reason),
        Heard::Calls => Step::Tools,
        Heard::TooLong if compacted => Step::Fail(Stop::TooLong),
        Heard::TooLong => over(progress, limits).map_or(Step::Compact, Step::Fail),
        Heard::Compacted => over(progress, limits).map_or(Step::Ask, Step::Fail),
        Heard::Ready => match over(progress, limits) {
            Some(stop) => Step::Fail(stop),
            None if progress.context >= limits.compact_at && !compacted => Step::Compact,
            None => Step::Ask,
        },
    }
}

fn over(progress: Progress, limits: &Limits) -> Option<Stop> {
    if progress.calls >= limits.calls {
        return Some(Stop::Calls(limits.calls));
    }
    if limits.tokens.is_some_and(|most| progress.tokens >= most) {
        return Some(Stop::Tokens(progress.tokens));
    }
    if limits.cost.is_some_and(|most| progress.cost >= most) {
        return Some(Stop::Cost);
    }
    (progress.millis >= limits.millis).then_some(Stop::Time(limits.millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEARD: [Heard; 6] = [
        Heard::Ready,
        Heard::Calls,
        Heard::Stopped(FinishReason::Done),
        Heard::Stopped(FinishReason::Refused),
        Heard::TooLong,
        Heard::Compacted,
    ];

    #[test]
    fn no_model_is_asked_beyond_a_limit() {
        let limits = Limits { tokens: Some(10), cost: Some(10), ..Limits::default() };
        let over = [
            Progress { calls: 50, ..Progress::default() },
            Progress { tokens: 10, ..Progress::default() },
            Progress { cost: 10, ..Progress::default() },
            Progress { millis: 3_600_000, ..Progress::default() },
        ];
        for progress in over {
            for heard in HEARD {
                for compacted in [false, true] {
                    let step = next(heard, progress, &limits, compacted);
                    assert!(!matches!(step, Step::Ask | Step::Compact), "{heard:?} {progress:?}");
                }
            }
        }
    }

    #[test]
    fn a_conversation_is_summarized_once_and_then_it_fits_or_fails() {
        let (limits, full) =
            (Limits::default(), Progress { context: 150_000, ..Progress::default() });
        assert_eq!(next(Heard::Ready, full, &limits, false), Step::Compact);
        assert_eq!(next(Heard::Compacted, full, &limits, true), Step::Ask);
        assert_eq!(next(Heard::TooLong, full, &limits, true), Step::Fail(Stop::TooLong));
        assert_eq!(next(Heard::TooLong, Progress::default(), &limits, false), Step::Compact);
    }

    #[test]
    fn a_conversation_is_summarized_before_it_fills_its_model() {
        let table = [
            (None, None, 150_000),
            (None, Some(200_000), 160_000),
            (None, Some(8192), 6554),
            (Some(50_000), Some(200_000), 50_000),
            (Some(900_000), Some(200_000), 160_000),
            (Some(900_000), None, 900_000),
        ];
        for (wanted, context, at) in table {
            assert_eq!(compact_at(wanted, context), at, "{wanted:?} of {context:?}");
        }
    }

    #[test]
    fn what_was_called_is_carried_out_whatever_the_limits() {
        let spent = Progress { calls: 99, tokens: 9, cost: 9, millis: u64::MAX, context: 9 };
        assert_eq!(next(Heard::Calls, spent, &Limits::default(), true), Step::Tools);
    }
}
