//! The bodies of HTTP requests and answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActionId, ActionStatus, Code, Event, Hash, Project, Seq, SessionId, Token, TokenClass,
};

/// What every error looks like at the door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A sentence for a person, with what to do.
    pub error: String,
    /// A stable code for programs.
    pub code: Code,
    /// The HTTP status.
    pub status: u16,
    /// More, where it helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub details: Option<Value>,
}

/// Whether the daemon is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Health {
    /// Always `ok`; a daemon that is not well does not answer 200.
    pub status: String,
    /// Its version.
    pub version: String,
}

/// Asks to open a folder as a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OpenProject {
    /// The folder; absolute, or beginning with `~/`.
    pub path: String,
}

/// The projects, the one opened first at the top.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectList {
    /// The open ones; with `?all=true` the closed ones too.
    pub projects: Vec<Project>,
}

/// Asks for a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateToken {
    /// What it may do.
    pub class: TokenClass,
    /// The id or slug of the only project it may see. An agent's token needs one.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub project: Option<String>,
    /// The role it acts in. An agent's token needs one, others have none.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// What it is for.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub label: Option<String>,
    /// How long it lives; without it, until it is revoked.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub ttl_minutes: Option<u32>,
}

/// A token, shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedToken {
    /// The secret. Provost keeps only its hash.
    pub token: String,
    /// What is known of it from now on.
    pub entry: Token,
}

/// The tokens that were handed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenList {
    /// All that still work.
    pub tokens: Vec<Token>,
}

/// Asks for an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestAction {
    /// Which, such as `fs.readFile`.
    pub action: String,
    /// Its parameters.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: Value,
    /// The role to act in. An agent acts in the role of its token.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// The session it belongs to.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub session_id: Option<SessionId>,
}

/// What became of an action so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionAnswer {
    /// Its name in the log.
    pub action_id: ActionId,
    /// What an answer is bound to.
    pub action_hash: Hash,
    /// How far it has come.
    pub status: ActionStatus,
    /// What came out, if it has ended.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<Value>,
}

/// A link that logs a browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LoginLink {
    /// Path and query, to be put behind the address of the daemon.
    pub path: String,
    /// How many minutes it works.
    pub minutes: u32,
}

/// One page of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Pass it as `after` for the next page; `null` at the end.
    pub next: Option<Seq>,
}

/// What walking the hash chain found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditReport {
    /// How many events were walked.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub events: u64,
    /// The hash of the last good event: keep a copy elsewhere, and nobody can
    /// rewrite the whole log unseen.
    pub head: Hash,
    /// The first event that is not what it was.
    pub bad: Option<BadEvent>,
    /// What is wrong with the views, if the events are good and the views are
    /// not what they come to.
    pub views: Option<String>,
}

/// An event that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BadEvent {
    /// Its place in the log.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub seq: Seq,
    /// What is wrong with it.
    pub why: String,
}
