//! The fold of a project's runtime. The kernel folds its own changes with the same function, so
//! that its state and the one folded from the log are the same.

use provost_proto::runtime::{
    BuildFailureCause, BuildStatus, BuildView, CrashReport, DevServerView, PreviewStatus,
    PreviewView, RuntimeChange, RuntimeStarted, RuntimeStatus, RuntimeView, TerminalStatus,
    TerminalView,
};
use provost_proto::{ActionId, Fact, UnixMicros};

use super::{EventMetadata, ViewDocument};

/// Folds a fact into the runtime of its project.
pub(super) fn fold_runtime(
    doc: Option<ViewDocument>,
    stamp: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    let known = doc.and_then(ViewDocument::into_runtime);
    let view = match RuntimeChange::from_fact(fact) {
        Some((project, action, _, what)) => {
            let mut view = known.unwrap_or_else(|| RuntimeView::new(project));
            apply_runtime_change(&mut view, stamp.at, action, what);
            view
        }
        None => clear_after_kernel_exit(known?, stamp.at, fact),
    };
    Some(ViewDocument::Runtime(Box::new(view)))
}

/// Applies a change. `at` is when it was recorded, `action` the action that caused it.
pub fn apply_runtime_change(
    view: &mut RuntimeView,
    at: UnixMicros,
    action: ActionId,
    change: RuntimeChange,
) {
    match change {
        RuntimeChange::BuildStarted(_)
        | RuntimeChange::BuildSucceeded(_)
        | RuntimeChange::BuildFailed(_) => apply_build_change(&mut view.build, at, action, change),
        RuntimeChange::Starting(_)
        | RuntimeChange::Started(_)
        | RuntimeChange::Restarted(_)
        | RuntimeChange::Stopping(_)
        | RuntimeChange::Stopped(_)
        | RuntimeChange::Crashed(_) => apply_dev_server_change(view, at, action, change),
        RuntimeChange::PreviewDetected(_)
        | RuntimeChange::PreviewReady(_)
        | RuntimeChange::PreviewLost(_) => apply_preview_change(&mut view.preview, change),
        RuntimeChange::TerminalOpened(_)
        | RuntimeChange::TerminalResized(_)
        | RuntimeChange::TerminalClosed(_) => {
            apply_terminal_change(&mut view.terminal, action, change)
        }
    }
    view.status = RuntimeView::combined_status(view.dev_server.status, view.build.status);
}

fn apply_build_change(
    build: &mut BuildView,
    at: UnixMicros,
    action: ActionId,
    change: RuntimeChange,
) {
    if let RuntimeChange::BuildStarted(start) = change {
        *build = BuildView {
            status: BuildStatus::Running,
            action: Some(action),
            pid: Some(start.pid),
            command: Some(start.command),
            started_at: Some(at),
            ..BuildView::default()
        };
    } else if let RuntimeChange::BuildSucceeded(done) = change {
        build.status = BuildStatus::Succeeded;
        (build.pid, build.exit_code) = (None, Some(0));
        build.duration_ms = Some(done.duration_ms);
        build.errors = done.warnings;
    } else if let RuntimeChange::BuildFailed(failure) = change {
        build.status = match failure.end {
            BuildFailureCause::Failed | BuildFailureCause::NotStarted => BuildStatus::Failed,
            BuildFailureCause::Stopped => BuildStatus::Stopped,
        };
        build.pid = None;
        (build.exit_code, build.signal) = (failure.exit_code, failure.signal);
        build.duration_ms = Some(failure.duration_ms);
        (build.errors, build.omitted) = (failure.errors, failure.omitted);
    }
}

fn apply_dev_server_change(
    view: &mut RuntimeView,
    at: UnixMicros,
    action: ActionId,
    change: RuntimeChange,
) {
    let dev_server = &mut view.dev_server;
    if let RuntimeChange::Starting(starting) = change {
        *dev_server = DevServerView {
            status: RuntimeStatus::Starting,
            action: Some(action),
            command: Some(starting.command),
            why: Some(starting.why),
            restarts: starting.restarts,
            ..DevServerView::default()
        };
    } else if let RuntimeChange::Started(run) | RuntimeChange::Restarted(run) = change {
        let RuntimeStarted { pid, command, restarts, .. } = run;
        dev_server.status = RuntimeStatus::Running;
        (dev_server.pid, dev_server.command) = (Some(pid), Some(command));
        (dev_server.restarts, dev_server.started_at) = (restarts, Some(at));
    } else if let RuntimeChange::Stopping(_) = change {
        dev_server.status = RuntimeStatus::Stopping;
    } else if let RuntimeChange::Stopped(stop) = change {
        dev_server.status = RuntimeStatus::Stopped;
        (dev_server.pid, dev_server.crash, dev_server.restart_at) = (None, None, None);
        (dev_server.exit_code, dev_server.signal) = (stop.exit_code, stop.signal);
        view.preview = PreviewView::default();
    } else if let RuntimeChange::Crashed(crashed) = change {
        dev_server.status = RuntimeStatus::Crashed;
        dev_server.pid = None;
        let crash = &crashed.crash;
        (dev_server.exit_code, dev_server.signal) = (crash.exit_code, crash.signal);
        let wait = crashed.restart_in_ms.map(|wait| wait.saturating_mul(1000));
        dev_server.restart_at = wait.map(|wait| at.saturating_add(wait));
        dev_server.crash = Some(crashed.crash);
        view.preview = PreviewView::default();
    }
}

fn apply_preview_change(preview: &mut PreviewView, change: RuntimeChange) {
    let (status, port, ports) = if let RuntimeChange::PreviewDetected(found) = change {
        (PreviewStatus::Detected, found.port, found.ports)
    } else if let RuntimeChange::PreviewReady(found) = change {
        (PreviewStatus::Ready, found.port, found.ports)
    } else if let RuntimeChange::PreviewLost(gone) = change {
        (PreviewStatus::Lost, gone.port, gone.ports)
    } else {
        return;
    };
    *preview = PreviewView { status, port: Some(port), url: None, ports };
}

fn apply_terminal_change(terminal: &mut TerminalView, action: ActionId, change: RuntimeChange) {
    if let RuntimeChange::TerminalOpened(open) = change {
        *terminal = TerminalView {
            status: TerminalStatus::Live,
            action: Some(action),
            pid: Some(open.pid),
            cols: open.cols,
            rows: open.rows,
            ..TerminalView::default()
        };
    } else if let RuntimeChange::TerminalResized(size) = change {
        (terminal.cols, terminal.rows) = (size.cols, size.rows);
    } else if let RuntimeChange::TerminalClosed(end) = change {
        terminal.status = TerminalStatus::Exited;
        terminal.pid = None;
        (terminal.exit_code, terminal.signal) = (end.exit_code, end.signal);
    }
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
    view.status = RuntimeView::combined_status(view.dev_server.status, view.build.status);
    view
}
