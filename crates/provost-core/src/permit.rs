//! The right to carry out one action, once.
//!
//! What was decided is, byte for byte, what runs: the permit carries the
//! action with what it was decided about, and whoever runs it takes the permit
//! by value. There is none before
//! the log says that the action is allowed, except for looking at files, which
//! changes nothing and is recorded with what came of it.

use provost_proto::kernel::Preconditions;
use provost_proto::{ActionId, AllowedBy, Event, Fact, Hash, ProjectId};

use crate::action::{Action, ActionKind};
use crate::decide::{ActionRequest, AllowedAction};

/// The right to carry out one action, once.
///
/// It is neither `Clone` nor `Deserialize`, and nothing outside this module can
/// build one:
///
/// ```compile_fail,E0451
/// # use provost_proto::{ActionId, Hash, ProjectId};
/// # use provost_core::action::Action;
/// # fn forge(id: ActionId, project: ProjectId, action: Action, hash: Hash) {
/// let forged = provost_core::permit::Permit { id, project, action, hash, terms: None };
/// # }
/// ```
#[must_use = "an unused permit is an action that was allowed and never ran"]
#[derive(Debug)]
pub struct Permit {
    id: ActionId,
    project: ProjectId,
    action: Action,
    hash: Hash,
    terms: Option<Preconditions>,
}

/// The log does not say that this was allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log does not say that this action is allowed")]
pub struct NotRecorded;

impl Permit {
    /// Makes a permit of what was allowed, given the event that says so.
    pub fn from_recorded(allowed: AllowedAction, event: &Event) -> Result<Self, NotRecorded> {
        let id = allowed.bound_action().request().id;
        let by = allowed.allowed_by().clone();
        match event.fact() {
            Some(Fact::ActionAllowed { action, why: Some(why), .. })
                if action == id && why == by && event.hash != Hash::ZERO =>
            {
                Ok(Self::from_allowed(allowed).0)
            }
            Some(_) | None => Err(NotRecorded),
        }
    }

    /// Makes a permit to look at files, which is recorded with what came of it.
    /// There is none for anything else before the log says so.
    pub fn for_read(allowed: AllowedAction) -> Result<(Self, AllowedBy), NotRecorded> {
        if allowed.bound_action().request().action.kind() == ActionKind::Read {
            Ok(Self::from_allowed(allowed))
        } else {
            Err(NotRecorded)
        }
    }

    fn from_allowed(allowed: AllowedAction) -> (Self, AllowedBy) {
        let (request, hash, by, terms) = allowed.into_parts();
        let ActionRequest { id, project, action, .. } = request;
        (Self { id, project, action, hash, terms }, by)
    }

    /// The action's name in the log.
    pub fn id(&self) -> ActionId {
        self.id
    }

    /// Where it may run.
    pub fn project(&self) -> ProjectId {
        self.project
    }

    /// What may run.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The hash under which it was decided.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Uses the permit up: what to do, and on which terms.
    pub fn consume(self) -> (ActionId, Action, Option<Preconditions>) {
        (self.id, self.action, self.terms)
    }
}
