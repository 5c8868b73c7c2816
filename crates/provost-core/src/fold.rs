//! The fold from events to views.
//!
//! A view is a set of documents under keys. An event touches few of them, and
//! each is folded alone: `fold(document, event) → document`. So the store keeps
//! them as rows, written in the transaction of the event; a browser keeps them
//! in a map; and both come to the same, because this is the only fold there is.

use std::collections::BTreeMap;

use provost_proto::{
    ActionId, ActionStatus, ActionView, Event, Fact, Hash, KernelStatus, KernelView, Micros,
    Project, ProjectId, ProjectStatus, Token,
};
use serde::Serialize;
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
}

impl View {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Projects, Self::Tokens, Self::Actions, Self::Kernels];

    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Tokens => "tokens",
            Self::Actions => "actions",
            Self::Kernels => "kernels",
        }
    }

    /// As it stands in the keys of documents on disk. Never change one.
    pub const fn number(self) -> u8 {
        match self {
            Self::Projects => 1,
            Self::Tokens => 2,
            Self::Actions => 3,
            Self::Kernels => 4,
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

/// One document of a view.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Doc {
    /// Of [`View::Projects`].
    Project(Project),
    /// Of [`View::Tokens`].
    Token(Token),
    /// Of [`View::Actions`].
    Action(ActionView),
    /// Of [`View::Kernels`].
    Kernel(KernelView),
}

impl Doc {
    /// Reads a document of a view from its text.
    pub fn read(view: View, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match view {
            View::Projects => Self::Project(serde_json::from_slice(bytes)?),
            View::Tokens => Self::Token(serde_json::from_slice(bytes)?),
            View::Actions => Self::Action(serde_json::from_slice(bytes)?),
            View::Kernels => Self::Kernel(serde_json::from_slice(bytes)?),
        })
    }

    /// The project, if it is one.
    pub fn into_project(self) -> Option<Project> {
        if let Self::Project(project) = self { Some(project) } else { None }
    }

    /// The token, if it is one.
    pub fn into_token(self) -> Option<Token> {
        if let Self::Token(token) = self { Some(token) } else { None }
    }

    /// The action, if it is one.
    pub fn into_action(self) -> Option<ActionView> {
        if let Self::Action(action) = self { Some(action) } else { None }
    }

    /// The kernel, if it is one.
    pub fn into_kernel(self) -> Option<KernelView> {
        if let Self::Kernel(kernel) = self { Some(kernel) } else { None }
    }
}

/// What a fold may know of an event beside its fact.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// When.
    pub at: Micros,
    /// On whose authority.
    pub principal: &'a str,
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
pub fn touched(fact: &Fact) -> impl Iterator<Item = (Key, Before)> + use<> {
    let one = |view, key: Uuid, before| [Some((Key { view, key }, before)), None];
    let action = |id: &ActionId, before| one(View::Actions, id.uuid(), before);
    let kernel = |id: &ProjectId, before| one(View::Kernels, id.uuid(), before);
    let touched = match fact {
        Fact::DaemonStarted { .. } | Fact::DaemonStopped { .. } => [None, None],
        Fact::ProjectOpened { project, .. } => {
            one(View::Projects, project.uuid(), Before::Replaced)
        }
        Fact::ProjectClosed { project } => one(View::Projects, project.uuid(), Before::Needed),
        Fact::TokenCreated { token, .. } => one(View::Tokens, token.uuid(), Before::Replaced),
        Fact::TokenRevoked { token } => one(View::Tokens, token.uuid(), Before::Needed),
        Fact::KernelStarted { project, .. } => kernel(project, Before::Replaced),
        Fact::KernelLost { project, .. }
        | Fact::KernelStopped { project, .. }
        | Fact::ActionOutput { project, .. } => kernel(project, Before::Needed),
        Fact::ActionRequested { action: id, .. } => action(id, Before::Replaced),
        Fact::ActionDenied { action: id, .. } | Fact::ActionAllowed { action: id, .. } => {
            action(id, Before::Needed)
        }
        Fact::ActionStarted { action: id, project, .. }
        | Fact::ActionFinished { action: id, project, .. } => {
            let [doc, _] = kernel(project, Before::Needed);
            [action(id, Before::Needed)[0], doc]
        }
    };
    touched.into_iter().flatten()
}

