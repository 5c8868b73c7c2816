//! The fold from events to views.
//!
//! A view is a set of documents under keys. An event touches few of them, and
//! each is folded alone: `fold(document, event) → document`. So the store keeps
//! them as rows, written in the transaction of the event; a browser keeps them
//! in a map; and both come to the same, because this is the only fold there is.

mod governance;
pub mod runtime;
pub mod session;

use std::collections::BTreeMap;

use provost_proto::runtime::{RuntimeChange, RuntimeView};
use provost_proto::session::{CompletionDraft, DailyUsage, SessionPage, SessionView};
use provost_proto::{
    ActionId, ActionStatus, ActionView, Actor, Approval, Event, Fact, Grant, Hash, KernelStatus,
    KernelView, Project, ProjectId, ProjectModeView, ProjectStatus, Seq, TokenView, TrustedFile,
    UnixMicros,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::canonical::{self, NotCanonical};
use crate::hash_chain;

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
    /// The questions to people, by id.
    Approvals,
    /// What people granted, by id.
    Grants,
    /// The files that govern as people trusted them, by project and file.
    Trusted,
    /// What the projects run, by project.
    Runtimes,
    /// The conversations, by id.
    Sessions,
    /// What was said in them, some items each.
    Pages,
    /// What is being said in them, by session.
    Drafts,
    /// What models used, by day, project and model.
    Usage,
    /// The actions that only looked, by id. There are many of them, and what is known of one
    /// stands in one event.
    Looks,
}

impl ViewKind {
    /// All of them.
    pub const ALL: [Self; 14] = [
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
    ];

    /// As people read it.
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
        }
    }

    /// As it stands in the keys of documents on disk. Never change one.
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
        }
    }
}

/// The address of one document. Keys are UUIDv7, so a view read in the order of
/// its keys is in the order of its making.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// The view.
    pub view: ViewKind,
    /// The document in it.
    pub key: Uuid,
}

/// One document of a view. Small, because documents are moved about with every event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ViewDocument {
    /// Of [`ViewKind::Projects`].
    Project(Box<Project>),
    /// Of [`ViewKind::FakeTokenUsage`].
    Token(Box<TokenView>),
    /// Of [`ViewKind::Actions`].
    Action(Box<ActionView>),
    /// Of [`ViewKind::KernelRegistry`].
    Kernel(KernelView),
    /// Of [`ViewKind::Modes`].
    Mode(ProjectModeView),
    /// Of [`ViewKind::PendingApprovals`].
    Approval(Box<Approval>),
    /// Of [`ViewKind::Grants`].
    Grant(Box<Grant>),
    /// Of [`ViewKind::TrustedFile`].
    Trusted(Box<TrustedFile>),
    /// Of [`ViewKind::RuntimeViewCache`].
    Runtime(Box<RuntimeView>),
    /// Of [`ViewKind::SessionOwners`].
    Session(Box<SessionView>),
    /// Of [`ViewKind::Pages`].
    Page(Box<SessionPage>),
    /// Of [`ViewKind::Drafts`].
    Draft(Box<CompletionDraft>),
    /// Of [`ViewKind::CompletionUsage`].
    Usage(Box<DailyUsage>),
    /// Of [`ViewKind::Looks`].
    Look(ReadActionRef),
}

/// Where it says what came of a look: [`read_action_view`] reads it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadActionRef {
    /// The event.
    pub event: Seq,
}

impl ViewDocument {
    /// Reads a document of a view from its text.
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

    /// The question, if it is one.
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

    /// The usage, if it is one.
    pub fn into_usage(self) -> Option<DailyUsage> {
        if let Self::Usage(usage) = self { Some(*usage) } else { None }
    }
}

/// What a fold may know of an event beside its fact.
#[derive(Debug, Clone, Copy)]
pub struct EventMetadata<'a> {
    /// Its place in the log.
    pub seq: Seq,
    /// When.
    pub at: UnixMicros,
    /// On whose authority.
    pub principal: &'a str,
    /// What acted.
    pub actor: &'a Actor,
}

