//! One command: from its start until nothing of it is left.
//!
//! A task owns the child. It has what the child prints read into the spool in
//! pieces (at most 32 KiB or 50 ms old), and obeys orders. Whoever
//! wants something of the process sends an order or looks at what it last said.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::redact::Redactor;
use provost_proto::kernel::{ActionOutcome, ErrorInfo, ReportPayload};
use provost_proto::{ActionId, Code};
use provost_sandbox::confine::{SandboxChild, SandboxError, SandboxExit};
use provost_sandbox::sandbox_policy::MissingProtectedPaths;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep_until;

use super::change_observer::ChangeObserver;
use super::disk_space::DiskSpaceGuard;
use super::head_tail_buffer::HeadTailBuffer;
use super::output_reader::{read_until_exit, spool_output};
use super::path_holds::PathHoldRequest;
use crate::host::redaction::redact_fault;
use crate::host::rpc::report_spool::ReportSpool;

/// What `terminal.read` can look back on.
const RECENT_OUTPUT_BYTES: usize = 1024 * 1024;

/// How long a command has between being asked to end and being killed.
pub(in crate::host) const GRACE: Duration = Duration::from_secs(2);

/// How long the outputs may stay open after nothing of the command is left.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// What can be asked of a running command.
#[derive(Debug)]
pub(in crate::host) enum ProcessControl {
    /// Type into it; answers whether there was room.
    WriteStdin(Vec<u8>, oneshot::Sender<bool>),
    /// End its input.
    CloseStdin,
    /// Send its processes a signal.
    Signal(rustix::process::Signal),
    /// Keep it from replacing these paths of the project; answers whether it is.
    HoldPaths(PathHoldRequest),
    /// End it, and say why.
    Stop(Duration, Option<ErrorInfo>),
}

/// A command, as others see it.
#[derive(Debug)]
pub(in crate::host) struct ProcessHandle {
    pub(in crate::host) id: ActionId,
    pub(in crate::host) what: String,
    pub(in crate::host) pid: u32,
    pub(in crate::host) orders: mpsc::Sender<ProcessControl>,
    seen: Mutex<ProcessHandleState>,
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
        what: String,
        pid: u32,
    ) -> (Arc<Self>, mpsc::Receiver<ProcessControl>) {
        let (orders, inbox) = mpsc::channel(16);
        let (ended, _) = watch::channel(false);
        let seen = Mutex::default();
        (Arc::new(Self { id, what, pid, orders, seen, ended }), inbox)
    }

    fn lock_state(&self) -> parking_lot::MutexGuard<'_, ProcessHandleState> {
        self.seen.lock()
    }

    /// How it ended, if it has.
    pub(in crate::host) fn outcome(&self) -> Option<ActionOutcome> {
        self.lock_state().outcome.clone()
    }

    /// Waits until nothing of it is left.
    pub(in crate::host) async fn wait_until_ended(&self) {
        // Fails only if the sender is gone, and it lives as long as we do.
        drop(self.ended.subscribe().wait_for(|ended| *ended).await);
    }

    /// What it printed from an offset on: the offset where it really begins,
    /// the bytes, and how much was printed in all.
    pub(in crate::host) fn read_output(&self, after: u64, limit: usize) -> (u64, Vec<u8>, u64) {
        let seen = self.lock_state();
        let first = seen.total - u64::try_from(seen.recent.len()).unwrap_or(0);
        let from = after.clamp(first, seen.total);
        let skip = usize::try_from(from - first).unwrap_or(0);
        (from, seen.recent.iter().skip(skip).take(limit).copied().collect(), seen.total)
    }

    pub(in crate::host) fn record_output(&self, data: &[u8]) {
        let mut seen = self.lock_state();
        seen.recent.extend(data);
        seen.total += u64::try_from(data.len()).unwrap_or(0);
        let over = seen.recent.len().saturating_sub(RECENT_OUTPUT_BYTES);
        seen.recent.drain(..over);
    }
}

/// What a run needs beside its process.
#[derive(Debug)]
pub(in crate::host) struct SupervisionContext {
    pub(in crate::host) child: SandboxChild,
    pub(in crate::host) spool: Arc<ReportSpool>,
    /// What of its output must not get out.
    pub(in crate::host) redactor: Arc<Redactor>,
    pub(in crate::host) orders: mpsc::Receiver<ProcessControl>,
    pub(in crate::host) input: Option<Vec<u8>>,
    /// Whether its input stays open for `terminal.write`.
    pub(in crate::host) interactive: bool,
    pub(in crate::host) limit: Option<Duration>,
    pub(in crate::host) max_output: u64,
    /// Paths that govern others and were not there when it started.
    pub(in crate::host) absent: MissingProtectedPaths,
    /// When it started, to tell what changed since.
    pub(in crate::host) start: ChangeObserver,
    /// The disks that it must not fill.
    pub(in crate::host) space: DiskSpaceGuard,
}

