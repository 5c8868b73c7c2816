//! The authority: who may do what, and the one road to the log.
//!
//! Doors (HTTP, the command line, editors) translate what they hear into calls
//! to [`Gateway`]; it checks, records and answers. What only a person may do
//! takes an [`Operator`], which nothing but a check of the caller can make.

mod audit_log;
mod caller;
mod error;
mod event_log;
mod project;
mod secret;
mod team;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use provost_core::fold::ViewKind as Folded;
use provost_core::redact::{Redactor, Secrets};
use provost_proto::{Actor, Fact, Hash, Principal, Stream};
use provost_store::{AppendRequest, Clock, EventStore, StoreError};

pub use audit_log::{AuditCursor, AuditFilter};
pub use caller::{AuthorizedReader, Caller, Operator};
pub use error::GatewayError;
pub use project::actions::{ActionSubmission, SubmissionOutcome};
pub use project::kernels::KernelState;
pub use project::preview::{IssuedPreviewCookie, VerifiedPreviewCookie};
pub use project::sessions::{SessionAppend, SessionRole, session_principal};
pub use project::terminal::{TerminalAccess, TerminalAttachOptions, TerminalAttachment};
pub use provost_kernel::{TerminalReader, TerminalWriter};
pub use secret::Secret;
pub use team::login::BrowserCredentials;
pub use team::new_project::NewProjectFolder;
pub use team::projects::{OpenProjectOutcome, OperatorRequest};
pub use team::tokens::{RequestCredentials, TokenLease};

use project::approvals::PendingApprovals;
use project::decisions::RepeatCounter;
use project::decisions::implied_command::ProcessStdinRegistry;
use project::governance::GovernanceRegistry;
use project::governance::files::UserRules;
use project::kernels::KernelRegistry;
use project::preview::PreviewCodes;
use project::runtime::RuntimeViewCache;
use project::sessions::owners::SessionOwners;
use project::terminal::TerminalTickets;
use team::login::LoginCodes;
use team::tokens::TokenRegistry;

/// The person whose daemon this is.
#[derive(Debug, Clone)]
pub struct DaemonOwner {
    /// `local:<user>`.
    pub principal: Principal,
    /// BLAKE3 of the token in the data folder.
    pub digest: Hash,
}

/// What the gateway must know of the machine to refuse unfit folders.
#[derive(Debug, Clone, Default)]
pub struct GatewayConfig {
    /// The owner's home folder, which `~` stands for.
    pub home: Option<PathBuf>,
    /// Other folders that are someone's home, whatever `HOME` says.
    pub homes: Vec<PathBuf>,
    /// Where Provost keeps its own things.
    pub data: PathBuf,
    /// Our own program, which is also the kernels'.
    pub program: PathBuf,
    /// What commands and file actions leave out of the permissions of what they make.
    pub umask: u32,
    /// How long a kernel waits for a daemon while nothing runs in it.
    pub kernel_idle: Duration,
    /// The person's own rules.
    pub policy: PathBuf,
    /// The person's settings.
    pub config: PathBuf,
    /// Where programs are looked for, to tell people what would run.
    pub path: Vec<PathBuf>,
    /// How long a question waits for an answer.
    pub approval_ttl: Duration,
    /// What must not be stored or streamed. In memory only.
    pub secrets: Secrets,
}

/// The authority over one log.
#[derive(Debug)]
pub struct Gateway {
    store: Arc<dyn EventStore>,
    clock: Clock,
    owner: DaemonOwner,
    config: GatewayConfig,
    /// Every folder that is someone's home, by all its names.
    homes: Vec<String>,
    registry: TokenRegistry,
    logins: LoginCodes,
    doors: PreviewCodes,
    tickets: TerminalTickets,
    kernels: KernelRegistry,
    governance: GovernanceRegistry,
    approvals: PendingApprovals,
    rows: RepeatCounter,
    listeners: ProcessStdinRegistry,
    sessions: SessionOwners,
    runtimes: RuntimeViewCache,
    redactor: Redactor,
}

impl Gateway {
    /// Takes up the log: from now on this is the only one that writes it.
    pub async fn open(
        store: Arc<dyn EventStore>,
        clock: Clock,
        owner: DaemonOwner,
        config: GatewayConfig,
    ) -> Result<Self, GatewayError> {
        rebuild_damaged_views(&*store).await?;
        let homes = team::project_folder::collect_home_folders(&config);
        let redactor = Redactor::new(&config.secrets)?;
        let registry = TokenRegistry::load(&*store).await?;
        let user = UserRules::read(&config.policy, clock.now());
        let governance = GovernanceRegistry::load(&*store, user).await?;
        let approvals = PendingApprovals::load(&*store).await?;
        let sessions = SessionOwners::load(&*store).await?;
        Ok(Self {
            store,
            clock,
            owner,
            config,
            homes,
            registry,
            logins: LoginCodes::default(),
            doors: PreviewCodes::default(),
            tickets: TerminalTickets::default(),
            kernels: KernelRegistry::default(),
            governance,
            approvals,
            rows: RepeatCounter::default(),
            listeners: ProcessStdinRegistry::default(),
            sessions,
            runtimes: RuntimeViewCache::default(),
            redactor,
        })
    }

    /// The log, for reading.
    pub fn store(&self) -> &Arc<dyn EventStore> {
        &self.store
    }

    /// The clock of the log.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Records something the daemon did by itself.
    pub async fn record_daemon_event(&self, fact: Fact) -> Result<(), GatewayError> {
        let append = AppendRequest::single_event(
            self.owner.principal.clone(),
            Actor::Daemon,
            Stream::Sys,
            fact,
        );
        self.append_redacted(append).await?;
        Ok(())
    }
}

/// The views without which there is no daemon. All others are too large to be read at each
/// start; whoever reads what is damaged there is told how to mend it.
const REQUIRED_VIEWS: [Folded; 10] = [
    Folded::Projects,
    Folded::Tokens,
    Folded::Kernels,
    Folded::Modes,
    Folded::Approvals,
    Folded::Grants,
    Folded::Trusted,
    Folded::Runtimes,
    Folded::Sessions,
    Folded::Usage,
];

/// Folds the views again if one of these cannot be read: they are only a copy of what
/// the log says, so they must not keep the daemon from starting.
async fn rebuild_damaged_views(store: &dyn EventStore) -> Result<(), GatewayError> {
    for view in REQUIRED_VIEWS {
        if let Err(error) = store.list_documents(view).await {
            if !matches!(error, StoreError::UnreadableView { .. }) {
                return Err(error.into());
            }
            tracing::warn!(%error, "a view is damaged; all are folded again from the log");
            return Ok(store.rebuild_views().await?);
        }
    }
    Ok(())
}
