//! The store of a runtime in the daemon: without a socket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use provost_core::hash_chain;
use provost_gateway::{
    ArtifactContent, CommandsError, GatewayError, NotebookAccess, NotebookCommands,
    NotebookFollower, NotebookService, NotebookStart, RuntimeOrder, SyncConnection, SyncInbox,
};
use provost_notebook::NotebookState;
use provost_notebook::client_store::ClientStore;
use provost_proto::notebook::{Fence, NotebookCommand};
use provost_proto::{Code, Hash, IdempotencyKey, NotebookId, RuntimeSessionId};
use provost_store::StoreError;

use super::{ArtifactFailure, ArtifactUploader, NotebookStore, StoreEvent};

/// How long to wait before the notebook is followed again after an error of the log.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// A notebook of this daemon.
#[derive(Debug)]
pub struct LocalStore {
    notebooks: Arc<NotebookService>,
    access: NotebookAccess,
    notebook: NotebookId,
    store: ClientStore,
    connection: SyncConnection,
    inbox: SyncInbox,
    follower: Option<NotebookFollower>,
    /// What happened and was not returned yet.
    waiting: VecDeque<StoreEvent>,
    /// Whether to wait before following.
    is_retrying: bool,
}

impl LocalStore {
    /// The store of a notebook for a runtime with these rights.
    pub fn new(
        notebooks: Arc<NotebookService>,
        access: NotebookAccess,
        notebook: NotebookId,
    ) -> Self {
        let (connection, inbox) = notebooks.connect(&access);
        let store = ClientStore::new(notebook, access.principal());
        let (follower, waiting, is_retrying) = (None, VecDeque::new(), false);
        Self {
            notebooks,
            access,
            notebook,
            store,
            connection,
            inbox,
            follower,
            waiting,
            is_retrying,
        }
    }

    /// Stores artifacts for the runtime.
    pub fn artifact_uploader(&self) -> Arc<dyn ArtifactUploader> {
        Arc::new(LocalArtifacts {
            notebooks: Arc::clone(&self.notebooks),
            access: self.access.clone(),
            notebook: self.notebook,
        })
    }

    /// Follows the notebook from where the store is, up to now.
    async fn follow(&mut self) -> Result<StoreEvent, GatewayError> {
        if self.is_retrying {
            tokio::time::sleep(RETRY_DELAY).await;
            self.is_retrying = false;
        }
        let resume = self.store.resume_point();
        let (start, mut follower) =
            self.notebooks.follow(&self.access, self.notebook, resume).await?;
        if let NotebookStart::Snapshot { at, documents, .. } = start {
            drop(self.store.apply_snapshot(at, 0, true, documents));
        }
        loop {
            let events = follower.next_available().await?;
            if events.is_empty() {
                break;
            }
            // None are missing: the follower goes on where the store is.
            drop(self.store.apply_events(&events));
        }
        self.follower = Some(follower);
        Ok(StoreEvent::Connected { principal: self.access.principal().to_owned() })
    }

    /// What an error means where nothing was sent: that of a moment is waited out.
    fn take_error(&mut self, error: &GatewayError) -> StoreEvent {
        let why = error.to_string();
        match classify_error(error) {
            LocalStoreFailure::Passing => self.disconnect(why),
            LocalStoreFailure::Final | LocalStoreFailure::Refused(_) => StoreEvent::Closed { why },
        }
    }

    /// Follows anew after a while; what was not answered is sent again then.
    fn disconnect(&mut self, why: String) -> StoreEvent {
        self.follower = None;
        self.is_retrying = true;
        StoreEvent::Disconnected { why }
    }
}

impl NotebookStore for LocalStore {
    fn state(&self) -> &NotebookState {
        self.store.state()
    }

