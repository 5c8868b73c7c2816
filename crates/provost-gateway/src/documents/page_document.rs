//! A stored document as a page is sent it.

use provost_core::fold::ViewDocument;
use provost_proto::session::ItemContent;
use provost_proto::{
    ActionView, AgentInputLog, ApprovalDocument, DocumentChange, DocumentContent, KernelView,
    LogCursor, ProjectId, TypedInput, limits,
};
use provost_store::{StoreError, StoredDocument};
use serde_json::Value;
use uuid::Uuid;

use super::selection::PageView;
use crate::project::approvals::excerpt_approval;

/// The whole document.
pub(super) fn whole_document(
    view: PageView,
    stored: StoredDocument,
) -> Result<DocumentChange, StoreError> {
    let StoredDocument { key, up_to, doc } = stored;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are sent as they are stored")]
    let doc = match doc {
        // Long prompts are cut, as in lists.
        ViewDocument::Approval(approval) => {
            let (approval, truncated) = excerpt_approval(&approval);
            return change_from(
                view,
                key,
                up_to,
                serde_json::to_value(ApprovalDocument { approval, truncated }),
            );
        }
        // Counts reports; a page would be sent the kernel with each of them.
        ViewDocument::Kernel(kernel) => ViewDocument::Kernel(KernelView { reached: 0, ..kernel }),
        // What the provider sent is for the provider.
        ViewDocument::Page(mut page) => {
            for item in &mut page.items {
                if let ItemContent::Message { answer, answer_texts, .. } = &mut item.content {
                    *answer = None;
                    answer_texts.clear();
                }
            }
            ViewDocument::Page(page)
        }
        doc => doc,
    };
    change_from(view, key, up_to, serde_json::to_value(&doc))
}

/// A document that is not sent any more.
pub(super) fn removed_document(view: PageView, key: Uuid, up_to: LogCursor) -> DocumentChange {
    DocumentChange {
        view: view.name().to_owned(),
        key,
        up_to,
        content: DocumentContent::Document(None),
    }
}

/// What agents typed into a project's terminal, from the last such actions.
pub(super) fn agent_input_document(
    project: ProjectId,
    up_to: LogCursor,
    mut actions: Vec<ActionView>,
) -> Result<DocumentChange, StoreError> {
    actions.sort_by_key(|action| (action.requested_at, action.id));
    let excess = actions.len().saturating_sub(limits::MAX_AGENT_INPUTS);
    let typed = actions.into_iter().skip(excess).filter_map(|action| {
        let input = action.input?;
        Some(TypedInput {
            action: action.id,
            actor: input.actor,
            role: action.role,
            text: input.text,
            at: action.requested_at,
        })
    });
    let log = AgentInputLog { project, typed: typed.collect() };
    change_from(PageView::AgentInput, project.uuid(), up_to, serde_json::to_value(log))
}

fn change_from(
    view: PageView,
    key: Uuid,
    up_to: LogCursor,
    value: Result<Value, serde_json::Error>,
) -> Result<DocumentChange, StoreError> {
    let value = value.map_err(|error| StoreError::NotCanonical(error.to_string()))?;
    let content = DocumentContent::Document(Some(value));
    Ok(DocumentChange { view: view.name().to_owned(), key, up_to, content })
}

/// The project that a document belongs to; `None` for documents of no project or of a session.
pub(super) fn document_project(doc: &ViewDocument) -> Option<ProjectId> {
    match doc {
        ViewDocument::Project(project) => Some(project.id),
        ViewDocument::Action(action) => Some(action.project),
        ViewDocument::Kernel(kernel) => Some(kernel.project),
        ViewDocument::Mode(mode) => Some(mode.project),
        ViewDocument::Approval(approval) => Some(approval.project),
        ViewDocument::Grant(grant) => Some(grant.project),
        ViewDocument::Trusted(trusted) => Some(trusted.project),
        ViewDocument::Runtime(runtime) => Some(runtime.project),
        ViewDocument::Session(session) => Some(session.project),
        ViewDocument::Governance(changes) => changes.project,
        ViewDocument::Output(output) => Some(output.project),
        ViewDocument::Token(_)
        | ViewDocument::Page(_)
        | ViewDocument::Draft(_)
        | ViewDocument::Usage(_)
        | ViewDocument::Look(_)
        | ViewDocument::Daemon(_)
        | ViewDocument::Turn(_)
        | ViewDocument::Notebook(_) => None,
    }
}
