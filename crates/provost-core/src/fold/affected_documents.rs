//! Which documents a fact changes.

use provost_proto::{ActionId, Fact, ProjectId};
use uuid::Uuid;

use super::{DocumentKey, ViewKind, notebook, session};

/// Whether a fold needs the previous document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorDocument {
    /// It changes the document.
    Required,
    /// It creates the document, whatever there was before.
    Ignored,
}

/// The documents that a fact changes.
#[expect(clippy::too_many_lines, reason = "a table with every fact there is")]
pub fn affected_documents(
    fact: &Fact,
) -> impl Iterator<Item = (DocumentKey, PriorDocument)> + use<> {
    let one =
        |view, key: Uuid, before| [Some((DocumentKey { view, key }, before)), None, None, None];
    let governance = |project: &Option<ProjectId>| {
        let key = project.map_or(Uuid::nil(), ProjectId::uuid);
        one(ViewKind::Governance, key, PriorDocument::Required)
    };
    let output = |id: &ActionId| one(ViewKind::Outputs, id.uuid(), PriorDocument::Required)[0];
    let action = |id: &ActionId, before| one(ViewKind::Actions, id.uuid(), before);
    let kernel = |id: &ProjectId, before| one(ViewKind::Kernels, id.uuid(), before);
    // A report about the runtime changes both; the end of a kernel ends what ran in it.
    let runtime_and_kernel = |id: &ProjectId, before| {
        let runtime = DocumentKey { view: ViewKind::Runtimes, key: id.uuid() };
        [kernel(id, before)[0], Some((runtime, PriorDocument::Required)), None, None]
    };
    let affected = match fact {
        Fact::DaemonStarted { .. } => one(ViewKind::Daemon, Uuid::nil(), PriorDocument::Ignored),
        Fact::DaemonStopped { .. } => one(ViewKind::Daemon, Uuid::nil(), PriorDocument::Required),
        Fact::LogArchived(_) => [None; 4],
        Fact::KernelUnresponsive { project, .. } | Fact::KernelResponsive { project, .. } => {
            kernel(project, PriorDocument::Required)
        }
        Fact::ProjectOpened { project, .. } => {
            one(ViewKind::Projects, project.uuid(), PriorDocument::Ignored)
        }
        Fact::ProjectClosed { project } => one(ViewKind::Projects, project.uuid(), PriorDocument::Required),
        Fact::TokenCreated { token, .. } => one(ViewKind::Tokens, token.uuid(), PriorDocument::Ignored),
        Fact::TokenRevoked { token } => one(ViewKind::Tokens, token.uuid(), PriorDocument::Required),
        Fact::KernelStarted { project, .. } => runtime_and_kernel(project, PriorDocument::Ignored),
        Fact::KernelLost { project, .. }
        | Fact::KernelStopped { project, .. }
        | Fact::BuildStarted { project, .. }
        | Fact::BuildSucceeded { project, .. }
        | Fact::BuildFailed { project, .. }
        | Fact::RuntimeStarting { project, .. }
        | Fact::RuntimeStarted { project, .. }
        | Fact::RuntimeRestarted { project, .. }
        | Fact::RuntimeStopping { project, .. }
        | Fact::RuntimeStopped { project, .. }
        | Fact::RuntimeCrashed { project, .. }
        | Fact::PreviewDetected { project, .. }
        | Fact::PreviewReady { project, .. }
        | Fact::PreviewLost { project, .. }
        | Fact::TerminalOpened { project, .. }
        | Fact::TerminalResized { project, .. }
        | Fact::TerminalClosed { project, .. } => runtime_and_kernel(project, PriorDocument::Required),
        Fact::ActionOutput { action, project, .. } => {
            [kernel(project, PriorDocument::Required)[0], output(action), None, None]
        }
        Fact::ActionRequested { action: id, .. } => action(id, PriorDocument::Ignored),
        Fact::ActionRead { action: id, .. } => one(ViewKind::Looks, id.uuid(), PriorDocument::Ignored),
        Fact::ActionWaiting { action: id, .. }
        | Fact::ActionDenied { action: id, .. }
        | Fact::ActionAllowed { action: id, .. }
        // An action without a kernel report does not change the kernel's document.
        | Fact::ActionFinished { action: id, report: None, .. } => action(id, PriorDocument::Required),
        Fact::ActionStarted { action: id, project, .. }
        | Fact::ActionFinished { action: id, project, .. } => {
            let [doc, ..] = kernel(project, PriorDocument::Required);
            let ended = if let Fact::ActionFinished { .. } = fact { output(id) } else { None };
            [action(id, PriorDocument::Required)[0], doc, ended, None]
        }
        Fact::ModeChanged { project, .. } => one(ViewKind::Modes, project.uuid(), PriorDocument::Ignored),
        Fact::ApprovalAsked { approval, .. } => {
            one(ViewKind::Approvals, approval.uuid(), PriorDocument::Ignored)
        }
        Fact::ApprovalAnswered { approval, .. }
        | Fact::ApprovalExpired { approval, .. }
        | Fact::ApprovalWithdrawn { approval, .. } => {
            one(ViewKind::Approvals, approval.uuid(), PriorDocument::Required)
        }
        Fact::GrantCreated { grant, .. } => one(ViewKind::Grants, grant.uuid(), PriorDocument::Ignored),
        Fact::GrantRevoked { grant, .. } => one(ViewKind::Grants, grant.uuid(), PriorDocument::Required),
        Fact::FileTrusted { project, what, file, .. } => {
            let key = super::governance::trusted_file_key(*project, *what, file);
            let trusted = one(ViewKind::Trusted, key, PriorDocument::Ignored)[0];
            [trusted, governance(&Some(*project))[0], None, None]
        }
        // Only that they changed: the current content is read from the files.
        Fact::RoleLoaded { project, .. } | Fact::RoleRejected { project, .. } => {
            governance(&Some(*project))
        }
        Fact::PolicyChanged { project, .. } => governance(project),
        Fact::SessionOpened(_)
        | Fact::MessageAdded(_)
        | Fact::TurnStarted(_)
        | Fact::TextDelta(_)
        | Fact::ReasoningDelta(_)
        | Fact::ToolDelta(_)
        | Fact::AttemptFailed(_)
        | Fact::AttemptRestarted(_)
        | Fact::ToolCalled(_)
        | Fact::ToolReturned(_)
        | Fact::UsageRecorded(_)
        | Fact::TaskUsed(_)
        | Fact::TurnFinished(_)
        | Fact::TurnFailed(_)
        | Fact::TurnCancelled(_)
        | Fact::TurnInterrupted(_)
        | Fact::SessionCompacted(_)
        | Fact::HandedOff(_)
        | Fact::MessageWithdrawn(_)
        | Fact::SessionClosed(_) => session::affected_session_documents(fact),
        Fact::NotebookCreated(_)
        | Fact::NotebookRenamed(_)
        | Fact::NotebookMetadataSet(_)
        | Fact::NotebookSlotsSet(_)
        | Fact::NotebookBound(_)
        | Fact::NotebookSaved(_)
        | Fact::NotebookDeleted(_)
        | Fact::CellCreated(_)
        | Fact::CellEdited(_)
        | Fact::CellReplaced(_)
        | Fact::CellMoved(_)
        | Fact::CellKindSet(_)
        | Fact::CellMetadataSet(_)
        | Fact::CellSlotSet(_)
        | Fact::CellDeleted(_)
        | Fact::CellRestored(_)
        | Fact::CellOutputsCleared(_)
        | Fact::ExecutionRequested(_)
        | Fact::ExecutionAssigned(_)
        | Fact::ExecutionReturned(_)
        | Fact::ExecutionStarted(_)
        | Fact::ExecutionInputAsked(_)
        | Fact::ExecutionInputAnswered(_)
        | Fact::ExecutionCancelled(_)
        | Fact::ExecutionFinished(_)
        | Fact::OutputAdded(_)
        | Fact::OutputAppended(_)
        | Fact::OutputReplaced(_)
        | Fact::OutputsCleared(_)
        | Fact::RuntimeSessionStarted(_)
        | Fact::RuntimeSessionStatusSet(_)
        | Fact::RuntimeSessionEnded(_)
        | Fact::ArtifactAdded(_) => {
            notebook::affected_notebook_documents(fact)
        }
    };
    affected.into_iter().flatten()
}
