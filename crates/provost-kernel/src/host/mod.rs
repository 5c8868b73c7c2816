//! The kernel: the process per project.
//!
//! It has no database, no policy and no network listener. It accepts requests from
//! peers on its socket that run as the same user and know its secret, which is its
//! daemon. It ends when no daemon is connected for a while and nothing runs.

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

use provost_proto::kernel::{ActionOutcome, HelloResponse};
use provost_proto::runtime::StopCause;
use provost_proto::{ActionId, Code, UnixMicros};
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

/// How a kernel is started.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The directory with the socket and the secret, see [`KernelDir`].
    pub kernel_dir: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// Provost's data folder, which no command may access.
    pub data: PathBuf,
    /// The environment of the kernel; commands get the allowed part of it.
    pub environment: Vec<(OsString, OsString)>,
    /// How long to wait for a daemon while nothing runs.
    pub idle: Duration,
    /// The version to report in the handshake.
    pub version: String,
    /// The current time.
    pub clock: fn() -> UnixMicros,
}

/// Why a kernel could not start.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The project's folder cannot be opened.
    #[error("cannot open the project's folder: {0}")]
    Project(#[from] RootDirError),
    /// The socket or the secret cannot be used.
    #[error("cannot use the kernel directory {path}: {source}")]
    KernelDir {
        /// The kernel directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The state that all parts of a kernel share.
#[derive(Debug)]
struct KernelHost {
    boot: Uuid,
    version: String,
    secret: String,
    root: RootDir,
    /// Device and inode of the open project folder.
    project_identity: (u64, u64),
    project: PathBuf,
    spool: Arc<ReportSpool>,
    shared_redactor: Arc<SharedRedactor>,
    commands: Arc<CommandRunner>,
    runtime: ProjectRuntime,
    terminal: ProjectTerminal,
    /// Notified when the kernel shall end.
    end: Notify,
}

impl KernelHost {
    /// Fails if the project's path no longer leads to the folder that is open.
    fn check_project_dir(&self) -> Result<(), ActionError> {
        if rustix::fs::stat(&self.project)
            .is_ok_and(|stat| file_identity(&stat) == self.project_identity)
        {
            return Ok(());
        }
        let message =
            "the project's folder is gone or was moved; close the project and open it again";
        Err(ActionError::new(Code::NotFound, message))
    }

    fn welcome(&self) -> HelloResponse {
        HelloResponse {
            protocol: provost_proto::kernel::PROTOCOL_VERSION,
            boot: self.boot,
            pid: std::process::id(),
            version: self.version.clone(),
            running: self.running_actions(),
        }
    }

    fn running_actions(&self) -> Vec<ActionId> {
        [self.commands.processes.running_actions(), self.runtime.running_actions()].concat()
    }

    /// Waits until one of these actions has an outcome, or none of them is running.
    async fn wait_for_outcomes(&self, ids: &[ActionId]) -> Vec<(ActionId, ActionOutcome)> {
        let mut ended = self.commands.processes.subscribe_ended();
        loop {
            ended.mark_unchanged();
            // Asked first: what ends meanwhile has an outcome then.
            let running = self.running_actions();
            let outcomes = self.commands.processes.find_outcomes(ids);
            let is_running = ids.iter().any(|id| running.contains(id));
            if !outcomes.is_empty() || !is_running || ended.changed().await.is_err() {
                return outcomes;
            }
        }
    }

    /// Whether something runs that keeps the kernel alive.
    fn is_busy(&self) -> bool {
        self.terminal.is_live()
            || self.runtime.is_busy()
            || !self.commands.processes.running_actions().is_empty()
    }

    /// Stops everything; when it returns, no process of the project is left.
    async fn stop_all(&self) {
        tokio::join!(
            self.terminal.stop(StopCause::Shutdown),
            self.runtime.shut_down(),
            self.commands.processes.stop_all()
        );
    }
}

fn file_identity(stat: &rustix::fs::Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Runs the kernel until it is shut down or idle for too long.
pub async fn run(options: HostOptions) -> Result<(), HostError> {
    // Commands must not read our memory, which holds the secret.
    if let Err(error) = launch::protect_own_memory() {
        tracing::warn!(%error, "the kernel's memory is not protected");
    }
    let dir = KernelDir::new(&options.kernel_dir);
    let dir_error = |source| HostError::KernelDir { path: options.kernel_dir.clone(), source };
    let root = RootDir::open(&options.project)?;
    let stat = rustix::fs::fstat(&root).map_err(|error| dir_error(error.into()))?;
    let listener = dir.bind_listener().map_err(dir_error)?;
    let spool = Arc::new(ReportSpool::new(options.kernel_dir.clone()));
    let shared_redactor = Arc::new(SharedRedactor::default());
    let commands = Arc::new(CommandRunner::new(
        &options,
        root.clone_handle(),
        Arc::clone(&spool),
        Arc::clone(&shared_redactor),
    ));
    let reporter =
        Arc::new(RuntimeReporter::new(Arc::clone(&spool), &options.kernel_dir, options.clock));
    let terminal = ProjectTerminal::new(UserShell::new(&options), Arc::clone(&reporter));
    let own_program = std::env::current_exe().map_err(dir_error)?;
    let runtime = ProjectRuntime::start(
        Arc::clone(&commands),
        Arc::clone(&shared_redactor),
        reporter,
        own_program,
        &options.kernel_dir,
    );
    let host = Arc::new(KernelHost {
        boot: Uuid::new_v4(),
        version: options.version.clone(),
        secret: dir.read_secret().map_err(dir_error)?,
        root,
        project_identity: file_identity(&stat),
        project: options.project.clone(),
        commands,
        runtime,
        terminal,
        shared_redactor,
        spool,
        end: Notify::new(),
    });
    tracing::info!(boot = %host.boot, project = %options.project.display(), "the kernel is up");
    let connections = connection::accept_connections(&host, &listener, options.idle).await;
    host.stop_all().await;
    tracing::info!("the kernel is down");
    dir.remove_all();
    drop(connections);
    Ok(())
}
