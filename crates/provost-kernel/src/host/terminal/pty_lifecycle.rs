//! Opening the terminal, and seeing its shell to its end.

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

/// How long the terminal may go on to be read when nothing of its shell is left.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// How soon to look again at a shell that seems to have ended and has not.
const EXIT_RECHECK_DELAY: Duration = Duration::from_millis(1);

/// Stack of the two threads of a terminal.
const STACK: usize = 512 * 1024;

/// The person's shell, and where it may be.
#[derive(Debug)]
pub(in super::super) struct UserShell {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl UserShell {
    pub(in super::super) fn new(options: &HostOptions) -> Self {
        let program = environment::find_user_shell(&options.environment);
        let theirs = options.environment.iter().cloned();
        let mut environment =
            environment::build_terminal_variables(theirs, &options.home, &program);
        // The person's own, and not that of commands, which goes with the kernel.
        if !environment.iter().any(|(name, _)| name == "TMPDIR") {
            environment.push(("TMPDIR".into(), "/tmp".into()));
        }
        Self { program, environment }
    }

    /// Starts it in a terminal of this size.
    fn spawn_in_pty(
        &self,
        places: &SandboxPaths<'_>,
        size: PtySize,
    ) -> Result<(SandboxChild, pty::PtyController), ActionError> {
        let no_pty = |error: io::Error| {
            ActionError::new(Code::Unavailable, format!("no terminal can be had: {error}"))
        };
        let policy = SandboxPolicy::new(SandboxProfile::Terminal, places);
        let wall = Sandbox::new(
            policy,
            &probe::probe_machine(),
            LayerSelection::Auto,
            ResourceLimits::default(),
        )
        .map_err(|error| action_error_from_sandbox(&error))?;
        let (controller, terminal) = pty::open_pty(size).map_err(no_pty)?;
        let mut command = SandboxCommand::new(&self.program, &[] as &[&str]);
        command.env.clone_from(&self.environment);
        command.leftovers = OrphanPolicy::Kill;
        command.parent = ParentExitPolicy::Terminate;
        terminal.attach_to_command(&mut command).map_err(no_pty)?;
        let child = wall.spawn(command).map_err(|error| action_error_from_sandbox(&error))?;
        Ok((child, controller))
    }
}

/// How a terminal shall begin.
#[derive(Debug)]
pub(super) struct PtyOpenOptions<'a> {
    pub(super) places: &'a SandboxPaths<'a>,
    pub(super) size: PtySize,
    /// The place of its first byte.
    pub(super) start: u64,
}

/// Opens a terminal and tells that it is there.
pub(super) async fn open_pty_session(
    shell: &UserShell,
    now: &Arc<RuntimeReporter>,
    action: ActionId,
    beginning: PtyOpenOptions<'_>,
) -> Result<Arc<PtySession>, ActionError> {
    let PtyOpenOptions { places, size, start } = beginning;
    let (child, controller) = shell.spawn_in_pty(places, size)?;
    let pid = controller.foreground_process_group().unwrap_or_else(|| child.pid());
    let command = shell.program.display().to_string();
    let (stop, orders) = mpsc::channel(1);
    let (shared, controller) = (Arc::new(SharedPtyState::new(start, size)), Arc::new(controller));
    let input = Arc::new(PtyInput::new(Arc::clone(&controller)));
    let failed = |error: io::Error| {
        ActionError::new(Code::Internal, format!("the terminal cannot be followed: {error}"))
    };
    let (stopped, stop_reading) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let reading = Arc::clone(&shared);
    thread::Builder::new()
        .name("terminal-reader".to_owned())
        .stack_size(STACK)
        .spawn(move || pty_reader::run_pty_reader(&controller, &stopped, &reading))
        .map_err(failed)?;
    let (drawn, answers) = (Arc::clone(&shared), Arc::clone(&input));
    thread::Builder::new()
        .name("terminal-screen".to_owned())
        .stack_size(STACK)
        .spawn(move || screen_renderer::run_screen_renderer(&drawn, &answers))
        .map_err(failed)?;
    let live = Arc::new(PtySession {
        action,
        pid,
        line: shared,
        input,
        clients: ClientWindows::new(),
        stop,
    });
    let opened = TerminalOpened {
        pid,
        command,
        profile: "terminal".to_owned(),
        cols: size.cols,
        rows: size.rows,
    };
    report_change(now, action, RuntimeChange::TerminalOpened(opened)).await;
    drop(tokio::spawn(supervise_shell(
        Arc::clone(&live),
        child,
        orders,
        stop_reading,
        Arc::clone(now),
    )));
    Ok(live)
}

/// Owns the shell until nothing of it is left.
async fn supervise_shell(
    live: Arc<PtySession>,
    child: SandboxChild,
    orders: mpsc::Receiver<StopCause>,
    stop_reading: OwnedFd,
    now: Arc<RuntimeReporter>,
) {
    let mut helpers = JoinSet::new();
    helpers.spawn(Arc::clone(&live).run_resize_loop(Arc::clone(&now)));
    let input = Arc::clone(&live.input);
    helpers.spawn(async move {
        if let Err(error) = input.run_flush_loop().await {
            tracing::debug!(%error, "nobody reads the terminal's input any more");
        }
    });
    let (cause, exit) = match wait_for_shell_exit(child, orders).await {
        Ok(ended) => ended,
        Err(error) => {
            tracing::error!(%error, "the end of the terminal's shell is not known");
            (StopCause::Exit, None)
        }
    };
    helpers.shutdown().await;
    live.input.close();
    // Something outside the run may hold the terminal open; it must not keep us.
    let mut news = live.line.subscribe_changes();
    let drained = async { while !live.line.lock_state().silent && news.changed().await.is_ok() {} };
    drop(timeout(DRAIN_TIMEOUT, drained).await);
    drop(stop_reading);
    report_change(&now, live.action, terminal_closed_change(cause, exit)).await;
    live.line.update_state(|state| state.ended = Some(PtyExit(exit)));
}

/// Waits for the end of the shell, or ends it if that is ordered.
async fn wait_for_shell_exit(
    mut child: SandboxChild,
    mut orders: mpsc::Receiver<StopCause>,
) -> Result<(StopCause, Option<SandboxExit>), SandboxError> {
    let watched = |source| SandboxError::Io { doing: "watch the terminal's shell", source };
    // The handle of a process becomes readable like a pipe does, and is polled
    // the same way; nothing is ever read from it.
    let handle = child.as_fd().try_clone_to_owned().map_err(watched)?;
    let gone = pipe::Receiver::from_owned_fd_unchecked(handle).map_err(watched)?;
    loop {
        tokio::select! {
            biased;
            ready = gone.readable() => {
                ready.map_err(watched)?;
                if let Some(exit) = child.try_wait()? {
                    return Ok((StopCause::Exit, Some(exit)));
                }
                tokio::time::sleep(EXIT_RECHECK_DELAY).await;
            }
            Some(cause) = orders.recv() => {
                let exit = tokio::task::spawn_blocking(move || hang_up_shell(&mut child)).await;
                return Ok((cause, exit.map_err(|error| watched(io::Error::other(error)))??));
            }
        }
    }
}

/// A shell with a person at it ignores SIGTERM, and ends when its terminal is gone.
fn hang_up_shell(child: &mut SandboxChild) -> Result<Option<SandboxExit>, SandboxError> {
    child.signal(rustix::process::Signal::HUP)?;
    child.signal(rustix::process::Signal::CONT)?;
    child.stop(GRACE).map(Some)
}
