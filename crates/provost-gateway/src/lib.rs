//! The authority: who may do what, and the one road to the log.
//!
//! Doors (HTTP, the command line, editors) translate what they hear into calls
//! to [`Gateway`]; it checks, records and answers. What only a person may do
//! takes an [`Operator`], which nothing but a check of the caller can make.

mod actions;
mod approvals;
mod audit;
mod caller;
mod converse;
mod error;
mod execute;
mod governance;
mod kernels;
mod later;
mod layout;
mod links;
mod login;
mod look;
mod meaning;
mod paths;
mod policy;
mod preview;
mod processes;
mod projects;
mod question;
mod redact;
mod runtime;
mod secret;
mod sessions;
mod terminal;
mod tokens;
mod trust;
mod weigh;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use provost_core::fold::ViewKind as Folded;
use provost_core::redact::{Redactor, Secrets};
use provost_proto::{Actor, Fact, Hash, Principal, Stream};
use provost_store::{AppendRequest, Clock, EventStore, StoreError};

pub use actions::{Done, Submit};
pub use audit::{Cursor, Filter};
pub use caller::{Caller, Operator, Reader};
pub use converse::{Part, Saying, principal_of};
pub use error::GatewayError;
pub use kernels::KernelState;
pub use layout::NewFolder;
pub use login::Browser;
pub use preview::{Shown, Sight};
pub use projects::{Opened, Request};
pub use provost_kernel::{TerminalReader, TerminalWriter};
pub use secret::Secret;
pub use terminal::{Seat, Terminal, View};
pub use tokens::{Bearer, Pass};

use approvals::Approvals;
use governance::Governance;
use governance::files::UserRules;
use kernels::Kernels;
use login::Logins;
use meaning::Listeners;
use preview::Doors;
use runtime::Runtimes;
use sessions::Sessions;
use terminal::Tickets;
use tokens::Keyring;
use weigh::Rows;

/// The person whose daemon this is.
#[derive(Debug, Clone)]
pub struct Owner {
    /// `local:<user>`.
    pub principal: Principal,
    /// BLAKE3 of the token in the data folder.
    pub digest: Hash,
}

/// What the gateway must know of the machine to refuse unfit folders.
#[derive(Debug, Clone, Default)]
pub struct Places {
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
    owner: Owner,
    places: Places,
    /// Every folder that is someone's home, by all its names.
    homes: Vec<String>,
    keyring: Keyring,
    logins: Logins,
    doors: Doors,
    tickets: Tickets,
    kernels: Kernels,
    governance: Governance,
    approvals: Approvals,
    rows: Rows,
    listeners: Listeners,
    sessions: Sessions,
    runtimes: Runtimes,
    redactor: Redactor,
}

impl Gateway {
    /// Takes up the log: from now on this is the only one that writes it.
    pub async fn open(
        store: Arc<dyn EventStore>,
        clock: Clock,
        owner: Owner,
        places: Places,
    ) -> Result<Self, GatewayError> {
        mend(&*store).await?;
        let homes = paths::homes(&places);
        let redactor = Redactor::new(&places.secrets)?;
        let keyring = Keyring::load(&*store).await?;
        let user = UserRules::read(&places.policy, clock.now());
        let governance = Governance::load(&*store, user).await?;
        let approvals = Approvals::load(&*store).await?;
        let sessions = Sessions::load(&*store).await?;
        Ok(Self {
            store,
            clock,
            owner,
            places,
            homes,
            keyring,
            logins: Logins::default(),
            doors: Doors::default(),
            tickets: Tickets::default(),
            kernels: Kernels::default(),
            governance,
            approvals,
            rows: Rows::default(),
            listeners: Listeners::default(),
            sessions,
            runtimes: Runtimes::default(),
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
    pub async fn record(&self, fact: Fact) -> Result<(), GatewayError> {
        let append = AppendRequest::single_event(
            self.owner.principal.clone(),
            Actor::Daemon,
            Stream::Sys,
            fact,
        );
        self.append(append).await?;
        Ok(())
    }
}

/// The views without which there is no daemon. All others are too large to be read at each
/// start; whoever reads what is damaged there is told how to mend it.
const LOADED: [Folded; 10] = [
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
async fn mend(store: &dyn EventStore) -> Result<(), GatewayError> {
    for view in LOADED {
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
