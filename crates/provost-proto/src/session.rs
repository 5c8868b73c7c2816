//! Sessions with models: their facts and views.
//!
//! A session belongs to a project and a role. A message of a person starts a turn; a turn lasts
//! until the model stops, a limit is reached or somebody cancels it. Everything is a fact in the
//! stream `session/<id>`, including every streamed text, before anybody sees it.

mod api;
mod fact;
mod view;

pub use api::{
    CancelTurnResponse, ContinueTurnResponse, ModelList, ModelView, OpenSessionRequest,
    ProviderView, SendMessageRequest, SendMessageResponse, SessionDetail, SessionList,
    StartTourRequest, StartTourResponse, UsageReport, WithdrawMessageResponse,
};
pub use fact::{
    AnswerText, AttemptFailed, AttemptRestarted, ContentDelta, HandedOff, MessageAdded,
    MessageWithdrawn, SessionClosed, SessionCompacted, SessionOpened, TaskUsed, ToolCalled,
    ToolDelta, ToolReturned, TurnCancelled, TurnFailed, TurnFinished, TurnInterrupted, TurnStarted,
    UsageRecorded,
};
pub use view::{
    CompletionDraft, DailyUsage, DraftToolCall, HandoffUsage, ItemContent, PendingRetry,
    QueuedMessage, SessionItem, SessionPage, SessionStatus, SessionTurn, SessionView, ToolResult,
    TurnStatus, TurnView,
};

use serde::{Deserialize, Serialize};

/// The common attributes of the types here.
macro_rules! wire {
    ($($item:item)+) => {$(
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        $item
    )+};
}

/// The same for structs.
macro_rules! body {
    ($($item:item)+) => {$(
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        $item
    )+};
}

pub(crate) use {body, wire};

/// How many items one document holds: few enough that adding one is cheap, many enough that a
/// long session is few documents.
pub const ITEMS_PER_PAGE: u32 = 32;

/// The number of an item in its session, in ascending order; gaps are possible.
pub type ItemNumber = u32;

/// An amount of money in billionths of a dollar.
pub type NanoDollars = u64;

wire! {
    /// The author of a message.
    #[derive(Copy, Eq)]
    pub enum MessageAuthor {
        /// A person, or the agent that handed off a task.
        User,
        /// The model.
        Assistant,
    }

    /// A part of a message.
    #[serde(tag = "type")]
    #[derive(Eq)]
    pub enum MessagePart {
        /// Text, mostly Markdown.
        Text {
            /// The text.
            text: String,
        },
        /// The reasoning of the model, as far as the provider sends it.
        Reasoning {
            /// The text.
            text: String,
        },
        /// The refusal of the model to answer.
        Refusal {
            /// The text.
            text: String,
        },
    }

    /// The status of a tool call.
    #[derive(Copy, Eq)]
    pub enum ToolCallStatus {
        /// It succeeded.
        Ok,
        /// It failed.
        Error,
        /// A person or a rule denied it.
        Denied,
        /// It was cancelled.
        Cancelled,
    }

    /// Why a turn ended normally.
    #[derive(Copy, Eq)]
    pub enum FinishReason {
        /// The model finished.
        Done,
        /// The completion reached its maximum length.
        MaxTokens,
        /// The model, or its provider, refused.
        Refused,
    }

    /// The purpose of a completion.
    #[derive(Copy, Eq)]
    pub enum CompletionPurpose {
        /// An answer.
        Answer,
        /// A summary of earlier messages.
        Summary,
    }
}

/// Token counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenUsage {
    /// All input tokens, including those below.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub input: u64,
    /// All output tokens, including reasoning.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub output: u64,
    /// Of the input, those read from a cache.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub cached_input: u64,
    /// Of the input, those written to a cache.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub cache_write: u64,
    /// Of the output, those spent on reasoning.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub reasoning: u64,
}

impl TokenUsage {
    /// The sum of both.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }

    /// All tokens.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// The budget of a session. An absent value is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionBudget {
    /// Money, in billionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "number", optional))]
    pub nanos: Option<NanoDollars>,
    /// Tokens, input and output together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "number", optional))]
    pub tokens: Option<u64>,
}
