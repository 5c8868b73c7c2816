//! Conversations with models: what happens in them, and what they look like.
//!
//! A session belongs to a project and a role. What a person says begins a turn;
//! a turn lasts until the model stops, a limit is reached or somebody cancels it.
//! Everything is a fact in the stream `session/<id>`: also every piece of text,
//! before anybody sees it.

mod api;
mod fact;
mod view;

pub use api::{
    ModelList, ModelView, OpenSessionRequest, ProviderView, SendMessageRequest,
    SendMessageResponse, SessionDetail, SessionList, StartTourRequest, StartTourResponse,
    UsageReport,
};
pub use fact::{
    AttemptFailed, AttemptRestarted, ContentDelta, HandedOff, MessageAdded, MessageWithdrawn,
    SessionClosed, SessionCompacted, SessionOpened, TaskUsed, ToolCalled, ToolDelta, ToolReturned,
    TurnCancelled, TurnFailed, TurnFinished, TurnInterrupted, TurnStarted, UsageRecorded,
};
pub use view::{
    CompletionDraft, DailyUsage, DraftToolCall, HandoffUsage, ItemContent, PendingRetry,
    QueuedMessage, SessionItem, SessionPage, SessionStatus, SessionView, ToolResult, TurnStatus,
    TurnView,
};

use serde::{Deserialize, Serialize};

/// What everything here has in common.
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

/// How many items one document holds: few enough that adding one is cheap, many
/// enough that a long conversation is few documents.
pub const ITEMS_PER_PAGE: u32 = 32;

/// The number of an item in its session; it rises, and may leave some out.
pub type ItemNumber = u32;

/// An amount of money in billionths of a dollar.
pub type NanoDollars = u64;

wire! {
    /// Who said something.
    #[derive(Copy, Eq)]
    pub enum MessageAuthor {
        /// A person, or the agent that handed a task over.
        User,
        /// The model.
        Assistant,
    }

    /// A part of what was said.
    #[serde(tag = "type")]
    #[derive(Eq)]
    pub enum MessagePart {
        /// Text, Markdown mostly.
        Text {
            /// The text.
            text: String,
        },
        /// What the model thought, as far as it is told.
        Reasoning {
            /// The text.
            text: String,
        },
        /// What the model said in place of an answer.
        Refusal {
            /// The text.
            text: String,
        },
    }

    /// How a call of a tool went.
    #[derive(Copy, Eq)]
    pub enum ToolCallStatus {
        /// It was done.
        Ok,
        /// It was tried and failed.
        Error,
        /// A person or a rule forbade it.
        Denied,
        /// It was stopped before it was done.
        Cancelled,
    }

    /// Why a turn ended in order.
    #[derive(Copy, Eq)]
    pub enum FinishReason {
        /// The model had said everything.
        Done,
        /// It reached the longest answer it may give.
        MaxTokens,
        /// It, or its provider, declined.
        Refused,
    }

    /// What a model was asked for.
    #[derive(Copy, Eq)]
    pub enum CompletionPurpose {
        /// To answer.
        Answer,
        /// To summarize what came before.
        Summary,
    }
}

/// Tokens that were used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenUsage {
    /// All tokens of the requests, those below included.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub input: u64,
    /// All tokens of the answers, reasoning included.
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
    /// Both together.
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

/// The most that a session may use. What is absent is not limited here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionBudget {
    /// Money, in billionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "number", optional))]
    pub nanos: Option<NanoDollars>,
    /// Tokens, of requests and answers together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "number", optional))]
    pub tokens: Option<u64>,
}
