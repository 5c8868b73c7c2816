//! The bodies of the facts of a session.

use serde_json::Value;

use super::body;
use super::{
    CompletionPurpose, FinishReason, ItemNumber, MessageAuthor, MessagePart, NanoDollars,
    SessionBudget, TokenUsage, ToolCallStatus,
};
use crate::kernel::ErrorInfo;
use crate::{ActionId, MessageId, ProjectId, SessionId, TurnId};

body! {
    /// A conversation begins.
    pub struct SessionOpened {
        /// Its name.
        pub session: SessionId,
        /// Where.
        pub project: ProjectId,
        /// The role the model acts in.
        pub role: String,
        /// The model by its full name.
        pub model: String,
        /// The most it may use.
        pub budget: SessionBudget,
        /// The session that handed a task over to this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub parent: Option<SessionId>,
        /// How many sessions are above this one.
        #[serde(default)]
        pub depth: u8,
        /// The only skills it may use; all of its role's if absent. Those of a
        /// session that a task was handed to are never more than its parent's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub only: Option<Vec<String>>,
    }

    /// Somebody said something.
    pub struct MessageAdded {
        /// Where.
        pub session: SessionId,
        /// Its place.
        pub item: ItemNumber,
        /// Its name.
        pub message: MessageId,
        /// The turn it belongs to; none yet if it waits for one.
        pub turn: Option<TurnId>,
        /// Who.
        pub from: MessageAuthor,
        /// What.
        pub parts: Vec<MessagePart>,
        /// The answer of a model as its provider wrote it, to be given back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
        #[cfg_attr(feature = "openapi", schema(value_type = Object))]
        pub answer: Option<Value>,
    }

    /// A message that waited for its turn was taken back, and is never answered.
    pub struct MessageWithdrawn {
        /// Where.
        pub session: SessionId,
        /// Its place.
        pub item: ItemNumber,
        /// Which.
        pub message: MessageId,
    }

    /// A turn begins.
    pub struct TurnStarted {
        /// Where.
        pub session: SessionId,
        /// Its name.
        pub turn: TurnId,
        /// What it answers; none if it goes on with an earlier one.
        pub message: Option<MessageId>,
        /// Where that is.
        pub item: Option<ItemNumber>,
    }

    /// More of what the model says or thinks. Void if the attempt is.
    pub struct ContentDelta {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// What is added.
        pub text: String,
    }

    /// More of a call that the model is writing. Void if the attempt is.
    pub struct ToolDelta {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// Which call of this answer, from 0.
        pub index: u32,
        /// The tool, when the call begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub tool: Option<String>,
        /// What is added to its arguments, a piece of JSON text.
        pub text: String,
    }

    /// The provider failed, and is asked again after a while.
    pub struct AttemptFailed {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// The number of the attempt that follows.
        pub attempt: u32,
        /// After how long.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub retry_in_ms: u64,
        /// Why, for people.
        pub why: String,
    }

    /// What this answer showed so far is void; it begins anew.
    pub struct AttemptRestarted {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// The number of the attempt that follows.
        pub attempt: u32,
    }

    /// The model calls a tool. What it asks for goes down the road of all actions.
    pub struct ToolCalled {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// Its place.
        pub item: ItemNumber,
        /// The model's name for the call.
        pub call: String,
        /// The action, or `handoff`.
        pub tool: String,
        /// The arguments, as JSON text.
        pub arguments: String,
        /// The action that it will be, if it is one.
        pub action: Option<ActionId>,
    }

    /// A call is over, and this is what the model is told.
    pub struct ToolReturned {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// The place of the call.
        pub item: ItemNumber,
        /// Which call.
        pub call: String,
        /// How it went.
        pub status: ToolCallStatus,
        /// What the model is told.
        pub output: String,
    }

    /// A model was asked, and used this.
    pub struct UsageRecorded {
        /// Where.
        pub session: SessionId,
        /// In which project.
        pub project: ProjectId,
        /// In which turn.
        pub turn: TurnId,
        /// Which model.
        pub model: String,
        /// The day, counted from 1970 in UTC.
        pub day: u32,
        /// What for.
        pub purpose: CompletionPurpose,
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, in billionths of a dollar, if the price is known.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        pub cost: Option<NanoDollars>,
        /// Whether the tokens are our estimate, because the provider told none.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub estimated: bool,
    }

    /// A session that a task was handed to, or one further below, asked a model and
    /// used this. It is told to each session above, and counts there too.
    pub struct TaskUsed {
        /// The session above.
        pub session: SessionId,
        /// The turn that went on in it, if one did.
        pub turn: Option<TurnId>,
        /// The session that asked.
        pub by: SessionId,
        /// The tokens.
        pub usage: TokenUsage,
        /// What it cost, in billionths of a dollar, if the price is known.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        pub cost: Option<NanoDollars>,
    }

    /// The model stopped.
    pub struct TurnFinished {
        /// Where.
        pub session: SessionId,
        /// Which.
        pub turn: TurnId,
        /// Why.
        pub reason: FinishReason,
    }

    /// The turn could not go on: the model failed, or a limit was reached.
    pub struct TurnFailed {
        /// Where.
        pub session: SessionId,
        /// Which.
        pub turn: TurnId,
        /// Why, and what to do.
        pub fault: ErrorInfo,
    }

    /// The turn was stopped, and nothing of it runs any more. What waits for its turn
    /// goes on waiting, until a person continues or says something.
    pub struct TurnCancelled {
        /// Where.
        pub session: SessionId,
        /// Which.
        pub turn: TurnId,
        /// Whether nobody stopped it but the one it was for, who went away: then what
        /// waits has its turn.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub withdrawn: bool,
    }

    /// The daemon ended while the model spoke. What it said stays to be read.
    pub struct TurnInterrupted {
        /// Where.
        pub session: SessionId,
        /// Which.
        pub turn: TurnId,
        /// Why, for people.
        pub why: String,
    }

    /// What came before is summarized for the model; people can still read it.
    pub struct SessionCompacted {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// Its place: the model sees the summary, and what comes behind it.
        pub item: ItemNumber,
        /// The summary.
        pub summary: String,
    }

    /// The model gave a task to another role.
    pub struct HandedOff {
        /// Where.
        pub session: SessionId,
        /// In which turn.
        pub turn: TurnId,
        /// The place of the call that did.
        pub item: ItemNumber,
        /// The session that does the task.
        pub to: SessionId,
        /// In this role.
        pub role: String,
    }

    /// A person closed the conversation.
    pub struct SessionClosed {
        /// Which.
        pub session: SessionId,
    }
}
