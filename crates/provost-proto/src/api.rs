//! The bodies of HTTP requests and responses.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActionId, ActionStatus, AnswerScope, Approval, ApprovalAnswer, ApprovalId, Code,
    CommandEffectView, Event, GovernanceFileKind, Grant, Hash, LogCursor, NotebookId, Project,
    ProjectMode, RawJson, RuleRef, Seq, SessionId, TokenClass, TokenView,
};

/// The body of every error response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorResponse {
    /// A sentence for people that says what to do.
    pub error: String,
    /// A stable code for programs.
    pub code: Code,
    /// The HTTP status.
    pub status: u16,
    /// Further data, where it helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub details: Option<Value>,
}

/// The health of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Health {
    /// Always `ok`; an unhealthy daemon does not answer 200.
    pub status: String,
    /// Its version.
    pub version: String,
}

/// Opens a folder as a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OpenProjectRequest {
    /// The folder; absolute, or beginning with `~/`.
    pub path: String,
}

/// The projects, in the order in which they were opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectList {
    /// The open ones; with `?all=true` the closed ones too.
    pub projects: Vec<Project>,
}

/// Creates a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateTokenRequest {
    /// What it may do.
    pub class: TokenClass,
    /// The id or slug of the only project that it may see. Required for an agent's token.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub project: Option<String>,
    /// The role that it acts in. Required for an agent's token, not allowed for others.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// The notebook that it may run. Only for the token of a runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub notebook: Option<NotebookId>,
    /// A label for people.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub label: Option<String>,
    /// Its lifetime in minutes; until it is revoked if absent.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub ttl_minutes: Option<u32>,
}

/// A new token, which is shown only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatedToken {
    /// The secret. Provost stores only its hash.
    pub token: String,
    /// The stored entry.
    pub entry: TokenView,
}

/// The tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenList {
    /// All that are valid.
    pub tokens: Vec<TokenView>,
}

/// Requests an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmitActionRequest {
    /// The name of the action, such as `fs.readFile`.
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

/// The state of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionResponse {
    /// Its id.
    pub action_id: ActionId,
    /// The hash of the action in its context: an answer is valid for this hash only.
    pub action_hash: Hash,
    /// Its status.
    pub status: ActionStatus,
    /// The approval that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub approval_id: Option<ApprovalId>,
    /// The result, if it has ended.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<RawJson>,
}

/// An action was told to stop, if it was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CancelActionResponse {
    /// Whether it was running, or about to.
    pub stopping: bool,
}

/// The state of a project's kernel process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KernelHealth {
    /// There is none; the next action starts one.
    None,
    /// It answers.
    Connected {
        /// Its process id.
        pid: u32,
        /// How long it took to answer last, in milliseconds.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        heartbeat_ms: u64,
    },
    /// It does not answer.
    Unresponsive {
        /// Its process id.
        pid: u32,
    },
}

/// A link that logs a browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LoginLink {
    /// Path and query, relative to the address of the daemon.
    pub path: String,
    /// Its lifetime in minutes.
    pub minutes: u32,
}

/// One page of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The events, oldest first; newest first if `before` was given.
    pub events: Vec<Event>,
    /// The value of `after` or `before` for the next page; `null` at the end.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Seq>))]
    pub next: Option<LogCursor>,
}

/// What a reader gets of bodies and output that are stored as blobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EventBodies {
    /// The reference, as it was hashed: for those who verify the log.
    #[default]
    Stored,
    /// The content.
    Whole,
    /// `{"omitted": BYTES}` in its place.
    Short,
}

/// The result of verifying the hash chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditReport {
    /// How many events were verified.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub events: u64,
    /// The hash of the last good event. With a copy of it elsewhere, nobody can rewrite the log
    /// unnoticed.
    pub head: Hash,
    /// The first corrupt event.
    pub bad: Option<CorruptEvent>,
    /// The error in the views, if the events are good but the views differ from what they fold
    /// to.
    pub views: Option<String>,
    /// The damage in the database beside events and views, such as in an index. Nothing more is
    /// written to a database whose structure is damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub database: Option<String>,
}

/// An event that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CorruptEvent {
    /// Its position in the log.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub seq: Seq,
    /// The error.
    pub why: String,
}

