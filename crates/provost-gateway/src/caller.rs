//! Authenticated callers, and what each class of them may do.

use provost_proto::{Actor, NotebookId, Principal, ProjectId, Stream, TokenClass, TokenId};
use provost_store::{EventScope, Idempotency};

use crate::GatewayError;
use crate::error::class_name;

/// An authenticated caller. Only [`Auth::authenticate`](crate::Auth::authenticate) creates one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    principal: Principal,
    actor: Actor,
    class: TokenClass,
    project: Option<ProjectId>,
    role: Option<String>,
    /// The token it presented; `None` for the owner's token and for callers without one.
    token: Option<TokenId>,
    /// The notebook that it runs, for the token of a runtime.
    notebook: Option<NotebookId>,
}

/// What a caller may do in notebooks. Created only from a [`Caller`] that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotebookAccess {
    principal: Principal,
    actor: Actor,
    rights: NotebookRights,
    /// The only project, if the caller is bound to one.
    project: Option<ProjectId>,
}

/// The rights of a [`NotebookAccess`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotebookRights {
    /// A person: edits and runs.
    Edit,
    /// Reads.
    Read,
    /// Runs one notebook.
    Runtime(NotebookId),
}

/// A person, who may decide. Created only from a [`Caller`] that was checked.
///
/// ```compile_fail
/// let forged = provost_gateway::Operator { principal: String::new(), actor: todo!() };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    principal: Principal,
    actor: Actor,
}

/// A caller that may read one project, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizedReader {
    project: Option<ProjectId>,
    token: Option<TokenId>,
}

/// A change that a person requests.
#[derive(Debug)]
pub struct OperatorRequest<'a> {
    /// The person.
    pub by: &'a Operator,
    /// The client's idempotency key.
    pub command: Option<Idempotency>,
}

impl Caller {
    pub(crate) fn new(
        principal: Principal,
        actor: Actor,
        class: TokenClass,
        project: Option<ProjectId>,
        role: Option<String>,
    ) -> Self {
        Self { principal, actor, class, project, role, token: None, notebook: None }
    }

    /// Adds the token that the caller presented.
    pub(crate) fn with_token(self, token: TokenId) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Adds the notebook that the caller runs.
    pub(crate) fn with_notebook(self, notebook: Option<NotebookId>) -> Self {
        Self { notebook, ..self }
    }

    /// A runtime that the daemon runs for a person. It is bound to its project, so that it can
    /// request and never decide.
    pub(crate) fn for_local_runtime(
        principal: Principal,
        actor: Actor,
        project: ProjectId,
    ) -> Self {
        Self::new(principal, actor, TokenClass::Operator, Some(project), None)
    }

    /// The role of a request. An agent has the role of its token and no other; a person may
    /// name any role, or none.
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

    /// On whose authority the caller acts.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The class of its token.
    pub fn class(&self) -> TokenClass {
        self.class
    }

    /// The component that acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Fails unless the caller may request actions in this project.
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

    /// Fails unless the caller is a person.
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

    /// What the caller may do in notebooks; fails if that is nothing.
    pub fn into_notebook_access(self) -> Result<NotebookAccess, GatewayError> {
        let forbidden =
            |needs| Err(GatewayError::Forbidden { class: class_name(self.class), needs });
        let rights = match (self.class, self.notebook) {
            (TokenClass::Operator, _) => NotebookRights::Edit,
            (TokenClass::Viewer, _) => NotebookRights::Read,
            (TokenClass::Runtime, Some(notebook)) => NotebookRights::Runtime(notebook),
            (TokenClass::Runtime, None) => {
                return forbidden(
                    "a token that names its notebook: `provost token create --notebook`",
                );
            }
            (TokenClass::Agent, _) => {
                return forbidden("an operator, a viewer or the runtime of a notebook");
            }
        };
        let Self { principal, actor, project, .. } = self;
        Ok(NotebookAccess { principal, actor, rights, project })
    }

    /// Fails unless the caller may read.
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
    /// On whose authority the person acts.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The component that acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }
}

impl NotebookAccess {
    /// A runtime that the daemon runs for a person, in one notebook.
    pub(crate) fn for_local_runtime(
        principal: Principal,
        actor: Actor,
        notebook: NotebookId,
        project: ProjectId,
    ) -> Self {
        Self { principal, actor, rights: NotebookRights::Runtime(notebook), project: Some(project) }
    }

    /// On whose authority the caller acts.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The component that acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Whether the caller may send commands at all.
    pub fn can_write(&self) -> bool {
        self.rights != NotebookRights::Read
    }

    pub(crate) fn rights(&self) -> NotebookRights {
        self.rights
    }

    /// Whether the caller may see a notebook of a project.
    pub(crate) fn may_see(&self, notebook: NotebookId, project: ProjectId) -> bool {
        let is_own = match self.rights {
            NotebookRights::Edit | NotebookRights::Read => true,
            NotebookRights::Runtime(own) => own == notebook,
        };
        is_own && self.project.is_none_or(|only| only == project)
    }

    /// Whether the caller may list the notebooks of a project.
    pub(crate) fn may_list(&self, project: ProjectId) -> bool {
        !matches!(self.rights, NotebookRights::Runtime(_))
            && self.project.is_none_or(|only| only == project)
    }

    /// Fails unless the caller is a person who edits.
    pub(crate) fn require_edit(&self) -> Result<(), GatewayError> {
        let class = match self.rights {
            NotebookRights::Edit => return Ok(()),
            NotebookRights::Read => TokenClass::Viewer,
            NotebookRights::Runtime(_) => TokenClass::Runtime,
        };
        Err(GatewayError::Forbidden { class: class_name(class), needs: "an operator" })
    }
}

impl AuthorizedReader {
    /// The token it reads with; `None` for the owner's token.
    pub(crate) fn token(&self) -> Option<TokenId> {
        self.token
    }

    /// The only project that the reader may see, if it is bound to one.
    pub(crate) fn bound_project(&self) -> Option<ProjectId> {
        self.project
    }

    /// Whether the reader may see this project.
    pub fn may_see(&self, project: ProjectId) -> bool {
        self.project.is_none_or(|only| only == project)
    }

    /// The part of the log that the reader gets for a request. A reader that is bound to a
    /// project gets the stream of that project only.
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

    /// The events of a project that the reader may see: one that is bound to it sees those of its
    /// stream, not those of the daemon that name it.
    pub fn project_scope(&self, project: ProjectId) -> Result<EventScope, GatewayError> {
        match self.project {
            None => Ok(EventScope::Project(project)),
            Some(_) => self.resolve_scope(Some(Stream::Project(project))),
        }
    }

    /// Fails unless the reader may see all projects.
    pub fn require_all_projects(&self) -> Result<(), GatewayError> {
        if self.project.is_none() { Ok(()) } else { Err(GatewayError::BoundToOtherProject) }
    }
}