/// Sees a command through to its end.
pub(in crate::host) async fn supervise_process(
    process: Arc<ProcessHandle>,
    mut run: SupervisionContext,
) {
    let began = Instant::now();
    let (stdin, stdout, stderr) =
        (run.child.stdin.take(), run.child.stdout.take(), run.child.stderr.take());
    let typed = spawn_stdin_writer(stdin, run.input.take(), run.interactive);
    let mut keeper = HeadTailBuffer::new(run.max_output);
    let reading = spool_output(&process, &run.spool, &run.redactor, [stdout, stderr], &mut keeper);
    let obeying = run_control_loop(run.child, run.orders, typed, run.limit, &run.space);
    let (read, (exit, fault)) = read_until_exit(reading, obeying, DRAIN_TIMEOUT).await;
    let fault = fault.or_else(|| read.err().map(|error| internal_fault(&error.to_string())));
    let took = began.elapsed();
    let planted = run.absent.find_created();
    let meanwhile = run.start.collect_changes(&run.redactor).await;
    let fault = fault.map(|fault| redact_fault(&run.redactor, fault));
    let ending = ProcessEnd { exit, fault, took, planted, meanwhile };
    let ended = report_outcome(&process, &run.spool, &mut keeper, ending).await;
    if let Err(error) = ended {
        tracing::error!(%error, action = %process.id, "the end of a command could not be kept");
    }
    process.ended.send_replace(true);
}

struct ProcessEnd {
    exit: Option<SandboxExit>,
    fault: Option<ErrorInfo>,
    took: Duration,
    planted: Vec<PathBuf>,
    meanwhile: Option<Value>,
}

async fn report_outcome(
    process: &ProcessHandle,
    spool: &ReportSpool,
    keeper: &mut HeadTailBuffer,
    ending: ProcessEnd,
) -> io::Result<()> {
    for output in keeper.drain_tail() {
        spool.push(process.id, ReportPayload::Output(output)).await?;
    }
    let (stdout, stderr, dropped) = keeper.totals();
    let (exit_code, signal) = match ending.exit {
        Some(SandboxExit::Code(code)) => (Some(code), None),
        Some(SandboxExit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let killed = || {
        let message = "it was killed, by itself, another process or the limits of the sandbox";
        ErrorInfo { code: Code::Killed, message: message.to_owned(), details: None }
    };
    let by_force = signal == Some(rustix::process::Signal::KILL.as_raw());
    let mut summary = json!({
        "stdoutBytes": stdout,
        "stderrBytes": stderr,
        "droppedBytes": dropped,
        // What the command made that governs others: a person should look at it.
        "planted": ending.planted,
    });
    if let Some(meanwhile) = ending.meanwhile {
        summary["meanwhile"] = meanwhile;
    }
    let outcome = ActionOutcome {
        exit_code,
        signal,
        duration_ms: u64::try_from(ending.took.as_millis()).unwrap_or(u64::MAX),
        fault: ending.fault.or_else(|| by_force.then(killed)),
        summary,
    };
    process.lock_state().outcome = Some(outcome.clone());
    spool.push(process.id, ReportPayload::Finished(outcome)).await.map(drop)
}

/// Types the input of a command, in a task of its own, since it may not read it.
fn spawn_stdin_writer(
    stdin: Option<OwnedFd>,
    input: Option<Vec<u8>>,
    interactive: bool,
) -> Option<mpsc::Sender<Vec<u8>>> {
    let (typed, mut keys) = mpsc::channel::<Vec<u8>>(16);
    let mut pipe = pipe::Sender::from_owned_fd(stdin?).ok()?;
    tokio::spawn(async move {
        if let Some(input) = input
            && pipe.write_all(&input).await.is_err()
        {
            return;
        }
        while let Some(text) = keys.recv().await {
            if pipe.write_all(&text).await.is_err() {
                return;
            }
        }
    });
    interactive.then_some(typed)
}

/// Waits for the end of the child and does what is ordered meanwhile.
async fn run_control_loop(
    mut child: SandboxChild,
    mut orders: mpsc::Receiver<ProcessControl>,
    mut typed: Option<mpsc::Sender<Vec<u8>>>,
    limit: Option<Duration>,
    space: &DiskSpaceGuard,
) -> (Option<SandboxExit>, Option<ErrorInfo>) {
    // The handle of a process becomes readable like a pipe does, and is polled
    // the same way; nothing is ever read from it.
    let watched =
        child.as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd_unchecked);
    let gone = match watched {
        Ok(gone) => gone,
        Err(error) => {
            let fault = internal_fault(&format!("the command cannot be watched: {error}"));
            return stop_child(child, Duration::ZERO, Some(fault)).await;
        }
    };
    let mut full = std::pin::pin!(space.wait_until_low());
    let deadline = tokio::time::Instant::now() + limit.unwrap_or(Duration::from_secs(1 << 30));
    loop {
        tokio::select! {
            biased;
            ready = gone.readable() => {
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
                let seconds = limit.unwrap_or_default().as_secs_f64();
                let message = format!("it did not end within {seconds} s and was stopped");
                let fault = ErrorInfo { code: Code::Timeout, message, details: None };
                return stop_child(child, GRACE, Some(fault)).await;
            }
            fault = &mut full => return stop_child(child, Duration::ZERO, Some(fault)).await,
            Some(order) = orders.recv() => match order {
                // Nothing here may wait: whoever does not read must still be stopped.
                ProcessControl::WriteStdin(text, reply) => {
                    let taken = typed.as_ref().is_some_and(|typed| typed.try_send(text).is_ok());
                    let _nobody_waits = reply.send(taken);
                }
                ProcessControl::CloseStdin => typed = None,
                ProcessControl::Signal(signal) => {
                    if let Err(error) = child.signal(signal) {
                        tracing::debug!(%error, "a signal was not delivered");
                    }
                }
                ProcessControl::HoldPaths(hold) => hold.apply_to(&mut child),
                ProcessControl::Stop(grace, fault) => return stop_child(child, grace, fault).await,
            }
        }
    }
}

/// Ends the child on a thread of its own, because it waits.
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
