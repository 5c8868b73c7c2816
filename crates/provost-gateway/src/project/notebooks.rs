//! Notebooks: applies commands to them, follows them, and ends the sessions of runtimes that are
//! gone.
//!
//! Everything that happens in a notebook is an event in its stream, and only the holder of the
//! notebook's lock appends to it. Leases of runtimes and presence are in memory.

mod artifacts;
mod cache;
mod commands;
mod connections;
mod creation;
mod documents;
mod facts;
mod follow;
mod leases;
mod loaded;
mod local_runtime;
mod runtime_actor;

use std::sync::Arc;
use std::time::Duration;

use provost_proto::kernel::ErrorInfo;
use provost_proto::notebook::{Fence, Notebook, NotebookDetail, NotebookList, NotebookView};
use provost_proto::{Code, NotebookId, ProjectId, ProjectStatus, RuntimeSessionId, limits};

pub use artifacts::ArtifactContent;
pub use commands::{CommandsError, NotebookCommands};
pub use connections::{RuntimeOrder, SyncConnection, SyncInbox};
pub use creation::NotebookImport;
pub use follow::{NotebookFollower, NotebookStart};
pub use local_runtime::{LocalRuntimeGrant, LocalRuntimeName, NotALocalRuntime};

use cache::NotebookCache;
use connections::Connections;
use documents::NotebookDocuments;
use leases::{LEASE_VALID, Leases};
use loaded::LoadedNotebook;
use provost_core::fold::{ViewDocument, ViewKind};

use crate::caller::NotebookAccess;
use crate::event_log::EventLog;
use crate::one_time_codes::{OneTimeCodes, RedeemedCode};
use crate::project::principal_directory::PrincipalDirectory;
use crate::token_lease::TokenLease;
use crate::{GatewayError, Secret};

/// How long to wait before writing the end of a session to a failed log again.
const WRITE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The notebooks of all projects.
#[derive(Debug)]
pub struct NotebookService {
    log: Arc<EventLog>,
    directory: Arc<dyn PrincipalDirectory>,
    cache: NotebookCache,
    leases: Leases,
    connections: Arc<Connections>,
    tickets: OneTimeCodes<SyncAccess>,
}

/// What a connection may do, as long as its token is valid.
#[derive(Debug)]
pub struct SyncAccess {
    /// Its rights.
    pub access: NotebookAccess,
    /// The lease of its token.
    pub lease: TokenLease,
}

/// The error for a notebook that does not exist, or that the caller may not see.
fn not_found(name: impl std::fmt::Display) -> GatewayError {
    let message = format!("there is no notebook `{name}`; `provost notebook list` shows them");
    GatewayError::Fault(ErrorInfo { code: Code::NotebookNotFound, message, details: None })
}

impl NotebookService {
    /// The service. Sessions that were active when the last daemon ended get a fresh lease.
    pub(crate) async fn load(
        log: Arc<EventLog>,
        directory: Arc<dyn PrincipalDirectory>,
    ) -> Result<Self, GatewayError> {
        let leases = Leases::default();
        for doc in log.list_open_documents(ViewKind::Notebook(NotebookView::Notebooks)).await? {
            let Some(notebook) = ViewDocument::into_notebook(doc) else { continue };
            for session in notebook.slots.iter().filter_map(|slot| slot.session) {
                leases.grant(notebook.id, session, None);
            }
        }
        Ok(Self {
            log,
            directory,
            cache: NotebookCache::default(),
            leases,
            connections: Arc::default(),
            tickets: OneTimeCodes::new(limits::MAX_TICKETS),
        })
    }

