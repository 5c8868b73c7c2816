//! The documents that views consist of, and their keys.

use provost_proto::notebook::{Notebook, NotebookDocument};
use provost_proto::runtime::RuntimeView;
use provost_proto::session::{CompletionDraft, DailyUsage, SessionPage, SessionTurn, SessionView};
use provost_proto::{
    ActionView, Approval, CommandOutput, DaemonView, GovernanceChanges, Grant, KernelView,
    LogCursor, Project, ProjectModeView, TokenView, TrustedFile,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ViewKind;

/// The key of one document. Most keys are UUIDv7, so that a view in key order is in order of
/// creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// The view.
    pub view: ViewKind,
    /// The document in the view.
    pub key: Uuid,
}

/// One document of a view. Boxed, because documents are moved with every event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ViewDocument {
    /// Of [`ViewKind::Projects`].
    Project(Box<Project>),
    /// Of [`ViewKind::Tokens`].
    Token(Box<TokenView>),
    /// Of [`ViewKind::Actions`].
    Action(Box<ActionView>),
    /// Of [`ViewKind::Kernels`].
    Kernel(KernelView),
    /// Of [`ViewKind::Modes`].
    Mode(ProjectModeView),
    /// Of [`ViewKind::Approvals`].
    Approval(Box<Approval>),
    /// Of [`ViewKind::Grants`].
    Grant(Box<Grant>),
    /// Of [`ViewKind::Trusted`].
    Trusted(Box<TrustedFile>),
    /// Of [`ViewKind::Runtimes`].
    Runtime(Box<RuntimeView>),
    /// Of [`ViewKind::Sessions`].
    Session(Box<SessionView>),
    /// Of [`ViewKind::Pages`].
    Page(Box<SessionPage>),
    /// Of [`ViewKind::Drafts`].
    Draft(Box<CompletionDraft>),
    /// Of [`ViewKind::Usage`].
    Usage(Box<DailyUsage>),
    /// Of [`ViewKind::Looks`].
    Look(ReadActionRef),
    /// Of [`ViewKind::Daemon`].
    Daemon(Box<DaemonView>),
    /// Of [`ViewKind::Governance`].
    Governance(GovernanceChanges),
    /// Of [`ViewKind::Turns`].
    Turn(Box<SessionTurn>),
    /// Of [`ViewKind::Outputs`].
    Output(Box<CommandOutput>),
    /// Of [`ViewKind::Notebook`].
    Notebook(NotebookDocument),
}

/// The event that records a read; [`read_action_view`](super::read_action_view) makes the action
/// of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadActionRef {
    /// The position of the event.
    pub event: LogCursor,
}

