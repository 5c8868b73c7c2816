//! One command: from its start until no process of it is left.
//!
//! A task owns the child: it spools the output in pieces (at most 32 KiB, or
//! 50 ms old), and executes control messages. A [`ProcessHandle`] is the other
//! end: it sends control messages and holds the recent output and the outcome.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::redact::Redactor;
use provost_proto::kernel::{ActionOutcome, ErrorInfo, ReportPayload};
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::{SandboxChild, SandboxError, SandboxExit};
use provost_sandbox::sandbox_policy::{NetworkAccess, SandboxPolicy};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep_until;

use super::change_observer::ChangeObserver;
use super::denial_hint::{self, SEARCHED_BYTES};
use super::disk_space::DiskSpaceGuard;
use super::head_tail_buffer::{HeadTailBuffer, OutputByteCounts};
use super::output_reader::{read_until_exit, spool_output};
use super::path_holds::PathHoldRequest;
use super::set_aside::{BackgroundChecks, settle_watch};
use super::standby_sandbox::StandbySandbox;
use crate::host::redaction::redact_fault;
use crate::host::rpc::report_spool::ReportSpool;
use crate::quarantine::ActionWatch;

/// How much recent output `terminal.read` can return, in bytes.
const RECENT_OUTPUT_BYTES: usize = 1024 * 1024;

/// Time between SIGTERM and SIGKILL.
pub(in crate::host) const GRACE: Duration = Duration::from_secs(2);

/// How long the output pipes may stay open after all processes have ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A control message to the task that owns the child.
#[derive(Debug)]
pub(in crate::host) enum ProcessControl {
    /// Write to its standard input; replies whether the text was queued.
    WriteStdin(Vec<u8>, oneshot::Sender<bool>),
    /// Close its standard input.
    CloseStdin,
    /// Send a signal to its processes.
    Signal(rustix::process::Signal),
    /// Keep it from replacing paths of the project.
    HoldPaths(PathHoldRequest),
    /// Stop it within this grace period, with the reason to report.
    Stop(Duration, Option<ErrorInfo>),
}

/// A part of a process's output that is still kept.
pub(in crate::host) struct RecentOutput {
    /// Where `data` begins, in bytes of the whole output.
    pub(in crate::host) offset: u64,
    pub(in crate::host) data: Vec<u8>,
    /// How many bytes were printed.
    pub(in crate::host) total: u64,
}

/// A handle to a running or ended command.
#[derive(Debug)]
pub(in crate::host) struct ProcessHandle {
    pub(in crate::host) id: ActionId,
    pub(in crate::host) description: String,
    pub(in crate::host) pid: u32,
    pub(in crate::host) control: mpsc::Sender<ProcessControl>,
    state: Mutex<ProcessHandleState>,
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct ProcessHandleState {
    recent: VecDeque<u8>,
    total: u64,
    outcome: Option<ActionOutcome>,
}

impl ProcessHandle {
    pub(in crate::host) fn new(
        id: ActionId,
        description: String,
        pid: u32,
    ) -> (Arc<Self>, mpsc::Receiver<ProcessControl>) {
        let (control, inbox) = mpsc::channel(16);
        let (ended, _) = watch::channel(false);
        let state = Mutex::default();
        (Arc::new(Self { id, description, pid, control, state, ended }), inbox)
    }

    fn lock_state(&self) -> parking_lot::MutexGuard<'_, ProcessHandleState> {
        self.state.lock()
    }

    /// The outcome, if the command has ended.
    pub(in crate::host) fn outcome(&self) -> Option<ActionOutcome> {
        self.lock_state().outcome.clone()
    }

    /// Waits until all of its processes have ended.
    pub(in crate::host) async fn wait_until_ended(&self) {
        // Cannot fail: the sender lives as long as `self`.
        drop(self.ended.subscribe().wait_for(|ended| *ended).await);
    }

    /// Output from an offset on, as far as it is still kept.
    pub(in crate::host) fn read_output(&self, after: u64, limit: usize) -> RecentOutput {
        let state = self.lock_state();
        let first = state.total - u64::try_from(state.recent.len()).unwrap_or(0);
        let from = after.clamp(first, state.total);
        let skip = usize::try_from(from - first).unwrap_or(0);
        RecentOutput {
            offset: from,
            data: state.recent.iter().skip(skip).take(limit).copied().collect(),
            total: state.total,
        }
    }

    /// The end of its output, as far as it is searched for errors.
    fn last_output(&self) -> String {
        let total = self.lock_state().total;
        let after = total.saturating_sub(u64::try_from(SEARCHED_BYTES).unwrap_or(0));
        let output = self.read_output(after, SEARCHED_BYTES).data;
        String::from_utf8_lossy(&output).into_owned()
    }

    pub(in crate::host) fn record_output(&self, data: &[u8]) {
        let mut state = self.lock_state();
        state.recent.extend(data);
        state.total += u64::try_from(data.len()).unwrap_or(0);
        let over = state.recent.len().saturating_sub(RECENT_OUTPUT_BYTES);
        state.recent.drain(..over);
    }
}

