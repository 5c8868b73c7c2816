//! The bodies of requests about sessions, and of their answers.

use super::{
    CompletionDraft, DailyUsage, NanoDollars, SessionBudget, SessionItem, SessionView, TokenUsage,
    body,
};
use crate::{MessageId, Project, Seq, SessionId, TurnId};

body! {
    /// Opens a session.
    #[serde(deny_unknown_fields)]
    pub struct OpenSessionRequest {
        /// The project, by id or name.
        pub project: String,
        /// The role the model acts in.
        pub role: String,
        /// The model; that of the role, or the daemon's own choice, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub model: Option<String>,
        /// The most it may use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub budget: Option<SessionBudget>,
    }

    /// Says something.
    #[serde(deny_unknown_fields)]
    pub struct SendMessageRequest {
        /// What.
        pub text: String,
    }

    /// What was said is in the log.
    pub struct SendMessageResponse {
        /// Where.
        pub session: SessionId,
        /// Its name.
        pub message: MessageId,
        /// The turn that answers it; none if it waits for another to end.
        pub turn: Option<TurnId>,
        /// Whether it waits for another turn to end.
        pub queued: bool,
    }

    /// Asks for the tour.
    #[serde(deny_unknown_fields)]
    pub struct StartTourRequest {
        /// The folder to make for its example project; one in the home folder if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        pub path: Option<String>,
        /// Whether nothing is said in it yet, so that the person begins.
        #[serde(default)]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        pub silent: bool,
    }

    /// The tour has begun.
    pub struct StartTourResponse {
        /// Its example project.
        pub project: Project,
        /// The conversation, which is a script.
        pub session: SessionView,
    }

    /// Sessions, the newest first.
    pub struct SessionList {
        /// The sessions.
        pub sessions: Vec<SessionView>,
    }

    /// A session with what was said in it.
    pub struct SessionDetail {
        /// The session.
        pub session: SessionView,
        /// What was said and done, in the order of the conversation: turn by turn, and
        /// last what waits for its turn.
        pub items: Vec<SessionItem>,
        /// What the model says now.
        pub draft: Option<CompletionDraft>,
        /// The place in the log that this goes up to: follow from here.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cursor: Seq,
    }

    /// What models used and cost.
    pub struct UsageReport {
        /// By day, project and model; the newest day first.
        pub rows: Vec<DailyUsage>,
        /// In all.
        pub usage: TokenUsage,
        /// What it cost in all, as far as prices are known.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub cost: NanoDollars,
        /// How many answers had no known price.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        pub unpriced: u64,
        /// Today, as rows count days.
        pub today: u32,
        /// The day on which the prices were looked up; several of them, with `and` between
        /// them, where the rows have their prices from several tables.
        pub prices_as_of: String,
    }

    /// What can be asked.
    pub struct ModelList {
        /// The models that are known by name.
        pub models: Vec<ModelView>,
        /// The providers.
        pub providers: Vec<ProviderView>,
        /// The model that is taken where nobody names one.
        pub default: Option<String>,
    }

    /// A model that can be asked.
    pub struct ModelView {
        /// Its full name.
        pub name: String,
        /// What it is called for people.
        pub title: Option<String>,
        /// Whether it is a conversation that was written down before.
        pub scripted: bool,
    }

    /// A provider of models.
    pub struct ProviderView {
        /// Its name, the first part of its models' names.
        pub name: String,
        /// Whether it can be asked.
        pub ready: bool,
        /// What is missing, for people.
        pub missing: Option<String>,
    }
}
