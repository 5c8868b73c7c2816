//! The catalog of facts: every kind of event with its typed body.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{Principal, UnixMicros};
use crate::kernel::{ActionOutcome, ErrorInfo, OutputChunk, ReportNumber};
use crate::notebook;
use crate::runtime;
use crate::session;
use crate::{
    ActionId, AllowedBy, AnswerScope, ApprovalAnswer, ApprovalId, ApprovalPrompt,
    GovernanceFileKind, GrantId, GrantScope, Hash, LogSegment, NotebookId, PinnedFile, ProjectId,
    ProjectMode, RuleRef, SessionId, TokenClass, TokenId,
};

/// Every kind of event with its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "body",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Fact {
    /// The daemon has opened the log and accepts connections.
    DaemonStarted {
        /// Its process id.
        pid: u32,
        /// Its version.
        version: String,
        /// The address that it listens on.
        listen: String,
    },
    /// The daemon shut down cleanly.
    DaemonStopped {
        /// The reason, as text for people.
        reason: String,
    },
    /// Events were moved from the log's database into a segment file.
    LogArchived(LogSegment),
    /// A person opened a folder as a project.
    ProjectOpened {
        /// The project.
        project: ProjectId,
        /// The folder's name.
        name: String,
        /// A DNS label, unique among the projects of this log.
        slug: String,
        /// The absolute path of the folder, with symbolic links resolved.
        path: String,
    },
    /// A person closed a project; its folder is not changed.
    ProjectClosed {
        /// The project.
        project: ProjectId,
    },
    /// A token was created.
    TokenCreated {
        /// Its id.
        token: TokenId,
        /// What it may do.
        class: TokenClass,
        /// The only project it may see, if it is bound to one.
        project: Option<ProjectId>,
        /// The role it acts in, if it is an agent's.
        role: Option<String>,
        /// The person that a browser token acts for; other tokens act for themselves.
        holder: Option<Principal>,
        /// The label that its creator gave it.
        label: String,
        /// BLAKE3 of the token. The token itself is never stored.
        digest: Hash,
        /// BLAKE3 of the secret that the page stores, for a browser token: cookie and page secret
        /// are only valid together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        page: Option<Hash>,
        /// The notebook whose runtime it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        notebook: Option<NotebookId>,
        /// When it expires; never if absent.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        expires_at: Option<UnixMicros>,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Its id.
        token: TokenId,
    },
    /// The daemon is connected to a project's kernel process.
    KernelStarted {
        /// The project.
        project: ProjectId,
        /// Identifies the kernel process; new with every start.
        boot: Uuid,
        /// Its process id.
        pid: u32,
        /// Its version.
        version: String,
    },
    /// A project's kernel process exists but does not answer heartbeats in time.
    KernelUnresponsive {
        /// The project.
        project: ProjectId,
        /// The kernel process.
        boot: Uuid,
    },
    /// A project's kernel process answers heartbeats again.
    KernelResponsive {
        /// The project.
        project: ProjectId,
        /// The kernel process.
        boot: Uuid,
    },
    /// A project's kernel process is gone, with everything that ran in it.
    KernelLost {
        /// The project.
        project: ProjectId,
        /// The kernel process.
        boot: Uuid,
        /// The reason, as text for people.
        why: String,
    },
    /// A project's kernel process was stopped cleanly.
    KernelStopped {
        /// The project.
        project: ProjectId,
        /// The kernel process.
        boot: Uuid,
    },
    /// An action was requested.
    ActionRequested {
        /// Its id.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The name of the action, such as `fs.readFile`.
        name: String,
        /// Its parameters, in canonical form.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        params: Value,
        /// What it would do, as text for people.
        what: String,
        /// The hash of the action in its context: an answer is valid for this hash only.
        action_hash: Hash,
        /// The role that requests it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        role: Option<String>,
        /// The session it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        session: Option<SessionId>,
    },
    /// The action waits for an approval.
    ActionWaiting {
        /// The action.
        action: ActionId,
        /// The approval that it waits for.
        approval: ApprovalId,
    },
    /// The action was denied.
    ActionDenied {
        /// The action.
        action: ActionId,
        /// The error.
        fault: ErrorInfo,
    },
    /// The action was allowed to run, once.
    ActionAllowed {
        /// The action.
        action: ActionId,
        /// What allowed it, as text for people.
        by: String,
        /// What allowed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        why: Option<AllowedBy>,
        /// The sandbox profile, if it starts a program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        profile: Option<String>,
    },
    /// A read was requested, allowed and executed: one event instead of three.
    ActionRead {
        /// Its id.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The name of the action, such as `fs.readFile`.
        name: String,
        /// Its parameters, in canonical form.
        #[cfg_attr(feature = "ts", ts(type = "unknown"))]
        params: Value,
        /// What it did, as text for people.
        what: String,
        /// The hash of the action in its context.
        action_hash: Hash,
        /// The role that requested it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        role: Option<String>,
        /// The session it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "ts", ts(optional))]
        session: Option<SessionId>,
        /// What allowed it.
        why: AllowedBy,
        /// The outcome.
        outcome: ActionOutcome,
    },
    /// An approval was requested from a person.
    ApprovalAsked {
        /// Its id.
        approval: ApprovalId,
        /// The project.
        project: ProjectId,
        /// The action that waits for it.
        action: ActionId,
        /// The hash of the action in its context: an answer is valid for this hash only.
        action_hash: Hash,
        /// The class of the requester's token.
        class: TokenClass,
        /// The role of the requester.
        role: Option<String>,
        /// The session it belongs to.
        session: Option<SessionId>,
        /// What the person is shown.
        question: Box<ApprovalPrompt>,
        /// When it expires.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        expires_at: UnixMicros,
    },
    /// A person answered an approval.
    ApprovalAnswered {
        /// The approval.
        approval: ApprovalId,
        /// The project.
        project: ProjectId,
        /// The hash of the action that the answer is valid for.
        action_hash: Hash,
        /// Whether the person allowed or denied it.
        decision: ApprovalAnswer,
        /// What the answer covers beyond this action, if it was allowed.
        scope: Option<AnswerScope>,
        /// The person's message to the requester.
        message: Option<String>,
    },
    /// An approval was not answered before it expired.
    ApprovalExpired {
        /// The approval.
        approval: ApprovalId,
        /// The project.
        project: ProjectId,
    },
    /// An approval became void before it was answered.
    ApprovalWithdrawn {
        /// The approval.
        approval: ApprovalId,
        /// The project.
        project: ProjectId,
        /// The reason, as text for people.
        why: String,
    },
    /// A person allowed more than the one action.
    GrantCreated {
        /// Its id.
        grant: GrantId,
        /// The project.
        project: ProjectId,
        /// The approval that it came from.
        approval: ApprovalId,
        /// The principal it is granted to.
        grantee: Principal,
        /// The role it is limited to.
        role: Option<String>,
        /// The session it is limited to.
        session: Option<SessionId>,
        /// What it covers.
        covers: GrantScope,
        /// The scripts it may run, with their hashes at the time.
        pins: Vec<PinnedFile>,
        /// The rules that required the approval.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "ts", ts(as = "Option<Vec<RuleRef>>", optional))]
        rules: Vec<RuleRef>,
        /// What it covers, as text for people.
        what: String,
        /// When it expires; never if absent.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        until: Option<UnixMicros>,
    },
    /// A person revoked a grant.
    GrantRevoked {
        /// The grant.
        grant: GrantId,
        /// The project.
        project: ProjectId,
    },
    /// A person set a project's mode.
    ModeChanged {
        /// The project.
        project: ProjectId,
        /// The new mode.
        mode: ProjectMode,
        /// When it expires; never if absent.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        until: Option<UnixMicros>,
    },
    /// A role's file was read.
    RoleLoaded {
        /// The project.
        project: ProjectId,
        /// Its name.
        role: String,
        /// The file, relative to the project.
        file: String,
        /// BLAKE3 of the file.
        hash: Hash,
        /// Its skills.
        skills: Vec<String>,
        /// The model that it names.
        model: Option<String>,
        /// Whether a person trusted exactly these bytes.
        trusted: bool,
    },
    /// A role's file is invalid, or was deleted.
    RoleRejected {
        /// The project.
        project: ProjectId,
        /// The file, relative to the project.
        file: String,
        /// The error, with the line and what was expected.
        why: String,
    },
    /// A person trusted a governance file with exactly these bytes.
    FileTrusted {
        /// The project.
        project: ProjectId,
        /// The kind of file.
        what: GovernanceFileKind,
        /// The file, relative to the project.
        file: String,
        /// BLAKE3 of its bytes.
        hash: Hash,
        /// The text, so that a later change can be shown as a diff.
        text: String,
    },
    /// A file of rules was read again after a change.
    PolicyChanged {
        /// The project; absent for the user's own rules.
        project: Option<ProjectId>,
        /// `user` or `project`.
        layer: String,
        /// BLAKE3 of the file; absent if it was deleted.
        hash: Option<Hash>,
        /// How many rules it holds.
        rules: u32,
        /// Whether a person trusted exactly these bytes.
        trusted: bool,
        /// The errors because of which it has no effect.
        errors: Vec<String>,
    },
    /// A command was started.
    ActionStarted {
        /// The action.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// Its process id.
        pid: u32,
        /// The sandbox profile.
        profile: String,
        /// The sandbox mechanisms that were applied.
        #[cfg_attr(feature = "ts", ts(type = "Record<string, unknown>"))]
        layers: BTreeMap<String, Value>,
    },
    /// A command printed output.
    ActionOutput {
        /// The action.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The output.
        output: OutputChunk,
    },
    /// An action has ended, and no process of it is left.
    ActionFinished {
        /// The action.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report; absent for actions on files.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        report: Option<ReportNumber>,
        /// The outcome.
        outcome: ActionOutcome,
    },
    /// A build of the project was started.
    BuildStarted {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        build: runtime::BuildStarted,
    },
    /// A build of the project succeeded.
    BuildSucceeded {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        build: runtime::BuildSucceeded,
    },
    /// A build of the project failed or was stopped.
    BuildFailed {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        build: runtime::BuildFailed,
    },
    /// The project's dev server is about to be started.
    RuntimeStarting {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        run: runtime::RuntimeStarting,
    },
    /// The project's dev server was started.
    RuntimeStarted {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        run: runtime::RuntimeStarted,
    },
    /// The project's dev server was started again.
    RuntimeRestarted {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        run: runtime::RuntimeStarted,
    },
    /// The project's dev server is being stopped.
    RuntimeStopping {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        run: runtime::RuntimeStopping,
    },
    /// The project's dev server was stopped, and no process of it is left.
    RuntimeStopped {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        run: runtime::RuntimeStopped,
    },
    /// The project's dev server ended without a request, and no process of it is left.
    RuntimeCrashed {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        run: runtime::RuntimeCrashed,
    },
    /// A process of the project listens on a port.
    PreviewDetected {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        preview: runtime::PreviewDetection,
    },
    /// The project's preview answers HTTP requests.
    PreviewReady {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        preview: runtime::PreviewDetection,
    },
    /// The project's preview no longer answers.
    PreviewLost {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        preview: runtime::PreviewLost,
    },
    /// The project's terminal was opened.
    TerminalOpened {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        terminal: runtime::TerminalOpened,
    },
    /// The project's terminal was resized.
    TerminalResized {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        terminal: runtime::TerminalSize,
    },
    /// The shell of the project's terminal has ended.
    TerminalClosed {
        /// The action that started it.
        action: ActionId,
        /// The project.
        project: ProjectId,
        /// The number of the kernel's report.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        report: ReportNumber,
        /// The details.
        terminal: runtime::TerminalClosed,
    },
    /// A session with a model was opened.
    SessionOpened(session::SessionOpened),
    /// A message was added to a session.
    MessageAdded(session::MessageAdded),
    /// A turn of a session was started.
    TurnStarted(session::TurnStarted),
    /// The model streamed text.
    TextDelta(session::ContentDelta),
    /// The model streamed reasoning.
    ReasoningDelta(session::ContentDelta),
    /// The model streamed part of a tool call.
    ToolDelta(session::ToolDelta),
    /// A request to the provider failed and will be retried.
    AttemptFailed(session::AttemptFailed),
    /// The completion was restarted: what it streamed so far is void.
    AttemptRestarted(session::AttemptRestarted),
    /// The model called a tool.
    ToolCalled(session::ToolCalled),
    /// A tool call has ended.
    ToolReturned(session::ToolReturned),
    /// A completion has ended and used this many tokens.
    UsageRecorded(session::UsageRecorded),
    /// A session that a task was handed off to used this many tokens.
    TaskUsed(session::TaskUsed),
    /// A turn has ended normally.
    TurnFinished(session::TurnFinished),
    /// A turn failed.
    TurnFailed(session::TurnFailed),
    /// A person cancelled a turn.
    TurnCancelled(session::TurnCancelled),
    /// The daemon ended during a turn.
    TurnInterrupted(session::TurnInterrupted),
    /// Earlier messages were replaced by a summary for the model.
    SessionCompacted(session::SessionCompacted),
    /// The model handed off a task to another role.
    HandedOff(session::HandedOff),
    /// A queued message was withdrawn.
    MessageWithdrawn(session::MessageWithdrawn),
    /// A person closed a session.
    SessionClosed(session::SessionClosed),
    /// A notebook was created.
    NotebookCreated(notebook::NotebookCreated),
    /// The title of a notebook was changed.
    NotebookRenamed(notebook::NotebookRenamed),
    /// A value of a notebook's metadata was set, or removed if it is `null`.
    NotebookMetadataSet(notebook::NotebookMetadataSet),
    /// The slots of a notebook were declared anew; no session is active in any.
    NotebookSlotsSet(notebook::NotebookSlotsSet),
    /// A notebook was bound to a file of its project, or to none.
    NotebookBound(notebook::NotebookBound),
    /// A notebook and its file hold the same.
    NotebookSaved(notebook::NotebookSaved),
    /// A notebook was deleted; its history stays readable.
    NotebookDeleted(notebook::NotebookDeleted),
    /// A cell was created.
    CellCreated(notebook::CellCreated),
    /// Parts of a cell's source were changed.
    CellEdited(notebook::CellEdited),
    /// A cell's source was replaced.
    CellReplaced(notebook::CellReplaced),
    /// A cell was moved.
    CellMoved(notebook::CellMoved),
    /// The kind of a cell was changed.
    CellKindSet(notebook::CellKindSet),
    /// A value of a cell's metadata was set, or removed if it is `null`.
    CellMetadataSet(notebook::CellMetadataSet),
    /// The slot that executes a cell was chosen, or is by its kind again.
    CellSlotSet(notebook::CellSlotSet),
    /// A cell was deleted; it can be restored.
    CellDeleted(notebook::CellDeleted),
    /// A deleted cell was restored.
    CellRestored(notebook::CellRestored),
    /// The outputs of a cell were cleared by a person.
    CellOutputsCleared(notebook::CellOutputsCleared),
    /// The execution of a cell was requested.
    ExecutionRequested(notebook::ExecutionRequested),
    /// A runtime session claimed an execution.
    ExecutionAssigned(notebook::ExecutionAssigned),
    /// A claimed execution that had not started went back to the queue.
    ExecutionReturned(notebook::ExecutionReturned),
    /// An execution was started.
    ExecutionStarted(notebook::ExecutionStarted),
    /// A running program asks the person for input.
    ExecutionInputAsked(notebook::ExecutionInputAsked),
    /// A person answered.
    ExecutionInputAnswered(notebook::ExecutionInputAnswered),
    /// Somebody asked to cancel an execution that is claimed or running. One that is queued is
    /// finished at once.
    ExecutionCancelled(notebook::ExecutionCancelled),
    /// An execution has ended.
    ExecutionFinished(notebook::ExecutionFinished),
    /// An execution has a further output.
    OutputAdded(notebook::OutputAdded),
    /// Text was appended to the last output of an execution.
    OutputAppended(notebook::OutputAppended),
    /// An output with a display name was replaced.
    OutputReplaced(notebook::OutputReplaced),
    /// The outputs of an execution were cleared: by its program, or by a person while it runs.
    OutputsCleared(notebook::OutputsCleared),
    /// A runtime session was started in a slot.
    RuntimeSessionStarted(notebook::RuntimeSessionStarted),
    /// The status of a runtime session changed.
    #[serde(rename = "RUNTIME_SESSION_STATUS")]
    RuntimeSessionStatusSet(notebook::RuntimeSessionStatusSet),
    /// A runtime session has ended.
    RuntimeSessionEnded(notebook::RuntimeSessionEnded),
    /// Data was stored for a notebook.
    ArtifactAdded(notebook::ArtifactAdded),
}

