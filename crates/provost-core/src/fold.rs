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
use crate::chain;

/// The views that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum View {
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

impl View {
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
    pub const fn number(self) -> u8 {
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
pub struct Key {
    /// The view.
    pub view: View,
    /// The document in it.
    pub key: Uuid,
}

/// One document of a view. Small, because documents are moved about with every event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Doc {
    /// Of [`View::Projects`].
    Project(Box<Project>),
    /// Of [`View::Tokens`].
    Token(Box<TokenView>),
    /// Of [`View::Actions`].
    Action(Box<ActionView>),
    /// Of [`View::Kernels`].
    Kernel(KernelView),
    /// Of [`View::Modes`].
    Mode(ProjectModeView),
    /// Of [`View::Approvals`].
    Approval(Box<Approval>),
    /// Of [`View::Grants`].
    Grant(Box<Grant>),
    /// Of [`View::TrustedFile`].
    Trusted(Box<TrustedFile>),
    /// Of [`View::Runtimes`].
    Runtime(Box<RuntimeView>),
    /// Of [`View::Sessions`].
    Session(Box<SessionView>),
    /// Of [`View::Pages`].
    Page(Box<SessionPage>),
    /// Of [`View::Drafts`].
    Draft(Box<CompletionDraft>),
    /// Of [`View::Usage`].
    Usage(Box<DailyUsage>),
    /// Of [`View::Looks`].
    Look(Look),
}

/// Where it says what came of a look: [`looked`] reads it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// The event.
    pub event: Seq,
}

