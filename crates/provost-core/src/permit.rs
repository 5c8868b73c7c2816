//! The right to execute one action, once.
//!
//! What was decided is, byte for byte, what runs: the permit contains the action with its
//! preconditions, and the executor takes it by value. There is no permit before the log records
//! that the action is allowed. The exception are reads of files, which change nothing and are
//! recorded together with their outcome.

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
/// let preconditions = None;
/// let forged =
///     provost_core::permit::Permit { id, project, action, hash, preconditions, is_persons: true };
/// # }
/// ```
#[must_use = "an unused permit is an action that was allowed and never ran"]
#[derive(Debug)]
pub struct Permit {
    id: ActionId,
    project: ProjectId,
    action: Action,
    hash: Hash,
    preconditions: Option<Preconditions>,
    is_persons: bool,
}

/// The event does not record that this action is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log does not say that this action is allowed")]
pub struct NotRecorded;

impl Permit {
    /// Creates the permit for an allowed action from the event that records it.
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

    /// Creates a permit for a read of files, which is recorded with its outcome. Any other action
    /// must be recorded first.
    pub fn for_read(allowed: AllowedAction) -> Result<(Self, AllowedBy), NotRecorded> {
        if allowed.bound_action().request().action.kind() == ActionKind::Read {
            Ok(Self::from_allowed(allowed))
        } else {
            Err(NotRecorded)
        }
    }

    fn from_allowed(allowed: AllowedAction) -> (Self, AllowedBy) {
        let (request, hash, by, preconditions) = allowed.into_parts();
        let ActionRequest { id, project, action, .. } = request;
        let is_persons = matches!(by, AllowedBy::Operator | AllowedBy::Approval { .. });
        (Self { id, project, action, hash, preconditions, is_persons }, by)
    }

    /// The id of the action.
    pub fn id(&self) -> ActionId {
        self.id
    }

    /// The project in which it may run.
    pub fn project(&self) -> ProjectId {
        self.project
    }

    /// The action that may run.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The hash that was decided about.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// What must still hold when it runs.
    pub fn preconditions(&self) -> Option<&Preconditions> {
        self.preconditions.as_ref()
    }

    /// Whether a person acts for themselves, or was shown exactly this action and allowed it.
    pub fn is_persons(&self) -> bool {
        self.is_persons
    }

    /// Consumes the permit: the action and its preconditions.
    pub fn consume(self) -> (ActionId, Action, Option<Preconditions>) {
        (self.id, self.action, self.preconditions)
    }
}
