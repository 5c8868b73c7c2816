//! Who is calling, and what that permits.

use provost_proto::{Actor, Principal, ProjectId, Stream, TokenClass, TokenId};
use provost_store::EventScope;

use crate::GatewayError;
use crate::error::class_name;

/// An authenticated caller. Made by [`Gateway::authenticate`](crate::Gateway::authenticate) only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    principal: Principal,
    actor: Actor,
    class: TokenClass,
    project: Option<ProjectId>,
    role: Option<String>,
    /// What it holds; `None` for the owner's token, and for those who act by another.
    token: Option<TokenId>,
}

/// A caller that is a person: may decide.
///
/// ```compile_fail
/// let forged = provost_gateway::Operator { principal: String::new(), actor: todo!() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    principal: Principal,
    actor: Actor,
}

/// A caller that may look, at one project or at everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizedReader {
    project: Option<ProjectId>,
    token: Option<TokenId>,
}

impl Caller {
    pub(crate) fn new(
        principal: Principal,
        actor: Actor,
        class: TokenClass,
        project: Option<ProjectId>,
        role: Option<String>,
    ) -> Self {
        Self { principal, actor, class, project, role, token: None }
    }

    /// The same, known by the token it holds.
    pub(crate) fn with_token(self, token: TokenId) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The role it acts in, given the one it asks for: an agent has that of its
    /// token and no other; a person may try one, or act for themselves.
    pub(crate) fn resolve_role(
        &self,
        wanted: Option<String>,
    ) -> Result<Option<String>, GatewayError> {
        match self.class {
            TokenClass::Operator => Ok(wanted),
            TokenClass::Agent | TokenClass::Runtime | TokenClass::Viewer => {
                let own = self.role.clone().unwrap_or_default();
                if wanted.is_none_or(|wanted| wanted == own) {
                    Ok(Some(own))
                } else {
                    Err(GatewayError::BoundToOtherRole(own))
                }
            }
        }
    }

    /// On whose authority it calls.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// What kind of token it holds.
    pub fn class(&self) -> TokenClass {
        self.class
    }

    /// What acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Fails unless it may ask for actions in this project.
    pub(crate) fn check_may_request(&self, project: ProjectId) -> Result<(), GatewayError> {
        match self.class {
            TokenClass::Operator => Ok(()),
            TokenClass::Agent if self.project == Some(project) => Ok(()),
            TokenClass::Agent => Err(GatewayError::BoundToOtherProject),
            class @ (TokenClass::Runtime | TokenClass::Viewer) => Err(GatewayError::Forbidden {
                class: class_name(class),
                needs: "an operator or an agent",
            }),
        }
    }

    /// The caller as a person, if it is one.
    pub fn into_operator(self) -> Result<Operator, GatewayError> {
        match (self.class, self.project) {
            (TokenClass::Operator, None) => {
                Ok(Operator { principal: self.principal, actor: self.actor })
            }
            (TokenClass::Operator, Some(_)) => Err(GatewayError::BoundToOtherProject),
            (class @ (TokenClass::Agent | TokenClass::Runtime | TokenClass::Viewer), _) => {
                Err(GatewayError::Forbidden { class: class_name(class), needs: "an operator" })
            }
        }
    }

    /// The caller as one that may look, if it may.
    pub fn into_reader(self) -> Result<AuthorizedReader, GatewayError> {
        match self.class {
            TokenClass::Operator | TokenClass::Viewer => {
                Ok(AuthorizedReader { project: self.project, token: self.token })
            }
            class @ (TokenClass::Agent | TokenClass::Runtime) => Err(GatewayError::Forbidden {
                class: class_name(class),
                needs: "an operator or a viewer",
            }),
        }
    }
}

impl Operator {
    /// On whose authority it calls.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// What acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }
}

impl AuthorizedReader {
    /// The token it looks with; `None` for the owner's.
    pub(crate) fn token(&self) -> Option<TokenId> {
        self.token
    }

    /// Whether it may see this project.
    pub fn may_see(&self, project: ProjectId) -> bool {
        self.project.is_none_or(|only| only == project)
    }

    /// What it may read of the log, given what it asks for. A reader that is
    /// bound to a project gets that project's stream and nothing else.
    pub fn resolve_scope(&self, wanted: Option<Stream>) -> Result<EventScope, GatewayError> {
        match (self.project, wanted) {
            (None, None) => Ok(EventScope::All),
            (None, Some(stream)) => Ok(EventScope::Stream(stream)),
            (Some(only), None) => Ok(EventScope::Stream(Stream::Project(only))),
            (Some(only), Some(stream)) if stream == Stream::Project(only) => {
                Ok(EventScope::Stream(stream))
            }
            (Some(_), Some(_)) => Err(GatewayError::BoundToOtherProject),
        }
    }

    /// Fails unless it may see everything.
    pub fn require_all_projects(&self) -> Result<(), GatewayError> {
        if self.project.is_none() { Ok(()) } else { Err(GatewayError::BoundToOtherProject) }
    }
}
