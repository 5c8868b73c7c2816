//! Sessions with a model: their principals, their events, and the roles they may act in.
//!
//! A session is a principal of its own, `session:<id>`, of the class of agents: it requests
//! and never decides, whoever writes in it.

mod guides;
mod owners;

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::skill::SkillSet;
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{SessionStatus, SessionView};
use provost_proto::{
    Actor, Code, Fact, Principal, Project, ProjectId, SessionId, Stream, TokenClass,
};
use provost_store::{AppendOutcome, AppendRequest, Durability, Idempotency, NewEvent};

use crate::event_log::EventLog;
use crate::project::governance::Governance;
use crate::{Caller, GatewayError};
use owners::SessionOwners;

/// Sessions of all projects.
#[derive(Debug)]
pub struct Sessions {
    log: Arc<EventLog>,
    governance: Arc<Governance>,
    owners: SessionOwners,
}

/// Events of a session, and who caused them.
#[derive(Debug)]
pub struct SessionAppend {
    /// On whose authority the events are recorded.
    pub principal: Principal,
    /// The component that acts.
    pub actor: Actor,
    /// The client's idempotency key.
    pub command: Option<Idempotency>,
    /// What the events must survive.
    pub durability: Durability,
    /// The events.
    pub facts: Vec<Fact>,
}

impl SessionAppend {
    /// What the daemon records by itself about a turn that somebody started.
    pub fn by_daemon(principal: Principal, facts: Vec<Fact>) -> Self {
        let (actor, durability) = (Actor::Daemon, Durability::Buffered);
        Self { principal, actor, command: None, durability, facts }
    }
}

/// A role that a session may act in.
#[derive(Debug, Clone)]
pub struct SessionRole {
    /// The name of the role.
    pub name: String,
    /// What the role is for.
    pub description: String,
    /// The model that the role's file names.
    pub model: Option<String>,
    /// What the role may request.
    pub skills: SkillSet,
    /// The instructions for the model.
    pub instructions: String,
}

/// The principal of a session.
pub fn session_principal(session: SessionId) -> Principal {
    format!("session:{}", session.uuid())
}

impl Sessions {
    pub(crate) fn new(log: Arc<EventLog>, governance: Arc<Governance>) -> Self {
        Self { log, governance, owners: SessionOwners::default() }
    }

    /// The agent that acts in a session, in one role and project.
    pub async fn create_session_caller(
        &self,
        session: SessionId,
        project: ProjectId,
        role: &str,
    ) -> Result<Caller, GatewayError> {
        let principal = session_principal(session);
        self.claim_session(session, &principal).await?;
        let actor = Actor::Agent(role.to_owned());
        let role = Some(role.to_owned());
        Ok(Caller::new(principal, actor, TokenClass::Agent, Some(project), role))
    }

    /// Binds a session to the first principal that uses it; fails for any other.
    pub(crate) async fn claim_session(
        &self,
        session: SessionId,
        principal: &str,
    ) -> Result<(), GatewayError> {
        self.owners.claim_session(&self.log, session, principal).await
    }

    /// Records events of a session, and in the same append what they mean for the sessions
    /// above it.
    pub async fn append_session_events(
        &self,
        session: SessionId,
        append: SessionAppend,
    ) -> Result<AppendOutcome, GatewayError> {
        let SessionAppend { principal, actor, command, durability, facts } = append;
        let stream = |fact: &Fact| {
            Stream::Session(if let Fact::TaskUsed(used) = fact { used.session } else { session })
        };
        let event = |fact| NewEvent { stream: stream(&fact), fact, cause: None };
        let events = facts.into_iter().map(event).collect();
        let (expect, unchanged) = (Vec::new(), Vec::new());
        let append =
            AppendRequest { principal, actor, command, expect, unchanged, durability, events };
        Ok(self.log.append(append).await?)
    }

    /// A session, as it is now.
    pub async fn find_session(&self, id: SessionId) -> Result<Option<SessionView>, GatewayError> {
        let doc = self.log.store().get_document(ViewKind::Sessions, id.uuid()).await?;
        Ok(doc.and_then(ViewDocument::into_session))
    }

    /// Whether a principal is a session that is not closed.
    pub(crate) async fn is_session_active(&self, principal: &str) -> Result<bool, GatewayError> {
        let Some(id) = principal.strip_prefix("session:").and_then(|id| id.parse().ok()) else {
            return Ok(false);
        };
        let session = self.find_session(id).await?;
        Ok(session.is_some_and(|session| session.status != SessionStatus::Closed))
    }

    /// The trusted roles of a project.
    pub async fn list_session_roles(
        &self,
        project: &Project,
    ) -> Result<Vec<SessionRole>, GatewayError> {
        let governance = self.governance.load_current(project.id).await?;
        let files = governance.files.iter().flat_map(|files| &files.roles);
        let trusted = files.filter(|file| governance.is_role_trusted(file));
        Ok(trusted
            .map(|file| SessionRole {
                name: file.role.name.clone(),
                description: file.role.description.clone(),
                model: file.role.model.clone(),
                skills: file.role.skills.clone(),
                instructions: file.role.instructions.clone(),
            })
            .collect())
    }

    /// One of the trusted roles. An untrusted file instructs no model.
    pub async fn find_session_role(
        &self,
        project: &Project,
        role: &str,
    ) -> Result<SessionRole, GatewayError> {
        let roles = self.list_session_roles(project).await?;
        if let Some(found) = roles.into_iter().find(|found| found.name == role) {
            return Ok(found);
        }
        let roles = self.governance.list_roles(project).await?;
        let message = if roles.roles.iter().any(|known| known.name == role) {
            format!("the role `{role}` is not trusted as it is; `provost roles trust` shows it")
        } else {
            format!("there is no role `{role}` in this project; `provost roles` lists them")
        };
        Err(GatewayError::Fault(ErrorInfo { code: Code::SkillDenied, message, details: None }))
    }
}

#[cfg(test)]
mod tests;
