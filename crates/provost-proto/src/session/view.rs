//! What sessions look like: the documents that facts are folded into.

use serde_json::Value;

use super::{
    FinishReason, ItemNumber, MessageAuthor, MessagePart, NanoDollars, SessionBudget, TokenUsage,
    ToolCallStatus, body, wire,
};
use crate::kernel::ErrorInfo;
use crate::{ActionId, Actor, MessageId, Principal, ProjectId, SessionId, TurnId, UnixMicros};

wire! {
    /// Whether something can be said in a session.
    #[derive(Copy, Eq)]
    pub enum SessionStatus {
        /// It waits for somebody to say something.
        Idle,
        /// A turn goes on.
        Running,
        /// Its last turn was cut off, and can be gone on with.
        Interrupted,
        /// It is over.
        Closed,
    }

    /// How far a turn has come.
    #[derive(Copy, Eq)]
    pub enum TurnStatus {
        /// It goes on.
        Running,
        /// The model stopped.
        Finished,
        /// It could not go on.
        Failed,
        /// A person stopped it.
        Cancelled,
        /// The daemon ended meanwhile.
        Interrupted,
    }
}

body! {
    /// The last turn of a session.
    pub struct TurnView {
        /// Its name.
        pub id: TurnId,
        /// How far it has come.
        pub status: TurnStatus,
        /// When it began.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub started_at: UnixMicros,
        /// When it ended.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        pub ended_at: Option<UnixMicros>,
        /// On whose behalf.
        pub principal: Principal,
        /// Through what they spoke.
        pub actor: Actor,
        /// How often a model was asked, in the tasks it handed over too.
        pub calls: u32,
        /// What it used, with the tasks it handed over.
        pub usage: TokenUsage,
        /// What it cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// Why it ended in order.
        pub reason: Option<FinishReason>,
        /// Why it could not go on.
        pub fault: Option<ErrorInfo>,
    }

    /// A session, without what was said in it.
    pub struct SessionView {
        /// Its name.
        pub id: SessionId,
        /// Where.
        pub project: ProjectId,
        /// The role the model acts in.
        pub role: String,
        /// The model.
        pub model: String,
        /// The beginning of what was said first.
        pub title: String,
        /// Whether something can be said.
        pub status: SessionStatus,
        /// When it was opened.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub opened_at: UnixMicros,
        /// On whose authority.
        pub opened_by: Principal,
        /// When something last began or ended in it.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub updated_at: UnixMicros,
        /// The place of the next item.
        pub items: ItemNumber,
        /// What was said and waits for its turn.
        pub queued: Vec<QueuedMessage>,
        /// The last turn.
        pub turn: Option<TurnView>,
        /// What it used in all, with the tasks it handed over.
        pub usage: TokenUsage,
        /// What it cost in all, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many answers had no known price.
        pub unpriced: u32,
        /// Of all that, what the sessions used that it handed tasks to.
        #[serde(default)]
        pub handed: HandoffUsage,
        /// How many tokens the last answer and its request had.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub context: u64,
        /// Where the last summary stands, if there is one.
        pub compacted: Option<ItemNumber>,
        /// The most it may use.
        pub budget: SessionBudget,
        /// The session that handed a task over to this one.
        pub parent: Option<SessionId>,
        /// How many sessions are above this one.
        pub depth: u8,
        /// The only skills it may use.
        pub only: Option<Vec<String>>,
    }

    /// What the sessions used that tasks were handed to, and those further below.
    #[derive(Copy, Eq, Default)]
    pub struct HandoffUsage {
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many answers had no known price.
        pub unpriced: u32,
    }

    /// A message that waits for its turn.
    pub struct QueuedMessage {
        /// Which.
        pub message: MessageId,
        /// Where it is.
        pub item: ItemNumber,
    }

    /// Some items of a session in a row.
    pub struct SessionPage {
        /// Whose.
        pub session: SessionId,
        /// The items, by place.
        pub items: Vec<SessionItem>,
    }

    /// One thing in a conversation.
    pub struct SessionItem {
        /// Its place.
        pub item: ItemNumber,
        /// The turn it belongs to; none yet if it waits for one.
        pub turn: Option<TurnId>,
        /// When.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
        /// What it is.
        pub content: ItemContent,
    }

    /// What came of a call.
    pub struct ToolResult {
        /// How it went.
        pub status: ToolCallStatus,
        /// What the model is told.
        pub output: String,
        /// When.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
    }

    /// What the model says now and has not finished.
    pub struct CompletionDraft {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// What it thinks.
        pub reasoning: String,
        /// What it says.
        pub text: String,
        /// The calls it is writing.
        pub calls: Vec<DraftToolCall>,
        /// The provider failed, and is asked again.
        pub retrying: Option<PendingRetry>,
    }

    /// A call that is being written.
    pub struct DraftToolCall {
        /// The tool.
        pub tool: String,
        /// Its arguments so far, JSON text.
        pub arguments: String,
    }

    /// The provider is asked again after a while.
    pub struct PendingRetry {
        /// The number of the attempt that follows.
        pub attempt: u32,
        /// When it begins.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub at: UnixMicros,
        /// Why.
        pub why: String,
    }

    /// What one model used in one project on one day.
    pub struct DailyUsage {
        /// The day, counted from 1970 in UTC.
        pub day: u32,
        /// Where.
        pub project: ProjectId,
        /// Which model.
        pub model: String,
        /// How often it was asked.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub calls: u64,
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many answers had no known price.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub unpriced: u64,
    }
}

wire! {
    /// What an item is.
    #[serde(tag = "type")]
    pub enum ItemContent {
        /// Something was said.
        Message {
            /// Its name.
            message: MessageId,
            /// Who.
            from: MessageAuthor,
            /// What.
            parts: Vec<MessagePart>,
            /// As the provider wrote it. Never sent to clients.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[cfg_attr(feature = "ts", ts(skip))]
            #[cfg_attr(feature = "openapi", schema(ignore))]
            answer: Option<Box<Value>>,
        },
        /// A tool was called.
        Tool {
            /// The model's name for the call.
            call: String,
            /// The action, or `handoff`.
            tool: String,
            /// The arguments, as JSON text.
            arguments: String,
            /// The action that it is.
            action: Option<ActionId>,
            /// The session that the task was handed to.
            child: Option<SessionId>,
            /// What came of it; none while it goes on.
            result: Option<ToolResult>,
        },
        /// What came before is summarized for the model.
        Compacted {
            /// The summary.
            summary: String,
        },
    }
}
