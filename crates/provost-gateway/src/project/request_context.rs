//! Who requests something, and the appends that record it.

use std::sync::Arc;

use provost_core::decide::{BoundAction, Denial};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{Actor, Fact, Principal, Project, SessionId, Stream};
use provost_store::{AppendRequest, Durability, Idempotency, NewEvent};
use serde_json::json;

use crate::Operator;

/// Who requests something, in which project, role and session.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) principal: Principal,
    pub(crate) actor: Actor,
    pub(crate) project: Arc<Project>,
    pub(crate) role: Option<String>,
    pub(crate) session: Option<SessionId>,
    /// The client's idempotency key, for the first append of the request.
    pub(crate) command: Option<Idempotency>,
}

impl RequestContext {
    /// A person who changes what governs a project.
    pub(crate) fn from_operator(by: &Operator, project: &Project) -> Self {
        Self {
            principal: by.principal().to_owned(),
            actor: by.actor().clone(),
            project: Arc::new(project.clone()),
            role: None,
            session: None,
            command: None,
        }
    }

    /// An append of facts to the stream of the project, without the idempotency key.
    pub(crate) fn build_append(&self, durability: Durability, facts: Vec<Fact>) -> AppendRequest {
        let stream = Stream::Project(self.project.id);
        AppendRequest {
            principal: self.principal.clone(),
            actor: self.actor.clone(),
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability,
            events: facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect(),
        }
    }

    /// An append of facts with the idempotency key of the request.
    pub(crate) fn build_keyed_append(
        &self,
        durability: Durability,
        facts: Vec<Fact>,
    ) -> AppendRequest {
        AppendRequest { command: self.command.clone(), ..self.build_append(durability, facts) }
    }

    /// The fact that an action is requested.
    pub(crate) fn action_requested_fact(&self, bound_action: &BoundAction) -> Fact {
        let request = bound_action.request();
        Fact::ActionRequested {
            action: request.id,
            project: request.project,
            name: request.action.name().to_owned(),
            params: request.action.params(),
            what: request.action.describe(),
            action_hash: bound_action.hash(),
            role: self.role.clone(),
            session: self.session,
        }
    }
}

/// A denial as a client is told of it.
pub(crate) fn fault_from_denial(denial: &Denial) -> ErrorInfo {
    let details = (!denial.rules.is_empty()).then(|| json!({ "rules": denial.rules }));
    ErrorInfo { code: denial.code, message: denial.why.clone(), details }
}
