//! The fold from events to views.
//!
//! A view is a set of documents under keys. An event changes few of them, and each is folded
//! alone: `fold(document, event) → document`. The store keeps documents as rows, written in the
//! transaction of the event; a browser keeps them in a map. Both have the same state, because
//! this is the only fold.

mod action;
mod affected_documents;
mod daemon;
mod governance;
mod listing;
mod memory_views;
mod named_project;
mod notebook;
mod output;
pub mod runtime;
pub mod session;
mod view_document;
mod view_kind;

use provost_proto::runtime::RuntimeChange;
use provost_proto::{
    Actor, Event, Fact, Grant, KernelStatus, KernelView, LogCursor, Project, ProjectStatus,
    TokenView, UnixMicros,
};

pub use action::read_action_view;
pub use affected_documents::{PriorDocument, affected_documents};
pub use listing::{DocumentListing, usage_time};
pub use memory_views::MemoryViews;
pub use named_project::named_project;
pub use output::chunk_text;
pub use view_document::{DocumentKey, ReadActionRef, ViewDocument};
pub use view_kind::ViewKind;

/// What a fold may use of an event besides its fact.
#[derive(Debug, Clone, Copy)]
pub struct EventMetadata<'a> {
    /// Its position in the log.
    pub cursor: LogCursor,
    /// When it was recorded.
    pub at: UnixMicros,
    /// On whose authority it happened.
    pub principal: &'a str,
    /// The component that acted.
    pub actor: &'a Actor,
    /// The client's idempotency key, if it sent one.
    pub command: Option<&'a str>,
}

impl<'a> EventMetadata<'a> {
    /// The metadata of an event.
    pub fn from_event(event: &'a Event) -> Self {
        let Event { at, principal, actor, command, .. } = event;
        let (cursor, command) = (event.cursor(), command.as_deref());
        Self { cursor, at: *at, principal, actor, command }
    }
}

/// Folds one fact into one of the documents that it changes.
///
/// A fact about a document that does not exist changes nothing: a log may begin in the middle,
/// and a fold never fails.
pub fn fold_fact(
    view: ViewKind,
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    match view {
        ViewKind::Runtimes => runtime::fold_runtime(doc, metadata, fact),
        ViewKind::Sessions
        | ViewKind::Pages
        | ViewKind::Drafts
        | ViewKind::Usage
        | ViewKind::Turns => session::fold_session(view, doc, metadata, fact),
        ViewKind::Governance => governance::fold_changes(doc, metadata, fact),
        ViewKind::Outputs => output::fold_output(doc, fact),
        ViewKind::Notebook(view) => notebook::fold_notebook(view, doc, metadata, fact),
        ViewKind::Daemon => daemon::fold_daemon(doc, metadata, fact),
        ViewKind::Projects
        | ViewKind::Tokens
        | ViewKind::Actions
        | ViewKind::Kernels
        | ViewKind::Modes
        | ViewKind::Approvals
        | ViewKind::Grants
        | ViewKind::Trusted
        | ViewKind::Looks => fold_document(doc, metadata, fact),
    }
}

/// Creates a document, or applies the fact to an existing one.
fn fold_document(
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    match (fact, doc) {
        (Fact::ProjectOpened { project, name, slug, path }, _) => {
            Some(ViewDocument::Project(Box::new(Project {
                id: *project,
                name: name.clone(),
                slug: slug.clone(),
                path: path.clone(),
                status: ProjectStatus::Open,
                opened_at: metadata.at,
                opened_by: metadata.principal.to_owned(),
            })))
        }
        (Fact::TokenCreated { .. }, _) => {
            Some(ViewDocument::Token(Box::new(new_token(metadata, fact)?)))
        }
        (Fact::KernelStarted { project, boot, pid, version }, _) => {
            Some(ViewDocument::Kernel(KernelView {
                project: *project,
                boot: *boot,
                pid: *pid,
                version: version.clone(),
                status: KernelStatus::Connected,
                reached: 0,
                why: None,
            }))
        }
        (Fact::ActionRequested { .. }, _) => {
            Some(ViewDocument::Action(Box::new(action::new_action(metadata, fact)?)))
        }
        (Fact::ActionRead { .. }, _) => {
            Some(ViewDocument::Look(ReadActionRef { event: metadata.cursor }))
        }
        (Fact::ModeChanged { .. }, _) => {
            Some(ViewDocument::Mode(governance::new_mode(metadata, fact)?))
        }
        (Fact::ApprovalAsked { .. }, _) => {
            Some(ViewDocument::Approval(Box::new(governance::new_approval(metadata, fact)?)))
        }
        (Fact::GrantCreated { .. }, _) => {
            Some(ViewDocument::Grant(Box::new(governance::new_grant(metadata, fact)?)))
        }
        (Fact::FileTrusted { .. }, _) => {
            Some(ViewDocument::Trusted(Box::new(governance::new_trusted_file(metadata, fact)?)))
        }
        (fact, Some(doc)) => Some(update_document(doc, metadata, fact)),
        (_, None) => None,
    }
}