impl ViewDocument {
    /// Parses a document of a view.
    pub fn parse(view: ViewKind, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match view {
            ViewKind::Projects => Self::Project(serde_json::from_slice(bytes)?),
            ViewKind::Tokens => Self::Token(serde_json::from_slice(bytes)?),
            ViewKind::Actions => Self::Action(serde_json::from_slice(bytes)?),
            ViewKind::Kernels => Self::Kernel(serde_json::from_slice(bytes)?),
            ViewKind::Modes => Self::Mode(serde_json::from_slice(bytes)?),
            ViewKind::Approvals => Self::Approval(serde_json::from_slice(bytes)?),
            ViewKind::Grants => Self::Grant(serde_json::from_slice(bytes)?),
            ViewKind::Trusted => Self::Trusted(serde_json::from_slice(bytes)?),
            ViewKind::Runtimes => Self::Runtime(serde_json::from_slice(bytes)?),
            ViewKind::Sessions => Self::Session(serde_json::from_slice(bytes)?),
            ViewKind::Pages => Self::Page(serde_json::from_slice(bytes)?),
            ViewKind::Drafts => Self::Draft(serde_json::from_slice(bytes)?),
            ViewKind::Usage => Self::Usage(serde_json::from_slice(bytes)?),
            ViewKind::Looks => Self::Look(serde_json::from_slice(bytes)?),
            ViewKind::Daemon => Self::Daemon(serde_json::from_slice(bytes)?),
            ViewKind::Governance => Self::Governance(serde_json::from_slice(bytes)?),
            ViewKind::Turns => Self::Turn(serde_json::from_slice(bytes)?),
            ViewKind::Outputs => Self::Output(serde_json::from_slice(bytes)?),
            ViewKind::Notebook(_) => Self::Notebook(serde_json::from_slice(bytes)?),
        })
    }

    /// The project, if it is one.
    pub fn into_project(self) -> Option<Project> {
        if let Self::Project(project) = self { Some(*project) } else { None }
    }

    /// The token, if it is one.
    pub fn into_token(self) -> Option<TokenView> {
        if let Self::Token(token) = self { Some(*token) } else { None }
    }

    /// The action, if it is one.
    pub fn into_action(self) -> Option<ActionView> {
        if let Self::Action(action) = self { Some(*action) } else { None }
    }

    /// The kernel, if it is one.
    pub fn into_kernel(self) -> Option<KernelView> {
        if let Self::Kernel(kernel) = self { Some(kernel) } else { None }
    }

    /// The mode, if it is one.
    pub fn into_mode(self) -> Option<ProjectModeView> {
        if let Self::Mode(mode) = self { Some(mode) } else { None }
    }

    /// The approval, if it is one.
    pub fn into_approval(self) -> Option<Approval> {
        if let Self::Approval(approval) = self { Some(*approval) } else { None }
    }

    /// The grant, if it is one.
    pub fn into_grant(self) -> Option<Grant> {
        if let Self::Grant(grant) = self { Some(*grant) } else { None }
    }

    /// The trusted file, if it is one.
    pub fn into_trusted(self) -> Option<TrustedFile> {
        if let Self::Trusted(trusted) = self { Some(*trusted) } else { None }
    }

    /// The runtime, if it is one.
    pub fn into_runtime(self) -> Option<RuntimeView> {
        if let Self::Runtime(runtime) = self { Some(*runtime) } else { None }
    }

    /// The session, if it is one.
    pub fn into_session(self) -> Option<SessionView> {
        if let Self::Session(session) = self { Some(*session) } else { None }
    }

    /// The page, if it is one.
    pub fn into_page(self) -> Option<SessionPage> {
        if let Self::Page(page) = self { Some(*page) } else { None }
    }

    /// The draft, if it is one.
    pub fn into_draft(self) -> Option<CompletionDraft> {
        if let Self::Draft(draft) = self { Some(*draft) } else { None }
    }

    /// The turn, if it is one.
    pub fn into_turn(self) -> Option<SessionTurn> {
        if let Self::Turn(turn) = self { Some(*turn) } else { None }
    }

    /// The output of a command, if it is one.
    pub fn into_output(self) -> Option<CommandOutput> {
        if let Self::Output(output) = self { Some(*output) } else { None }
    }

    /// The document of a notebook, if it is one.
    pub fn into_notebook_document(self) -> Option<NotebookDocument> {
        if let Self::Notebook(document) = self { Some(document) } else { None }
    }

    /// The notebook, if it is one.
    pub fn into_notebook(self) -> Option<Notebook> {
        match self.into_notebook_document()? {
            NotebookDocument::Notebooks(notebook) => Some(*notebook),
            NotebookDocument::Cells(_)
            | NotebookDocument::Executions(_)
            | NotebookDocument::OutputPages(_)
            | NotebookDocument::Displays(_)
            | NotebookDocument::RuntimeSessions(_)
            | NotebookDocument::Artifacts(_) => None,
        }
    }

    /// The usage, if it is one.
    pub fn into_usage(self) -> Option<DailyUsage> {
        if let Self::Usage(usage) = self { Some(*usage) } else { None }
    }
}
