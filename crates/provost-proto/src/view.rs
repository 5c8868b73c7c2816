//! The views: what the log says the world looks like now. The fold that makes
//! them is in `provost-core`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::{ActionOutcome, ErrorInfo, ReportNumber};
use crate::{ActionId, ApprovalId, Hash, Principal, ProjectId, TokenId, UnixMicros};

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
    /// The folder, absolute, with no link in it.
    pub path: String,
    /// Whether it is open.
    pub status: ProjectStatus,
    /// When it was opened last.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub opened_at: UnixMicros,
    /// On whose authority.
    pub opened_by: Principal,
}

/// Whether a project is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ProjectStatus {
    /// Actions can be asked for.
    Open,
    /// It was closed; its history stays readable.
    Closed,
}

/// An action, as far as it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionView {
    /// Its name.
    pub id: ActionId,
    /// Where.
    pub project: ProjectId,
    /// What kind of action.
    pub name: String,
    /// What it does, in plain words.
    pub what: String,
    /// On whose authority.
    pub principal: Principal,
    /// How far it has come.
    pub status: ActionStatus,
    /// The role it was asked for in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub role: Option<String>,
    /// The question to a person that it waits for, or waited for last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub approval: Option<ApprovalId>,
    /// What an answer is bound to.
    pub action_hash: Hash,
    /// When it was asked for.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub requested_at: UnixMicros,
    /// When it ended.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub finished_at: Option<UnixMicros>,
    /// How it ended.
    pub outcome: Option<ActionOutcome>,
    /// What came out, for whoever asked for it and did not wait; never in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional, type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub result: Option<Value>,
    /// Why there is no result, for whoever asked for it; never in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub gone: Option<ErrorInfo>,
}

/// How far an action has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ActionStatus {
    /// Nobody has decided yet.
    Requested,
    /// It waits for a person.
    Waiting,
    /// It may not run.
    Denied,
    /// It may run, and is on its way.
    Allowed,
    /// It runs.
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
    /// Whose it is.
    pub project: ProjectId,
    /// New with every kernel process.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub boot: Uuid,
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Whether it is there, as far as the log knows.
    pub status: KernelStatus,
    /// The last of its reports that is in the log.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub reached: ReportNumber,
}

/// Whether a kernel is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum KernelStatus {
    /// It answers.
    Connected,
    /// It is there and has not answered for a while.
    Unresponsive,
    /// It was stopped in good order.
    Stopped,
    /// It is gone.
    Lost,
}

/// A token that was handed out; never the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenView {
    /// Its name.
    pub id: TokenId,
    /// What it may do.
    pub class: TokenClass,
    /// The only project it may see, if it is bound to one.
    pub project: Option<ProjectId>,
    /// The role it acts in, if it is an agent's.
    pub role: Option<String>,
    /// The person it speaks for, if it is a browser's; else it speaks for itself.
    pub holder: Option<Principal>,
    /// What it is for, in its maker's words.
    pub label: String,
    /// BLAKE3 of the token.
    pub digest: Hash,
    /// BLAKE3 of what the page keeps, if it is a browser's: neither works alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub page: Option<Hash>,
    /// Who made it.
    pub created_by: Principal,
    /// When it was made.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub created_at: UnixMicros,
    /// When it ends.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub expires_at: Option<UnixMicros>,
    /// When it was taken back.
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
    /// May look, and nothing else.
    Viewer,
}
