//! Where a document is listed, so that open and recent ones are found without visiting the others.

use provost_proto::notebook::{ExecutionStatus, NotebookDocument, RuntimeSessionStatus};
use provost_proto::session::SessionStatus;
use provost_proto::{ActionStatus, ActionView, ApprovalStatus, UnixMicros};
use uuid::Uuid;

use super::ViewDocument;

/// Where a document is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentListing {
    /// What it belongs to: the project, the session for a turn, the notebook for a part of it, or
    /// nothing (the nil id) for a token.
    pub group: Uuid,
    /// Whether it is still going on.
    pub is_open: bool,
    /// The time that orders the documents of a group.
    pub at: UnixMicros,
}

impl ViewDocument {
    /// Where this document is listed; `None` for views that are read by key or as a whole, and
    /// for actions that ended, which are too many.
    pub fn listing(&self) -> Option<DocumentListing> {
        match self {
            Self::Action(action) => list_action(action),
            Self::Approval(approval) => Some(DocumentListing {
                group: approval.project.uuid(),
                is_open: approval.status == ApprovalStatus::Pending,
                at: approval.resolved_at.unwrap_or(approval.asked_at),
            }),
            // A grant ends at a time that no event marks, so that time is what orders them.
            Self::Grant(grant) => Some(DocumentListing {
                group: grant.project.uuid(),
                is_open: grant.revoked_at.is_none(),
                at: grant.revoked_at.or(grant.until).unwrap_or(UnixMicros::MAX >> 1),
            }),
            Self::Session(session) => Some(DocumentListing {
                group: session.project.uuid(),
                is_open: session.status == SessionStatus::Running || !session.queued.is_empty(),
                at: session.updated_at,
            }),
            Self::Turn(turn) => Some(DocumentListing {
                group: turn.session.uuid(),
                is_open: turn.turn.ended_at.is_none(),
                at: turn.turn.started_at,
            }),
            // A token ends at a time that no event marks, as a grant does.
            Self::Token(token) => Some(DocumentListing {
                group: Uuid::nil(),
                is_open: token.revoked_at.is_none(),
                at: token.revoked_at.or(token.expires_at).unwrap_or(UnixMicros::MAX >> 1),
            }),
            Self::Usage(row) => Some(DocumentListing {
                group: row.project.uuid(),
                is_open: false,
                at: usage_time(row.day),
            }),
            Self::Notebook(document) => list_notebook_document(document),
            Self::Project(_)
            | Self::Kernel(_)
            | Self::Mode(_)
            | Self::Trusted(_)
            | Self::Runtime(_)
            | Self::Page(_)
            | Self::Draft(_)
            | Self::Look(_)
            | Self::Daemon(_)
            | Self::Governance(_)
            | Self::Output(_) => None,
        }
    }
}

/// The time under which usage of a day, counted from 1970, is listed.
pub fn usage_time(day: u32) -> UnixMicros {
    UnixMicros::from(day) * 86_400_000_000
}

/// Executions that have ended are found by their cell, and output by its execution.
fn list_notebook_document(document: &NotebookDocument) -> Option<DocumentListing> {
    let (group, is_open, at) = match document {
        NotebookDocument::Notebooks(notebook) => {
            (notebook.project.uuid(), notebook.deleted_at.is_none(), notebook.created_at)
        }
        NotebookDocument::Cells(cell) => {
            (cell.notebook.uuid(), cell.deleted_at.is_none(), cell.created_at)
        }
        NotebookDocument::Executions(execution) => {
            if execution.status == ExecutionStatus::Finished {
                return None;
            }
            (execution.notebook.uuid(), true, execution.requested_at)
        }
        NotebookDocument::RuntimeSessions(session) => {
            let is_open = session.status != RuntimeSessionStatus::Ended;
            (session.notebook.uuid(), is_open, session.started_at)
        }
        NotebookDocument::Artifacts(artifact) => (artifact.notebook.uuid(), false, 0),
        NotebookDocument::OutputPages(_) | NotebookDocument::Displays(_) => return None,
    };
    Some(DocumentListing { group, is_open, at })
}

/// An ended action is listed only if an agent typed something with it.
fn list_action(action: &ActionView) -> Option<DocumentListing> {
    let is_open = match action.status {
        ActionStatus::Requested
        | ActionStatus::Waiting
        | ActionStatus::Allowed
        | ActionStatus::Running => true,
        ActionStatus::Denied | ActionStatus::Finished => false,
    };
    let has_typed = action.input.is_some()
        && action.outcome.as_ref().is_some_and(|outcome| outcome.fault.is_none());
    (is_open || has_typed).then_some(DocumentListing {
        group: action.project.uuid(),
        is_open,
        at: action.requested_at,
    })
}