/// Answers an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerApprovalRequest {
    /// Whether to allow or deny it.
    pub decision: ApprovalAnswer,
    /// What the answer covers; `once` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub scope: Option<AnswerScope>,
    /// The hash of the action that was shown. An answer for another hash is refused.
    pub action_hash: Hash,
    /// A message to the requester, for a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub message: Option<String>,
    /// For `until`: the duration in minutes, at most 480.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub minutes: Option<u32>,
    /// For `always`: the edited rule; the suggested one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub rule: Option<String>,
}

/// Approvals: the pending ones, the oldest first, or a page of all, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalList {
    /// The pending ones; with `?all=true` the resolved ones too.
    pub approvals: Vec<Approval>,
    /// Those of which the list has an excerpt only; `GET /api/approvals/{id}` returns the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<ApprovalId>>"))]
    pub truncated: Vec<ApprovalId>,
    /// Where the list goes on, for `before`; absent at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub next: Option<String>,
}

/// Grants, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantList {
    /// The valid ones; with `?all=true` those that ended last too.
    pub grants: Vec<Grant>,
    /// Where the list goes on, for `before`; absent at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub next: Option<String>,
}

/// Sets a project's mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetModeRequest {
    /// The mode.
    pub mode: ProjectMode,
    /// The duration in minutes; `full` is limited to 60 if absent, and never unlimited.
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
    /// The model that it names.
    pub model: Option<String>,
    /// Its skills.
    pub skills: Vec<String>,
    /// The file, relative to the project.
    pub file: String,
    /// Whether the file belongs to another tool and was imported.
    pub imported: bool,
    /// BLAKE3 of the file.
    pub hash: Hash,
    /// Whether a person trusted exactly these bytes. If not, the role has no effect.
    pub trusted: bool,
    /// The diff to the trusted version; the whole text if there is none.
    pub diff: Option<String>,
    /// Notes for people about how the file was read.
    pub notes: Vec<String>,
}

/// A file that is not a valid role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RejectedRole {
    /// The file, relative to the project.
    pub file: String,
    /// The error, with the line and what was expected.
    pub why: String,
}

/// The roles of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleList {
    /// Sorted by name.
    pub roles: Vec<RoleView>,
    /// The files with errors.
    pub rejected: Vec<RejectedRole>,
}

/// Changes a role's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeRoleRequest {
    /// The new model.
    pub model: String,
}

/// Trusts a governance file with exactly the bytes that were shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustFileRequest {
    /// The kind of file.
    pub what: GovernanceFileKind,
    /// The file, relative to the project.
    pub file: String,
    /// The hash of what was shown.
    pub hash: Hash,
}

/// A rule, for display.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleView {
    /// Its id.
    pub id: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// Its text in the file.
    pub text: String,
    /// The reason that its author gave.
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
    /// The file, if there is one.
    pub file: Option<String>,
    /// BLAKE3 of the file.
    pub hash: Option<Hash>,
    /// Whether a person trusted exactly these bytes; always true for `builtin` and `user`.
    pub trusted: bool,
    /// The diff to the trusted version.
    pub diff: Option<String>,
    /// Its rules.
    pub rules: Vec<RuleView>,
    /// The errors because of which the file has no effect. Then every action needs an approval.
    pub errors: Vec<String>,
}

/// The rules of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyView {
    /// From the weakest to the strongest.
    pub layers: Vec<PolicyLayer>,
}

/// Asks what would be decided about an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExplainPolicyRequest {
    /// The role of the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// The action; `terminal.runCommand` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub action: Option<String>,
    /// Its parameters.
    #[serde(default)]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: Value,
    /// The mode; the project's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub mode: Option<ProjectMode>,
}

/// A decision with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyExplanation {
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// The reason, as text for people.
    pub why: String,
    /// What the action does, as text for people.
    pub what: String,
    /// The effects of a command.
    pub demands: Vec<CommandEffectView>,
    /// The rules that decided.
    pub rules: Vec<RuleRef>,
}

/// Asks what a changed policy file would have decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SimulatePolicyRequest {
    /// `user` or `project`.
    pub layer: String,
    /// The changed text.
    pub text: String,
    /// How many past requests to evaluate, the latest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub limit: Option<u32>,
}

/// A past request for which the decision would differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionDifference {
    /// The action.
    pub action: ActionId,
    /// What it did, as text for people.
    pub what: String,
    /// The effect of the current rules.
    pub now: String,
    /// The effect of the changed rules.
    pub then: String,
    /// The reason.
    pub why: String,
}

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicySimulation {
    /// How many past requests were evaluated.
    pub looked_at: u32,
    /// Those for which the decision would differ.
    pub differences: Vec<DecisionDifference>,
}