    fn documents(&self) -> NotebookDocuments<'_> {
        NotebookDocuments::new(&self.log)
    }

    /// A ticket for one connection.
    pub fn create_ticket(&self, access: SyncAccess) -> Result<Secret, GatewayError> {
        self.tickets.issue(access, self.log.now() + limits::TICKET_SECONDS * 1_000_000)
    }

    /// Exchanges a ticket for the access that it was issued for.
    pub fn redeem_ticket(&self, ticket: &str) -> Result<SyncAccess, GatewayError> {
        let access = self.tickets.redeem(ticket, self.log.now()).map(RedeemedCode::into_value);
        let access = access.filter(|access| self.directory.is_lease_valid(&access.lease));
        access.ok_or(GatewayError::Unauthenticated("this ticket was used already or is too old"))
    }

    /// Registers a connection.
    pub fn connect(&self, access: &NotebookAccess) -> (SyncConnection, SyncInbox) {
        self.connections.open(access.principal().to_owned(), access.actor().clone())
    }

    /// The notebooks of a project, the newest first.
    pub async fn list(
        &self,
        access: &NotebookAccess,
        project: ProjectId,
    ) -> Result<NotebookList, GatewayError> {
        if !access.may_list(project) {
            return Err(GatewayError::BoundToOtherProject);
        }
        Ok(NotebookList { notebooks: self.documents().list_notebooks(project).await? })
    }

    /// All that is shown of a notebook.
    pub async fn show(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
    ) -> Result<NotebookDetail, GatewayError> {
        self.find_visible(access, id).await?;
        let entry = self.cache.entry(id);
        let held = entry.lock().await;
        let contents = self.documents().read_contents(id).await?;
        let version = self.log.store().stream_version(provost_proto::Stream::Notebook(id)).await?;
        drop(held);
        let documents::NotebookContents {
            notebook, mut cells, executions, outputs, sessions, ..
        } = contents;
        cells.retain(|cell| cell.deleted_at.is_none());
        Ok(NotebookDetail { notebook, version, cells, executions, outputs, sessions })
    }

    /// A notebook that the caller may see. The error does not reveal whether another one exists.
    pub async fn find_visible(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
    ) -> Result<Notebook, GatewayError> {
        let notebook = self.documents().get_notebook(id).await?;
        if access.may_see(id, notebook.project) { Ok(notebook) } else { Err(not_found(id)) }
    }

    async fn require_open_project(&self, project: ProjectId) -> Result<(), GatewayError> {
        let doc = self.log.store().get_document(ViewKind::Projects, project.uuid()).await?;
        match doc.and_then(ViewDocument::into_project) {
            Some(project) if project.status == ProjectStatus::Open => Ok(()),
            Some(_) => Err(GatewayError::ProjectClosed),
            None => Err(GatewayError::ProjectNotFound(project.to_string())),
        }
    }

    /// Renews the lease of a session over a connection; returns for how long. Fails if the
    /// session is not active any more, or not the caller's.
    pub async fn renew_lease(
        &self,
        access: &NotebookAccess,
        id: NotebookId,
        session: RuntimeSessionId,
        fence: Fence,
        connection: Option<u64>,
    ) -> Result<Result<Duration, String>, GatewayError> {
        let entry = self.cache.entry(id);
        let mut held = entry.lock().await;
        let loaded = match held.take() {
            Some(loaded) => loaded,
            None => LoadedNotebook::read(&self.log, id).await?,
        };
        let loaded = held.insert(loaded);
        if !access.may_see(id, loaded.notebook()?.project) || !access.can_write() {
            return Err(not_found(id));
        }
        let known = loaded
            .state
            .session(session)
            .filter(|known| known.client_id == access.principal() && known.fence == fence);
        let is_active = known.is_some_and(|known| {
            loaded.state.active_session(&known.slot).is_some_and(|active| active.id == session)
        });
        if !is_active {
            let why = known.and_then(|known| known.why.clone());
            return Ok(Err(why.unwrap_or_else(|| "the session is not active any more".to_owned())));
        }
        self.leases.grant(id, session, connection);
        Ok(Ok(LEASE_VALID))
    }

    /// Ends sessions whose leases expire, for as long as the daemon runs.
    pub async fn run_lease_loop(self: Arc<Self>) {
        loop {
            for (session, lease) in self.leases.next_expired().await {
                if let Err(error) = self.expire_session(lease.notebook, session).await {
                    tracing::error!(%error, "cannot log that a runtime is gone; trying again");
                    let (notebook, connection) = (lease.notebook, lease.connection);
                    self.leases.grant_for(notebook, session, connection, WRITE_RETRY_DELAY);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
