//! The bodies of HTTP requests and answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActionId, ActionStatus, AnswerScope, Approval, ApprovalAnswer, ApprovalId, Code,
    CommandEffectView, Event, GovernanceFileKind, Grant, Hash, Project, ProjectMode, RawJson,
    RuleRef, Seq, SessionId, TokenClass, TokenView,
};

/// What every error looks like at the door.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorResponse {
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
pub struct OpenProjectRequest {
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
pub struct CreateTokenRequest {
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
    pub entry: TokenView,
}

/// The tokens that were handed out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenList {
    /// All that still work.
    pub tokens: Vec<TokenView>,
}

/// Asks for an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmitActionRequest {
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
pub struct ActionResponse {
    /// Its name in the log.
    pub action_id: ActionId,
    /// What an answer is bound to.
    pub action_hash: Hash,
    /// How far it has come.
    pub status: ActionStatus,
    /// The question to a person that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub approval_id: Option<ApprovalId>,
    /// What came out, if it has ended.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<RawJson>,
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
    /// The events, oldest first; newest first, if what came before a place was asked for.
    pub events: Vec<Event>,
    /// Pass it as `after`, or as `before`, for the next page; `null` at the end.
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
    pub bad: Option<CorruptEvent>,
    /// What is wrong with the views, if the events are good and the views are
    /// not what they come to.
    pub views: Option<String>,
}

/// An event that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CorruptEvent {
    /// Its place in the log.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub seq: Seq,
    /// What is wrong with it.
    pub why: String,
}

/// Answers a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerApprovalRequest {
    /// Yes or no.
    pub decision: ApprovalAnswer,
    /// How far a yes reaches; once, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub scope: Option<AnswerScope>,
    /// The hash of the action that was shown. An answer to another is refused.
    pub action_hash: Hash,
    /// What the asker is told with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub message: Option<String>,
    /// For `until`: how many minutes, 480 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub minutes: Option<u32>,
    /// For `always`: the rule as it was edited; the one that was shown, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub rule: Option<String>,
}

/// Questions to people, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalList {
    /// Those that are pending; with `?all=true` the resolved ones too.
    pub approvals: Vec<Approval>,
}

/// What people granted, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantList {
    /// Those that still hold; with `?all=true` the others too.
    pub grants: Vec<Grant>,
}

/// Sets a project's mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetModeRequest {
    /// Which.
    pub mode: ProjectMode,
    /// For how many minutes; `full` is for 60 if left out, and never without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub minutes: Option<u32>,
}

/// A role of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The model it asks for.
    pub model: Option<String>,
    /// What it may ask for.
    pub skills: Vec<String>,
    /// The file, relative to the project.
    pub file: String,
    /// Whether the file belongs to another tool and was imported.
    pub imported: bool,
    /// BLAKE3 of the file.
    pub hash: Hash,
    /// Whether exactly this was trusted. If not, the role has no effect.
    pub trusted: bool,
    /// What changed since it was trusted; the whole text if it never was.
    pub diff: Option<String>,
    /// What a person should know about how the file was read.
    pub notes: Vec<String>,
}

/// A file that is no role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RejectedRole {
    /// The file, relative to the project.
    pub file: String,
    /// Why, with the line and what was expected.
    pub why: String,
}

/// The roles of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleList {
    /// By name.
    pub roles: Vec<RoleView>,
    /// The files that could not be read.
    pub rejected: Vec<RejectedRole>,
}

/// Changes a role's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeRoleRequest {
    /// The model it asks for from now on.
    pub model: String,
}

/// Trusts a file that governs, exactly as it was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustFileRequest {
    /// What it is.
    pub what: GovernanceFileKind,
    /// The file, relative to the project.
    pub file: String,
    /// The hash of what was shown.
    pub hash: Hash,
}

/// A rule, as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleView {
    /// Its name.
    pub id: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// As it stands in the file.
    pub text: String,
    /// Why, in its author's words.
    pub reason: Option<String>,
    /// Whether it has an effect: a project's `allow` has none until it is trusted.
    pub active: bool,
}

/// One layer of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyLayer {
    /// `builtin`, `user` or `project`.
    pub layer: String,
    /// The file, if it is one.
    pub file: Option<String>,
    /// BLAKE3 of the file.
    pub hash: Option<Hash>,
    /// Whether exactly this was trusted; always so for `builtin` and `user`.
    pub trusted: bool,
    /// What changed since it was trusted.
    pub diff: Option<String>,
    /// Its rules.
    pub rules: Vec<RuleView>,
    /// Why the file has no effect, if it has none. Then everything asks.
    pub errors: Vec<String>,
}

/// The rules of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyView {
    /// Those that count least first.
    pub layers: Vec<PolicyLayer>,
}

/// Asks what would be decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExplainPolicyRequest {
    /// In which role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// Which action; `terminal.runCommand` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub action: Option<String>,
    /// Its parameters.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: Value,
    /// In which mode; the project's, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub mode: Option<ProjectMode>,
}

/// What would be decided, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyExplanation {
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// Why, in plain words.
    pub why: String,
    /// What it does, in plain words.
    pub what: String,
    /// What a command would do, part by part.
    pub demands: Vec<CommandEffectView>,
    /// The rules that had a say.
    pub rules: Vec<RuleRef>,
}

/// Asks what a changed file would have decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatePolicyRequest {
    /// `user` or `project`.
    pub layer: String,
    /// The changed file.
    pub text: String,
    /// How many past requests to look at, the latest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub limit: Option<u32>,
}

/// A past request that would be decided otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionDifference {
    /// Which.
    pub action: ActionId,
    /// What it was, in plain words.
    pub what: String,
    /// What the rules say now.
    pub now: String,
    /// What they would say.
    pub then: String,
    /// Why.
    pub why: String,
}

/// What a changed file would have decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicySimulation {
    /// How many past requests were looked at.
    pub looked_at: u32,
    /// Those that would be decided otherwise.
    pub differences: Vec<DecisionDifference>,
}
