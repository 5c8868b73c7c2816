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

use super::clients::Clients;
use super::input::Input;
use super::line::{Ended, Line};
use super::{Live, drawing, end, reader, report};
use crate::ActionError;
use crate::host::HostOptions;
use crate::host::commands::refused;
use crate::host::process::GRACE;
use crate::host::runtime::now::Now;

/// How long the terminal may go on to be read when nothing of its shell is left.
const DRAIN: Duration = Duration::from_secs(5);

/// How soon to look again at a shell that seems to have ended and has not.
const AGAIN: Duration = Duration::from_millis(1);

/// Stack of the two threads of a terminal.
const STACK: usize = 512 * 1024;

/// The person's shell, and where it may be.
#[derive(Debug)]
pub(in super::super) struct Shell {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Shell {
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
    fn start(
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
        .map_err(|error| refused(&error))?;
        let (controller, terminal) = pty::open_pty(size).map_err(no_pty)?;
        let mut command = SandboxCommand::new(&self.program, &[] as &[&str]);
        command.env.clone_from(&self.environment);
        command.leftovers = OrphanPolicy::Kill;
        command.parent = ParentExitPolicy::Terminate;
        terminal.attach_to_command(&mut command).map_err(no_pty)?;
        let child = wall.spawn(command).map_err(|error| refused(&error))?;
        Ok((child, controller))
    }
}

/// How a terminal shall begin.
#[derive(Debug)]
pub(super) struct Beginning<'a> {
    pub(super) places: &'a SandboxPaths<'a>,
    pub(super) size: PtySize,
    /// The place of its first byte.
    pub(super) start: u64,
}

/// Opens a terminal and tells that it is there.
pub(super) async fn open(
    shell: &Shell,
    now: &Arc<Now>,
    action: ActionId,
    beginning: Beginning<'_>,
) -> Result<Arc<Live>, ActionError> {
    let Beginning { places, size, start } = beginning;
    let (child, controller) = shell.start(places, size)?;
    let pid = controller.foreground_process_group().unwrap_or_else(|| child.pid());
    let command = shell.program.display().to_string();
    let (stop, orders) = mpsc::channel(1);
    let (shared, controller) = (Arc::new(Line::new(start, size)), Arc::new(controller));
    let input = Arc::new(Input::new(Arc::clone(&controller)));
    let failed = |error: io::Error| {
        ActionError::new(Code::Internal, format!("the terminal cannot be followed: {error}"))
    };
    let (stopped, stop_reading) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let reading = Arc::clone(&shared);
    thread::Builder::new()
        .name("terminal-reader".to_owned())
        .stack_size(STACK)
        .spawn(move || reader::read(&controller, &stopped, &reading))
        .map_err(failed)?;
    let (drawn, answers) = (Arc::clone(&shared), Arc::clone(&input));
    thread::Builder::new()
        .name("terminal-screen".to_owned())
        .stack_size(STACK)
        .spawn(move || drawing::draw(&drawn, &answers))
        .map_err(failed)?;
    let live = Arc::new(Live { action, pid, line: shared, input, clients: Clients::new(), stop });
    let opened = TerminalOpened {
        pid,
        command,
        profile: "terminal".to_owned(),
        cols: size.cols,
        rows: size.rows,
    };
    report(now, action, RuntimeChange::TerminalOpened(opened)).await;
    drop(tokio::spawn(keep(Arc::clone(&live), child, orders, stop_reading, Arc::clone(now))));
    Ok(live)
}

/// Owns the shell until nothing of it is left.
async fn keep(
    live: Arc<Live>,
    child: SandboxChild,
    orders: mpsc::Receiver<StopCause>,
    stop_reading: OwnedFd,
    now: Arc<Now>,
) {
    let mut helpers = JoinSet::new();
    helpers.spawn(Arc::clone(&live).fit(Arc::clone(&now)));
    let input = Arc::clone(&live.input);
    helpers.spawn(async move {
        if let Err(error) = input.pass_on().await {
            tracing::debug!(%error, "nobody reads the terminal's input any more");
        }
    });
    let (cause, exit) = match last(child, orders).await {
        Ok(ended) => ended,
        Err(error) => {
            tracing::error!(%error, "the end of the terminal's shell is not known");
            (StopCause::Exit, None)
        }
    };
    helpers.shutdown().await;
    live.input.close();
    // Something outside the run may hold the terminal open; it must not keep us.
    let mut news = live.line.news();
    let drained = async { while !live.line.state().silent && news.changed().await.is_ok() {} };
    drop(timeout(DRAIN, drained).await);
    drop(stop_reading);
    report(&now, live.action, end(cause, exit)).await;
    live.line.change(|state| state.ended = Some(Ended(exit)));
}

/// Waits for the end of the shell, or ends it if that is ordered.
async fn last(
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
                tokio::time::sleep(AGAIN).await;
            }
            Some(cause) = orders.recv() => {
                let exit = tokio::task::spawn_blocking(move || stop(&mut child)).await;
                return Ok((cause, exit.map_err(|error| watched(io::Error::other(error)))??));
            }
        }
    }
}

/// A shell with a person at it ignores SIGTERM, and ends when its terminal is gone.
fn stop(child: &mut SandboxChild) -> Result<Option<SandboxExit>, SandboxError> {
    child.signal(rustix::process::Signal::HUP)?;
    child.signal(rustix::process::Signal::CONT)?;
    child.stop(GRACE).map(Some)
}