/// What supervising a command needs besides its handle.
#[derive(Debug)]
pub(super) struct SupervisionContext {
    pub(super) child: SandboxChild,
    pub(super) spool: Arc<ReportSpool>,
    pub(super) redactor: Arc<Redactor>,
    pub(super) control: mpsc::Receiver<ProcessControl>,
    pub(super) input: Option<Vec<u8>>,
    /// Whether its standard input stays open for `terminal.write`.
    pub(super) interactive: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) max_output: u64,
    /// Sets aside what it leaves.
    pub(super) watch: ActionWatch,
    /// Finds the files that changed since it started.
    pub(super) changes: ChangeObserver,
    /// The disks that it must not fill.
    pub(super) disk_space: DiskSpaceGuard,
    /// The sandbox that it runs in.
    pub(super) sandbox: Arc<StandbySandbox>,
}

/// Supervises a command until it has ended and its outcome is spooled.
pub(super) async fn supervise_process(
    process: Arc<ProcessHandle>,
    mut context: SupervisionContext,
) {
    let started_at = Instant::now();
    let (stdin, stdout, stderr) =
        (context.child.stdin.take(), context.child.stdout.take(), context.child.stderr.take());
    let stdin_queue = spawn_stdin_writer(stdin, context.input.take(), context.interactive);
    let checks = context.interactive.then(|| BackgroundChecks::start(&mut context.watch));
    let mut buffer = HeadTailBuffer::new(context.max_output);
    let reading =
        spool_output(&process, &context.spool, &context.redactor, [stdout, stderr], &mut buffer);
    let controlling = run_control_loop(
        context.child,
        context.control,
        stdin_queue,
        context.timeout,
        &context.disk_space,
    );
    let (read, (exit, fault)) = read_until_exit(reading, controlling, DRAIN_TIMEOUT).await;
    let fault = fault.or_else(|| read.err().map(|error| internal_fault(&error.to_string())));
    let duration = started_at.elapsed();
    let observed_changes = context.changes.collect_changes(&context.redactor).await;
    drop(checks);
    let set_aside = settle_watch(context.watch, &context.redactor).await;
    let policy = context.sandbox.sandbox().policy();
    let fault = fault.map(|fault| name_missing_network(fault, policy));
    let fault = fault.map(|fault| redact_fault(&context.redactor, fault));
    let failed = matches!(exit, Some(SandboxExit::Code(code)) if code != 0);
    let output = if failed { process.last_output() } else { String::new() };
    let unreadable = denial_hint::find_unreadable_path(&output, policy);
    let no_network = denial_hint::names_missing_network(&output, policy);
    let end =
        ProcessEnd { exit, fault, duration, set_aside, observed_changes, unreadable, no_network };
    if let Err(error) = report_outcome(&process, &context.spool, &mut buffer, end).await {
        tracing::error!(%error, action = %process.id, "cannot spool the outcome of a command");
    }
    process.ended.send_replace(true);
}

/// How a command ended.
struct ProcessEnd {
    exit: Option<SandboxExit>,
    fault: Option<ErrorInfo>,
    duration: Duration,
    /// What it left and was set aside.
    set_aside: Option<Value>,
    observed_changes: Option<Value>,
    /// A path outside what it can read, which its last errors name.
    unreadable: Option<String>,
    /// Whether it had no network, and its last errors name a lookup or a connection.
    no_network: bool,
}

/// Adds to a timeout that there was no network: a program that retries prints nothing.
fn name_missing_network(mut fault: ErrorInfo, policy: &SandboxPolicy) -> ErrorInfo {
    if fault.code == Code::Timeout && policy.network == NetworkAccess::None {
        fault.message += "; it had no network in this profile";
    }
    fault
}

