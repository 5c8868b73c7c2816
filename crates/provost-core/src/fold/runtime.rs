//! The fold of a project's runtime. The kernel folds its own changes with the same function, so
//! that its state and the one folded from the log are the same.

use std::collections::BTreeMap;

use provost_proto::runtime::{
    BuildFailed, BuildFailureCause, BuildStatus, BuildView, CrashReport, DevServerView,
    ListeningPort, PreviewStatus, PreviewView, RuntimeChange, RuntimeCrashed, RuntimeStarted,
    RuntimeStatus, RuntimeView, TerminalStatus, TerminalView,
};
use provost_proto::{ActionId, Fact, LogCursor, UnixMicros};

use super::{EventMetadata, ViewDocument};

/// Folds a fact into the runtime of its project.
pub(super) fn fold_runtime(
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    let known = doc.and_then(ViewDocument::into_runtime);
    let mut view = match RuntimeChange::from_fact(fact) {
        Some((project, action, _, what)) => {
            let mut view = known.unwrap_or_else(|| RuntimeView::new(project));
            apply_runtime_change(&mut view, metadata.at, action, what);
            view
        }
        None => clear_after_kernel_exit(known?, metadata.at, fact),
    };
    view.responding_since = responding_ports(&view, metadata.cursor);
    Some(ViewDocument::Runtime(Box::new(view)))
}

/// Applies a change. `at` is when it was recorded, `action` the action that caused it.
#[expect(clippy::too_many_lines, reason = "a table of all changes")]
pub fn apply_runtime_change(
    view: &mut RuntimeView,
    at: UnixMicros,
    action: ActionId,
    change: RuntimeChange,
) {
    match change {
        RuntimeChange::BuildStarted(start) => {
            view.build = BuildView {
                status: BuildStatus::Running,
                action: Some(action),
                pid: Some(start.pid),
                command: Some(start.command),
                started_at: Some(at),
                ..BuildView::default()
            };
        }
        RuntimeChange::BuildSucceeded(success) => {
            view.build.status = BuildStatus::Succeeded;
            (view.build.pid, view.build.exit_code) = (None, Some(0));
            view.build.duration_ms = Some(success.duration_ms);
            view.build.errors = success.warnings;
        }
        RuntimeChange::BuildFailed(failure) => apply_build_failure(&mut view.build, failure),
        RuntimeChange::Starting(starting) => {
            view.dev_server = DevServerView {
                status: RuntimeStatus::Starting,
                action: Some(action),
                command: Some(starting.command),
                why: Some(starting.why),
                restarts: starting.restarts,
                ..DevServerView::default()
            };
        }
        RuntimeChange::Started(run) | RuntimeChange::Restarted(run) => {
            apply_start(&mut view.dev_server, at, run);
        }
        RuntimeChange::Stopping(_) => view.dev_server.status = RuntimeStatus::Stopping,
        RuntimeChange::Stopped(stop) => {
            let dev_server = &mut view.dev_server;
            dev_server.status = RuntimeStatus::Stopped;
            (dev_server.pid, dev_server.crash, dev_server.restart_at) = (None, None, None);
            (dev_server.exit_code, dev_server.signal) = (stop.exit_code, stop.signal);
            view.preview = PreviewView::default();
        }
        RuntimeChange::Crashed(crashed) => {
            apply_crash(&mut view.dev_server, at, crashed);
            view.preview = PreviewView::default();
        }
        RuntimeChange::PreviewDetected(found) => {
            view.preview = new_preview(PreviewStatus::Detected, found.port, found.ports);
        }
        RuntimeChange::PreviewReady(found) => {
            view.preview = new_preview(PreviewStatus::Ready, found.port, found.ports);
        }
        RuntimeChange::PreviewLost(lost) => {
            view.preview = new_preview(PreviewStatus::Lost, lost.port, lost.ports);
        }
        RuntimeChange::TerminalOpened(open) => {
            view.terminal = TerminalView {
                status: TerminalStatus::Live,
                action: Some(action),
                pid: Some(open.pid),
                cols: open.cols,
                rows: open.rows,
                ..TerminalView::default()
            };
            view.has_terminal = true;
        }
        RuntimeChange::TerminalResized(size) => {
            (view.terminal.cols, view.terminal.rows) = (size.cols, size.rows);
        }
        RuntimeChange::TerminalClosed(end) => {
            (view.terminal.status, view.terminal.pid) = (TerminalStatus::Exited, None);
            (view.terminal.exit_code, view.terminal.signal) = (end.exit_code, end.signal);
        }
    }
    view.status = RuntimeView::combined_status(view.dev_server.status, view.build.status);
}

