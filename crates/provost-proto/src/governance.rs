//! The governance of a project, as recorded in the log: mode, trusted files, approvals and
//! grants.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActionId, Actor, ApprovalId, GrantId, Hash, IdempotencyKey, Principal, ProjectId, SessionId,
    TokenClass, UnixMicros,
};

/// How much runs without an approval.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ProjectMode {
    /// Reads inside the project are allowed, everything else needs an approval.
    #[default]
    Sandbox,
    /// What stays inside the sandbox is allowed, leaving it needs an approval.
    Auto,
    /// Only the hard gates need an approval; everything is still sandboxed, limited and logged.
    Full,
}

/// The mode of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectModeView {
    /// The project.
    pub project: ProjectId,
    /// The mode that was set last. After `until` it is `sandbox` again.
    pub mode: ProjectMode,
    /// When it expires; never if absent.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub until: Option<UnixMicros>,
    /// Who set it.
    pub by: Principal,
    /// When it was set.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// The kind of a governance file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum GovernanceFileKind {
    /// A role.
    Role,
    /// The project's rules.
    Policy,
    /// What the project runs: `provost.toml`. Trusted by running it or approving that.
    Runtime,
}

/// A governance file with the bytes that a person trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustedFile {
    /// The project.
    pub project: ProjectId,
    /// The kind of file.
    pub what: GovernanceFileKind,
    /// The file, relative to the project.
    pub file: String,
    /// BLAKE3 of its bytes. No other bytes have any effect.
    pub hash: Hash,
    /// The trusted text, so that a change can be shown as a diff.
    pub text: String,
    /// Who trusted it.
    pub by: Principal,
    /// When it was trusted.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// A rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleRef {
    /// Its layer: `builtin`, `user` or `project`.
    pub layer: String,
    /// Its id.
    pub id: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The reason that its author gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub reason: Option<String>,
}

/// One effect of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CommandEffectView {
    /// Run a program.
    Run {
        /// Program and arguments, as the program gets them.
        argv: Vec<String>,
        /// The wrappers around it, outermost first.
        through: Vec<String>,
        /// The path of the program, if it was found.
        program: Option<String>,
        /// The hosts that its arguments name.
        hosts: Vec<String>,
        /// The variables that are set for it, as `NAME=value`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
        assignments: Vec<String>,
        /// Whether it is a shell builtin, so that no program runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        builtin: bool,
    },
    /// Write a file.
    Write {
        /// The path, as written.
        path: String,
        /// Whether the file is deleted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        deletes: bool,
    },
    /// Read a file.
    Read {
        /// The path, as written.
        path: String,
    },
    /// A part that cannot be known before it runs.
    Opaque {
        /// The part of the line.
        text: String,
        /// The reason.
        why: String,
    },
}

/// A file that a command would run, with its hash at the time of the approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PinnedFile {
    /// The file, relative to the project.
    pub path: String,
    /// BLAKE3 of its bytes.
    pub hash: Hash,
}

/// What an answer covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AnswerScope {
    /// This action, once.
    Once,
    /// The same again in this session; without a session, during the lifetime of the requester's
    /// token.
    Session,
    /// The same again until a time.
    Until,
    /// Always: adds a rule to the user's `policy.toml`.
    Always,
}

/// What an answer would remember, as text beside its button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalChoice {
    /// What it covers.
    pub scope: AnswerScope,
    /// What will be allowed from then on.
    pub remembers: String,
    /// The rule that would be added; may be edited before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub rule: Option<String>,
}

/// A file that must be trusted before the action itself is decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustPrompt {
    /// The kind of file.
    pub what: GovernanceFileKind,
    /// The file, relative to the project.
    pub file: String,
    /// BLAKE3 of its bytes.
    pub hash: Hash,
    /// The hash that was trusted before.
    pub before: Option<Hash>,
    /// The diff to that; the whole text if there is none.
    pub diff: String,
}

