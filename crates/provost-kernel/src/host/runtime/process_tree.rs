//! One process tree of the runtime: from its start until no process of it is left.
//!
//! A task owns the child. Its output goes, redacted, into the project's log and into
//! the [`TreeOutputTail`]; its exit goes to the actor.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use provost_core::action::escape_invisible;
use provost_core::redact::{Redactor, StreamRedactor};
use provost_core::runtime::state_machine::{RuntimeExit, RuntimeProcessKind};
use provost_sandbox::confine::{self, SandboxChild};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::runtime_log::RuntimeLog;
use super::tree_output_tail::TreeOutputTail;
use crate::host::process::disk_space::DiskSpaceGuard;
use crate::host::process::output_reader::read_until_exit;
use crate::host::process::path_holds::PathHoldRequest;
use crate::host::process::set_aside::BackgroundChecks;
use crate::quarantine::{ActionWatch, SetAsideEntry};

/// How much a read asks for, in bytes.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// How long the output pipe may stay open after all processes have ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Control messages that may be queued.
const CONTROL_QUEUE_LEN: usize = 8;

/// A control message to a process tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum TreeControl {
    /// Sends SIGTERM.
    Terminate,
    /// Sends SIGKILL.
    Kill,
}

/// All processes of a tree have ended.
#[derive(Debug)]
pub(super) struct TreeExit {
    pub(super) which: RuntimeProcessKind,
    pub(super) exit: RuntimeExit,
}

/// A handle to a process tree.
#[derive(Debug)]
pub(super) struct ProcessTreeHandle {
    pub(super) pid: u32,
    pub(super) output_tail: Arc<TreeOutputTail>,
    control: mpsc::Sender<TreeControl>,
    /// Requests to keep it from replacing paths.
    pub(super) holds: mpsc::Sender<PathHoldRequest>,
}

/// The receiving ends of the handle's channels.
struct TreeControlInbox {
    control: mpsc::Receiver<TreeControl>,
    holds: mpsc::Receiver<PathHoldRequest>,
}

/// What supervising a tree needs besides the child.
#[derive(Debug)]
pub(super) struct TreeSupervisionContext {
    pub(super) which: RuntimeProcessKind,
    pub(super) output: OwnedFd,
    pub(super) output_tail: Arc<TreeOutputTail>,
    pub(super) log: Arc<RuntimeLog>,
    pub(super) redactor: Arc<Redactor>,
    /// The disks that it must not fill.
    pub(super) disk_space: DiskSpaceGuard,
    /// Sets aside what it leaves.
    pub(super) watch: ActionWatch,
    /// Receives the exit.
    pub(super) exits: mpsc::Sender<TreeExit>,
}

impl ProcessTreeHandle {
    /// Starts the task that supervises the child.
    pub(super) fn new(child: SandboxChild, context: TreeSupervisionContext) -> Self {
        let (control, control_receiver) = mpsc::channel(CONTROL_QUEUE_LEN);
        let (holds, hold_receiver) = mpsc::channel(CONTROL_QUEUE_LEN);
        let inbox = TreeControlInbox { control: control_receiver, holds: hold_receiver };
        let tree = Self {
            pid: child.pid(),
            output_tail: Arc::clone(&context.output_tail),
            control,
            holds,
        };
        drop(tokio::spawn(supervise_tree(child, context, inbox)));
        tree
    }

    /// Sends a control message, unless the tree has ended.
    pub(super) fn send_control(&self, message: TreeControl) {
        if let Err(error) = self.control.try_send(message) {
            tracing::debug!(%error, "cannot send a control message to a process tree");
        }
    }
}

async fn supervise_tree(
    child: SandboxChild,
    context: TreeSupervisionContext,
    inbox: TreeControlInbox,
) {
    let TreeSupervisionContext {
        which,
        output,
        output_tail,
        log,
        redactor,
        disk_space,
        mut watch,
        exits,
    } = context;
    let is_dev_server = which == RuntimeProcessKind::Dev;
    let checks = is_dev_server.then(|| BackgroundChecks::start(&mut watch));
    let reading = read_tree_output(output, &output_tail, &log, redactor);
    let (read, exit) =
        read_until_exit(reading, run_control_loop(child, inbox, &disk_space, &log), DRAIN_TIMEOUT)
            .await;
    if let Err(error) = read {
        write_log_mark(&log, &format!("cannot keep its output: {error}"));
    }
    drop(checks);
    write_set_aside_marks(&log, watch).await;
    // If the actor is gone, the kernel is ending.
    drop(exits.send(TreeExit { which, exit }).await);
}