impl Doc {
    /// Reads a document of a view from its text.
    pub fn read(view: View, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match view {
            View::Projects => Self::Project(serde_json::from_slice(bytes)?),
            View::Tokens => Self::Token(serde_json::from_slice(bytes)?),
            View::Actions => Self::Action(serde_json::from_slice(bytes)?),
            View::Kernels => Self::Kernel(serde_json::from_slice(bytes)?),
            View::Modes => Self::Mode(serde_json::from_slice(bytes)?),
            View::Approvals => Self::Approval(serde_json::from_slice(bytes)?),
            View::Grants => Self::Grant(serde_json::from_slice(bytes)?),
            View::Trusted => Self::Trusted(serde_json::from_slice(bytes)?),
            View::Runtimes => Self::Runtime(serde_json::from_slice(bytes)?),
            View::Sessions => Self::Session(serde_json::from_slice(bytes)?),
            View::Pages => Self::Page(serde_json::from_slice(bytes)?),
            View::Drafts => Self::Draft(serde_json::from_slice(bytes)?),
            View::Usage => Self::Usage(serde_json::from_slice(bytes)?),
            View::Looks => Self::Look(serde_json::from_slice(bytes)?),
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
pub struct Stamp<'a> {
    /// Its place in the log.
    pub seq: Seq,
    /// When.
    pub at: UnixMicros,
    /// On whose authority.
    pub principal: &'a str,
    /// What acted.
    pub actor: &'a Actor,
}

impl<'a> Stamp<'a> {
    /// That of an event.
    pub fn of(event: &'a Event) -> Self {
        let Event { seq, at, principal, actor, .. } = event;
        Self { seq: *seq, at: *at, principal, actor }
    }
}

/// Whether the fold of a fact looks at the document as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// It changes it.
    Needed,
    /// It makes it anew, whatever was there.
    Replaced,
}

/// The documents that a fact touches.
#[expect(clippy::too_many_lines, reason = "a table with every fact there is")]
pub fn touched(fact: &Fact) -> impl Iterator<Item = (Key, Before)> + use<> {
    let one = |view, key: Uuid, before| [Some((Key { view, key }, before)), None, None];
    let action = |id: &ActionId, before| one(View::Actions, id.uuid(), before);
    let kernel = |id: &ProjectId, before| one(View::Kernels, id.uuid(), before);
    // What a kernel says of the runtime moves both; what happens to it ends what ran in it.
    let ran = |id: &ProjectId, before| {
        let runtime = Key { view: View::Runtimes, key: id.uuid() };
        [kernel(id, before)[0], Some((runtime, Before::Needed)), None]
    };
    let touched = match fact {
        // How a kernel's heart beats is a state of the moment, which no view keeps.
        Fact::DaemonStarted { .. }
        | Fact::DaemonStopped { .. }
        | Fact::KernelUnresponsive { .. }
        | Fact::KernelResponsive { .. } => [None, None, None],
        Fact::ProjectOpened { project, .. } => {
            one(View::Projects, project.uuid(), Before::Replaced)
        }
        Fact::ProjectClosed { project } => one(View::Projects, project.uuid(), Before::Needed),
        Fact::TokenCreated { token, .. } => one(View::Tokens, token.uuid(), Before::Replaced),
        Fact::TokenRevoked { token } => one(View::Tokens, token.uuid(), Before::Needed),
        Fact::KernelStarted { project, .. } => ran(project, Before::Replaced),
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
        | Fact::TerminalClosed { project, .. } => ran(project, Before::Needed),
        Fact::ActionOutput { project, .. } => kernel(project, Before::Needed),
        Fact::ActionRequested { action: id, .. } => action(id, Before::Replaced),
        Fact::ActionRead { action: id, .. } => one(View::Looks, id.uuid(), Before::Replaced),
        Fact::ActionWaiting { action: id, .. }
        | Fact::ActionDenied { action: id, .. }
        | Fact::ActionAllowed { action: id, .. }
        // What ended without a report of the kernel says nothing about it.
        | Fact::ActionFinished { action: id, report: None, .. } => action(id, Before::Needed),
        Fact::ActionStarted { action: id, project, .. }
        | Fact::ActionFinished { action: id, project, .. } => {
            let [doc, ..] = kernel(project, Before::Needed);
            [action(id, Before::Needed)[0], doc, None]
        }
        Fact::ModeChanged { project, .. } => one(View::Modes, project.uuid(), Before::Replaced),
        Fact::ApprovalAsked { approval, .. } => {
            one(View::Approvals, approval.uuid(), Before::Replaced)
        }
        Fact::ApprovalAnswered { approval, .. }
        | Fact::ApprovalExpired { approval, .. }
        | Fact::ApprovalWithdrawn { approval, .. } => {
            one(View::Approvals, approval.uuid(), Before::Needed)
        }
        Fact::GrantCreated { grant, .. } => one(View::Grants, grant.uuid(), Before::Replaced),
        Fact::GrantRevoked { grant, .. } => one(View::Grants, grant.uuid(), Before::Needed),
        Fact::FileTrusted { project, what, file, .. } => {
            one(View::Trusted, governance::trusted_key(*project, *what, file), Before::Replaced)
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
        | Fact::SessionClosed(_) => session::touched(fact),
    };
    touched.into_iter().flatten()
}

/// Folds one fact into one of the documents it touches, which is of this view.
///
/// A fact about a document that is not there changes nothing: a log may begin
/// in the midst, and a fold never fails.
pub fn fold(view: View, doc: Option<Doc>, stamp: Stamp<'_>, fact: &Fact) -> Option<Doc> {
    if view == View::Runtimes {
        return runtime::fold(doc, stamp, fact);
    }
    if let View::Sessions | View::Pages | View::Drafts | View::Usage = view {
        return session::fold(view, doc, stamp, fact);
    }
    match (fact, doc) {
        (Fact::ProjectOpened { project, name, slug, path }, _) => {
            Some(Doc::Project(Box::new(Project {
                id: *project,
                name: name.clone(),
                slug: slug.clone(),
                path: path.clone(),
                status: ProjectStatus::Open,
                opened_at: stamp.at,
                opened_by: stamp.principal.to_owned(),
            })))
        }
        (Fact::TokenCreated { .. }, _) => Some(Doc::Token(Box::new(new_token(stamp, fact)?))),
        (Fact::KernelStarted { project, boot, pid, version }, _) => Some(Doc::Kernel(KernelView {
            project: *project,
            boot: *boot,
            pid: *pid,
            version: version.clone(),
            status: KernelStatus::Connected,
            reached: 0,
        })),
        (Fact::ActionRequested { .. }, _) => Some(Doc::Action(Box::new(new_action(stamp, fact)?))),
        (Fact::ActionRead { .. }, _) => Some(Doc::Look(Look { event: stamp.seq })),
        (Fact::ModeChanged { .. }, _) => Some(Doc::Mode(governance::mode(stamp, fact)?)),
        (Fact::ApprovalAsked { .. }, _) => {
            Some(Doc::Approval(Box::new(governance::approval(stamp, fact)?)))
        }
        (Fact::GrantCreated { .. }, _) => {
            Some(Doc::Grant(Box::new(governance::grant(stamp, fact)?)))
        }
        (Fact::FileTrusted { .. }, _) => {
            Some(Doc::Trusted(Box::new(governance::trusted(stamp, fact)?)))
        }
        (fact, Some(doc)) => Some(change(doc, stamp, fact)),
        (_, None) => None,
    }
}

fn new_token(stamp: Stamp<'_>, fact: &Fact) -> Option<TokenView> {
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
pub fn looked(stamp: Stamp<'_>, fact: &Fact) -> Option<ActionView> {
    if let Fact::ActionRead { .. } = fact { new_action(stamp, fact) } else { None }
}

fn new_action(stamp: Stamp<'_>, fact: &Fact) -> Option<ActionView> {
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
fn change(doc: Doc, stamp: Stamp<'_>, fact: &Fact) -> Doc {
    match doc {
        Doc::Project(mut project) if matches!(fact, Fact::ProjectClosed { .. }) => {
            project.status = ProjectStatus::Closed;
            Doc::Project(project)
        }
        Doc::Token(mut token) if matches!(fact, Fact::TokenRevoked { .. }) => {
            token.revoked_at = token.revoked_at.or(Some(stamp.at));
            Doc::Token(token)
        }
        Doc::Action(mut action) => {
            change_action(&mut action, stamp, fact);
            Doc::Action(action)
        }
        Doc::Kernel(kernel) => Doc::Kernel(change_kernel(kernel, fact)),
        Doc::Approval(approval) => {
            Doc::Approval(Box::new(governance::change_approval(*approval, stamp, fact)))
        }
        Doc::Grant(grant) if matches!(fact, Fact::GrantRevoked { .. }) => {
            let revoked_at = grant.revoked_at.or(Some(stamp.at));
            Doc::Grant(Box::new(Grant { revoked_at, ..*grant }))
        }
        doc @ (Doc::Project(_)
        | Doc::Token(_)
        | Doc::Mode(_)
        | Doc::Grant(_)
        | Doc::Trusted(_)
        | Doc::Runtime(_)
        | Doc::Session(_)
        | Doc::Page(_)
        | Doc::Draft(_)
        | Doc::Usage(_)
        | Doc::Look(_)) => doc,
    }
}

fn change_action(action: &mut ActionView, stamp: Stamp<'_>, fact: &Fact) {
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

fn change_kernel(kernel: KernelView, fact: &Fact) -> KernelView {
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
pub struct World {
    docs: BTreeMap<Key, Doc>,
}

impl World {
    /// Folds one event; one of a kind we do not know changes nothing.
    pub fn apply(&mut self, event: &Event) {
        if let Some(fact) = event.fact() {
            self.apply_fact(Stamp::of(event), &fact);
        }
    }

    /// Folds one fact.
    pub fn apply_fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        for (key, _) in touched(fact) {
            if let Some(doc) = fold(key.view, self.docs.remove(&key), stamp, fact) {
                self.docs.insert(key, doc);
            }
        }
    }

    /// The documents of a view, in the order of their keys.
    pub fn docs(&self, view: View) -> impl Iterator<Item = (&Key, &Doc)> {
        self.docs.iter().filter(move |(key, _)| key.view == view)
    }

    /// One hash for the whole state: equal states have equal hashes, natively
    /// and in WebAssembly.
    pub fn hash(&self) -> Result<Hash, NotCanonical> {
        let list: Vec<_> =
            self.docs.iter().map(|(key, doc)| (key.view.name(), &key.key, doc)).collect();
        Ok(chain::digest(&canonical::to_vec(&list)?))
    }
}
