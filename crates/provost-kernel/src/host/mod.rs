//! The process per project.
//!
//! It has no database, no policy and no network listener. It obeys whoever
//! comes through its socket as the same user and knows its secret, which is its
//! daemon. When its daemon is gone for good and nothing runs here, it ends.

mod preview;
mod process;
mod redaction;
mod rpc;
mod runtime;
mod terminal;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use provost_proto::kernel::HelloResponse;
use provost_proto::runtime::StopCause;
use provost_proto::{Code, UnixMicros};
use provost_sandbox::launch;
use provost_sandbox::root_dir::{RootDir, RootDirError};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::ActionError;
use crate::kernel_dir::KernelDir;
use process::command_runner::CommandRunner;
use redaction::SharedRedactor;
use rpc::connection;
use rpc::report_spool::ReportSpool;
use runtime::ProjectRuntime;
use runtime::runtime_reporter::RuntimeReporter;
use terminal::{ProjectTerminal, UserShell};

/// What a kernel is told when it is started.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Where it meets its daemon.
    pub place: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// The person's home.
    pub home: PathBuf,
    /// Where Provost keeps its own things, which no command may reach.
    pub data: PathBuf,
    /// The environment it was started in; commands get what is allowed of it.
    pub environment: Vec<(OsString, OsString)>,
    /// How long it waits for a daemon while nothing runs.
    pub idle: Duration,
    /// The version to report.
    pub version: String,
    /// The time.
    pub clock: fn() -> UnixMicros,
}

/// Why a kernel could not start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The project's folder cannot be held.
    #[error("cannot hold the project's folder: {0}")]
    Project(#[from] RootDirError),
    /// The socket or the secret cannot be used.
    #[error("cannot meet the daemon in {place}: {source}")]
    KernelDir {
        /// Where.
        place: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What all of a kernel shares.
#[derive(Debug)]
struct KernelHost {
    boot: Uuid,
    version: String,
    secret: String,
    root: RootDir,
    /// What tells the folder that is held from any other.
    held: (u64, u64),
    project: PathBuf,
    spool: Arc<ReportSpool>,
    redacting: Arc<SharedRedactor>,
    commands: Arc<CommandRunner>,
    runtime: ProjectRuntime,
    terminal: ProjectTerminal,
    /// Told when the kernel is to end.
    end: Notify,
}

impl KernelHost {
    /// Fails if another folder, or none, is where the project was.
    fn check_project_dir(&self) -> Result<(), ActionError> {
        if rustix::fs::stat(&self.project).is_ok_and(|there| file_identity(&there) == self.held) {
            return Ok(());
        }
        let why = "the project's folder is gone or was moved; close the project and open it again";
        Err(ActionError::new(Code::NotFound, why))
    }

    fn welcome(&self) -> HelloResponse {
        HelloResponse {
            protocol: provost_proto::kernel::PROTOCOL_VERSION,
            boot: self.boot,
            pid: std::process::id(),
            version: self.version.clone(),
            running: [self.commands.book.running_actions(), self.runtime.running_actions()]
                .concat(),
        }
    }

    /// Whether something runs here that must be let run.
    fn is_busy(&self) -> bool {
        self.terminal.is_live()
            || self.runtime.is_busy()
            || !self.commands.book.running_actions().is_empty()
    }

    /// Ends all that runs here; when it returns, nothing of it is left.
    async fn stop_all(&self) {
        tokio::join!(
            self.terminal.stop(StopCause::Shutdown),
            self.runtime.shut_down(),
            self.commands.book.stop_all()
        );
    }
}

fn file_identity(stat: &rustix::fs::Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Runs the kernel until it is told to end, or nobody needs it any more.
pub async fn run(options: HostOptions) -> Result<(), HostError> {
    // Whatever runs here must not read our memory, where the secret is.
    if let Err(error) = launch::protect_own_memory() {
        tracing::warn!(%error, "the kernel's memory is not protected");
    }
    let place = KernelDir::new(&options.place);
    let at = |source| HostError::KernelDir { place: options.place.clone(), source };
    let root = RootDir::open(&options.project)?;
    let held = rustix::fs::fstat(&root).map_err(|error| at(error.into()))?;
    let listener = place.bind_listener().map_err(at)?;
    let spool = Arc::new(ReportSpool::new(options.place.clone()));
    let redacting = Arc::new(SharedRedactor::default());
    let (kept, secrets) = (Arc::clone(&spool), Arc::clone(&redacting));
    let commands = CommandRunner::new(&options, root.clone_handle(), kept, secrets);
    let commands = Arc::new(commands);
    let now = Arc::new(RuntimeReporter::new(Arc::clone(&spool), &options.place, options.clock));
    let terminal = ProjectTerminal::new(UserShell::new(&options), Arc::clone(&now));
    let own = std::env::current_exe().map_err(at)?;
    let runtime = ProjectRuntime::start(
        Arc::clone(&commands),
        Arc::clone(&redacting),
        now,
        (own, &options.place),
    );
    let host = Arc::new(KernelHost {
        boot: Uuid::new_v4(),
        version: options.version.clone(),
        secret: place.read_secret().map_err(at)?,
        root,
        held: file_identity(&held),
        project: options.project.clone(),
        commands,
        runtime,
        terminal,
        redacting,
        spool,
        end: Notify::new(),
    });
    tracing::info!(boot = %host.boot, project = %options.project.display(), "the kernel is up");
    let connections = connection::accept_connections(&host, &listener, options.idle).await;
    host.stop_all().await;
    tracing::info!("the kernel is down");
    place.remove_all();
    drop(connections);
    Ok(())
}