impl<'a> EventMetadata<'a> {
    /// That of an event.
    pub fn from_event(event: &'a Event) -> Self {
        let Event { seq, at, principal, actor, .. } = event;
        Self { seq: *seq, at: *at, principal, actor }
    }
}

/// Whether the fold of a fact looks at the document as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorDocument {
    /// It changes it.
    Required,
    /// It makes it anew, whatever was there.
    Ignored,
}

/// The documents that a fact touches.
#[expect(clippy::too_many_lines, reason = "a table with every fact there is")]
pub fn affected_documents(
    fact: &Fact,
) -> impl Iterator<Item = (DocumentKey, PriorDocument)> + use<> {
    let one = |view, key: Uuid, before| [Some((DocumentKey { view, key }, before)), None, None];
    let action = |id: &ActionId, before| one(ViewKind::Actions, id.uuid(), before);
    let kernel = |id: &ProjectId, before| one(ViewKind::Kernels, id.uuid(), before);
    // What a kernel says of the runtime moves both; what happens to it ends what ran in it.
    let ran = |id: &ProjectId, before| {
        let runtime = DocumentKey { view: ViewKind::Runtimes, key: id.uuid() };
        [kernel(id, before)[0], Some((runtime, PriorDocument::Required)), None]
    };
    let touched = match fact {
        // How a kernel's heart beats is a state of the moment, which no view keeps.
        Fact::DaemonStarted { .. }
        | Fact::DaemonStopped { .. }
        | Fact::KernelUnresponsive { .. }
        | Fact::KernelResponsive { .. } => [None, None, None],
        Fact::ProjectOpened { project, .. } => {
            one(ViewKind::Projects, project.uuid(), PriorDocument::Ignored)
        }
        Fact::ProjectClosed { project } => one(ViewKind::Projects, project.uuid(), PriorDocument::Required),
        Fact::TokenCreated { token, .. } => one(ViewKind::Tokens, token.uuid(), PriorDocument::Ignored),
        Fact::TokenRevoked { token } => one(ViewKind::Tokens, token.uuid(), PriorDocument::Required),
        Fact::KernelStarted { project, .. } => ran(project, PriorDocument::Ignored),
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
        | Fact::TerminalClosed { project, .. } => ran(project, PriorDocument::Required),
        Fact::ActionOutput { project, .. } => kernel(project, PriorDocument::Required),
        Fact::ActionRequested { action: id, .. } => action(id, PriorDocument::Ignored),
        Fact::ActionRead { action: id, .. } => one(ViewKind::Looks, id.uuid(), PriorDocument::Ignored),
        Fact::ActionWaiting { action: id, .. }
        | Fact::ActionDenied { action: id, .. }
        | Fact::ActionAllowed { action: id, .. }
        // What ended without a report of the kernel says nothing about it.
        | Fact::ActionFinished { action: id, report: None, .. } => action(id, PriorDocument::Required),
        Fact::ActionStarted { action: id, project, .. }
        | Fact::ActionFinished { action: id, project, .. } => {
            let [doc, ..] = kernel(project, PriorDocument::Required);
            [action(id, PriorDocument::Required)[0], doc, None]
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
            one(ViewKind::Trusted, governance::trusted_file_key(*project, *what, file), PriorDocument::Ignored)
        }
        // Told for people; what they say is read from the files themselves.
        Fact::RoleLoaded { .. } | Fact::RoleRejected { .. } | Fact::PolicyChanged { .. } => {
            [None, None, None]
        }
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
    };
    touched.into_iter().flatten()
}

