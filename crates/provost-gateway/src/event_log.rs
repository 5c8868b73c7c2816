//! The log as the services use it: the store behind the redaction of secrets, the clock, and
//! the daemon's owner.

mod event_bodies;
mod open_documents;
mod redact;
mod required_views;

use std::sync::Arc;

use provost_core::fold::{DocumentKey, ViewDocument, ViewKind};
use provost_core::redact::Redactor;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{ActionId, Actor, BlobRef, Code, Event, Fact, ProjectId, Stream, UnixMicros};
use provost_store::{
    AppendOutcome, AppendRequest, Clock, Durability, EventStore, NewEvent, RecordedEvent,
    StoreError,
};
use serde_json::Value;

use crate::{DaemonOwner, GatewayConfig, GatewayError};

/// The only writer of the log.
#[derive(Debug)]
pub struct EventLog {
    store: Arc<dyn EventStore>,
    clock: Clock,
    owner: DaemonOwner,
    redactor: Arc<Redactor>,
}

impl EventLog {
    /// Opens the log. Rebuilds the views if one that every start needs is damaged.
    pub(crate) async fn open(
        store: Arc<dyn EventStore>,
        clock: Clock,
        owner: DaemonOwner,
        config: &GatewayConfig,
    ) -> Result<Self, GatewayError> {
        required_views::rebuild_if_damaged(&*store, clock.now()).await?;
        let redactor = Arc::new(Redactor::new(&config.secrets)?);
        Ok(Self { store, clock, owner, redactor })
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<dyn EventStore> {
        &self.store
    }

    /// The clock of the log.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The documents of a view that are still going on, in all projects.
    pub async fn list_open_documents(
        &self,
        view: ViewKind,
    ) -> Result<Vec<ViewDocument>, StoreError> {
        open_documents::list_open_documents(&*self.store, view, self.now()).await
    }

    pub(crate) fn now(&self) -> UnixMicros {
        self.clock.now()
    }

    pub(crate) fn owner(&self) -> &DaemonOwner {
        &self.owner
    }

    /// The redactor of the known secrets, for others that outlive a call.
    pub(crate) fn shared_redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// Redacts the known secrets.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Appends events, with all known secrets redacted.
    pub(crate) async fn append(&self, append: AppendRequest) -> Result<AppendOutcome, StoreError> {
        self.store.append(self.redact_append(append)?).await
    }

    /// Appends events, unless the same idempotency key was used before.
    pub(crate) async fn append_once(
        &self,
        append: AppendRequest,
    ) -> Result<AppendOutcome, GatewayError> {
        match self.append(append).await? {
            fresh @ AppendOutcome::Appended(_) => Ok(fresh),
            AppendOutcome::Replayed(_) => Err(repeated_request_error()),
        }
    }

    /// Appends the end of an action, unless the log has one: the loss of a kernel ends what runs in
    /// it, and so does whoever executes it. Returns whether it was appended.
    pub(crate) async fn append_end(
        &self,
        action: ActionId,
        append: AppendRequest,
    ) -> Result<bool, StoreError> {
        let key = DocumentKey { view: ViewKind::Actions, key: action.uuid() };
        loop {
            let found = self.store.get_document(key.view, key.key).await?;
            if matches!(&found, Some(ViewDocument::Action(it)) if it.finished_at.is_some()) {
                return Ok(false);
            }
            let unchanged = found.into_iter().map(|doc| (key, doc)).collect();
            match self.append(AppendRequest { unchanged, ..append.clone() }).await {
                // It has started or ended meanwhile, each of which happens once.
                Err(StoreError::DocumentChanged { .. }) => {}
                appended => return appended.map(|_| true),
            }
        }
    }

    /// Records an event of the daemon itself, such as its start.
    pub async fn record_daemon_event(&self, fact: Fact) -> Result<(), GatewayError> {
        let principal = self.owner.principal.clone();
        self.append(AppendRequest::single_event(principal, Actor::Daemon, Stream::Sys, fact))
            .await?;
        Ok(())
    }

    /// Records events of a project on the owner's authority, without waiting for the disk.
    pub(crate) async fn record_project_events(
        &self,
        project: ProjectId,
        actor: Actor,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        self.append(self.build_project_append(project, actor, facts)).await?;
        Ok(())
    }

    /// An append of events of a project on the owner's authority.
    pub(crate) fn build_project_append(
        &self,
        project: ProjectId,
        actor: Actor,
        facts: Vec<Fact>,
    ) -> AppendRequest {
        let stream = Stream::Project(project);
        let events = facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect();
        AppendRequest {
            principal: self.owner.principal.clone(),
            actor,
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability: Durability::Buffered,
            events,
        }
    }

    /// The fact of a recorded event; fetches its body if that is stored as a blob.
    pub(crate) async fn hydrate_recorded_fact(
        &self,
        event: &RecordedEvent,
    ) -> Result<Option<Fact>, GatewayError> {
        self.hydrate_event_fact(&event.decode_event()?).await
    }

    /// The fact of an event; fetches its body if that is stored as a blob.
    pub(crate) async fn hydrate_event_fact(
        &self,
        event: &Event,
    ) -> Result<Option<Fact>, GatewayError> {
        let Ok(BlobRef { hash, .. }) = serde_json::from_value(event.body.clone()) else {
            return Ok(event.fact());
        };
        let bytes = self.store.get_blob(hash).await?.unwrap_or_default();
        let body: Option<Value> = serde_json::from_slice(&bytes).ok();
        Ok(body.and_then(|body| Fact::from_kind_and_body(&event.kind, &body)))
    }
}

/// The same idempotency key was used before.
pub(crate) fn repeated_request_error() -> GatewayError {
    let message = "this request was carried out before; see its action in the log".to_owned();
    GatewayError::Fault(ErrorInfo { code: Code::Conflict, message, details: None })
}

#[cfg(test)]
mod tests {
    use provost_core::redact::Secrets;
    use provost_proto::LogCursor;
    use provost_store::EventScope;

    use super::*;
    use crate::test_support::open_log;

    #[tokio::test]
    async fn known_secrets_do_not_reach_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::default().with_secret("key", "hunter2-hunter2-hunter2");
        let log =
            open_log(folder.path(), &GatewayConfig { secrets, ..GatewayConfig::default() }).await;
        let reason = "it said hunter2-hunter2-hunter2".to_owned();
        log.record_daemon_event(Fact::DaemonStopped { reason }).await.unwrap();
        let page = log.store().read_events(EventScope::All, LogCursor::START, 10).await.unwrap();
        let text = String::from_utf8_lossy(page.events[0].record_bytes()).into_owned();
        assert!(text.contains("DAEMON_STOPPED") && !text.contains("hunter2"), "{text}");
    }
}
