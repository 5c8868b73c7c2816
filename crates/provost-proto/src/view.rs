//! The views: the current state according to the log. `provost-core` folds them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::{ActionOutcome, ErrorInfo, ReportNumber};
use crate::{
    ActionId, Actor, ApprovalId, Hash, LogCursor, NotebookId, Principal, ProjectId, TokenId,
    UnixMicros,
};

/// A folder that a person opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// The folder's name.
    pub name: String,
    /// A DNS label, unique among the projects of this log.
    pub slug: String,
    /// The absolute path of the folder, with symbolic links resolved.
    pub path: String,
    /// Whether it is open.
    pub status: ProjectStatus,
    /// When it was opened last.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub opened_at: UnixMicros,
    /// On whose authority it was opened.
    pub opened_by: Principal,
}

/// Whether a project is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ProjectStatus {
    /// Actions can be requested.
    Open,
    /// It was closed; its history stays readable.
    Closed,
}

/// The state of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionView {
    /// Its id.
    pub id: ActionId,
    /// The project.
    pub project: ProjectId,
    /// The name of the action, such as `fs.readFile`.
    pub name: String,
    /// What it does, as text for people.
    pub what: String,
    /// On whose authority it was requested.
    pub principal: Principal,
    /// Its status.
    pub status: ActionStatus,
    /// The role that requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// The approval that it waits for, or waited for last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub approval: Option<ApprovalId>,
    /// The hash of the action in its context: an answer is valid for this hash only.
    pub action_hash: Hash,
    /// When it was requested.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub requested_at: UnixMicros,
    /// When it ended.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub finished_at: Option<UnixMicros>,
    /// The outcome.
    pub outcome: Option<ActionOutcome>,
    /// The result, for a requester that did not wait; never in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional, type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<Value>,
    /// The text that an agent types into the terminal with this action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub input: Option<AgentInput>,
    /// Why there is no result, for the requester; never in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub gone: Option<ErrorInfo>,
}

/// What an agent types into a project's terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentInput {
    /// The agent.
    pub actor: Actor,
    /// The beginning of the text, at most [`limits::MAX_AGENT_INPUT_CHARS`].
    ///
    /// [`limits::MAX_AGENT_INPUT_CHARS`]: crate::limits::MAX_AGENT_INPUT_CHARS
    pub text: String,
}

/// The daemon, according to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DaemonView {
    /// Whether it runs.
    pub status: DaemonStatus,
    /// When it was started or stopped.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
    /// Its process id; absent if it was stopped.
    pub pid: Option<u32>,
    /// Its version; absent if it was stopped before this was recorded.
    pub version: Option<String>,
    /// Why it was stopped, as text for people.
    pub reason: Option<String>,
}

/// Whether the daemon runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DaemonStatus {
    /// It was started.
    Started,
    /// It was stopped cleanly.
    Stopped,
}

/// When the governance files of a project last changed: their content is not in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GovernanceChanges {
    /// The project; absent for rules of all projects.
    pub project: Option<ProjectId>,
    /// The last event about its roles; the start of the log if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::Seq))]
    pub roles_changed: LogCursor,
    /// The last event about its rules; the start of the log if there is none.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::Seq))]
    pub policy_changed: LogCursor,
}

/// The end of what a running command has printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommandOutput {
    /// The action.
    pub action: ActionId,
    /// The project.
    pub project: ProjectId,
    /// The last text; empty once the command has ended.
    pub text: String,
    /// How many bytes before it are not part of it.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub omitted: u64,
}

/// The status of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ActionStatus {
    /// Not decided yet.
    Requested,
    /// It waits for an approval.
    Waiting,
    /// It was denied.
    Denied,
    /// It was allowed, and has not started yet.
    Allowed,
    /// It is running.
    Running,
    /// It has ended.
    Finished,
}

/// A project's kernel process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KernelView {
    /// The project.
    pub project: ProjectId,
    /// Identifies the kernel process; new with every start.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub boot: Uuid,
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Its status according to the log.
    pub status: KernelStatus,
    /// The last of its reports that is in the log.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub reached: ReportNumber,
    /// Why it was lost, as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub why: Option<String>,
}

/// The status of a kernel process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KernelStatus {
    /// The daemon is connected to it.
    Connected,
    /// It exists but has not answered heartbeats for a while.
    Unresponsive,
    /// It was stopped cleanly.
    Stopped,
    /// It is gone.
    Lost,
}

/// A token; never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenView {
    /// Its id.
    pub id: TokenId,
    /// What it may do.
    pub class: TokenClass,
    /// The only project it may see, if it is bound to one.
    pub project: Option<ProjectId>,
    /// The role that it acts in, for an agent's token.
    pub role: Option<String>,
    /// The person that a browser token acts for; other tokens act for themselves.
    pub holder: Option<Principal>,
    /// The label that its creator gave it.
    pub label: String,
    /// BLAKE3 of the token.
    pub digest: Hash,
    /// BLAKE3 of the secret that the page stores, for a browser token: cookie and page secret are
    /// only valid together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub page: Option<Hash>,
    /// The notebook whose runtime it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub notebook: Option<NotebookId>,
    /// Who created it.
    pub created_by: Principal,
    /// When it was created.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub created_at: UnixMicros,
    /// When it expires; never if absent.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub expires_at: Option<UnixMicros>,
    /// When it was revoked.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub revoked_at: Option<UnixMicros>,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TokenClass {
    /// A person: may decide.
    Operator,
    /// An agent, bound to a project and a role: may request, never decide.
    Agent,
    /// The runtime of a notebook.
    Runtime,
    /// May read, and nothing else.
    Viewer,
}
