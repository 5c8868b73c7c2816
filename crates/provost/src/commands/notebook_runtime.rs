//! `provost runtime`: executes the cells of a notebook in this process.

mod shell_handler;
mod target;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use provost_notebook::agent::AgentOptions;
use provost_proto::notebook::{
    ExecutionOutcome, RuntimeCapabilities, RuntimeEndReason, RuntimeLocation,
};
use provost_runtimes::{
    DriverSettings, EchoHandler, ExecutionHandler, RemoteStore, RuntimeControl, RuntimeDriver,
    RuntimeEnd, RuntimeNotice,
};
use provost_store::Clock;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{NotebookRuntimeArgs, RuntimeTypeArg};
use crate::config::Config;
use crate::output::{faint, print_line, print_stderr, sanitize_text};
use shell_handler::SandboxShellHandler;
use target::RuntimeTarget;

/// The signals that a runtime handles.
struct RuntimeSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

pub(crate) async fn run(args: NotebookRuntimeArgs, config: &Config) -> anyhow::Result<ExitCode> {
    let target = RuntimeTarget::find(&args, config).await?;
    let handler: Arc<dyn ExecutionHandler> = match args.runtime_type {
        RuntimeTypeArg::Echo => Arc::new(EchoHandler),
        RuntimeTypeArg::Shell => {
            let folder = std::env::current_dir()?;
            print_stderr(&faint(&format!(
                "Shell cells run in {} with the sandbox profile {}; `provost sandbox --profile {} \
                 --explain` shows what they can access.",
                folder.display(),
                args.profile.name(),
                args.profile.name(),
            )));
            Arc::new(SandboxShellHandler::new(args.profile.to_sandbox_profile(), &folder, config)?)
        }
    };
    let signals = RuntimeSignals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
        hangup: signal(SignalKind::hangup())?,
    };
    let settings = DriverSettings {
        options: build_options(&args, target.location),
        prior: None,
        artifacts: target.artifact_uploader(),
    };
    let store = RemoteStore::new(target.notebook, target.locator());
    let is_executing = Arc::new(AtomicBool::new(false));
    let (title, name) = (target.title.clone(), args.runtime_type.name());
    let notify = {
        let is_executing = Arc::clone(&is_executing);
        move |notice: RuntimeNotice| print_notice(&notice, &title, name, &is_executing)
    };
    let (driver, control) = RuntimeDriver::new(store, handler, settings, notify);
    let (end, ()) = {
        let driving = driver.run();
        tokio::pin!(driving);
        let obeying = obey_signals(signals, &control, &is_executing);
        tokio::pin!(obeying);
        tokio::select! {
            end = &mut driving => (end, ()),
            () = &mut obeying => (driving.await, ()),
        }
    };
    report_end(end)
}

fn build_options(args: &NotebookRuntimeArgs, place: RuntimeLocation) -> AgentOptions {
    let runtime_type = args.runtime_type.name().to_owned();
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    AgentOptions {
        session: Clock::system().new_id(),
        runtime_id: args.id.clone().unwrap_or_else(|| format!("{runtime_type}-{machine}")),
        runtime_type,
        slot: args.slot.clone(),
        place,
        capabilities: RuntimeCapabilities {
            can_execute_code: true,
            can_execute_sql: args.runtime_type == RuntimeTypeArg::Echo,
            can_execute_ai: args.runtime_type == RuntimeTypeArg::Echo,
        },
    }
}

/// Stops or interrupts the runtime as signals say; returns when it was told to stop.
async fn obey_signals(
    mut signals: RuntimeSignals,
    control: &RuntimeControl,
    is_executing: &AtomicBool,
) {
    let mut was_interrupted = false;
    let why = loop {
        tokio::select! {
            _ = signals.interrupt.recv() => {
                if !is_executing.load(Ordering::Relaxed) || was_interrupted {
                    break "SIGINT";
                }
                was_interrupted = true;
                print_stderr(&faint("Interrupting the cell; Ctrl-C again stops the runtime."));
                control.interrupt().await;
            }
            _ = signals.terminate.recv() => break "SIGTERM",
            _ = signals.hangup.recv() => break "SIGHUP",
        }
        // The next cell is interrupted by itself.
        was_interrupted &= is_executing.load(Ordering::Relaxed);
    };
    print_stderr(&faint("Stopping the runtime."));
    control.shut_down(RuntimeEndReason::Shutdown, Some(why.to_owned())).await;
}

fn print_notice(notice: &RuntimeNotice, title: &str, name: &str, is_executing: &AtomicBool) {
    let text = match notice {
        RuntimeNotice::Ready => {
            let line = format!("The {name} runtime executes the cells of `{title}`.");
            // Whoever reads it may be gone; the runtime goes on.
            if print_line(&line).is_err() {
                tracing::debug!("standard output is closed");
            }
            return;
        }
        RuntimeNotice::Active { .. } => return,
        RuntimeNotice::Disconnected { why } => {
            format!("Lost the connection to the daemon: {why}. Trying again.")
        }
        RuntimeNotice::Reconnected => "Connected again.".to_owned(),
        RuntimeNotice::Executing { count, line } => {
            is_executing.store(true, Ordering::Relaxed);
            format!("[{count}] {line}")
        }
        RuntimeNotice::Finished { count, outcome, why } => {
            is_executing.store(false, Ordering::Relaxed);
            let outcome = match outcome {
                ExecutionOutcome::Ok => "done",
                ExecutionOutcome::Error => "failed",
                ExecutionOutcome::Cancelled => "interrupted",
                ExecutionOutcome::Lost => "lost",
            };
            let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("[{count}] {outcome}{why}")
        }
    };
    print_stderr(&faint(&sanitize_text(&text)));
}

fn report_end(end: RuntimeEnd) -> anyhow::Result<ExitCode> {
    let why = end.why.map(|why| sanitize_text(&why)).unwrap_or_default();
    match end.reason {
        Some(RuntimeEndReason::Shutdown | RuntimeEndReason::Restart) | None => {
            print_stderr(&faint("The runtime was stopped."));
            Ok(ExitCode::SUCCESS)
        }
        Some(RuntimeEndReason::Displaced) => {
            print_stderr(&format!("Stopped: {}.", non_empty(&why, "another runtime took over")));
            Ok(ExitCode::from(3))
        }
        Some(RuntimeEndReason::Timeout) => {
            bail!(
                "the daemon did not hear from this runtime in time, and ended its session\n\
                 hint: start it again"
            )
        }
        Some(RuntimeEndReason::Error) => bail!("{}", non_empty(&why, "the runtime failed")),
    }
}

fn non_empty<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// The token in a file, without the line break at its end.
fn read_token_file(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| anyhow::anyhow!("cannot read the token in {}: {error}", path.display()))?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        bail!("{} does not contain a token", path.display());
    }
    Ok(token.to_owned())
}
