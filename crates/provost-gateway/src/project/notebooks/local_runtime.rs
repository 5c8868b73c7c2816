//! Runtimes that the daemon runs itself: on whose authority, and which were running before.

use std::fmt;
use std::str::FromStr;

use provost_core::fold::ViewKind;
use provost_proto::notebook::{NotebookView, RuntimeLocation, RuntimeSession};
use provost_proto::{Actor, NotebookId, Principal, ProjectId};

use super::NotebookService;
use crate::GatewayError;
use crate::caller::{Caller, NotebookAccess, Operator};
use crate::token_lease::TokenLease;

/// What the ids of such runtimes begin with.
const PREFIX: &str = "local-";

/// A runtime in the daemon, as the log names it: its type, and the role in which its cells request
/// actions. `local-shell` is one without a role, `local-shell@dev` one in the role `dev`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalRuntimeName {
    /// The type, such as `shell`.
    pub runtime_type: String,
    /// The role; none for what its person does themselves.
    pub role: Option<String>,
}

impl fmt::Display for LocalRuntimeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.runtime_type)?;
        self.role.as_ref().map_or(Ok(()), |role| write!(f, "@{role}"))
    }
}

/// The id is not one of a runtime in the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the id of a runtime in the daemon")]
pub struct NotALocalRuntime;

impl FromStr for LocalRuntimeName {
    type Err = NotALocalRuntime;

    fn from_str(id: &str) -> Result<Self, NotALocalRuntime> {
        let name = id.strip_prefix(PREFIX).ok_or(NotALocalRuntime)?;
        let (runtime_type, role) = match name.split_once('@') {
            Some((runtime_type, role)) => (runtime_type, Some(role.to_owned())),
            None => (name, None),
        };
        if runtime_type.is_empty() || role.as_ref().is_some_and(String::is_empty) {
            return Err(NotALocalRuntime);
        }
        Ok(Self { runtime_type: runtime_type.to_owned(), role })
    }
}

/// The authority of a runtime in the daemon: that of the person who started it, in one notebook.
/// Only [`NotebookService`] makes one.
#[derive(Debug, Clone)]
pub struct LocalRuntimeGrant {
    principal: Principal,
    notebook: NotebookId,
    project: ProjectId,
    name: LocalRuntimeName,
}

impl LocalRuntimeGrant {
    /// The notebook.
    pub fn notebook(&self) -> NotebookId {
        self.notebook
    }

    /// The project.
    pub fn project(&self) -> ProjectId {
        self.project
    }

    /// The runtime.
    pub fn name(&self) -> &LocalRuntimeName {
        &self.name
    }

    /// On whose authority it acts.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    fn actor(&self) -> Actor {
        Actor::Runtime(self.name.to_string())
    }

    /// What it may do in notebooks: report what it executes in its own.
    pub fn notebook_access(&self) -> NotebookAccess {
        let (principal, actor) = (self.principal.clone(), self.actor());
        NotebookAccess::for_local_runtime(principal, actor, self.notebook, self.project)
    }

    /// Who requests the actions of its cells. In a role they are decided like those of an agent.
    pub fn action_caller(&self) -> Caller {
        Caller::for_local_runtime(self.principal.clone(), self.actor(), self.project)
    }
}

impl NotebookService {
    /// The authority for a runtime that a person starts in a notebook.
    pub async fn grant_local_runtime(
        &self,
        by: &Operator,
        notebook: NotebookId,
        name: LocalRuntimeName,
    ) -> Result<LocalRuntimeGrant, GatewayError> {
        let found = self.documents().get_notebook(notebook).await?;
        if found.deleted_at.is_some() {
            return Err(super::not_found(notebook));
        }
        self.require_open_project(found.project).await?;
        let (principal, project) = (by.principal().to_owned(), found.project);
        Ok(LocalRuntimeGrant { principal, notebook, project, name })
    }

    /// The runtimes that ran in the last daemon, and whose sessions are active. Their persons are
    /// still operators; nobody else can have started such a session on their authority.
    pub async fn list_left_runtimes(
        &self,
    ) -> Result<Vec<(LocalRuntimeGrant, RuntimeSession)>, GatewayError> {
        let mut found = Vec::new();
        let view = ViewKind::Notebook(NotebookView::Notebooks);
        for doc in self.log.list_open_documents(view).await? {
            let Some(notebook) = doc.into_notebook() else { continue };
            let sessions = notebook.slots.iter().filter_map(|slot| slot.session).collect();
            for session in self.documents().get_sessions(sessions).await? {
                let Ok(name) = session.runtime_id.parse::<LocalRuntimeName>() else { continue };
                let grant = LocalRuntimeGrant {
                    principal: session.client_id.clone(),
                    notebook: notebook.id,
                    project: notebook.project,
                    name,
                };
                if session.place == RuntimeLocation::Native && self.lease_grant(&grant).is_some() {
                    found.push((grant, session));
                }
            }
        }
        Ok(found)
    }

    /// A lease of the token on whose authority a runtime acts; `None` if it is not valid any more.
    pub fn lease_grant(&self, grant: &LocalRuntimeGrant) -> Option<TokenLease> {
        if grant.principal == self.log.owner().principal {
            return self.directory.lease_token_by_id(None);
        }
        let token = grant.principal.strip_prefix("token:")?.parse().ok()?;
        self.directory.lease_operator_token(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_it_was_written() {
        for (id, runtime_type, role) in [
            ("local-shell", "shell", None),
            ("local-shell@dev", "shell", Some("dev")),
            ("local-python-3@a@b", "python-3", Some("a@b")),
        ] {
            let name: LocalRuntimeName = id.parse().unwrap();
            assert_eq!((&*name.runtime_type, name.role.as_deref()), (runtime_type, role));
            assert_eq!(name.to_string(), id);
        }
        for id in ["", "shell", "local-", "local-@dev", "local-shell@"] {
            assert_eq!(id.parse::<LocalRuntimeName>(), Err(NotALocalRuntime), "{id}");
        }
    }
}