fn new_token(metadata: EventMetadata<'_>, fact: &Fact) -> Option<TokenView> {
    let Fact::TokenCreated {
        token,
        class,
        project,
        role,
        holder,
        label,
        digest,
        page,
        notebook,
        expires_at,
    } = fact
    else {
        return None;
    };
    Some(TokenView {
        id: *token,
        class: *class,
        project: *project,
        role: role.clone(),
        holder: holder.clone(),
        label: label.clone(),
        digest: *digest,
        page: *page,
        notebook: *notebook,
        created_by: metadata.principal.to_owned(),
        created_at: metadata.at,
        expires_at: *expires_at,
        revoked_at: None,
    })
}

/// Applies a fact to an existing document.
fn update_document(doc: ViewDocument, metadata: EventMetadata<'_>, fact: &Fact) -> ViewDocument {
    match doc {
        ViewDocument::Project(mut project) if matches!(fact, Fact::ProjectClosed { .. }) => {
            project.status = ProjectStatus::Closed;
            ViewDocument::Project(project)
        }
        ViewDocument::Token(mut token) if matches!(fact, Fact::TokenRevoked { .. }) => {
            token.revoked_at = token.revoked_at.or(Some(metadata.at));
            ViewDocument::Token(token)
        }
        ViewDocument::Action(mut view) => {
            action::update_action(&mut view, metadata, fact);
            ViewDocument::Action(view)
        }
        ViewDocument::Kernel(kernel) => ViewDocument::Kernel(update_kernel(kernel, fact)),
        ViewDocument::Approval(approval) => {
            ViewDocument::Approval(Box::new(governance::update_approval(*approval, metadata, fact)))
        }
        ViewDocument::Grant(grant) if matches!(fact, Fact::GrantRevoked { .. }) => {
            let revoked_at = grant.revoked_at.or(Some(metadata.at));
            ViewDocument::Grant(Box::new(Grant { revoked_at, ..*grant }))
        }
        doc @ (ViewDocument::Project(_)
        | ViewDocument::Token(_)
        | ViewDocument::Mode(_)
        | ViewDocument::Grant(_)
        | ViewDocument::Trusted(_)
        | ViewDocument::Runtime(_)
        | ViewDocument::Session(_)
        | ViewDocument::Page(_)
        | ViewDocument::Draft(_)
        | ViewDocument::Usage(_)
        | ViewDocument::Look(_)
        | ViewDocument::Daemon(_)
        | ViewDocument::Governance(_)
        | ViewDocument::Turn(_)
        | ViewDocument::Output(_)
        | ViewDocument::Notebook(_)) => doc,
    }
}

fn update_kernel(kernel: KernelView, fact: &Fact) -> KernelView {
    #[expect(clippy::wildcard_enum_match_arm, reason = "of the rest, only reports count")]
    let report = match fact {
        Fact::KernelLost { boot, why, .. } if *boot == kernel.boot => {
            return KernelView { status: KernelStatus::Lost, why: Some(why.clone()), ..kernel };
        }
        Fact::KernelUnresponsive { boot, .. } if *boot == kernel.boot => {
            return mark_responsiveness(kernel, KernelStatus::Unresponsive);
        }
        Fact::KernelResponsive { boot, .. } if *boot == kernel.boot => {
            return mark_responsiveness(kernel, KernelStatus::Connected);
        }
        Fact::KernelStopped { boot, .. } if *boot == kernel.boot => {
            return KernelView { status: KernelStatus::Stopped, why: None, ..kernel };
        }
        Fact::ActionStarted { report, .. }
        | Fact::ActionOutput { report, .. }
        | Fact::ActionFinished { report: Some(report), .. } => *report,
        _ => RuntimeChange::report_number(fact).unwrap_or(kernel.reached),
    };
    KernelView { reached: kernel.reached.max(report), ..kernel }
}

/// Whether a kernel answers heartbeats. One that is gone cannot answer any more.
fn mark_responsiveness(kernel: KernelView, status: KernelStatus) -> KernelView {
    match kernel.status {
        KernelStatus::Connected | KernelStatus::Unresponsive => KernelView { status, ..kernel },
        KernelStatus::Stopped | KernelStatus::Lost => kernel,
    }
}
