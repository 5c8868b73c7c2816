//! The views that exist, with their names and their ids on disk.

use provost_proto::notebook::NotebookView;
use serde::Serialize;

/// The views that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ViewKind {
    /// The projects, by id.
    Projects,
    /// The tokens, by id.
    Tokens,
    /// The actions, by id.
    Actions,
    /// The kernels, by project.
    Kernels,
    /// The modes, by project.
    Modes,
    /// The approvals, by id.
    Approvals,
    /// The grants, by id.
    Grants,
    /// The trusted governance files, by project and file.
    Trusted,
    /// The runtimes, by project.
    Runtimes,
    /// The sessions, by id.
    Sessions,
    /// The items of sessions, in pages.
    Pages,
    /// The completions that are being streamed, by session.
    Drafts,
    /// Token usage of models, by day, project and model.
    Usage,
    /// The actions that only read, by id. They are numerous, so a document only refers to the
    /// event.
    Looks,
    /// The daemon, under the nil key.
    Daemon,
    /// When the governance files of a project changed, by project.
    Governance,
    /// The turns of sessions, by id.
    Turns,
    /// What running commands print, by action.
    Outputs,
    /// What notebooks consist of.
    Notebook(NotebookView),
}

impl From<NotebookView> for ViewKind {
    fn from(view: NotebookView) -> Self {
        Self::Notebook(view)
    }
}

impl ViewKind {
    /// All of them.
    pub const ALL: [Self; 25] = [
        Self::Projects,
        Self::Tokens,
        Self::Actions,
        Self::Kernels,
        Self::Modes,
        Self::Approvals,
        Self::Grants,
        Self::Trusted,
        Self::Runtimes,
        Self::Sessions,
        Self::Pages,
        Self::Drafts,
        Self::Usage,
        Self::Looks,
        Self::Daemon,
        Self::Governance,
        Self::Turns,
        Self::Outputs,
        Self::Notebook(NotebookView::Notebooks),
        Self::Notebook(NotebookView::Cells),
        Self::Notebook(NotebookView::Executions),
        Self::Notebook(NotebookView::OutputPages),
        Self::Notebook(NotebookView::Displays),
        Self::Notebook(NotebookView::RuntimeSessions),
        Self::Notebook(NotebookView::Artifacts),
    ];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Tokens => "tokens",
            Self::Actions => "actions",
            Self::Kernels => "kernels",
            Self::Modes => "modes",
            Self::Approvals => "approvals",
            Self::Grants => "grants",
            Self::Trusted => "trusted",
            Self::Runtimes => "runtimes",
            Self::Sessions => "sessions",
            Self::Pages => "pages",
            Self::Drafts => "drafts",
            Self::Usage => "usage",
            Self::Looks => "looks",
            Self::Daemon => "daemon",
            Self::Governance => "governance",
            Self::Turns => "turns",
            Self::Outputs => "outputs",
            Self::Notebook(NotebookView::Notebooks) => "notebooks",
            Self::Notebook(NotebookView::Cells) => "cells",
            Self::Notebook(NotebookView::Executions) => "executions",
            Self::Notebook(NotebookView::OutputPages) => "outputPages",
            Self::Notebook(NotebookView::Displays) => "displays",
            Self::Notebook(NotebookView::RuntimeSessions) => "runtimeSessions",
            Self::Notebook(NotebookView::Artifacts) => "artifacts",
        }
    }

    /// The id in the keys of documents on disk. Never change one.
    pub const fn storage_id(self) -> u8 {
        match self {
            Self::Projects => 1,
            Self::Tokens => 2,
            Self::Actions => 3,
            Self::Kernels => 4,
            Self::Modes => 5,
            Self::Approvals => 6,
            Self::Grants => 7,
            Self::Trusted => 8,
            Self::Runtimes => 9,
            Self::Sessions => 10,
            Self::Pages => 11,
            Self::Drafts => 12,
            Self::Usage => 13,
            Self::Looks => 14,
            Self::Daemon => 15,
            Self::Governance => 16,
            Self::Turns => 17,
            Self::Outputs => 18,
            Self::Notebook(NotebookView::Notebooks) => 19,
            Self::Notebook(NotebookView::Cells) => 20,
            Self::Notebook(NotebookView::Executions) => 21,
            Self::Notebook(NotebookView::OutputPages) => 22,
            Self::Notebook(NotebookView::Displays) => 23,
            Self::Notebook(NotebookView::RuntimeSessions) => 24,
            Self::Notebook(NotebookView::Artifacts) => 25,
        }
    }
}