/// Sets aside what the tree left, and writes it into the project's log.
async fn write_set_aside_marks(log: &RuntimeLog, watch: ActionWatch) {
    let report = match tokio::task::spawn_blocking(move || watch.settle()).await {
        Ok(report) => report,
        Err(error) => {
            return write_log_mark(log, &format!("cannot look at what it left: {error}"));
        }
    };
    for entry in &report.entries {
        let SetAsideEntry { path, why, kept, .. } = entry;
        let path = escape_invisible(path);
        write_log_mark(log, &format!("set aside {path}: {why}; it is kept as {kept}"));
    }
    for failed in &report.failed {
        write_log_mark(log, &format!("review {}", escape_invisible(failed)));
    }
    if report.more > 0 {
        write_log_mark(log, &format!("set aside {} more", report.more));
    }
}

fn write_log_mark(log: &RuntimeLog, text: &str) {
    if let Err(error) = log.append_mark(text) {
        tracing::error!(%error, text, "cannot write the project's log");
    }
}

/// Reads the output of a tree to its end.
async fn read_tree_output(
    output: OwnedFd,
    output_tail: &TreeOutputTail,
    log: &RuntimeLog,
    redactor: Arc<Redactor>,
) -> io::Result<()> {
    let mut pipe = pipe::Receiver::from_owned_fd(output)?;
    let mut stream_redactor = StreamRedactor::new(redactor);
    let (mut buffer, mut redacted) = (vec![0; READ_BUFFER_BYTES], Vec::new());
    loop {
        let n_read = pipe.read(&mut buffer).await?;
        let bytes = buffer.get(..n_read).unwrap_or_default();
        redacted.clear();
        if n_read == 0 {
            stream_redactor.finish(&mut redacted);
        } else {
            stream_redactor.push(bytes, &mut redacted);
        }
        log.append(&redacted)?;
        output_tail.record_output(&redacted);
        if n_read == 0 {
            return Ok(());
        }
    }
}

/// Waits for the exit of a tree, and executes control messages meanwhile.
async fn run_control_loop(
    mut child: SandboxChild,
    mut inbox: TreeControlInbox,
    disk_space: &DiskSpaceGuard,
    log: &RuntimeLog,
) -> RuntimeExit {
    // A pidfd becomes readable when the process exits; nothing is read from it.
    let exit_receiver =
        child.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd_unchecked);
    let exited = match exit_receiver {
        Ok(exited) => exited,
        Err(error) => {
            write_log_mark(log, &format!("stopped, because its exit cannot be watched: {error}"));
            return force_stop_tree(child).await;
        }
    };
    let mut disk_full = std::pin::pin!(disk_space.wait_until_low());
    let mut is_full = false;
    loop {
        tokio::select! {
            biased;
            ready = exited.readable() => match (ready, child.try_wait()) {
                (Ok(()), Ok(Some(exit))) => return convert_exit(exit),
                (Ok(()), Ok(None)) => tokio::time::sleep(Duration::from_millis(1)).await,
                (Err(_), _) | (_, Err(_)) => return force_stop_tree(child).await,
            },
            Some(hold) = inbox.holds.recv() => hold.apply_to(&mut child),
            Some(message) = inbox.control.recv() => {
                let sent = match message {
                    TreeControl::Terminate => child.terminate(),
                    TreeControl::Kill => child.kill(),
                };
                if let Err(error) = sent {
                    tracing::warn!(%error, "cannot signal a process tree");
                }
            }
            fault = &mut disk_full, if !is_full => {
                is_full = true;
                write_log_mark(log, &format!("stopped: {}", fault.message));
                if let Err(error) = child.kill() {
                    tracing::warn!(%error, "cannot kill a process tree that fills the disk");
                }
            }
        }
    }
}

/// Stops a tree on a blocking thread.
async fn force_stop_tree(mut child: SandboxChild) -> RuntimeExit {
    let stopped = tokio::task::spawn_blocking(move || child.stop(Duration::ZERO)).await;
    match stopped {
        Ok(Ok(exit)) => convert_exit(exit),
        Ok(Err(error)) => {
            tracing::error!(%error, "cannot stop a process tree");
            RuntimeExit::default()
        }
        Err(_) => RuntimeExit::default(),
    }
}

fn convert_exit(exit: confine::SandboxExit) -> RuntimeExit {
    match exit {
        confine::SandboxExit::Code(code) => RuntimeExit { code: Some(code), signal: None },
        confine::SandboxExit::Signal(signal) => RuntimeExit { code: None, signal: Some(signal) },
    }
}
