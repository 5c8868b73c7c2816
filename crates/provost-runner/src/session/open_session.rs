//! Opening sessions, by a person and by a handoff.

use std::sync::Arc;

use provost_core::session::reservation_ledger::AccountKey;
use provost_gateway::{GatewayError, Operator, SessionAppend};
use provost_proto::session::{OpenSessionRequest, SessionBudget, SessionOpened, SessionView};
use provost_proto::{Fact, Project, ProjectStatus, SessionId};
use provost_store::{Durability, Idempotency};

use super::{CallerIdentity, Runner, RunnerError};
use crate::model::ModelRequest;

impl Runner {
    /// Opens a session in an open project.
    pub async fn open_session(
        self: &Arc<Self>,
        by: &Operator,
        wanted: OpenSessionRequest,
        command: Option<Idempotency>,
    ) -> Result<SessionView, RunnerError> {
        let project = self.gateway.projects.get_project(&wanted.project).await?;
        if project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed.into());
        }
        let part = self.gateway.sessions.find_session_role(&project, &wanted.role).await?;
        let model = wanted.model.or(part.model).or_else(|| self.settings.model.clone());
        let model = model.ok_or_else(|| RunnerError::NoModel(part.name.clone()))?;
        let opened = SessionOpened {
            session: self.gateway.clock().new_id(),
            project: project.id,
            role: part.name,
            model,
            budget: wanted.budget.unwrap_or(self.settings.budget),
            parent: None,
            depth: 0,
            only: None,
        };
        self.create_session(by.into(), opened, command).await
    }

    /// Opens a session that `parent` hands a task to, with at most the parent's remaining budget.
    pub(super) async fn open_child_session(
        self: &Arc<Self>,
        by: CallerIdentity,
        parent: &SessionView,
        project: &Project,
        role: &str,
        only: Vec<String>,
    ) -> Result<SessionView, RunnerError> {
        let part = self.gateway.sessions.find_session_role(project, role).await?;
        // Its spending is charged to the ancestors as well, so the limit is what they have left.
        let spent = self.ledger.lock_accounts().spent(AccountKey::Session(parent.id));
        let remaining =
            |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_sub(spent));
        let opened = SessionOpened {
            session: self.gateway.clock().new_id(),
            project: project.id,
            role: part.name,
            model: part.model.unwrap_or_else(|| parent.model.clone()),
            budget: SessionBudget {
                nanos: remaining(parent.budget.nanos, spent.nanos),
                tokens: remaining(parent.budget.tokens, spent.tokens),
            },
            parent: Some(parent.id),
            depth: parent.depth.saturating_add(1),
            only: Some(only),
        };
        self.create_session(by, opened, None).await
    }

    async fn create_session(
        self: &Arc<Self>,
        by: CallerIdentity,
        opened: SessionOpened,
        command: Option<Idempotency>,
    ) -> Result<SessionView, RunnerError> {
        // Fails now if the model is unknown, and not during the first turn.
        drop(self.models.stream_completion(&ModelRequest::new(opened.model.clone(), Vec::new()))?);
        let sessions = &self.gateway.sessions;
        sessions.create_session_caller(opened.session, opened.project, &opened.role).await?;
        let CallerIdentity { principal, actor } = by;
        let (session, durability) = (opened.session, Durability::Synced);
        let facts = vec![Fact::SessionOpened(opened)];
        let append = SessionAppend { principal, actor, command, durability, facts };
        let appended = self.gateway.sessions.append_session_events(session, append).await?;
        let mut session: SessionId = session;
        // A repeated request: it returns the session that the first one opened.
        if let Some(event) = appended.events().first()
            && let Some(Fact::SessionOpened(first)) = event.decode_event()?.fact()
        {
            session = first.session;
        }
        self.load_session(session).await
    }
}
