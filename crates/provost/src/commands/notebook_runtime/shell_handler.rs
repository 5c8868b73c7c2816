//! Shell cells of a runtime outside of the daemon: each is a script of its own in the sandbox.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use provost_proto::notebook::StreamName;
use provost_runtimes::{ExecutionContext, ExecutionEnd, ExecutionHandler, TextDecoder};
use provost_sandbox::confine::{
    LayerSelection, ResourceLimits, Sandbox, SandboxChild, SandboxCommand, SandboxError,
    SandboxExit, SandboxStdio,
};
use provost_sandbox::environment;
use provost_sandbox::probe::{self, MachineFeatures};
use provost_sandbox::sandbox_policy::{
    NetworkAccess, SandboxPaths, SandboxPolicy, SandboxProfile, find_private_files, find_toolchains,
};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::config::Config;

/// How long a cell may take to end after SIGTERM.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// How often to look whether a cell was aborted.
const ABORT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How much is read at once.
const READ_BYTES: usize = 32 * 1024;

/// How many pieces of output wait.
const MAX_WAITING_PIECES: usize = 16;

/// Starts a command with all layers; where the machine refuses one, with those that it has.
/// Probing first would create and remove every namespace twice.
fn start_command(
    policy: &SandboxPolicy,
    build_command: impl Fn() -> SandboxCommand,
) -> Result<SandboxChild, SandboxError> {
    let start = |machine: &MachineFeatures| {
        let (layers, limits) = (LayerSelection::Auto, ResourceLimits::default());
        Sandbox::new(policy.clone(), machine, layers, limits)?.spawn(build_command())
    };
    if policy.is_confined() && policy.network == NetworkAccess::None {
        match start(&MachineFeatures::assume_available()) {
            // Nothing was run.
            Err(SandboxError::Unavailable { .. }) => {}
            started => return started,
        }
    }
    start(&probe::probe_machine())
}

/// Runs shell cells.
pub(super) struct SandboxShellHandler {
    policy: Arc<SandboxPolicy>,
    shell: PathBuf,
    /// The folders of the policy, as long as cells run.
    _folders: [TempDir; 2],
}

impl SandboxShellHandler {
    pub(super) fn new(
        profile: SandboxProfile,
        folder: &Path,
        config: &Config,
    ) -> anyhow::Result<Self> {
        let home = config.home.clone().unwrap_or_else(|| "/".into());
        let new_folder = || tempfile::Builder::new().prefix("provost-").tempdir();
        let (scratch, run_homes) = (new_folder()?, new_folder()?);
        let variables: Vec<_> = std::env::vars_os().collect();
        let toolchains = find_toolchains(&variables, &home);
        let paths = SandboxPaths {
            project: folder,
            home: &home,
            data: &config.data.value,
            scratch: scratch.path(),
            run_homes: run_homes.path(),
            readable: &toolchains,
            private: &find_private_files(&variables),
        };
        let policy = Arc::new(SandboxPolicy::new(profile, &paths));
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        Ok(Self { policy, shell: shell.into(), _folders: [scratch, run_homes] })
    }

    /// Starts the script of a cell; `None` if there is no thread for that.
    async fn start_script(
        &self,
        context: &ExecutionContext,
    ) -> Option<Result<SandboxChild, SandboxError>> {
        let (policy, shell) = (Arc::clone(&self.policy), self.shell.clone());
        let (script, mut variables) = (context.source().to_owned(), Vec::new());
        for (name, value) in context.parameters() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            variables.push((name.into(), value.into()));
        }
        let started = spawn_blocking(move || {
            start_command(&policy, || {
                let mut command = SandboxCommand::new(&shell, &["-c", &script]);
                command.env = environment::filter_allowed(std::env::vars_os());
                command.env.extend(variables.iter().cloned());
                command.stdio = [SandboxStdio::Null, SandboxStdio::Pipe, SandboxStdio::Pipe];
                command
            })
        });
        started.await.ok()
    }

    async fn run_script(&self, context: ExecutionContext) -> Result<ExecutionEnd, SandboxError> {
        let Some(started) = self.start_script(&context).await else {
            return Ok(ExecutionEnd::error("no thread is left"));
        };
        let mut child = started?;
        let (pieces, mut printed) = mpsc::channel(MAX_WAITING_PIECES);
        for (name, pipe) in
            [(StreamName::Stdout, child.stdout.take()), (StreamName::Stderr, child.stderr.take())]
        {
            if let Some(pipe) = pipe {
                let pieces = pieces.clone();
                spawn_blocking(move || read_pipe(name, pipe, &pieces));
            }
        }
        drop(pieces);
        let is_aborted = Arc::new(AtomicBool::new(false));
        let ended = spawn_blocking({
            let is_aborted = Arc::clone(&is_aborted);
            move || wait_for_child(&mut child, &is_aborted)
        });
        // Also when this future is dropped: the script ends with it.
        let abort_on_drop = AbortFlagGuard(Arc::clone(&is_aborted));
        let (mut stdout, mut stderr) = (TextDecoder::default(), TextDecoder::default());
        loop {
            let piece = tokio::select! {
                piece = printed.recv() => piece,
                () = context.aborted(), if !is_aborted.load(Ordering::Relaxed) => {
                    is_aborted.store(true, Ordering::Relaxed);
                    continue;
                }
            };
            let Some((name, bytes)) = piece else { break };
            let decoder = if name == StreamName::Stdout { &mut stdout } else { &mut stderr };
            context.print(name, decoder.decode(&bytes)).await;
        }
        context.print(StreamName::Stdout, stdout.finish()).await;
        context.print(StreamName::Stderr, stderr.finish()).await;
        let Ok(ended) = ended.await else { return Ok(ExecutionEnd::error("no thread is left")) };
        drop(abort_on_drop);
        Ok(match ended? {
            SandboxExit::Code(0) => ExecutionEnd::OK,
            _ if context.is_aborted() => ExecutionEnd::CANCELLED,
            SandboxExit::Code(code) => ExecutionEnd::error(format!("exit code {code}")),
            SandboxExit::Signal(signal) => {
                ExecutionEnd::error(format!("killed by signal {signal}"))
            }
        })
    }
}

impl ExecutionHandler for SandboxShellHandler {
    fn execute(&self, context: ExecutionContext) -> BoxFuture<'_, ExecutionEnd> {
        Box::pin(async move {
            self.run_script(context)
                .await
                .unwrap_or_else(|error| ExecutionEnd::error(format!("cannot run it: {error}")))
        })
    }
}

/// Aborts a script when the future that waits for it is dropped.
struct AbortFlagGuard(Arc<AtomicBool>);

impl Drop for AbortFlagGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn wait_for_child(
    child: &mut SandboxChild,
    is_aborted: &AtomicBool,
) -> Result<SandboxExit, SandboxError> {
    loop {
        if is_aborted.load(Ordering::Relaxed) {
            return child.stop(STOP_GRACE);
        }
        if let Some(exit) = child.wait_for(ABORT_POLL_INTERVAL)? {
            return Ok(exit);
        }
    }
}

/// Reads until the end of the pipe, or nobody wants the output.
fn read_pipe(name: StreamName, pipe: OwnedFd, pieces: &mpsc::Sender<(StreamName, Vec<u8>)>) {
    let mut file = File::from(pipe);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                if pieces.blocking_send((name, buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "the output of a cell cannot be read");
                return;
            }
        }
    }
}
