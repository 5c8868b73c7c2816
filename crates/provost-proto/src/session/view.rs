//! The views of sessions: the documents that facts are folded into.

use serde_json::Value;

use super::AnswerText;
use super::{
    FinishReason, ItemNumber, MessageAuthor, MessagePart, NanoDollars, SessionBudget, TokenUsage,
    ToolCallStatus, body, wire,
};
use crate::kernel::ErrorInfo;
use crate::{ActionId, Actor, MessageId, Principal, ProjectId, SessionId, TurnId, UnixMicros};

wire! {
    /// The status of a session.
    #[derive(Copy, Eq)]
    pub enum SessionStatus {
        /// It waits for a message.
        Idle,
        /// A turn is running.
        Running,
        /// Its last turn was interrupted, and can be continued.
        Interrupted,
        /// It is closed.
        Closed,
    }

    /// The status of a turn.
    #[derive(Copy, Eq)]
    pub enum TurnStatus {
        /// It is running.
        Running,
        /// It ended normally.
        Finished,
        /// It failed.
        Failed,
        /// A person cancelled it.
        Cancelled,
        /// The daemon ended during the turn.
        Interrupted,
    }
}

body! {
    /// The last turn of a session.
    pub struct TurnView {
        /// Its id.
        pub id: TurnId,
        /// Its status.
        pub status: TurnStatus,
        /// When it was started.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub started_at: UnixMicros,
        /// When it ended.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        pub ended_at: Option<UnixMicros>,
        /// On whose authority it runs.
        pub principal: Principal,
        /// The component that started it.
        pub actor: Actor,
        /// How many completions it used, including handed-off tasks.
        pub calls: u32,
        /// What it used, including handed-off tasks.
        pub usage: TokenUsage,
        /// What it cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// Why it ended normally.
        pub reason: Option<FinishReason>,
        /// Why it failed.
        pub fault: Option<ErrorInfo>,
    }

    /// A turn as a document of its own: a session holds only its last one.
    pub struct SessionTurn {
        /// The session.
        pub session: SessionId,
        /// The turn.
        #[serde(flatten)]
        pub turn: TurnView,
    }

    /// A session, without its items.
    pub struct SessionView {
        /// Its id.
        pub id: SessionId,
        /// The project.
        pub project: ProjectId,
        /// The role that the model acts in.
        pub role: String,
        /// The model.
        pub model: String,
        /// The beginning of the first message.
        pub title: String,
        /// Its status.
        pub status: SessionStatus,
        /// When it was opened.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub opened_at: UnixMicros,
        /// On whose authority it was opened.
        pub opened_by: Principal,
        /// When it last changed.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub updated_at: UnixMicros,
        /// The number of the next item.
        pub items: ItemNumber,
        /// The queued messages.
        pub queued: Vec<QueuedMessage>,
        /// The last turn.
        pub turn: Option<TurnView>,
        /// What it used in total, including handed-off tasks.
        pub usage: TokenUsage,
        /// What it cost in total, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many completions had no known price.
        pub unpriced: u32,
        /// Of the total, what handed-off tasks used.
        #[serde(default)]
        pub handed: HandoffUsage,
        /// How many tokens the last completion had, including its input.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub context: u64,
        /// The item number of the last summary, if there is one.
        pub compacted: Option<ItemNumber>,
        /// Its budget.
        pub budget: SessionBudget,
        /// The session that handed off a task to this one.
        pub parent: Option<SessionId>,
        /// How many sessions are above this one.
        pub depth: u8,
        /// The only skills it may use.
        pub only: Option<Vec<String>>,
    }

    /// What handed-off tasks used, including those further below.
    #[derive(Copy, Eq, Default)]
    pub struct HandoffUsage {
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many completions had no known price.
        pub unpriced: u32,
    }

    /// A message that waits for its turn.
    pub struct QueuedMessage {
        /// The message.
        pub message: MessageId,
        /// Its item number.
        pub item: ItemNumber,
    }

    /// Consecutive items of a session.
    pub struct SessionPage {
        /// The session.
        pub session: SessionId,
        /// The items, by number.
        pub items: Vec<SessionItem>,
    }

    /// One item of a session.
    pub struct SessionItem {
        /// Its number.
        pub item: ItemNumber,
        /// The turn that it belongs to; absent while it is queued.
        pub turn: Option<TurnId>,
        /// When it was added.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
        /// Its content.
        pub content: ItemContent,
    }

    /// The result of a tool call.
    pub struct ToolResult {
        /// Its status.
        pub status: ToolCallStatus,
        /// The text for the model.
        pub output: String,
        /// When it ended.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
    }

    /// The completion that is being streamed.
    pub struct CompletionDraft {
        /// The session.
        pub session: SessionId,
        /// The turn.
        pub turn: TurnId,
        /// The reasoning so far.
        pub reasoning: String,
        /// The text so far.
        pub text: String,
        /// The tool calls so far.
        pub calls: Vec<DraftToolCall>,
        /// The pending retry, if the provider failed.
        pub retrying: Option<PendingRetry>,
        /// How many bytes each earlier attempt streamed that is to be paid for. Never sent to
        /// clients.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(skip))]
        #[cfg_attr(feature = "openapi", schema(ignore))]
        pub broken_attempts: Vec<u64>,
    }

    /// A tool call that is being streamed.
    pub struct DraftToolCall {
        /// The tool.
        pub tool: String,
        /// Its arguments so far, as JSON text.
        pub arguments: String,
    }

    /// A pending retry of a request to the provider.
    pub struct PendingRetry {
        /// The number of the next attempt.
        pub attempt: u32,
        /// When it starts.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
        /// The reason.
        pub why: String,
    }

    /// What one model used in one project on one day.
    pub struct DailyUsage {
        /// The day since 1970, in UTC.
        pub day: u32,
        /// The project.
        pub project: ProjectId,
        /// The model.
        pub model: String,
        /// How many completions.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub calls: u64,
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many completions had no known price.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub unpriced: u64,
    }
}

wire! {
    /// The content of an item.
    #[serde(tag = "type")]
    pub enum ItemContent {
        /// A message.
        Message {
            /// Its id.
            message: MessageId,
            /// The author.
            from: MessageAuthor,
            /// The content.
            parts: Vec<MessagePart>,
            /// The completion as the provider sent it. Never sent to clients.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(skip))]
            #[cfg_attr(feature = "openapi", schema(ignore))]
            answer: Option<Box<Value>>,
            /// Texts of `answer` that are in `parts`. Never sent to clients.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[cfg_attr(feature = "ts", ts(skip))]
            #[cfg_attr(feature = "openapi", schema(ignore))]
            answer_texts: Vec<AnswerText>,
        },
        /// A tool call.
        Tool {
            /// The provider's id of the call.
            call: String,
            /// The action, or `handoff`.
            tool: String,
            /// The arguments, as JSON text.
            arguments: String,
            /// The id of the action.
            action: Option<ActionId>,
            /// The session that the task was handed off to.
            child: Option<SessionId>,
            /// The result; absent while it is running.
            result: Option<ToolResult>,
        },
        /// A summary that replaces earlier messages for the model.
        Compacted {
            /// The summary.
            summary: String,
        },
    }
}
