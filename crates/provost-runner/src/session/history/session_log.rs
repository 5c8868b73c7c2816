//! Appends of one session to the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use provost_gateway::{Gateway, GatewayError, SessionAppend};
use provost_proto::session::{ItemNumber, SessionView};
use provost_proto::{Actor, Fact, LogCursor, ProjectId, SessionId};
use provost_store::{AppendOutcome, Durability, Idempotency};

use crate::session::CallerIdentity;

/// The single writer of a session's facts; numbers its items.
#[derive(Debug)]
pub(crate) struct SessionLog {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) session: SessionId,
    pub(crate) project: ProjectId,
    pub(crate) role: String,
    next: AtomicU32,
}

impl SessionLog {
    pub(crate) fn new(gateway: Arc<Gateway>, view: &SessionView) -> Self {
        Self {
            gateway,
            session: view.id,
            project: view.project,
            role: view.role.clone(),
            next: AtomicU32::new(view.items),
        }
    }

    /// The number of a new item.
    pub(crate) fn next_item_number(&self) -> ItemNumber {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Appends facts with the caller as their actor, synced to disk.
    pub(crate) async fn append_as_person(
        &self,
        by: &CallerIdentity,
        command: Option<Idempotency>,
        facts: Vec<Fact>,
    ) -> Result<AppendOutcome, GatewayError> {
        let CallerIdentity { principal, actor } = by.clone();
        let durability = Durability::Synced;
        let append = SessionAppend { principal, actor, command, durability, facts };
        self.gateway.sessions.append_session_events(self.session, append).await
    }

    /// Appends facts with the session's role as their actor, on the caller's authority. Returns
    /// the position of the last one.
    pub(crate) async fn append_as_agent(
        &self,
        by: &CallerIdentity,
        facts: Vec<Fact>,
    ) -> Result<LogCursor, GatewayError> {
        let principal = by.principal.clone();
        let actor = Actor::Agent(self.role.clone());
        let (command, durability) = (None, Durability::Buffered);
        let append = SessionAppend { principal, actor, command, durability, facts };
        let appended = self.gateway.sessions.append_session_events(self.session, append).await?;
        Ok(appended.events().last().map_or(LogCursor::START, |event| event.cursor()))
    }
}
