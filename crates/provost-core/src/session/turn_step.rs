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
pub struct TurnLimits {
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

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            calls: 50,
            tokens: None,
            cost: None,
            millis: 3_600_000,
            compact_at: DEFAULT_COMPACTION_THRESHOLD,
        }
    }
}

/// From how many tokens on a conversation is summarized whose model's size is not
/// known: most models of today hold more.
const DEFAULT_COMPACTION_THRESHOLD: u64 = 150_000;

/// From how many tokens on a conversation is summarized: at four fifths of what the
/// model holds, so that an answer still fits, and no later than somebody wants it.
pub fn compaction_threshold(wanted: Option<u64>, context: Option<u64>) -> u64 {
    let room = context.map(|context| context - context / 5);
    match (wanted, room) {
        (Some(wanted), Some(room)) => wanted.min(room),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => DEFAULT_COMPACTION_THRESHOLD,
    }
}

/// How far a turn has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnProgress {
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
pub enum TurnInput {
    /// A message, the results of calls, or a pause that the provider made.
    Ready,
    /// The model calls tools.
    ToolCalls,
    /// The model stopped.
    ModelStopped(FinishReason),
    /// The conversation does not fit the model.
    ContextTooLong,
    /// The conversation was summarized.
    Compacted,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStep {
    /// Ask the model.
    CallModel,
    /// Carry out its calls.
    RunTools,
    /// Summarize the conversation.
    Compact,
    /// The turn is over, in order.
    Finish(FinishReason),
    /// The turn cannot go on.
    Fail(TurnStopReason),
}

/// Why a turn cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TurnStopReason {
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
    ContextTooLong,
}

impl TurnStopReason {
    /// Its code.
    pub fn code(self) -> Code {
        match self {
            Self::Calls(_) | Self::Tokens(_) | Self::Time(_) => Code::TurnLimit,
            Self::Cost => Code::BudgetExceeded,
            Self::ContextTooLong => Code::ContextLength,
        }
    }
}

/// What comes after what was heard. A limit is looked at before the model is asked
/// again, so that what it called last is still carried out and told.
pub fn next_turn_step(
    heard: TurnInput,
    progress: TurnProgress,
    limits: &TurnLimits,
    compacted: bool,
) -> TurnStep {
    match heard {
        TurnInput::ModelStopped(reason) => TurnStep::Finish(reason),
        TurnInput::ToolCalls => TurnStep::RunTools,
        TurnInput::ContextTooLong if compacted => TurnStep::Fail(TurnStopReason::ContextTooLong),
        TurnInput::ContextTooLong => {
            exceeded_limit(progress, limits).map_or(TurnStep::Compact, TurnStep::Fail)
        }
        TurnInput::Compacted => {
            exceeded_limit(progress, limits).map_or(TurnStep::CallModel, TurnStep::Fail)
        }
        TurnInput::Ready => match exceeded_limit(progress, limits) {
            Some(stop) => TurnStep::Fail(stop),
            None if progress.context >= limits.compact_at && !compacted => TurnStep::Compact,
            None => TurnStep::CallModel,
        },
    }
}

fn exceeded_limit(progress: TurnProgress, limits: &TurnLimits) -> Option<TurnStopReason> {
    if progress.calls >= limits.calls {
        return Some(TurnStopReason::Calls(limits.calls));
    }
    if limits.tokens.is_some_and(|most| progress.tokens >= most) {
        return Some(TurnStopReason::Tokens(progress.tokens));
    }
    if limits.cost.is_some_and(|most| progress.cost >= most) {
        return Some(TurnStopReason::Cost);
    }
    (progress.millis >= limits.millis).then_some(TurnStopReason::Time(limits.millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEARD: [TurnInput; 6] = [
        TurnInput::Ready,
        TurnInput::ToolCalls,
        TurnInput::ModelStopped(FinishReason::Done),
        TurnInput::ModelStopped(FinishReason::Refused),
        TurnInput::ContextTooLong,
        TurnInput::Compacted,
    ];

    #[test]
    fn no_model_is_asked_beyond_a_limit() {
        let limits = TurnLimits { tokens: Some(10), cost: Some(10), ..TurnLimits::default() };
        let over = [
            TurnProgress { calls: 50, ..TurnProgress::default() },
            TurnProgress { tokens: 10, ..TurnProgress::default() },
            TurnProgress { cost: 10, ..TurnProgress::default() },
            TurnProgress { millis: 3_600_000, ..TurnProgress::default() },
        ];
        for progress in over {
            for heard in HEARD {
                for compacted in [false, true] {
                    let step = next_turn_step(heard, progress, &limits, compacted);
                    assert!(
                        !matches!(step, TurnStep::CallModel | TurnStep::Compact),
                        "{heard:?} {progress:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_conversation_is_summarized_once_and_then_it_fits_or_fails() {
        let (limits, full) =
            (TurnLimits::default(), TurnProgress { context: 150_000, ..TurnProgress::default() });
        assert_eq!(next_turn_step(TurnInput::Ready, full, &limits, false), TurnStep::Compact);
        assert_eq!(next_turn_step(TurnInput::Compacted, full, &limits, true), TurnStep::CallModel);
        assert_eq!(
            next_turn_step(TurnInput::ContextTooLong, full, &limits, true),
            TurnStep::Fail(TurnStopReason::ContextTooLong)
        );
        assert_eq!(
            next_turn_step(TurnInput::ContextTooLong, TurnProgress::default(), &limits, false),
            TurnStep::Compact
        );
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
            assert_eq!(compaction_threshold(wanted, context), at, "{wanted:?} of {context:?}");
        }
    }

    #[test]
    fn what_was_called_is_carried_out_whatever_the_limits() {
        let spent = TurnProgress { calls: 99, tokens: 9, cost: 9, millis: u64::MAX, context: 9 };
        assert_eq!(
            next_turn_step(TurnInput::ToolCalls, spent, &TurnLimits::default(), true),
            TurnStep::RunTools
        );
    }
}