    async fn next_event(&mut self) -> StoreEvent {
        if let Some(event) = self.waiting.pop_front() {
            return event;
        }
        if self.follower.is_none() {
            return match self.follow().await {
                Ok(event) => event,
                Err(error) => self.take_error(&error),
            };
        }
        // Presence is for people.
        while self.inbox.presence.try_recv().is_ok() {}
        let Self { follower: Some(follower), inbox, store, .. } = self else {
            return StoreEvent::Changed;
        };
        let events = tokio::select! {
            Some(order) = inbox.orders.recv() => return match order {
                RuntimeOrder::Fenced { session, why } => StoreEvent::Fenced { session, why },
                RuntimeOrder::Input { execution, text } => StoreEvent::Input { execution, text },
            },
            events = follower.next() => events,
        };
        match events {
            Ok(events) => match store.apply_events(&events) {
                Ok(_) => StoreEvent::Changed,
                Err(missing) => self.disconnect(missing.to_string()),
            },
            Err(error) => self.take_error(&error),
        }
    }

    async fn send_commands(&mut self, id: IdempotencyKey, commands: Vec<NotebookCommand>) {
        let request = NotebookCommands {
            notebook: self.notebook,
            commands,
            key: Some(id.clone()),
            connection: Some(self.connection.id),
        };
        let event = match self.notebooks.apply_commands(&self.access, request).await {
            Ok(_) => StoreEvent::Accepted(id),
            Err(CommandsError::Refused { index, refusal, .. }) => {
                StoreEvent::Refused { id, index, code: refusal.code, error: refusal.error }
            }
            Err(CommandsError::Failed(error)) => {
                let why = error.to_string();
                match classify_error(&error) {
                    LocalStoreFailure::Passing => self.disconnect(why),
                    LocalStoreFailure::Final => StoreEvent::Closed { why },
                    LocalStoreFailure::Refused(code) => {
                        StoreEvent::Refused { id, index: 0, code, error: why }
                    }
                }
            }
        };
        self.waiting.push_back(event);
    }

    async fn renew_lease(&mut self, session: RuntimeSessionId, fence: Fence) {
        let connection = Some(self.connection.id);
        let renewed = self
            .notebooks
            .renew_lease(&self.access, self.notebook, session, fence, connection)
            .await;
        let event = match renewed {
            Ok(Ok(valid)) => {
                let valid_ms = u32::try_from(valid.as_millis()).unwrap_or(u32::MAX);
                StoreEvent::LeaseRenewed { session, valid_ms }
            }
            Ok(Err(why)) => StoreEvent::Fenced { session, why },
            Err(error) => self.take_error(&error),
        };
        self.waiting.push_back(event);
    }
}

/// What an error means for a runtime.
enum LocalStoreFailure {
    /// It may be over in a moment.
    Passing,
    /// The daemon stops.
    Final,
    /// It will be the same again.
    Refused(Code),
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all others are about the request")]
fn classify_error(error: &GatewayError) -> LocalStoreFailure {
    match error {
        GatewayError::Stopping | GatewayError::Store(StoreError::Closed) => {
            LocalStoreFailure::Final
        }
        GatewayError::Store(StoreError::TooLarge { .. }) => {
            LocalStoreFailure::Refused(Code::TooLarge)
        }
        GatewayError::Store(StoreError::CommandReused(_) | StoreError::NotCanonical(_)) => {
            LocalStoreFailure::Refused(Code::InvalidRequest)
        }
        GatewayError::Store(_) | GatewayError::NoRandomness(_) => LocalStoreFailure::Passing,
        GatewayError::Fault(fault) if fault.code.status() >= 500 => LocalStoreFailure::Passing,
        GatewayError::Fault(fault) => LocalStoreFailure::Refused(fault.code),
        GatewayError::ProjectClosed => LocalStoreFailure::Refused(Code::Conflict),
        _ => LocalStoreFailure::Refused(Code::Forbidden),
    }
}

#[derive(Debug)]
struct LocalArtifacts {
    notebooks: Arc<NotebookService>,
    access: NotebookAccess,
    notebook: NotebookId,
}

impl ArtifactUploader for LocalArtifacts {
    fn upload(&self, mime: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<Hash, ArtifactFailure>> {
        Box::pin(async move {
            let hash = hash_chain::digest(&bytes);
            let content = ArtifactContent { hash, mime, name: None, bytes };
            let stored = self.notebooks.put_artifact(&self.access, self.notebook, content).await;
            stored.map_err(|error| ArtifactFailure(error.to_string()))?;
            Ok(hash)
        })
    }
}
