//! The event envelope and the catalogue of kinds.
//!
//! Kinds are never renamed and bodies only grow optional fields: a log written
//! today is read by every later Provost. A reader skips kinds it does not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::kernel::{ActionOutcome, ErrorInfo, OutputChunk, ReportNumber};
use crate::runtime;
use crate::session;
use crate::{
    ActionId, AllowedBy, AnswerScope, ApprovalAnswer, ApprovalId, ApprovalPrompt, EventId,
    GovernanceFileKind, GrantId, GrantScope, Hash, PinnedFile, ProjectId, ProjectMode, RuleRef,
    SessionId, Stream, TokenClass, TokenId,
};

/// The place of an event in the whole log; the first is 1, and none is missing.
pub type Seq = u64;

/// The place of an event in its stream; the first is 1, and none is missing.
pub type StreamVersion = u64;

/// Microseconds since 1970, by the daemon's clock.
pub type UnixMicros = u64;

/// On whose authority something was done: `local:<user>`, `token:<id>`, or
/// `session:<id>` for a model in a session.
pub type Principal = String;

/// A client's idempotency key: the same command sent twice happens once.
pub type IdempotencyKey = String;

/// One fact, as it is stored and as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Place in the whole log.
    pub seq: Seq,
    /// Whose event it is.
    pub stream: Stream,
    /// Place in its stream.
    pub version: StreamVersion,
    /// Its name.
    pub id: EventId,
    /// When, by the daemon's clock; the only time a fold may see.
    pub at: UnixMicros,
    /// On whose authority.
    pub principal: Principal,
    /// What acted.
    pub actor: Actor,
    /// The client's idempotency key, if it gave one.
    pub command: Option<IdempotencyKey>,
    /// The event that led to this one.
    pub cause: Option<EventId>,
    /// What happened, `SCREAMING_SNAKE_CASE`.
    pub kind: EventKind,
    /// The particulars; a `{"$blob": …}` reference where they are large.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub body: Value,
    /// The hash of the event before this one in the log.
    pub prev: Hash,
    /// BLAKE3 over `prev` and the canonical JSON of all the rest.
    pub hash: Hash,
}

/// The kind of an event as text: a newer daemon may know more kinds than we do.
pub type EventKind = String;

/// Stands in the place of a body that is kept in the blob store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BlobRef {
    /// The content address.
    #[serde(rename = "$blob")]
    pub hash: Hash,
    /// How many bytes it has.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub size: u64,
}

/// What acted. Stamped by the daemon from the authenticated connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(
    feature = "ts",
    ts(type = "'ui' | 'cli' | 'kernel' | 'daemon' | `agent:${string}` | `runtime:${string}`")
)]
pub enum Actor {
    /// A person in the browser.
    Ui,
    /// A person or script at the command line.
    Cli,
    /// An agent in a role.
    Agent(String),
    /// The runtime of a notebook.
    Runtime(String),
    /// A project's kernel process.
    Kernel,
    /// The daemon by itself.
    Daemon,
}

/// A text that names no actor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no actor")]
pub struct ParseActorError(String);

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ui => f.write_str("ui"),
            Self::Cli => f.write_str("cli"),
            Self::Agent(role) => write!(f, "agent:{role}"),
            Self::Runtime(id) => write!(f, "runtime:{id}"),
            Self::Kernel => f.write_str("kernel"),
            Self::Daemon => f.write_str("daemon"),
        }
    }
}

impl std::str::FromStr for Actor {
    type Err = ParseActorError;

    fn from_str(text: &str) -> Result<Self, ParseActorError> {
        Ok(match (text, text.split_once(':')) {
            ("ui", _) => Self::Ui,
            ("cli", _) => Self::Cli,
            ("kernel", _) => Self::Kernel,
            ("daemon", _) => Self::Daemon,
            (_, Some(("agent", role))) => Self::Agent(role.to_owned()),
            (_, Some(("runtime", id))) => Self::Runtime(id.to_owned()),
            (_, None | Some(_)) => return Err(ParseActorError(text.to_owned())),
        })
    }
}

impl Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'de, str>>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Actor {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .examples([serde_json::json!("cli")])
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Actor {}

