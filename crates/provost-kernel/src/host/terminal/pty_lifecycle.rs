//! Opens the PTY, starts the shell, and supervises it until it ends.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use provost_proto::runtime::{RuntimeChange, StopCause, TerminalOpened};
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::{
    LayerSelection, OrphanPolicy, ParentExitPolicy, ResourceLimits, Sandbox, SandboxChild,
    SandboxCommand, SandboxError, SandboxExit,
};
use provost_sandbox::pty::{self, PtySize};
use provost_sandbox::sandbox_policy::{SandboxPaths, SandboxPolicy, SandboxProfile};
use provost_sandbox::{environment, probe};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::client_windows::ClientWindows;
use super::pty_input::PtyInput;
use super::shared_pty_state::{PtyExit, SharedPtyState};
use super::{PtySession, pty_reader, report_change, screen_renderer, terminal_closed_change};
use crate::ActionError;
use crate::host::HostOptions;
use crate::host::process::action_error_from_sandbox;
use crate::host::process::process_handle::GRACE;
use crate::host::runtime::runtime_reporter::RuntimeReporter;

/// How long the PTY is still read after all processes of the shell have ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Delay before a shell that seems to have ended is checked again.
const EXIT_RECHECK_DELAY: Duration = Duration::from_millis(1);

/// Stack size of the reader and the renderer thread, in bytes.
const STACK_BYTES: usize = 512 * 1024;

/// The user's shell and its environment.
#[derive(Debug)]
pub(in super::super) struct UserShell {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl UserShell {
    pub(in super::super) fn new(options: &HostOptions) -> Self {
        let program = environment::find_user_shell(&options.environment);
        let variables = options.environment.iter().cloned();
        let mut environment =
            environment::build_terminal_variables(variables, &options.home, &program);
        // The user's own, not that of commands, which is removed with the kernel.
        if !environment.iter().any(|(name, _)| name == "TMPDIR") {
            environment.push(("TMPDIR".into(), "/tmp".into()));
        }
        Self { program, environment }
    }

    /// Starts the shell on a PTY of this size.
    fn spawn_in_pty(
        &self,
        paths: &SandboxPaths<'_>,
        size: PtySize,
    ) -> Result<(SandboxChild, pty::PtyController), ActionError> {
        let no_pty = |error: io::Error| {
            ActionError::new(Code::Unavailable, format!("cannot open a PTY: {error}"))
        };
        let policy = SandboxPolicy::new(SandboxProfile::Terminal, paths);
        let sandbox = Sandbox::new(
            policy,
            &probe::probe_machine(),
            LayerSelection::Auto,
            ResourceLimits::default(),
        )
        .map_err(|error| action_error_from_sandbox(&error))?;
        let (controller, terminal) = pty::open_pty(size).map_err(no_pty)?;
        let mut command = SandboxCommand::new(&self.program, &[] as &[&str]);
        command.env.clone_from(&self.environment);
        command.orphans = OrphanPolicy::Kill;
        command.parent = ParentExitPolicy::Terminate;
        terminal.attach_to_command(&mut command).map_err(no_pty)?;
        let child = sandbox.spawn(command).map_err(|error| action_error_from_sandbox(&error))?;
        Ok((child, controller))
    }
}

/// How to open a session.
#[derive(Debug)]
pub(super) struct PtyOpenOptions<'a> {
    pub(super) paths: &'a SandboxPaths<'a>,
    pub(super) size: PtySize,
    /// The offset of its first byte.
    pub(super) start: u64,
}

