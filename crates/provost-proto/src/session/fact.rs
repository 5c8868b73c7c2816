//! The bodies of the facts of a session.

use serde_json::Value;

use super::body;
use super::{
    CompletionPurpose, DraftToolCall, FinishReason, ItemNumber, MessageAuthor, MessagePart,
    NanoDollars, SessionBudget, TokenUsage, ToolCallStatus,
};
use crate::kernel::ErrorInfo;
use crate::{ActionId, MessageId, ProjectId, SessionId, TurnId};

body! {
    /// A session was opened.
    pub struct SessionOpened {
        /// Its id.
        pub session: SessionId,
        /// The project.
        pub project: ProjectId,
        /// The role that the model acts in.
        pub role: String,
        /// The full name of the model.
        pub model: String,
        /// Its budget.
        pub budget: SessionBudget,
        /// The session that handed off a task to this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub parent: Option<SessionId>,
        /// How many sessions are above this one.
        #[serde(default)]
        pub depth: u8,
        /// The only skills that it may use; all of its role's if absent. After a handoff, never
        /// more than those of the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub only: Option<Vec<String>>,
    }

    /// A message was added.
    pub struct MessageAdded {
        /// The session.
        pub session: SessionId,
        /// The number of the item.
        pub item: ItemNumber,
        /// The id of the message.
        pub message: MessageId,
        /// The turn that it belongs to; absent while it is queued.
        pub turn: Option<TurnId>,
        /// The author.
        pub from: MessageAuthor,
        /// The content.
        pub parts: Vec<MessagePart>,
        /// The completion as the provider sent it, to be sent back with the next request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub answer: Option<Value>,
        /// Texts of `answer` that are in `parts`, and left out of `answer`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<AnswerText>>"))]
        pub answer_texts: Vec<AnswerText>,
        /// Tool calls that were cut off with the completion. They never run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<DraftToolCall>>"))]
        pub cut_calls: Vec<DraftToolCall>,
    }

    /// A text of a completion that is kept as a part of the message.
    #[derive(Eq)]
    pub struct AnswerText {
        /// Where it belongs in the completion, as a JSON pointer.
        pub at: String,
        /// The index of the part.
        pub part: u32,
    }

    /// A queued message was withdrawn, and is never answered.
    pub struct MessageWithdrawn {
        /// The session.
        pub session: SessionId,
        /// The number of the item.
        pub item: ItemNumber,
        /// The message.
        pub message: MessageId,
    }

    /// A turn was started.
    pub struct TurnStarted {
        /// The session.
        pub session: SessionId,
        /// Its id.
        pub turn: TurnId,
        /// The message that it answers; absent if it continues an earlier turn.
        pub message: Option<MessageId>,
        /// The item number of that message.
        pub item: Option<ItemNumber>,
    }

    /// Streamed text or reasoning. Void if the attempt is restarted. Streams have it; only logs of
    /// earlier versions do.
    pub struct ContentDelta {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The added text.
        pub text: String,
    }

    /// A streamed part of a tool call. Void if the attempt is restarted. Streams have it; only
    /// logs of earlier versions do.
    pub struct ToolDelta {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The index of the call in this completion, from 0.
        pub index: u32,
        /// The tool, when the call begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub tool: Option<String>,
        /// The added part of its arguments, a piece of JSON text.
        pub text: String,
    }

    /// A request to the provider failed and will be retried.
    pub struct AttemptFailed {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The number of the next attempt.
        pub attempt: u32,
        /// The delay before it.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub retry_in_ms: u64,
        /// The reason, as text for people.
        pub why: String,
        /// Whether the provider charges for what failed, even if it streamed nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub charged: bool,
    }

    /// The completion was restarted: what it streamed so far is void.
    pub struct AttemptRestarted {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The number of the next attempt.
        pub attempt: u32,
        /// The text and reasoning that are void.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<MessagePart>>"))]
        pub streamed: Vec<MessagePart>,
        /// The tool calls that are void.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<DraftToolCall>>"))]
        pub calls: Vec<DraftToolCall>,
    }

    /// The model called a tool. The action is decided about like any other.
    pub struct ToolCalled {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The number of the item.
        pub item: ItemNumber,
        /// The provider's id of the call.
        pub call: String,
        /// The action, or `handoff`.
        pub tool: String,
        /// The arguments, as JSON text.
        pub arguments: String,
        /// The id of the action, if it is one.
        pub action: Option<ActionId>,
    }

    /// A tool call has ended, with this result for the model.
    pub struct ToolReturned {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The item number of the call.
        pub item: ItemNumber,
        /// The provider's id of the call.
        pub call: String,
        /// Its status.
        pub status: ToolCallStatus,
        /// The text for the model.
        pub output: String,
    }

    /// A completion has ended and used this many tokens.
    pub struct UsageRecorded {
        /// The session.
        pub session: SessionId,
        /// The project.
        pub project: ProjectId,
        /// The turn.
        pub turn: TurnId,
        /// The model.
        pub model: String,
        /// The day since 1970, in UTC.
        pub day: u32,
        /// The purpose of the completion.
        pub purpose: CompletionPurpose,
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, in billionths of a dollar, if the price is known.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        pub cost: Option<NanoDollars>,
        /// Whether the tokens are estimated, because the provider sent none.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub estimated: bool,
    }

    /// A session that a task was handed off to, or one further below, used this many tokens. It
    /// is recorded in each session above, and counts there too.
    pub struct TaskUsed {
        /// The session above.
        pub session: SessionId,
        /// The turn that was running in it, if there was one.
        pub turn: Option<TurnId>,
        /// The session that used them.
        pub by: SessionId,
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, in billionths of a dollar, if the price is known.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        pub cost: Option<NanoDollars>,
    }

    /// A turn has ended normally.
    pub struct TurnFinished {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The reason.
        pub reason: FinishReason,
    }

    /// A turn failed: the model failed, or a limit was reached.
    pub struct TurnFailed {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The error, and what to do.
        pub fault: ErrorInfo,
    }

    /// A turn was cancelled, and nothing of it runs any more. Queued messages wait until a person
    /// continues or sends a message.
    pub struct TurnCancelled {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// Whether it was cancelled because its requester disconnected: then queued messages are
        /// processed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub withdrawn: bool,
    }

    /// The daemon ended during the turn. What was streamed stays readable.
    pub struct TurnInterrupted {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The reason, as text for people.
        pub why: String,
    }

    /// Earlier messages were replaced by a summary for the model; people can still read them.
    pub struct SessionCompacted {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The number of the item: the model sees the summary and the items after it.
        pub item: ItemNumber,
        /// The summary.
        pub summary: String,
    }

    /// The model handed off a task to another role.
    pub struct HandedOff {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The item number of the tool call.
        pub item: ItemNumber,
        /// The session that does the task.
        pub to: SessionId,
        /// The role of that session.
        pub role: String,
    }

    /// A person closed the session.
    pub struct SessionClosed {
        /// The session.
        pub session: SessionId,
    }
}
