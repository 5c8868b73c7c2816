//! One process tree of the runtime: from its start until nothing of it is left.
//!
//! A task owns it. What it prints goes, without secrets, into the log of the
//! project and into what is [`TurnInput`] of it; its end goes to the actor.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use provost_core::redact::{Redactor, StreamRedactor};
use provost_core::runtime::state_machine::{RuntimeExit, RuntimeProcessKind};
use provost_sandbox::confine::{self, SandboxChild};
use provost_sandbox::sandbox_policy::MissingProtectedPaths;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::runtime_log::RuntimeLog;
use super::tree_output_tail::TreeOutputTail;
use crate::host::process::disk_space::DiskSpaceGuard;
use crate::host::process::output_reader::read_until_exit;
use crate::host::process::path_holds::PathHoldRequest;

/// Bytes asked for at once.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// How long the output may stay open after nothing of the tree is left.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Orders that may wait; a tree is told few things.
const CONTROL_QUEUE_LEN: usize = 8;

/// What a tree can be told.
#[derive(Debug, Clone, Copy)]
pub(super) enum TreeControl {
    /// To end.
    Terminate,
    /// It is killed.
    Kill,
}

/// Nothing of a tree is left.
#[derive(Debug)]
pub(super) struct TreeExit {
    pub(super) which: RuntimeProcessKind,
    pub(super) exit: RuntimeExit,
}

/// A tree, as the actor sees it.
#[derive(Debug)]
pub(super) struct ProcessTreeHandle {
    pub(super) pid: u32,
    pub(super) heard: Arc<TreeOutputTail>,
    orders: mpsc::Sender<TreeControl>,
    /// Where it is told what it may not replace.
    pub(super) holds: mpsc::Sender<PathHoldRequest>,
}

/// What a tree is told while it lives.
struct TreeControlInbox {
    orders: mpsc::Receiver<TreeControl>,
    holds: mpsc::Receiver<PathHoldRequest>,
}

/// What a tree is given along.
#[derive(Debug)]
pub(super) struct TreeSupervisionContext {
    pub(super) which: RuntimeProcessKind,
    pub(super) output: OwnedFd,
    pub(super) heard: Arc<TreeOutputTail>,
    pub(super) log: Arc<RuntimeLog>,
    pub(super) redactor: Arc<Redactor>,
    /// The disks that it must not fill.
    pub(super) space: DiskSpaceGuard,
    /// Paths that govern others and were not there when it started.
    pub(super) absent: MissingProtectedPaths,
    /// Who hears of its end.
    pub(super) news: mpsc::Sender<TreeExit>,
}

impl ProcessTreeHandle {
    /// Takes a child in hand.
    pub(super) fn new(child: SandboxChild, along: TreeSupervisionContext) -> Self {
        let (orders, ordered) = mpsc::channel(CONTROL_QUEUE_LEN);
        let (holds, held) = mpsc::channel(CONTROL_QUEUE_LEN);
        let told = TreeControlInbox { orders: ordered, holds: held };
        let tree = Self { pid: child.pid(), heard: Arc::clone(&along.heard), orders, holds };
        drop(tokio::spawn(supervise_tree(child, along, told)));
        tree
    }

    /// Tells it something. A tree that is gone need not be told.
    pub(super) fn send_control(&self, order: TreeControl) {
        if let Err(error) = self.orders.try_send(order) {
            tracing::debug!(%error, "a tree was told nothing, having ended or enough to do");
        }
    }
}

async fn supervise_tree(
    child: SandboxChild,
    along: TreeSupervisionContext,
    told: TreeControlInbox,
) {
    let TreeSupervisionContext { which, output, heard, log, redactor, space, absent, news } = along;
    let reading = read_tree_output(output, &heard, &log, redactor);
    let (read, exit) =
        read_until_exit(reading, run_control_loop(child, told, &space, &log), DRAIN_TIMEOUT).await;
    if let Err(error) = read {
        write_log_mark(&log, &format!("what it printed could not be kept: {error}"));
    }
    for path in absent.find_created() {
        write_log_mark(
            &log,
            &format!("look at {}: it was made, and it governs others", path.display()),
        );
    }
    // If the actor is gone, so is the kernel.
    drop(news.send(TreeExit { which, exit }).await);
}

fn write_log_mark(log: &RuntimeLog, text: &str) {
    if let Err(error) = log.append_mark(text) {
        tracing::error!(%error, text, "the log of a project cannot be written");
    }
}

/// Reads what a tree prints, to its end.
async fn read_tree_output(
    output: OwnedFd,
    heard: &TreeOutputTail,
    log: &RuntimeLog,
    redactor: Arc<Redactor>,
) -> io::Result<()> {
    let mut pipe = pipe::Receiver::from_owned_fd(output)?;
    let mut secrets = StreamRedactor::new(redactor);
    let (mut buffer, mut kept) = (vec![0; READ_BUFFER_BYTES], Vec::new());
    loop {
        let n_read = pipe.read(&mut buffer).await?;
        let bytes = buffer.get(..n_read).unwrap_or_default();
        kept.clear();
        if n_read == 0 {
            secrets.finish(&mut kept);
        } else {
            secrets.push(bytes, &mut kept);
        }
        log.append(&kept)?;
        heard.record_output(&kept);
        if n_read == 0 {
            return Ok(());
        }
    }
}

/// Waits for the end of a tree and does what it is told meanwhile.
async fn run_control_loop(
    mut child: SandboxChild,
    mut told: TreeControlInbox,
    space: &DiskSpaceGuard,
    log: &RuntimeLog,
) -> RuntimeExit {
    // The handle of a process becomes readable like a pipe does; nothing is read from it.
    let watched =
        child.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd_unchecked);
    let gone = match watched {
        Ok(gone) => gone,
        Err(error) => {
            write_log_mark(log, &format!("it cannot be watched, so it is ended: {error}"));
            return force_stop_tree(child).await;
        }
    };
    let mut full = std::pin::pin!(space.wait_until_low());
    let mut is_full = false;
    loop {
        tokio::select! {
            biased;
            ready = gone.readable() => match (ready, child.try_wait()) {
                (Ok(()), Ok(Some(exit))) => return convert_exit(exit),
                (Ok(()), Ok(None)) => tokio::time::sleep(Duration::from_millis(1)).await,
                (Err(_), _) | (_, Err(_)) => return force_stop_tree(child).await,
            },
            Some(hold) = told.holds.recv() => hold.apply_to(&mut child),
            Some(order) = told.orders.recv() => {
                let done = match order {
                    TreeControl::Terminate => child.terminate(),
                    TreeControl::Kill => child.kill(),
                };
                if let Err(error) = done {
                    tracing::warn!(%error, "a tree could not be told to end");
                }
            }
            fault = &mut full, if !is_full => {
                is_full = true;
                write_log_mark(log, &format!("it is ended: {}", fault.message));
                if let Err(error) = child.kill() {
                    tracing::warn!(%error, "a tree that fills the disk could not be killed");
                }
            }
        }
    }
}

/// Ends a tree on a thread of its own, because that waits.
async fn force_stop_tree(mut child: SandboxChild) -> RuntimeExit {
    let stopped = tokio::task::spawn_blocking(move || child.stop(Duration::ZERO)).await;
    match stopped {
        Ok(Ok(exit)) => convert_exit(exit),
        Ok(Err(error)) => {
            tracing::error!(%error, "a tree did not end");
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