/// Folds one fact into one of the documents it touches, which is of this view.
///
/// A fact about a document that is not there changes nothing: a log may begin
/// in the midst, and a fold never fails.
pub fn fold_fact(
    view: ViewKind,
    doc: Option<ViewDocument>,
    stamp: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    if view == ViewKind::Runtimes {
        return runtime::fold_runtime(doc, stamp, fact);
    }
    if let ViewKind::Sessions | ViewKind::Pages | ViewKind::Drafts | ViewKind::Usage = view {
        return session::fold_session(view, doc, stamp, fact);
    }
    match (fact, doc) {
        (Fact::ProjectOpened { project, name, slug, path }, _) => {
            Some(ViewDocument::Project(Box::new(Project {
                id: *project,
                name: name.clone(),
                slug: slug.clone(),
                path: path.clone(),
                status: ProjectStatus::Open,
                opened_at: stamp.at,
                opened_by: stamp.principal.to_owned(),
            })))
        }
        (Fact::TokenCreated { .. }, _) => {
            Some(ViewDocument::Token(Box::new(new_token(stamp, fact)?)))
        }
        (Fact::KernelStarted { project, boot, pid, version }, _) => {
            Some(ViewDocument::Kernel(KernelView {
                project: *project,
                boot: *boot,
                pid: *pid,
                version: version.clone(),
                status: KernelStatus::Connected,
                reached: 0,
            }))
        }
        (Fact::ActionRequested { .. }, _) => {
            Some(ViewDocument::Action(Box::new(new_action(stamp, fact)?)))
        }
        (Fact::ActionRead { .. }, _) => {
            Some(ViewDocument::Look(ReadActionRef { event: stamp.seq }))
        }
        (Fact::ModeChanged { .. }, _) => {
            Some(ViewDocument::Mode(governance::new_mode(stamp, fact)?))
        }
        (Fact::ApprovalAsked { .. }, _) => {
            Some(ViewDocument::Approval(Box::new(governance::new_approval(stamp, fact)?)))
        }
        (Fact::GrantCreated { .. }, _) => {
            Some(ViewDocument::Grant(Box::new(governance::new_grant(stamp, fact)?)))
        }
        (Fact::FileTrusted { .. }, _) => {
            Some(ViewDocument::Trusted(Box::new(governance::new_trusted_file(stamp, fact)?)))
        }
        (fact, Some(doc)) => Some(update_document(doc, stamp, fact)),
        (_, None) => None,
    }
}

fn new_token(stamp: EventMetadata<'_>, fact: &Fact) -> Option<TokenView> {
    let Fact::TokenCreated { token, class, project, role, holder, label, digest, page, expires_at } =
        fact
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
        created_by: stamp.principal.to_owned(),
        created_at: stamp.at,
        expires_at: *expires_at,
        revoked_at: None,
    })
}

/// The action that only looked, of the event that says so.
pub fn read_action_view(stamp: EventMetadata<'_>, fact: &Fact) -> Option<ActionView> {
    if let Fact::ActionRead { .. } = fact { new_action(stamp, fact) } else { None }
}

fn new_action(stamp: EventMetadata<'_>, fact: &Fact) -> Option<ActionView> {
    let (id, project, name, what, action_hash, role, outcome) = if let Fact::ActionRequested {
        action,
        project,
        name,
        what,
        action_hash,
        role,
        ..
    } = fact
    {
        (action, project, name, what, action_hash, role, None)
    } else if let Fact::ActionRead {
        action, project, name, what, action_hash, role, outcome, ..
    } = fact
    {
        (action, project, name, what, action_hash, role, Some(outcome.clone()))
    } else {
        return None;
    };
    let read = outcome.is_some();
    Some(ActionView {
        id: *id,
        project: *project,
        name: name.clone(),
        what: what.clone(),
        principal: stamp.principal.to_owned(),
        status: if read { ActionStatus::Finished } else { ActionStatus::Requested },
        role: role.clone(),
        approval: None,
        action_hash: *action_hash,
        requested_at: stamp.at,
        finished_at: read.then_some(stamp.at),
        outcome,
        result: None,
        gone: None,
    })
}

