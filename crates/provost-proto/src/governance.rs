//! What governs a project, as it stands in the log: its mode, its roles, the
//! questions to people and what they granted.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActionId, Actor, ApprovalId, GrantId, Hash, Principal, ProjectId, SessionId, TokenClass,
    UnixMicros,
};

/// How much runs without asking.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ProjectMode {
    /// Reads inside the project pass, everything else asks.
    #[default]
    Sandbox,
    /// What stays inside the sandbox runs, crossing it asks.
    Auto,
    /// Nothing asks but the hard gates; still sandboxed, limited and logged.
    Full,
}

/// The mode of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProjectModeView {
    /// Whose it is.
    pub project: ProjectId,
    /// What was set last. After `until` it is `sandbox` again.
    pub mode: ProjectMode,
    /// When it ends.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub until: Option<UnixMicros>,
    /// Who set it.
    pub by: Principal,
    /// When.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// What a file that governs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum GovernanceFileKind {
    /// A role.
    Role,
    /// The project's rules.
    Policy,
    /// What the project runs: `provost.toml`. Trusted by whoever runs it, or says yes to it.
    Runtime,
}

/// A file that governs, as a person trusted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustedFile {
    /// Where.
    pub project: ProjectId,
    /// What it is.
    pub what: GovernanceFileKind,
    /// The file, relative to the project.
    pub file: String,
    /// BLAKE3 of its bytes. No other bytes have any effect.
    pub hash: Hash,
    /// The text that was trusted, so that a change can be shown.
    pub text: String,
    /// Who trusted it.
    pub by: Principal,
    /// When.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// A rule that had a say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleRef {
    /// Whose rule: `builtin`, `user` or `project`.
    pub layer: String,
    /// Its name.
    pub id: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// Why, in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub reason: Option<String>,
}

/// One thing that a command line would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CommandEffectView {
    /// Run a program.
    Run {
        /// Program and arguments, as the program gets them.
        argv: Vec<String>,
        /// The wrappers it was found in, outermost first.
        through: Vec<String>,
        /// The program that would run, if it was found.
        program: Option<String>,
        /// The hosts that its arguments name.
        hosts: Vec<String>,
        /// The variables that are set for it, as `NAME=value`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
        assignments: Vec<String>,
        /// Whether it is part of the shell, so that no program runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
        builtin: bool,
    },
    /// Write a file.
    Write {
        /// Which, as written.
        path: String,
    },
    /// Read a file.
    Read {
        /// Which, as written.
        path: String,
    },
    /// Something that cannot be known before it runs.
    Opaque {
        /// The part of the line.
        text: String,
        /// Why.
        why: String,
    },
}

/// A file that a command would run, as it was when the question was asked.
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

/// How far an answer reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AnswerScope {
    /// This action, once.
    Once,
    /// The same again in this session; without one, as long as the asker's token lives.
    Session,
    /// The same again until a time.
    Until,
    /// Always: a rule in the user's `policy.toml`.
    Always,
}

/// What an answer would remember, in words, shown beside its button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalChoice {
    /// How far it reaches.
    pub scope: AnswerScope,
    /// What will be allowed from then on.
    pub remembers: String,
    /// The rule that would be written; may be edited before it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub rule: Option<String>,
}

/// A file whose trust is asked for, before the action itself is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustPrompt {
    /// What it is.
    pub what: GovernanceFileKind,
    /// The file, relative to the project.
    pub file: String,
    /// BLAKE3 of its bytes.
    pub hash: Hash,
    /// What was trusted before.
    pub before: Option<Hash>,
    /// What changed since; the whole text if nothing was trusted before.
    pub diff: String,
}