/// What can happen: the catalogue of kinds with their bodies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "body",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Fact {
    /// The daemon took the log and opened its door.
    DaemonStarted {
        /// Its process id.
        pid: u32,
        /// Its version.
        version: String,
        /// Where it listens.
        listen: String,
    },
    /// The daemon closed its door in good order.
    DaemonStopped {
        /// Why, for people.
        reason: String,
    },
    /// A person opened a folder as a project.
    ProjectOpened {
        /// The project.
        project: ProjectId,
        /// The folder's name.
        name: String,
        /// A DNS label, unique among the projects of this log.
        slug: String,
        /// The folder, absolute, with no link in it.
        path: String,
    },
    /// A person closed a project; its folder is untouched.
    ProjectClosed {
        /// The project.
        project: ProjectId,
    },
    /// A token was handed out.
    TokenCreated {
        /// Its name.
        token: TokenId,
        /// What it may do.
        class: TokenClass,
        /// The only project it may see, if it is bound to one.
        project: Option<ProjectId>,
        /// The role it acts in, if it is an agent's.
        role: Option<String>,
        /// The person it speaks for, if it is a browser's; else it speaks for itself.
        holder: Option<Principal>,
        /// What it is for, in its maker's words.
        label: String,
        /// BLAKE3 of the token. The token itself is never stored.
        digest: Hash,
        /// BLAKE3 of what the page keeps, if it is a browser's: neither works alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        page: Option<Hash>,
        /// When it ends.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        expires_at: Option<UnixMicros>,
    },
    /// A token was taken back.
    TokenRevoked {
        /// Its name.
        token: TokenId,
    },
    /// A project's kernel process answers.
    KernelStarted {
        /// The project.
        project: ProjectId,
        /// New with every kernel process.
        boot: Uuid,
        /// Its process id.
        pid: u32,
        /// Its version.
        version: String,
    },
    /// A project's kernel process is there but does not answer in time.
    KernelUnresponsive {
        /// The project.
        project: ProjectId,
        /// Which kernel process.
        boot: Uuid,
    },
    /// A project's kernel process that did not answer does so again.
    KernelResponsive {
        /// The project.
        project: ProjectId,
        /// Which kernel process.
        boot: Uuid,
    },
    /// A project's kernel process does not answer any more, and what ran in it
    /// is gone.
    KernelLost {
        /// The project.
        project: ProjectId,
        /// Which kernel process.
        boot: Uuid,
        /// Why, for people.
        why: String,
    },
    /// A project's kernel process was stopped, in good order.
    KernelStopped {
        /// The project.
        project: ProjectId,
        /// Which kernel process.
        boot: Uuid,
    },
    /// Someone asked for an action.
    ActionRequested {
        /// Its name.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// What kind of action.
        name: String,
        /// Its parameters, in canonical form.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        params: Value,
        /// What it would do, in plain words.
        what: String,
        /// What an answer is bound to.
        action_hash: Hash,
        /// The role it is asked for in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        role: Option<String>,
        /// The session it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        session: Option<SessionId>,
    },
    /// The action waits for a person.
    ActionWaiting {
        /// Which.
        action: ActionId,
        /// For an answer to this.
        approval: ApprovalId,
    },
    /// The action may not run.
    ActionDenied {
        /// Which.
        action: ActionId,
        /// Why.
        fault: ErrorInfo,
    },
    /// The action may run, once.
    ActionAllowed {
        /// Which.
        action: ActionId,
        /// What decided, in plain words.
        by: String,
        /// What decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        why: Option<AllowedBy>,
        /// The profile it runs under, if it starts a program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        profile: Option<String>,
    },
    /// A read was asked for, allowed and done: one event instead of three.
    ActionRead {
        /// Its name.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// What kind of action.
        name: String,
        /// Its parameters, in canonical form.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        params: Value,
        /// What it did, in plain words.
        what: String,
        /// What it was decided under.
        action_hash: Hash,
        /// The role it was asked for in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        role: Option<String>,
        /// The session it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        session: Option<SessionId>,
        /// What decided.
        why: AllowedBy,
        /// How it ended.
        outcome: ActionOutcome,
    },
    /// A person is asked.
    ApprovalAsked {
        /// The question's name.
        approval: ApprovalId,
        /// Where.
        project: ProjectId,
        /// The action that waits.
        action: ActionId,
        /// What an answer is bound to.
        action_hash: Hash,
        /// What kind of token the asker holds.
        class: TokenClass,
        /// The role it acts in.
        role: Option<String>,
        /// The session it belongs to.
        session: Option<SessionId>,
        /// What is asked.
        question: Box<ApprovalPrompt>,
        /// When it expires.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        expires_at: UnixMicros,
    },
    /// A person answered.
    ApprovalAnswered {
        /// Which question.
        approval: ApprovalId,
        /// Where.
        project: ProjectId,
        /// What the answer is bound to.
        action_hash: Hash,
        /// Yes or no.
        decision: ApprovalAnswer,
        /// How far a yes reaches.
        scope: Option<AnswerScope>,
        /// What the asker is told.
        message: Option<String>,
    },
    /// Nobody answered in time.
    ApprovalExpired {
        /// Which question.
        approval: ApprovalId,
        /// Where.
        project: ProjectId,
    },
    /// A question fell away before it was answered.
    ApprovalWithdrawn {
        /// Which question.
        approval: ApprovalId,
        /// Where.
        project: ProjectId,
        /// Why, for people.
        why: String,
    },
    /// A person allowed more than one action.
    GrantCreated {
        /// Its name.
        grant: GrantId,
        /// Where.
        project: ProjectId,
        /// The question it answered.
        approval: ApprovalId,
        /// Who may.
        grantee: Principal,
        /// In which role.
        role: Option<String>,
        /// Only in this session.
        session: Option<SessionId>,
        /// What it covers.
        covers: GrantScope,
        /// The scripts it may run, as they were.
        pins: Vec<PinnedFile>,
        /// The rules that asked, which its question named.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(as = "Option<Vec<RuleRef>>", optional))]
        rules: Vec<RuleRef>,
        /// What it covers, in plain words.
        what: String,
        /// When it ends.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        until: Option<UnixMicros>,
    },
    /// A person took a grant back.
    GrantRevoked {
        /// Which.
        grant: GrantId,
        /// Where.
        project: ProjectId,
    },
    /// A person set a project's mode.
    ModeChanged {
        /// Where.
        project: ProjectId,
        /// Which.
        mode: ProjectMode,
        /// When it ends.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        until: Option<UnixMicros>,
    },
    /// A role's file was read.
    RoleLoaded {
        /// Where.
        project: ProjectId,
        /// Its name.
        role: String,
        /// The file, relative to the project.
        file: String,
        /// BLAKE3 of the file.
        hash: Hash,
        /// What it may ask for.
        skills: Vec<String>,
        /// The model it asks for.
        model: Option<String>,
        /// Whether exactly this was trusted.
        trusted: bool,
    },
    /// A role's file is no role, or is gone.
    RoleRejected {
        /// Where.
        project: ProjectId,
        /// The file, relative to the project.
        file: String,
        /// Why, with the line and what was expected.
        why: String,
    },
    /// A person trusted a file that governs, exactly as it is.
    FileTrusted {
        /// Where.
        project: ProjectId,
        /// What it is.
        what: GovernanceFileKind,
        /// The file, relative to the project.
        file: String,
        /// BLAKE3 of its bytes.
        hash: Hash,
        /// The text, so that a later change can be shown.
        text: String,
    },
    /// A file of rules was read anew.
    PolicyChanged {
        /// Where; none for the user's own rules.
        project: Option<ProjectId>,
        /// `user` or `project`.
        layer: String,
        /// BLAKE3 of the file; none if it is gone.
        hash: Option<Hash>,
        /// How many rules it holds.
        rules: u32,
        /// Whether exactly this is trusted.
        trusted: bool,
        /// Why it has no effect, if it has none.
        errors: Vec<String>,
    },
    /// A command runs.
    ActionStarted {
        /// Which.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// Its process id.
        pid: u32,
        /// The profile it runs under.
        profile: String,
        /// The layers of the wall that were applied.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        layers: BTreeMap<String, Value>,
    },
    /// A command printed something.
    ActionOutput {
        /// Which.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// What.
        output: OutputChunk,
    },
    /// An action has ended, and nothing of it is left.
    ActionFinished {
        /// Which.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so; none for actions on files.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        report: Option<ReportNumber>,
        /// How.
        outcome: ActionOutcome,
    },
    /// A build of the project began.
    BuildStarted {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        build: runtime::BuildStarted,
    },
    /// A build of the project succeeded.
    BuildSucceeded {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        build: runtime::BuildSucceeded,
    },
    /// A build of the project did not succeed.
    BuildFailed {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        build: runtime::BuildFailed,
    },
    /// The project was asked to run, and nothing was in the way.
    RuntimeStarting {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        run: runtime::RuntimeStarting,
    },
    /// The project's dev server runs.
    RuntimeStarted {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        run: runtime::RuntimeStarted,
    },
    /// The project's dev server runs again.
    RuntimeRestarted {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        run: runtime::RuntimeStarted,
    },
    /// The project's dev server was told to end.
    RuntimeStopping {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        run: runtime::RuntimeStopping,
    },
    /// The project's run is over, and nothing of it is left.
    RuntimeStopped {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        run: runtime::RuntimeStopped,
    },
    /// The project's run ended though nobody asked, and nothing of it is left.
    RuntimeCrashed {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        run: runtime::RuntimeCrashed,
    },
    /// Something of the project listens.
    PreviewDetected {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        preview: runtime::PreviewDetection,
    },
    /// The project's preview answers.
    PreviewReady {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        preview: runtime::PreviewDetection,
    },
    /// The project's preview does not answer any more.
    PreviewLost {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        preview: runtime::PreviewLost,
    },
    /// The project's terminal is there.
    TerminalOpened {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        terminal: runtime::TerminalOpened,
    },
    /// The project's terminal has another size.
    TerminalResized {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        terminal: runtime::TerminalSize,
    },
    /// The shell of the project's terminal has ended.
    TerminalClosed {
        /// The action that began it.
        action: ActionId,
        /// Where.
        project: ProjectId,
        /// The kernel's report that says so.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The particulars.
        terminal: runtime::TerminalClosed,
    },
    /// A conversation with a model begins.
    SessionOpened(session::SessionOpened),
    /// Somebody said something in a conversation.
    MessageAdded(session::MessageAdded),
    /// A turn of a conversation begins.
    TurnStarted(session::TurnStarted),
    /// More of what the model says.
    TextDelta(session::ContentDelta),
    /// More of what the model thinks.
    ReasoningDelta(session::ContentDelta),
    /// More of a call that the model is writing.
    ToolDelta(session::ToolDelta),
    /// The provider failed, and is asked again after a while.
    AttemptFailed(session::AttemptFailed),
    /// What an answer showed so far is void.
    AttemptRestarted(session::AttemptRestarted),
    /// The model calls a tool.
    ToolCalled(session::ToolCalled),
    /// A call of a tool is over.
    ToolReturned(session::ToolReturned),
    /// A model was asked, and used this.
    UsageRecorded(session::UsageRecorded),
    /// A session that a task was handed to used this.
    TaskUsed(session::TaskUsed),
    /// The model stopped.
    TurnFinished(session::TurnFinished),
    /// A turn could not go on.
    TurnFailed(session::TurnFailed),
    /// A person stopped a turn.
    TurnCancelled(session::TurnCancelled),
    /// The daemon ended in the midst of a turn.
    TurnInterrupted(session::TurnInterrupted),
    /// What came before is summarized for the model.
    SessionCompacted(session::SessionCompacted),
    /// The model gave a task to another role.
    HandedOff(session::HandedOff),
    /// A message that waited was taken back.
    MessageWithdrawn(session::MessageWithdrawn),
    /// A person closed a conversation.
    SessionClosed(session::SessionClosed),
}