/// Opens a session and reports it.
pub(super) async fn open_pty_session(
    shell: &UserShell,
    reporter: &Arc<RuntimeReporter>,
    action: ActionId,
    options: PtyOpenOptions<'_>,
) -> Result<Arc<PtySession>, ActionError> {
    let PtyOpenOptions { paths, size, start } = options;
    let (child, controller) = shell.spawn_in_pty(paths, size)?;
    let pid = controller.foreground_process_group().unwrap_or_else(|| child.pid());
    let command = shell.program.display().to_string();
    let (stop, stop_requests) = mpsc::channel(1);
    let (shared, controller) = (Arc::new(SharedPtyState::new(start, size)), Arc::new(controller));
    let input = Arc::new(PtyInput::new(Arc::clone(&controller)));
    let failed = |error: io::Error| {
        ActionError::new(Code::Internal, format!("cannot start the terminal's threads: {error}"))
    };
    let (stopped, stop_reading) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let reader_state = Arc::clone(&shared);
    thread::Builder::new()
        .name("terminal-reader".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || pty_reader::run_pty_reader(&controller, &stopped, &reader_state))
        .map_err(failed)?;
    let (renderer_state, renderer_input) = (Arc::clone(&shared), Arc::clone(&input));
    thread::Builder::new()
        .name("terminal-screen".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || screen_renderer::run_screen_renderer(&renderer_state, &renderer_input))
        .map_err(failed)?;
    let session =
        Arc::new(PtySession { action, pid, shared, input, clients: ClientWindows::new(), stop });
    let opened = TerminalOpened {
        pid,
        command,
        profile: "terminal".to_owned(),
        cols: size.cols,
        rows: size.rows,
    };
    report_change(reporter, action, RuntimeChange::TerminalOpened(opened)).await;
    drop(tokio::spawn(supervise_shell(
        Arc::clone(&session),
        child,
        stop_requests,
        stop_reading,
        Arc::clone(reporter),
    )));
    Ok(session)
}

/// Owns the shell until all of its processes have ended.
async fn supervise_shell(
    session: Arc<PtySession>,
    child: SandboxChild,
    stop_requests: mpsc::Receiver<StopCause>,
    stop_reading: OwnedFd,
    reporter: Arc<RuntimeReporter>,
) {
    let mut helpers = JoinSet::new();
    helpers.spawn(Arc::clone(&session).run_resize_loop(Arc::clone(&reporter)));
    let input = Arc::clone(&session.input);
    helpers.spawn(async move {
        if let Err(error) = input.run_flush_loop().await {
            tracing::debug!(%error, "cannot write to the PTY any more");
        }
    });
    let (cause, exit) = match wait_for_shell_exit(child, stop_requests).await {
        Ok(ended) => ended,
        Err(error) => {
            tracing::error!(%error, "cannot wait for the terminal's shell");
            (StopCause::Exit, None)
        }
    };
    helpers.shutdown().await;
    session.input.close();
    // A process outside the run may hold the PTY open; it must not block us.
    let mut changes = session.shared.subscribe_changes();
    let drained =
        async { while !session.shared.lock_state().eof && changes.changed().await.is_ok() {} };
    drop(timeout(DRAIN_TIMEOUT, drained).await);
    drop(stop_reading);
    report_change(&reporter, session.action, terminal_closed_change(cause, exit)).await;
    session.shared.update_state(|state| state.ended = Some(PtyExit(exit)));
}

/// Waits for the exit of the shell, or stops it on request.
async fn wait_for_shell_exit(
    mut child: SandboxChild,
    mut stop_requests: mpsc::Receiver<StopCause>,
) -> Result<(StopCause, Option<SandboxExit>), SandboxError> {
    let wait_error = |source| SandboxError::Io { doing: "wait for the terminal's shell", source };
    // A pidfd becomes readable when the process exits, and is polled like a pipe;
    // nothing is ever read from it.
    let handle = child.as_fd().try_clone_to_owned().map_err(wait_error)?;
    let exited = pipe::Receiver::from_owned_fd_unchecked(handle).map_err(wait_error)?;
    loop {
        tokio::select! {
            biased;
            ready = exited.readable() => {
                ready.map_err(wait_error)?;
                if let Some(exit) = child.try_wait()? {
                    return Ok((StopCause::Exit, Some(exit)));
                }
                tokio::time::sleep(EXIT_RECHECK_DELAY).await;
            }
            Some(cause) = stop_requests.recv() => {
                let exit = tokio::task::spawn_blocking(move || hang_up_shell(&mut child)).await;
                return Ok((cause, exit.map_err(|error| wait_error(io::Error::other(error)))??));
            }
        }
    }
}

/// An interactive shell ignores SIGTERM, and ends on SIGHUP.
fn hang_up_shell(child: &mut SandboxChild) -> Result<Option<SandboxExit>, SandboxError> {
    child.signal(rustix::process::Signal::HUP)?;
    child.signal(rustix::process::Signal::CONT)?;
    child.stop(GRACE).map(Some)
}