/// What a person needs to know to decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalPrompt {
    /// The kind of action.
    pub name: String,
    /// Its parameters, in canonical form.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub params: Value,
    /// What it does, in plain words.
    pub what: String,
    /// Why it is asked, in plain words.
    pub why: String,
    /// What a command would do, part by part.
    pub demands: Vec<CommandEffectView>,
    /// Where it would run, relative to the project.
    pub cwd: String,
    /// What would change in files.
    pub diff: Option<String>,
    /// What is there now and what becomes of it, in plain words: where links lead,
    /// what is replaced, what a folder holds that goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub notes: Vec<String>,
    /// The profile it would run under; `none` where nothing is started.
    pub profile: String,
    /// Whether it would reach the network.
    pub network: bool,
    /// The rules that had a say.
    pub rules: Vec<RuleRef>,
    /// What makes it so dangerous that it is asked every time.
    pub gate: Option<String>,
    /// The scripts it would run, as they are now.
    pub pins: Vec<PinnedFile>,
    /// The answers that allow, and what each remembers.
    pub choices: Vec<ApprovalChoice>,
    /// A file that must be trusted first.
    pub trust: Option<TrustPrompt>,
}

/// A question to a person about one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Its name.
    pub id: ApprovalId,
    /// Where.
    pub project: ProjectId,
    /// The action that waits for it.
    pub action: ActionId,
    /// What an answer is bound to.
    pub action_hash: Hash,
    /// Who asks.
    pub principal: Principal,
    /// What acts.
    pub actor: Actor,
    /// What kind of token the asker holds.
    pub class: TokenClass,
    /// The role it acts in.
    pub role: Option<String>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// What is asked.
    pub question: ApprovalPrompt,
    /// How far it has come.
    pub status: ApprovalStatus,
    /// When it was asked.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub asked_at: UnixMicros,
    /// When it expires, if nobody answers.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub expires_at: UnixMicros,
    /// When it was resolved.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub resolved_at: Option<UnixMicros>,
    /// Who resolved it.
    pub resolved_by: Option<Principal>,
    /// How far the answer reaches, if it allows.
    pub scope: Option<AnswerScope>,
    /// What the asker was told with a denial.
    pub message: Option<String>,
}

/// How far a question has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ApprovalStatus {
    /// Nobody has answered.
    Pending,
    /// A person said yes.
    Allowed,
    /// A person said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The question fell away before it was answered.
    Withdrawn,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ApprovalAnswer {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// What a grant covers: the same again, as exactly as it can be said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum GrantScope {
    /// A command that comes to these programs with these arguments, and no others.
    Command {
        /// Program and arguments of each, in order.
        runs: Vec<Vec<String>>,
        /// The files that its redirections write.
        writes: Vec<String>,
        /// Where it runs.
        cwd: String,
        /// Whether it may reach the network.
        network: bool,
    },
    /// Any action of this kind on these paths.
    Paths {
        /// The kind of action.
        name: String,
        /// The paths.
        paths: Vec<String>,
    },
    /// Exactly this action with exactly these parameters.
    Exact {
        /// The kind of action.
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
    /// Its name.
    pub id: GrantId,
    /// Where.
    pub project: ProjectId,
    /// The question it answered.
    pub approval: ApprovalId,
    /// Who may.
    pub grantee: Principal,
    /// In which role.
    pub role: Option<String>,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// What it covers.
    pub covers: GrantScope,
    /// The scripts it may run, as they were.
    pub pins: Vec<PinnedFile>,
    /// The rules that asked, which its question named; others ask anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(as = "Option<Vec<RuleRef>>", optional))]
    pub rules: Vec<RuleRef>,
    /// What it covers, in plain words.
    pub what: String,
    /// When it ends.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub until: Option<UnixMicros>,
    /// Who gave it.
    pub by: Principal,
    /// When.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
    /// When it was taken back.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub revoked_at: Option<UnixMicros>,
}

/// What allowed an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AllowedBy {
    /// It was a person's own action.
    Operator,
    /// Rules.
    Rules {
        /// Those that decided.
        rules: Vec<RuleRef>,
    },
    /// The mode.
    Mode {
        /// Which.
        mode: ProjectMode,
    },
    /// A grant.
    Grant {
        /// Which.
        grant: GrantId,
    },
    /// A person's answer.
    Approval {
        /// To which question.
        approval: ApprovalId,
    },
}