/// A fact about a document that is there.
fn update_document(doc: ViewDocument, stamp: EventMetadata<'_>, fact: &Fact) -> ViewDocument {
    match doc {
        ViewDocument::Project(mut project) if matches!(fact, Fact::ProjectClosed { .. }) => {
            project.status = ProjectStatus::Closed;
            ViewDocument::Project(project)
        }
        ViewDocument::Token(mut token) if matches!(fact, Fact::TokenRevoked { .. }) => {
            token.revoked_at = token.revoked_at.or(Some(stamp.at));
            ViewDocument::Token(token)
        }
        ViewDocument::Action(mut action) => {
            update_action(&mut action, stamp, fact);
            ViewDocument::Action(action)
        }
        ViewDocument::Kernel(kernel) => ViewDocument::Kernel(update_kernel(kernel, fact)),
        ViewDocument::Approval(approval) => {
            ViewDocument::Approval(Box::new(governance::update_approval(*approval, stamp, fact)))
        }
        ViewDocument::Grant(grant) if matches!(fact, Fact::GrantRevoked { .. }) => {
            let revoked_at = grant.revoked_at.or(Some(stamp.at));
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
        | ViewDocument::Look(_)) => doc,
    }
}

fn update_action(action: &mut ActionView, stamp: EventMetadata<'_>, fact: &Fact) {
    // What has ended stays so.
    if let ActionStatus::Denied | ActionStatus::Finished = action.status {
        return;
    }
    if let Fact::ActionFinished { outcome, .. } = fact {
        action.status = ActionStatus::Finished;
        action.finished_at = Some(stamp.at);
        action.outcome = Some(outcome.clone());
    } else if let Fact::ActionWaiting { approval, .. } = fact {
        action.status = ActionStatus::Waiting;
        action.approval = Some(*approval);
    } else if let Fact::ActionDenied { .. } = fact {
        action.status = ActionStatus::Denied;
    } else if let Fact::ActionAllowed { .. } = fact {
        action.status = ActionStatus::Allowed;
    } else if let Fact::ActionStarted { .. } = fact {
        action.status = ActionStatus::Running;
    }
}

fn update_kernel(kernel: KernelView, fact: &Fact) -> KernelView {
    if let Fact::KernelLost { boot, .. } = fact
        && *boot == kernel.boot
    {
        return KernelView { status: KernelStatus::Lost, ..kernel };
    }
    if let Fact::KernelStopped { boot, .. } = fact
        && *boot == kernel.boot
    {
        return KernelView { status: KernelStatus::Stopped, ..kernel };
    }
    let report =
        if let Fact::ActionStarted { report, .. } | Fact::ActionOutput { report, .. } = fact {
            *report
        } else if let Fact::ActionFinished { report: Some(report), .. } = fact {
            *report
        } else {
            RuntimeChange::report_number(fact).unwrap_or(kernel.reached)
        };
    KernelView { reached: kernel.reached.max(report), ..kernel }
}

/// All views in memory: what the log says the world looks like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryViews {
    docs: BTreeMap<DocumentKey, ViewDocument>,
}

impl MemoryViews {
    /// Folds one event; one of a kind we do not know changes nothing.
    pub fn apply(&mut self, event: &Event) {
        if let Some(fact) = event.fact() {
            self.apply_fact(EventMetadata::from_event(event), &fact);
        }
    }

    /// Folds one fact.
    pub fn apply_fact(&mut self, stamp: EventMetadata<'_>, fact: &Fact) {
        for (key, _) in affected_documents(fact) {
            if let Some(doc) = fold_fact(key.view, self.docs.remove(&key), stamp, fact) {
                self.docs.insert(key, doc);
            }
        }
    }

    /// The documents of a view, in the order of their keys.
    pub fn docs(&self, view: ViewKind) -> impl Iterator<Item = (&DocumentKey, &ViewDocument)> {
        self.docs.iter().filter(move |(key, _)| key.view == view)
    }

    /// One hash for the whole state: equal states have equal hashes, natively
    /// and in WebAssembly.
    pub fn hash(&self) -> Result<Hash, NotCanonical> {
        let list: Vec<_> =
            self.docs.iter().map(|(key, doc)| (key.view.name(), &key.key, doc)).collect();
        Ok(hash_chain::digest(&canonical::to_vec(&list)?))
    }
}