fn apply_build_failure(build: &mut BuildView, failure: BuildFailed) {
    build.status = match failure.end {
        BuildFailureCause::Failed | BuildFailureCause::NotStarted => BuildStatus::Failed,
        BuildFailureCause::Stopped => BuildStatus::Stopped,
    };
    build.pid = None;
    (build.exit_code, build.signal) = (failure.exit_code, failure.signal);
    build.duration_ms = Some(failure.duration_ms);
    (build.errors, build.omitted) = (failure.errors, failure.omitted);
}

fn apply_start(dev_server: &mut DevServerView, at: UnixMicros, run: RuntimeStarted) {
    let RuntimeStarted { pid, command, restarts, .. } = run;
    dev_server.status = RuntimeStatus::Running;
    (dev_server.pid, dev_server.command) = (Some(pid), Some(command));
    (dev_server.restarts, dev_server.started_at) = (restarts, Some(at));
}

fn apply_crash(dev_server: &mut DevServerView, at: UnixMicros, crashed: RuntimeCrashed) {
    let RuntimeCrashed { crash, restart_in_ms, .. } = crashed;
    dev_server.status = RuntimeStatus::Crashed;
    dev_server.pid = None;
    (dev_server.exit_code, dev_server.signal) = (crash.exit_code, crash.signal);
    let delay = restart_in_ms.map(|millis| millis.saturating_mul(1000));
    dev_server.restart_at = delay.map(|micros| at.saturating_add(micros));
    dev_server.crash = Some(crash);
}

fn new_preview(status: PreviewStatus, port: u16, ports: Vec<ListeningPort>) -> PreviewView {
    PreviewView { status, port: Some(port), url: None, ports }
}

/// The kernel has ended, or a new one was started: nothing that ran in it is left.
fn clear_after_kernel_exit(mut view: RuntimeView, at: UnixMicros, fact: &Fact) -> RuntimeView {
    let in_order = matches!(fact, Fact::KernelStopped { .. });
    let dev_server = &mut view.dev_server;
    dev_server.restart_at = None;
    match dev_server.status {
        RuntimeStatus::Stopped | RuntimeStatus::Crashed => {}
        RuntimeStatus::Starting
        | RuntimeStatus::Building
        | RuntimeStatus::Running
        | RuntimeStatus::Stopping => {
            dev_server.pid = None;
            dev_server.status =
                if in_order { RuntimeStatus::Stopped } else { RuntimeStatus::Crashed };
            dev_server.crash = (!in_order).then(|| CrashReport {
                exit_code: None,
                signal: None,
                why: Some("the project's kernel was lost, and with it what ran there".to_owned()),
                last_lines: Vec::new(),
                at,
            });
        }
    }
    if view.build.status == BuildStatus::Running {
        view.build.status = if in_order { BuildStatus::Stopped } else { BuildStatus::Failed };
        view.build.pid = None;
    }
    if view.terminal.status == TerminalStatus::Live {
        (view.terminal.status, view.terminal.pid) = (TerminalStatus::Exited, None);
    }
    view.preview = PreviewView::default();
    view.has_terminal = false;
    view.status = RuntimeView::combined_status(view.dev_server.status, view.build.status);
    view
}

/// Since when each port answers. One that stopped answering in between starts anew.
fn responding_ports(view: &RuntimeView, at: LogCursor) -> BTreeMap<u16, LogCursor> {
    let ports = view.preview.ports.iter().filter(|port| port.http);
    ports
        .map(|port| (port.port, view.responding_since.get(&port.port).copied().unwrap_or(at)))
        .collect()
}
