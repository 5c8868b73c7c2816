//! The fold from events to views.
//!
//! A view is a set of documents under keys. An event touches few of them, and
//! each is folded alone: `fold(document, event) → document`. So the store keeps
//! them as rows, written in the transaction of the event; a browser keeps them
//! in a map; and both come to the same, because this is the only fold there is.

use std::collections::BTreeMap;

use provost_proto::{Event, Fact, Hash, Micros, Project, ProjectStatus, Token};
use serde::{Deserialize, Serialize};

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
}

impl View {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Projects, Self::Tokens];

    /// As it stands on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Tokens => "tokens",
        }
    }
}

/// The address of one document. Keys are UUIDv7 texts, so a view read in the
/// order of its keys is in the order of its making.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The view.
    pub view: View,
    /// The document in it.
    pub key: String,
}

/// One document of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Doc {
    /// Of [`View::Projects`].
    Project(Project),
    /// Of [`View::Tokens`].
    Token(Token),
}

impl Doc {
    /// Reads a document of a view from its text.
    pub fn read(view: View, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Ok(match view {
            View::Projects => Self::Project(serde_json::from_slice(bytes)?),
            View::Tokens => Self::Token(serde_json::from_slice(bytes)?),
        })
    }

    /// The project, if it is one.
    pub fn into_project(self) -> Option<Project> {
        match self {
            Self::Project(project) => Some(project),
            Self::Token(_) => None,
        }
    }

    /// The token, if it is one.
    pub fn into_token(self) -> Option<Token> {
        match self {
            Self::Token(token) => Some(token),
            Self::Project(_) => None,
        }
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
pub fn touched(fact: &Fact) -> Vec<(Key, Before)> {
    let (view, id, before) = match fact {
        Fact::DaemonStarted { .. } | Fact::DaemonStopped { .. } => return Vec::new(),
        Fact::ProjectOpened { project, .. } => (View::Projects, project.uuid(), Before::Replaced),
        Fact::ProjectClosed { project } => (View::Projects, project.uuid(), Before::Needed),
        Fact::TokenCreated { token, .. } => (View::Tokens, token.uuid(), Before::Replaced),
        Fact::TokenRevoked { token } => (View::Tokens, token.uuid(), Before::Needed),
    };
    vec![(Key { view, key: id.to_string() }, before)]
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
        (Fact::ProjectClosed { .. }, Some(Doc::Project(project))) => {
            Some(Doc::Project(Project { status: ProjectStatus::Closed, ..project }))
        }
        (
            Fact::TokenCreated { token, class, project, role, holder, label, digest, expires_at },
            _,
        ) => Some(Doc::Token(Token {
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
        })),
        (Fact::TokenRevoked { .. }, Some(Doc::Token(token))) => {
            let revoked_at = token.revoked_at.or(Some(stamp.at));
            Some(Doc::Token(Token { revoked_at, ..token }))
        }
        (
            Fact::DaemonStarted { .. }
            | Fact::DaemonStopped { .. }
            | Fact::ProjectClosed { .. }
            | Fact::TokenRevoked { .. },
            doc,
        ) => doc,
    }
}

/// All views in memory: what the log says the world looks like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
