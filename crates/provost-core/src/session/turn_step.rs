//! Decides what comes next in a turn.
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

/// The limits of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// The most completions.
    pub calls: u32,
    /// The most tokens, input and output together.
    pub tokens: Option<u64>,
    /// The most cost.
    pub cost: Option<NanoDollars>,
    /// The longest duration, in milliseconds.
    pub millis: u64,
    /// The number of tokens from which on the session is compacted.
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

/// The threshold for models of unknown context size: most models have more.
const DEFAULT_COMPACTION_THRESHOLD: u64 = 150_000;

/// The number of tokens from which on a session is compacted: at four fifths of the model's
/// context, so that a completion still fits, and no later than `wanted`.
pub fn compaction_threshold(wanted: Option<u64>, context: Option<u64>) -> u64 {
    let room = context.map(|context| context - context / 5);
    match (wanted, room) {
        (Some(wanted), Some(room)) => wanted.min(room),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => DEFAULT_COMPACTION_THRESHOLD,
    }
}

/// How much a turn has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnProgress {
    /// Completions.
    pub calls: u32,
    /// How many tokens were used.
    pub tokens: u64,
    /// Cost.
    pub cost: NanoDollars,
    /// Duration, in milliseconds.
    pub millis: u64,
    /// Tokens of the context, by the last completion.
    pub context: u64,
}

/// What happened last in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnInput {
    /// A message, tool results, or a pause by the provider.
    Ready,
    /// The model called tools.
    ToolCalls,
    /// The model stopped.
    ModelStopped(FinishReason),
    /// The context exceeds the model's limit.
    ContextTooLong,
    /// The session was compacted.
    Compacted,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStep {
    /// Request a completion.
    CallModel,
    /// Run the tool calls.
    RunTools,
    /// Compact the session.
    Compact,
    /// End the turn normally.
    Finish(FinishReason),
    /// End the turn with an error.
    Fail(TurnStopReason),
}

/// Why a turn cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TurnStopReason {
    /// Too many completions.
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
    /// Too much time.
    #[error("this turn took {} minutes, which is the limit; continue if it should go on", .0 / 60_000)]
    Time(u64),
    /// Even the summary exceeds the model's context.
    #[error("the conversation does not fit the model, even summarized; open a new session")]
    ContextTooLong,
}

impl TurnStopReason {
    /// The error code.
    pub fn code(self) -> Code {
        match self {
            Self::Calls(_) | Self::Tokens(_) | Self::Time(_) => Code::TurnLimit,
            Self::Cost => Code::BudgetExceeded,
            Self::ContextTooLong => Code::ContextLength,
        }
    }
}

/// Decides what follows. Limits are checked before the next completion, so that the last tool
/// calls are still run and answered.
pub fn next_turn_step(
    input: TurnInput,
    progress: TurnProgress,
    limits: &TurnLimits,
    compacted: bool,
) -> TurnStep {
    match input {
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

    const INPUTS: [TurnInput; 6] = [
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
            for input in INPUTS {
                for compacted in [false, true] {
                    let step = next_turn_step(input, progress, &limits, compacted);
                    assert!(
                        !matches!(step, TurnStep::CallModel | TurnStep::Compact),
                        "{input:?} {progress:?}"
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