impl Fact {
    /// The kind, as it stands in the envelope.
    #[expect(clippy::too_many_lines, reason = "a table with every fact there is")]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::DaemonStarted { .. } => "DAEMON_STARTED",
            Self::DaemonStopped { .. } => "DAEMON_STOPPED",
            Self::ProjectOpened { .. } => "PROJECT_OPENED",
            Self::ProjectClosed { .. } => "PROJECT_CLOSED",
            Self::TokenCreated { .. } => "TOKEN_CREATED",
            Self::TokenRevoked { .. } => "TOKEN_REVOKED",
            Self::KernelStarted { .. } => "KERNEL_STARTED",
            Self::KernelUnresponsive { .. } => "KERNEL_UNRESPONSIVE",
            Self::KernelResponsive { .. } => "KERNEL_RESPONSIVE",
            Self::KernelLost { .. } => "KERNEL_LOST",
            Self::KernelStopped { .. } => "KERNEL_STOPPED",
            Self::ActionRequested { .. } => "ACTION_REQUESTED",
            Self::ActionWaiting { .. } => "ACTION_WAITING",
            Self::ActionRead { .. } => "ACTION_READ",
            Self::ApprovalAsked { .. } => "APPROVAL_ASKED",
            Self::ApprovalAnswered { .. } => "APPROVAL_ANSWERED",
            Self::ApprovalExpired { .. } => "APPROVAL_EXPIRED",
            Self::ApprovalWithdrawn { .. } => "APPROVAL_WITHDRAWN",
            Self::GrantCreated { .. } => "GRANT_CREATED",
            Self::GrantRevoked { .. } => "GRANT_REVOKED",
            Self::ModeChanged { .. } => "MODE_CHANGED",
            Self::RoleLoaded { .. } => "ROLE_LOADED",
            Self::RoleRejected { .. } => "ROLE_REJECTED",
            Self::FileTrusted { .. } => "FILE_TRUSTED",
            Self::PolicyChanged { .. } => "POLICY_CHANGED",
            Self::ActionDenied { .. } => "ACTION_DENIED",
            Self::ActionAllowed { .. } => "ACTION_ALLOWED",
            Self::ActionStarted { .. } => "ACTION_STARTED",
            Self::ActionOutput { .. } => "ACTION_OUTPUT",
            Self::ActionFinished { .. } => "ACTION_FINISHED",
            Self::BuildStarted { .. } => "BUILD_STARTED",
            Self::BuildSucceeded { .. } => "BUILD_SUCCEEDED",
            Self::BuildFailed { .. } => "BUILD_FAILED",
            Self::RuntimeStarting { .. } => "RUNTIME_STARTING",
            Self::RuntimeStarted { .. } => "RUNTIME_STARTED",
            Self::RuntimeRestarted { .. } => "RUNTIME_RESTARTED",
            Self::RuntimeStopping { .. } => "RUNTIME_STOPPING",
            Self::RuntimeStopped { .. } => "RUNTIME_STOPPED",
            Self::RuntimeCrashed { .. } => "RUNTIME_CRASHED",
            Self::PreviewDetected { .. } => "PREVIEW_DETECTED",
            Self::PreviewReady { .. } => "PREVIEW_READY",
            Self::PreviewLost { .. } => "PREVIEW_LOST",
            Self::TerminalOpened { .. } => "TERMINAL_OPENED",
            Self::TerminalResized { .. } => "TERMINAL_RESIZED",
            Self::TerminalClosed { .. } => "TERMINAL_CLOSED",
            Self::SessionOpened(_) => "SESSION_OPENED",
            Self::MessageAdded(_) => "MESSAGE_ADDED",
            Self::TurnStarted(_) => "TURN_STARTED",
            Self::TextDelta(_) => "TEXT_DELTA",
            Self::ReasoningDelta(_) => "REASONING_DELTA",
            Self::ToolDelta(_) => "TOOL_DELTA",
            Self::AttemptFailed(_) => "ATTEMPT_FAILED",
            Self::AttemptRestarted(_) => "ATTEMPT_RESTARTED",
            Self::ToolCalled(_) => "TOOL_CALLED",
            Self::ToolReturned(_) => "TOOL_RETURNED",
            Self::UsageRecorded(_) => "USAGE_RECORDED",
            Self::TaskUsed(_) => "TASK_USED",
            Self::TurnFinished(_) => "TURN_FINISHED",
            Self::TurnFailed(_) => "TURN_FAILED",
            Self::TurnCancelled(_) => "TURN_CANCELLED",
            Self::TurnInterrupted(_) => "TURN_INTERRUPTED",
            Self::SessionCompacted(_) => "SESSION_COMPACTED",
            Self::HandedOff(_) => "HANDED_OFF",
            Self::MessageWithdrawn(_) => "MESSAGE_WITHDRAWN",
            Self::SessionClosed(_) => "SESSION_CLOSED",
        }
    }

    /// The body, as it stands in the envelope.
    pub fn body(&self) -> Result<Value, serde_json::Error> {
        let mut tagged = serde_json::to_value(self)?;
        Ok(tagged.get_mut("body").map(Value::take).unwrap_or_default())
    }
}

impl Event {
    /// The typed fact; `None` if this Provost does not know the kind, or the
    /// body is kept in the blob store.
    pub fn fact(&self) -> Option<Fact> {
        Fact::from_kind_and_body(&self.kind, &self.body)
    }
}

impl Fact {
    /// Reads a fact from its kind and body; `None` for what is unknown.
    pub fn from_kind_and_body(kind: &str, body: &Value) -> Option<Self> {
        #[derive(Serialize)]
        struct Tagged<'a> {
            kind: &'a str,
            body: &'a Value,
        }
        let tagged = serde_json::to_value(Tagged { kind, body }).ok()?;
        serde_json::from_value(tagged).ok()
    }
}
