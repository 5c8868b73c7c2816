//! Puts the services of the gateway together.

use std::sync::Arc;

use provost_store::{Clock, EventStore};

use crate::audit_log::AuditLog;
use crate::documents::Documents;
use crate::event_log::EventLog;
use crate::live_drafts::LiveDrafts;
use crate::log_archive::LogArchive;
use crate::project::actions::ActionService;
use crate::project::approvals::{ActionDependencies, Approvals};
use crate::project::decisions::Decisions;
use crate::project::executor::ActionExecutor;
use crate::project::governance::Governance;
use crate::project::kernels::KernelPool;
use crate::project::notebooks::NotebookService;
use crate::project::preview::PreviewAccess;
use crate::project::principal_directory::PrincipalDirectory;
use crate::project::runtime::RuntimeService;
use crate::project::sessions::Sessions;
use crate::project::terminal::TerminalService;
use crate::project::trust::TrustService;
use crate::project_lifecycle::ProjectLifecycle;
use crate::team::auth::Auth;
use crate::team::project_folder::collect_home_folders;
use crate::team::projects::Projects;
use crate::{DaemonOwner, GatewayConfig, GatewayError};

/// The services over one log, from the bottom up: each depends on earlier ones only.
#[derive(Debug)]
pub struct Gateway {
    /// The log.
    pub log: Arc<EventLog>,
    /// The completions that are being streamed.
    pub drafts: Arc<LiveDrafts>,
    /// Searches the log.
    pub audit: Arc<AuditLog>,
    /// Moves older events into segment files.
    pub archive: Arc<LogArchive>,
    /// Which folders are projects.
    pub projects: Arc<Projects>,
    /// Tokens, leases and logins.
    pub auth: Arc<Auth>,
    /// Rules, roles, trust, modes and grants.
    pub governance: Arc<Governance>,
    /// Sessions with a model.
    pub sessions: Arc<Sessions>,
    /// Decisions about actions.
    pub decisions: Arc<Decisions>,
    /// The kernels of the projects.
    pub kernels: Arc<KernelPool>,
    /// Requests to people.
    pub approvals: Arc<Approvals>,
    /// Changes of trust.
    pub trust: Arc<TrustService>,
    /// Requests for actions.
    pub actions: Arc<ActionService>,
    /// The runtimes of the projects.
    pub runtime: Arc<RuntimeService>,
    /// The terminals of the projects.
    pub terminal: Arc<TerminalService>,
    /// The notebooks of the projects.
    pub notebooks: Arc<NotebookService>,
    /// Codes and cookies for previews.
    pub preview: Arc<PreviewAccess>,
    /// The documents of pages.
    pub documents: Arc<Documents>,
    /// Opens and closes projects.
    pub lifecycle: Arc<ProjectLifecycle>,
}

impl Gateway {
    /// Opens the gateway over a log, of which it is the only writer from now on.
    pub async fn open(
        store: Arc<dyn EventStore>,
        clock: Clock,
        owner: DaemonOwner,
        config: GatewayConfig,
    ) -> Result<Self, GatewayError> {
        let config = Arc::new(config);
        let log = Arc::new(EventLog::open(store, clock, owner, &config).await?);
        let drafts = Arc::new(LiveDrafts::new(Arc::clone(&log), config.data.join("drafts")));
        let audit = Arc::new(AuditLog::new(Arc::clone(&log)));
        let projects = Arc::new(Projects::new(Arc::clone(&log), Arc::clone(&config)));
        let auth = Arc::new(Auth::load(Arc::clone(&log), Arc::clone(&projects)).await?);
        let directory: Arc<dyn PrincipalDirectory> = Arc::<Auth>::clone(&auth);
        let governance = Arc::new(Governance::load(Arc::clone(&log), &config).await?);
        let sessions = Arc::new(Sessions::new(Arc::clone(&log), Arc::clone(&governance)));
        let homes = collect_home_folders(&config);
        let decisions = Arc::new(Decisions::new(Arc::clone(&log), Arc::clone(&governance), homes));
        let kernels = Arc::new(KernelPool::new(Arc::clone(&log), Arc::clone(&config)));
        let (log_ref, governance_ref) = (|| Arc::clone(&log), || Arc::clone(&governance));
        let (decisions_ref, kernels_ref) = (Arc::clone(&decisions), || Arc::clone(&kernels));
        let executor =
            ActionExecutor::new(log_ref(), governance_ref(), decisions_ref, kernels_ref());
        let executor = Arc::new(executor);
        let services = ActionDependencies {
            log: Arc::clone(&log),
            governance: Arc::clone(&governance),
            decisions: Arc::clone(&decisions),
            executor,
            sessions: Arc::clone(&sessions),
            directory: Arc::clone(&directory),
        };
        let (quota, archive_settings) = (config.log_quota, config.log_archive);
        let approvals = Arc::new(Approvals::load(services.clone(), config).await?);
        let actions =
            ActionService::new(services, Arc::clone(&audit), Arc::clone(&approvals), quota);
        let actions = Arc::new(actions);
        let approvals_ref = || Arc::clone(&approvals);
        let (directory_ref, actions_ref) = (Arc::clone(&directory), Arc::clone(&actions));
        let terminal = TerminalService::new(log_ref(), directory_ref, kernels_ref(), actions_ref);
        let projects_ref = Arc::clone(&projects);
        let lifecycle =
            ProjectLifecycle::new(projects_ref, governance_ref(), kernels_ref(), approvals_ref());
        let notebooks = NotebookService::load(log_ref(), Arc::clone(&directory)).await?;
        Ok(Self {
            notebooks: Arc::new(notebooks),
            trust: Arc::new(TrustService::new(governance_ref(), approvals_ref())),
            runtime: Arc::new(RuntimeService::new(log_ref(), governance_ref(), kernels_ref())),
            terminal: Arc::new(terminal),
            preview: Arc::new(PreviewAccess::new(log_ref(), directory)),
            documents: Arc::new(Documents::new(log_ref(), Arc::clone(&drafts))),
            archive: Arc::new(LogArchive::new(log_ref(), archive_settings)),
            lifecycle: Arc::new(lifecycle),
            log,
            drafts,
            audit,
            projects,
            auth,
            governance,
            sessions,
            decisions,
            kernels,
            approvals,
            actions,
        })
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<dyn EventStore> {
        self.log.store()
    }

    /// The clock of the log.
    pub fn clock(&self) -> &Clock {
        self.log.clock()
    }
}