/// What a person is shown to decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalPrompt {
    /// The name of the action, such as `fs.readFile`.
    pub name: String,
    /// Its parameters, in canonical form.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: Value,
    /// What it does, as text for people.
    pub what: String,
    /// Why the approval is required, as text for people.
    pub why: String,
    /// The effects of a command.
    pub demands: Vec<CommandEffectView>,
    /// The folder in which it would run, relative to the project.
    pub cwd: String,
    /// The diff of the files that it would change.
    pub diff: Option<String>,
    /// Notes about the current state, as text for people: where links lead, what is replaced,
    /// what a deleted folder contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub notes: Vec<String>,
    /// The sandbox profile; `none` where nothing is started.
    pub profile: String,
    /// Whether it would use the network.
    pub network: bool,
    /// The rules that decided.
    pub rules: Vec<RuleRef>,
    /// The hard gate because of which it is asked every time.
    pub gate: Option<String>,
    /// The scripts that it would run, with their current hashes.
    pub pins: Vec<PinnedFile>,
    /// The answers that allow it, and what each remembers.
    pub choices: Vec<ApprovalChoice>,
    /// A file that must be trusted first.
    pub trust: Option<TrustPrompt>,
}

/// A request to a person to allow one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The project.
    pub project: ProjectId,
    /// The action that waits for it.
    pub action: ActionId,
    /// The hash of the action in its context: an answer is valid for this hash only.
    pub action_hash: Hash,
    /// The requester.
    pub principal: Principal,
    /// The component that acts.
    pub actor: Actor,
    /// The class of the requester's token.
    pub class: TokenClass,
    /// The role of the requester.
    pub role: Option<String>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// What the person is shown.
    pub question: ApprovalPrompt,
    /// Its status.
    pub status: ApprovalStatus,
    /// When it was requested.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub asked_at: UnixMicros,
    /// When it expires.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub expires_at: UnixMicros,
    /// When it was resolved.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub resolved_at: Option<UnixMicros>,
    /// Who resolved it.
    pub resolved_by: Option<Principal>,
    /// What the answer covers, if it allows.
    pub scope: Option<AnswerScope>,
    /// The message to the requester, for a denial.
    pub message: Option<String>,
    /// The component that resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub resolved_actor: Option<Actor>,
    /// The idempotency key of the command that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub resolved_command: Option<IdempotencyKey>,
}

/// The status of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ApprovalStatus {
    /// Not answered yet.
    Pending,
    /// A person allowed it.
    Allowed,
    /// A person denied it.
    Denied,
    /// Not answered in time.
    Expired,
    /// It became void before it was answered.
    Withdrawn,
}

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ApprovalAnswer {
    /// Allow it.
    Allow,
    /// Deny it.
    Deny,
}

/// What a grant covers: the same again, as exactly as possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum GrantScope {
    /// A command that runs exactly these programs with these arguments.
    Command {
        /// Program and arguments of each, in order.
        runs: Vec<Vec<String>>,
        /// The files that its redirections write.
        writes: Vec<String>,
        /// The folder in which it runs.
        cwd: String,
        /// Whether it may use the network.
        network: bool,
    },
    /// Any action of this name on these paths.
    Paths {
        /// The name of the action.
        name: String,
        /// The paths.
        paths: Vec<String>,
    },
    /// Exactly this action with exactly these parameters.
    Exact {
        /// The name of the action.
        name: String,
        /// BLAKE3 of its parameters in canonical form.
        params: Hash,
    },
}

/// What a person allowed beyond one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The project.
    pub project: ProjectId,
    /// The approval that it came from.
    pub approval: ApprovalId,
    /// The principal it is granted to.
    pub grantee: Principal,
    /// The role it is limited to.
    pub role: Option<String>,
    /// The session it is limited to.
    pub session: Option<SessionId>,
    /// What it covers.
    pub covers: GrantScope,
    /// The scripts it may run, with their hashes at the time.
    pub pins: Vec<PinnedFile>,
    /// The rules that required the approval; it does not answer others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<Vec<RuleRef>>", optional))]
    pub rules: Vec<RuleRef>,
    /// What it covers, as text for people.
    pub what: String,
    /// When it expires; never if absent.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub until: Option<UnixMicros>,
    /// Who granted it.
    pub by: Principal,
    /// When it was granted.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
    /// When it was revoked.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub revoked_at: Option<UnixMicros>,
}

/// What allowed an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AllowedBy {
    /// A person's own action.
    Operator,
    /// Rules.
    Rules {
        /// Those that decided.
        rules: Vec<RuleRef>,
    },
    /// The mode.
    Mode {
        /// The mode.
        mode: ProjectMode,
    },
    /// A grant.
    Grant {
        /// The grant.
        grant: GrantId,
    },
    /// An approval.
    Approval {
        /// The approval.
        approval: ApprovalId,
    },
}