impl Fact {
    /// The kind, as in the envelope.
    #[expect(clippy::too_many_lines, reason = "a table of all facts")]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::DaemonStarted { .. } => "DAEMON_STARTED",
            Self::DaemonStopped { .. } => "DAEMON_STOPPED",
            Self::LogArchived(_) => "LOG_ARCHIVED",
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
            Self::NotebookCreated(_) => "NOTEBOOK_CREATED",
            Self::NotebookRenamed(_) => "NOTEBOOK_RENAMED",
            Self::NotebookMetadataSet(_) => "NOTEBOOK_METADATA_SET",
            Self::NotebookSlotsSet(_) => "NOTEBOOK_SLOTS_SET",
            Self::NotebookBound(_) => "NOTEBOOK_BOUND",
            Self::NotebookSaved(_) => "NOTEBOOK_SAVED",
            Self::NotebookDeleted(_) => "NOTEBOOK_DELETED",
            Self::CellCreated(_) => "CELL_CREATED",
            Self::CellEdited(_) => "CELL_EDITED",
            Self::CellReplaced(_) => "CELL_REPLACED",
            Self::CellMoved(_) => "CELL_MOVED",
            Self::CellKindSet(_) => "CELL_KIND_SET",
            Self::CellMetadataSet(_) => "CELL_METADATA_SET",
            Self::CellSlotSet(_) => "CELL_SLOT_SET",
            Self::CellDeleted(_) => "CELL_DELETED",
            Self::CellRestored(_) => "CELL_RESTORED",
            Self::CellOutputsCleared(_) => "CELL_OUTPUTS_CLEARED",
            Self::ExecutionRequested(_) => "EXECUTION_REQUESTED",
            Self::ExecutionAssigned(_) => "EXECUTION_ASSIGNED",
            Self::ExecutionReturned(_) => "EXECUTION_RETURNED",
            Self::ExecutionStarted(_) => "EXECUTION_STARTED",
            Self::ExecutionInputAsked(_) => "EXECUTION_INPUT_ASKED",
            Self::ExecutionInputAnswered(_) => "EXECUTION_INPUT_ANSWERED",
            Self::ExecutionCancelled(_) => "EXECUTION_CANCELLED",
            Self::ExecutionFinished(_) => "EXECUTION_FINISHED",
            Self::OutputAdded(_) => "OUTPUT_ADDED",
            Self::OutputAppended(_) => "OUTPUT_APPENDED",
            Self::OutputReplaced(_) => "OUTPUT_REPLACED",
            Self::OutputsCleared(_) => "OUTPUTS_CLEARED",
            Self::RuntimeSessionStarted(_) => "RUNTIME_SESSION_STARTED",
            Self::RuntimeSessionStatusSet(_) => "RUNTIME_SESSION_STATUS",
            Self::RuntimeSessionEnded(_) => "RUNTIME_SESSION_ENDED",
            Self::ArtifactAdded(_) => "ARTIFACT_ADDED",
        }
    }

    /// The body, as in the envelope.
    pub fn body(&self) -> Result<Value, serde_json::Error> {
        let mut tagged = serde_json::to_value(self)?;
        Ok(tagged.get_mut("body").map(Value::take).unwrap_or_default())
    }

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
