//! The right to carry out one action, once.
//!
//! What was decided is, byte for byte, what runs: the permit carries the
//! action, and whoever runs it takes the permit by value.

use provost_proto::{ActionId, Hash, Principal, ProjectId, TokenClass};

use crate::action::Action;
use crate::canonical::NotCanonical;

/// Someone asks for an action.
#[derive(Debug)]
pub struct Request {
    /// The name of the action.
    pub id: ActionId,
    /// Where.
    pub project: ProjectId,
    /// On whose authority.
    pub principal: Principal,
    /// What kind of token they hold.
    pub class: TokenClass,
    /// What they ask for.
    pub action: Action,
}

/// The right to carry out one action, once.
///
/// It is neither `Clone` nor `Deserialize`, and nothing outside this module can
/// build one:
///
/// ```compile_fail,E0451
/// # use provost_proto::{ActionId, Hash, ProjectId};
/// # use provost_core::action::Action;
/// # fn forge(id: ActionId, project: ProjectId, action: Action, hash: Hash) {
/// let forged = provost_core::permit::Permit { id, project, action, hash };
/// # }
/// ```
#[must_use = "an unused permit is an action that was allowed and never ran"]
#[derive(Debug)]
pub struct Permit {
    id: ActionId,
    project: ProjectId,
    action: Action,
    hash: Hash,
}

/// Why an action may not run.
#[derive(Debug, thiserror::Error)]
pub enum Denied {
    /// The caller's role does not have the skill.
    #[error("this token has no skill `{skill}`")]
    Skill {
        /// What it would take.
        skill: &'static str,
    },
    /// The action has no canonical form, so it could not be recorded as it runs.
    #[error("this action cannot be recorded exactly: {0}")]
    NotCanonical(#[from] NotCanonical),
}

/// Decides. A person may do in Provost what they may do in their own shell;
/// nobody else has any skill yet.
pub fn decide(request: Request) -> Result<Permit, Denied> {
    let Request { id, project, principal, class, action } = request;
    match class {
        TokenClass::Operator => {
            let hash = action.hash(&principal, project)?;
            Ok(Permit { id, project, action, hash })
        }
        TokenClass::Agent | TokenClass::Runtime | TokenClass::Viewer => {
            Err(Denied::Skill { skill: action.name() })
        }
    }
}

impl Permit {
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

    /// Uses the permit up.
    pub fn consume(self) -> (ActionId, Action) {
        (self.id, self.action)
    }
}
