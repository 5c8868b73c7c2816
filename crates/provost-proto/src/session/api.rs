//! The bodies of requests about sessions, and of their responses.

use super::{
    CompletionDraft, DailyUsage, NanoDollars, SessionBudget, SessionItem, SessionView, TokenUsage,
    body,
};
use crate::{LogCursor, MessageId, Project, SessionId, TurnId};

body! {
    /// Opens a session.
    #[serde(deny_unknown_fields)]
    pub struct OpenSessionRequest {
        /// The project, by id or name.
        pub project: String,
        /// The role that the model acts in.
        pub role: String,
        /// The model; that of the role, or the daemon's default, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub model: Option<String>,
        /// Its budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub budget: Option<SessionBudget>,
    }

    /// Sends a message.
    #[serde(deny_unknown_fields)]
    pub struct SendMessageRequest {
        /// The text.
        pub text: String,
    }

    /// The message is recorded in the log.
    pub struct SendMessageResponse {
        /// The session.
        pub session: SessionId,
        /// The id of the message.
        pub message: MessageId,
        /// The turn that answers it; absent if it is queued.
        pub turn: Option<TurnId>,
        /// Whether it waits for another turn to end.
        pub queued: bool,
    }

    /// The turn of a session was cancelled, if one was running.
    #[derive(Copy, Eq)]
    pub struct CancelTurnResponse {
        /// Whether a turn was running.
        pub cancelled: bool,
    }

    /// The turn of a session goes on.
    #[derive(Copy, Eq)]
    pub struct ContinueTurnResponse {
        /// The turn.
        pub turn: TurnId,
    }

    /// A queued message was withdrawn.
    #[derive(Copy, Eq)]
    pub struct WithdrawMessageResponse {
        /// Always true: a message that cannot be withdrawn is an error.
        pub withdrawn: bool,
    }

    /// Starts the tour.
    #[serde(deny_unknown_fields)]
    pub struct StartTourRequest {
        /// The folder to create for its example project; one in the home folder if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub path: Option<String>,
        /// Whether to send no first message, so that the person begins.
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub silent: bool,
    }

    /// The tour was started.
    pub struct StartTourResponse {
        /// Its example project.
        pub project: Project,
        /// The session, which plays a script.
        pub session: SessionView,
    }

    /// Sessions, the newest first.
    pub struct SessionList {
        /// The sessions.
        pub sessions: Vec<SessionView>,
        /// Where the list goes on, for `before`; absent at its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub next: Option<String>,
    }

    /// A session with its items.
    pub struct SessionDetail {
        /// The session.
        pub session: SessionView,
        /// The items in the order of the session: turn by turn, then the queued messages.
        pub items: Vec<SessionItem>,
        /// The completion that is being streamed.
        pub draft: Option<CompletionDraft>,
        /// The position in the log that this includes: follow from here.
        #[cfg_attr(feature = "openapi", schema(value_type = crate::Seq))]
        pub cursor: LogCursor,
    }

    /// Token usage and cost of models.
    pub struct UsageReport {
        /// By day, project and model; the newest day first.
        pub rows: Vec<DailyUsage>,
        /// The total.
        pub usage: TokenUsage,
        /// The total cost, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many completions had no known price.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub unpriced: u64,
        /// Today, in the unit of the rows.
        pub today: u32,
        /// The date of the prices; several dates, joined with `and`, if the rows are from several
        /// price tables.
        pub prices_as_of: String,
    }

    /// The models that can be used.
    pub struct ModelList {
        /// The models that are known by name.
        pub models: Vec<ModelView>,
        /// The providers.
        pub providers: Vec<ProviderView>,
        /// The model that is used if none is named.
        pub default: Option<String>,
    }

    /// A model.
    pub struct ModelView {
        /// Its full name.
        pub name: String,
        /// Its name for people.
        pub title: Option<String>,
        /// Whether it plays a script.
        pub scripted: bool,
    }

    /// A provider of models.
    pub struct ProviderView {
        /// Its name, the first part of its models' names.
        pub name: String,
        /// Whether it can be used.
        pub ready: bool,
        /// What is missing, as text for people.
        pub missing: Option<String>,
    }
}