async fn report_outcome(
    process: &ProcessHandle,
    spool: &ReportSpool,
    buffer: &mut HeadTailBuffer,
    end: ProcessEnd,
) -> io::Result<()> {
    for output in buffer.drain_tail() {
        spool.push(process.id, ReportPayload::Output(output)).await?;
    }
    let OutputByteCounts { stdout, stderr, dropped } = buffer.totals();
    let (exit_code, signal) = match end.exit {
        Some(SandboxExit::Code(code)) => (Some(code), None),
        Some(SandboxExit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let killed = || {
        let message = "it was killed: by itself, by another process, or by a limit of the sandbox";
        ErrorInfo { code: Code::Killed, message: message.to_owned(), details: None }
    };
    let was_killed = signal == Some(rustix::process::Signal::KILL.as_raw());
    let mut summary = json!({
        "stdoutBytes": stdout,
        "stderrBytes": stderr,
        "droppedBytes": dropped,
    });
    if let Some(changes) = end.observed_changes {
        summary["meanwhile"] = changes;
    }
    if let Some(set_aside) = end.set_aside {
        summary["setAside"] = set_aside;
    }
    if let Some(path) = end.unreadable {
        summary["unreadable"] = path.into();
    }
    if end.no_network {
        summary["noNetwork"] = true.into();
    }
    let outcome = ActionOutcome {
        exit_code,
        signal,
        duration_ms: u64::try_from(end.duration.as_millis()).unwrap_or(u64::MAX),
        fault: end.fault.or_else(|| was_killed.then(killed)),
        summary,
    };
    process.lock_state().outcome = Some(outcome.clone());
    spool.push(process.id, ReportPayload::Finished(outcome)).await.map(drop)
}

/// Writes standard input in a task of its own, since the command may not read it.
fn spawn_stdin_writer(
    stdin: Option<OwnedFd>,
    input: Option<Vec<u8>>,
    interactive: bool,
) -> Option<mpsc::Sender<Vec<u8>>> {
    let (queue, mut texts) = mpsc::channel::<Vec<u8>>(16);
    let mut pipe = pipe::Sender::from_owned_fd(stdin?).ok()?;
    tokio::spawn(async move {
        if let Some(input) = input
            && pipe.write_all(&input).await.is_err()
        {
            return;
        }
        while let Some(text) = texts.recv().await {
            if pipe.write_all(&text).await.is_err() {
                return;
            }
        }
    });
    interactive.then_some(queue)
}

/// Waits for the exit of the child, and executes control messages meanwhile.
async fn run_control_loop(
    mut child: SandboxChild,
    mut control: mpsc::Receiver<ProcessControl>,
    mut stdin_queue: Option<mpsc::Sender<Vec<u8>>>,
    timeout: Option<Duration>,
    disk_space: &DiskSpaceGuard,
) -> (Option<SandboxExit>, Option<ErrorInfo>) {
    // A pidfd becomes readable when the process exits, and is polled like a pipe;
    // nothing is ever read from it.
    let exit_receiver =
        child.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd_unchecked);
    let exited = match exit_receiver {
        Ok(exited) => exited,
        Err(error) => {
            let fault = internal_fault(&format!("cannot wait for the command: {error}"));
            return stop_child(child, Duration::ZERO, Some(fault)).await;
        }
    };
    let mut disk_full = std::pin::pin!(disk_space.wait_until_low());
    let deadline = tokio::time::Instant::now() + timeout.unwrap_or(Duration::from_secs(1 << 30));
    loop {
        tokio::select! {
            biased;
            ready = exited.readable() => {
                if let Err(error) = ready {
                    return stop_child(child, Duration::ZERO, Some(internal_fault(&error.to_string()))).await;
                }
                match child.try_wait() {
                    Ok(Some(exit)) => return (Some(exit), None),
                    Ok(None) => tokio::time::sleep(Duration::from_millis(1)).await,
                    Err(error) => return (None, Some(internal_fault(&error.to_string()))),
                }
            }
            () = sleep_until(deadline) => {
                let seconds = timeout.unwrap_or_default().as_secs_f64();
                let message = format!("it did not end within {seconds} s and was stopped");
                let fault = ErrorInfo { code: Code::Timeout, message, details: None };
                return stop_child(child, GRACE, Some(fault)).await;
            }
            fault = &mut disk_full => return stop_child(child, Duration::ZERO, Some(fault)).await,
            Some(message) = control.recv() => match message {
                // No arm may wait: a command that does not read must still be stopped.
                ProcessControl::WriteStdin(text, reply) => {
                    let queued = stdin_queue.as_ref().is_some_and(|queue| queue.try_send(text).is_ok());
                    let _ = reply.send(queued);
                }
                ProcessControl::CloseStdin => stdin_queue = None,
                ProcessControl::Signal(signal) => {
                    if let Err(error) = child.signal(signal) {
                        tracing::debug!(%error, "cannot deliver a signal");
                    }
                }
                ProcessControl::HoldPaths(request) => request.apply_to(&mut child),
                ProcessControl::Stop(grace, fault) => return stop_child(child, grace, fault).await,
            }
        }
    }
}

/// Stops the child on a blocking thread.
async fn stop_child(
    mut child: SandboxChild,
    grace: Duration,
    fault: Option<ErrorInfo>,
) -> (Option<SandboxExit>, Option<ErrorInfo>) {
    let stopped = tokio::task::spawn_blocking(move || child.stop(grace)).await;
    match stopped {
        Ok(Ok(exit)) => (Some(exit), fault),
        Ok(Err(error)) => (None, Some(sandbox_fault(&error))),
        Err(error) => (None, Some(internal_fault(&error.to_string()))),
    }
}

fn internal_fault(message: &str) -> ErrorInfo {
    ErrorInfo { code: Code::Internal, message: message.to_owned(), details: None }
}

fn sandbox_fault(error: &SandboxError) -> ErrorInfo {
    internal_fault(&error.to_string())
}