/// Folds one fact into one of the documents it touches.
///
/// A fact about a document that is not there changes nothing: a log may begin
/// in the midst, and a fold never fails.
pub fn fold(doc: Option<Doc>, stamp: Stamp<'_>, fact: &Fact) -> Option<Doc> {
    match (fact, doc) {
        (Fact::ProjectOpened { project, name, slug, path }, _) => Some(Doc::Project(Project {
            id: *project,
            name: name.clone(),
            slug: slug.clone(),
            path: path.clone(),
            status: ProjectStatus::Open,
            opened_at: stamp.at,
            opened_by: stamp.principal.to_owned(),
        })),
        (Fact::TokenCreated { .. }, _) => Some(Doc::Token(new_token(stamp, fact)?)),
        (Fact::KernelStarted { project, boot, pid, version }, _) => Some(Doc::Kernel(KernelView {
            project: *project,
            boot: *boot,
            pid: *pid,
            version: version.clone(),
            status: KernelStatus::Connected,
            reached: 0,
        })),
        (Fact::ActionRequested { .. }, _) => Some(Doc::Action(new_action(stamp, fact)?)),
        (fact, Some(doc)) => Some(change(doc, stamp, fact)),
        (_, None) => None,
    }
}

fn new_token(stamp: Stamp<'_>, fact: &Fact) -> Option<Token> {
    let Fact::TokenCreated { token, class, project, role, holder, label, digest, expires_at } =
        fact
    else {
        return None;
    };
    Some(Token {
        id: *token,
        class: *class,
        project: *project,
        role: role.clone(),
        holder: holder.clone(),
        label: label.clone(),
        digest: *digest,
        created_by: stamp.principal.to_owned(),
        created_at: stamp.at,
        expires_at: *expires_at,
        revoked_at: None,
    })
}

fn new_action(stamp: Stamp<'_>, fact: &Fact) -> Option<ActionView> {
    let Fact::ActionRequested { action, project, name, what, action_hash, .. } = fact else {
        return None;
    };
    Some(ActionView {
        id: *action,
        project: *project,
        name: name.clone(),
        what: what.clone(),
        principal: stamp.principal.to_owned(),
        status: ActionStatus::Requested,
        action_hash: *action_hash,
        requested_at: stamp.at,
        finished_at: None,
        outcome: None,
    })
}

/// A fact about a document that is there.
fn change(doc: Doc, stamp: Stamp<'_>, fact: &Fact) -> Doc {
    match doc {
        Doc::Project(project) if matches!(fact, Fact::ProjectClosed { .. }) => {
            Doc::Project(Project { status: ProjectStatus::Closed, ..project })
        }
        Doc::Token(token) if matches!(fact, Fact::TokenRevoked { .. }) => {
            let revoked_at = token.revoked_at.or(Some(stamp.at));
            Doc::Token(Token { revoked_at, ..token })
        }
        Doc::Action(action) => Doc::Action(change_action(action, stamp, fact)),
        Doc::Kernel(kernel) => Doc::Kernel(change_kernel(kernel, fact)),
        doc @ (Doc::Project(_) | Doc::Token(_)) => doc,
    }
}

fn change_action(action: ActionView, stamp: Stamp<'_>, fact: &Fact) -> ActionView {
    // What has ended stays so.
    if let ActionStatus::Denied | ActionStatus::Finished = action.status {
        return action;
    }
    if let Fact::ActionFinished { outcome, .. } = fact {
        let (status, outcome) = (ActionStatus::Finished, Some(outcome.clone()));
        return ActionView { status, finished_at: Some(stamp.at), outcome, ..action };
    }
    let status = if let Fact::ActionDenied { .. } = fact {
        ActionStatus::Denied
    } else if let Fact::ActionAllowed { .. } = fact {
        ActionStatus::Allowed
    } else if let Fact::ActionStarted { .. } = fact {
        ActionStatus::Running
    } else {
        action.status
    };
    ActionView { status, ..action }
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
            kernel.reached
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
            self.apply_fact(Stamp { at: event.at, principal: &event.principal }, &fact);
        }
    }

    /// Folds one fact.
    pub fn apply_fact(&mut self, stamp: Stamp<'_>, fact: &Fact) {
        for (key, _) in touched(fact) {
            if let Some(doc) = fold(self.docs.remove(&key), stamp, fact) {
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
