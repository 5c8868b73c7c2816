//! The events of a completion while it streams.

use std::pin::Pin;

use futures::Stream;
use serde::{Deserialize, Serialize};

use super::{CallId, Completion, CompletionUsage, ModelError};

/// The events of a model, in order. An error is the last item.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// One event of a completion. Suitable for an append-only log.
///
/// What is *shown* are the deltas, the parts of tool calls and refusals. If an
/// attempt breaks after something was shown and a later attempt succeeds,
/// [`ModelEvent::Restarted`] comes between the two, exactly once, directly before
/// the first shown event (or the end) of the new attempt: consumers of deltas discard
/// all of them since the start or the last `Restarted`. If no later attempt shows
/// anything, what was shown remains and the stream ends with the error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ModelEvent {
    /// More of the answer's text. Never empty.
    TextDelta {
        /// What is added.
        text: String,
    },
    /// More of what the model thinks, or of a summary of it. Never empty.
    ReasoningDelta {
        /// What is added.
        text: String,
    },
    /// A call of a tool begins.
    ToolCallBegin {
        /// The position of the call among the calls of this completion, from 0.
        index: u32,
        /// Unique within the turn; the result names it.
        id: CallId,
        /// The tool.
        name: String,
    },
    /// More of the arguments of a call: a fragment of JSON text. Never empty.
    ToolCallArguments {
        /// Which call.
        index: u32,
        /// What is added.
        delta: String,
    },
    /// The arguments of a call are complete, or as complete as they will be.
    ToolCallEnd {
        /// Which call.
        index: u32,
    },
    /// The model, or a filter of its provider, declines. The turn still ends in order.
    Refusal {
        /// Text of the refusal; appended to earlier text.
        text: String,
    },
    /// What this attempt used so far; replaces what an earlier event of the same
    /// attempt said. A new attempt begins with `Waiting`. A failed attempt is charged too:
    /// add its last `Usage` to the turn's.
    Usage {
        /// The tokens.
        usage: CompletionUsage,
    },
    /// An attempt failed, and another one starts after a delay.
    Waiting {
        /// The number of the attempt that will begin, from 2.
        attempt: u32,
        /// How long until then, in milliseconds.
        millis: u64,
        /// Why the last one failed, for a person.
        reason: String,
        /// Whether the provider worked on the last one, and charges for it.
        is_charged: bool,
    },
    /// What was shown before is void; the completion starts again.
    Restarted {
        /// The number of the attempt that follows.
        attempt: u32,
    },
    /// The turn is finished. The last event.
    End {
        /// All of it, to be kept and sent back.
        turn: Box<Completion>,
    },
}

impl ModelEvent {
    /// Whether a person has seen something of the answer in this event.
    pub fn is_shown(&self) -> bool {
        match self {
            Self::TextDelta { .. }
            | Self::ReasoningDelta { .. }
            | Self::ToolCallBegin { .. }
            | Self::ToolCallArguments { .. }
            | Self::ToolCallEnd { .. }
            | Self::Refusal { .. } => true,
            Self::Usage { .. }
            | Self::Waiting { .. }
            | Self::Restarted { .. }
            | Self::End { .. } => false,
        }
    }
}
