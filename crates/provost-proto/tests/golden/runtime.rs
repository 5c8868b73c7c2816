//! The runtime: its changes, as reports and as events, its views and its answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use expect_test::expect_file;
use provost_proto::kernel::{Happened, Printed, Report};
use provost_proto::runtime::{
    BuildDone, BuildEnd, BuildError, BuildFailure, BuildStart, BuildStatus, BuildView, CrashPhase,
    CrashReport, DevServerView, FoundBy, LogPage, Port, PreviewFound, PreviewGone, PreviewStatus,
    PreviewUrl, PreviewView, RunCause, RunCrash, RunStart, RunStarting, RunStop, RunStopping,
    RuntimeAnswer, RuntimeChange, RuntimeKernel, RuntimeNow, RuntimeState, RuntimeStatus,
    RuntimeView, Severity, StopCause, TerminalEnd, TerminalOpen, TerminalSize, TerminalStatus,
    TerminalView,
};
use provost_proto::{Fact, KernelStatus, Mode};

use crate::Golden;
use crate::samples::{AT, id, text, texts};

/// Each change as the event it becomes.
pub(crate) fn facts() -> Vec<Fact> {
    changes().into_iter().map(|change| change.into_fact(id(1), id(4), 9)).collect()
}

/// Each change as the report it comes in.
pub(crate) fn reports() -> Vec<Report> {
    let report = |change| Report { number: 9, action: id(4), what: Happened::Runtime(change) };
    changes().into_iter().map(report).collect()
}

fn changes() -> Vec<RuntimeChange> {
    let mut changes = builds();
    changes.extend(runs());
    changes.extend(previews());
    changes.extend(terminals());
    crate::assert_every_variant!(
        changes,
        RuntimeChange {
            BuildStarted,
            BuildSucceeded,
            BuildFailed,
            Starting,
            Started,
            Restarted,
            Stopping,
            Stopped,
            Crashed,
            PreviewDetected,
            PreviewReady,
            PreviewLost,
            TerminalOpened,
            TerminalResized,
            TerminalClosed,
        }
    );
    changes
}

fn complaints() -> Vec<BuildError> {
    let complaint = |file, line, column, severity| BuildError {
        file,
        line,
        column,
        message: text("no such name"),
        severity,
    };
    vec![
        complaint(Some(text("src/a.ts")), Some(3), Some(5), Severity::Error),
        complaint(None, None, None, Severity::Warning),
    ]
}

fn builds() -> Vec<RuntimeChange> {
    let failed = |end, exit_code, signal, why| {
        RuntimeChange::BuildFailed(BuildFailure {
            end,
            exit_code,
            signal,
            why,
            duration_ms: 12,
            errors: complaints(),
            omitted: 4,
        })
    };
    vec![
        RuntimeChange::BuildStarted(BuildStart { pid: 50, command: text("npm run build") }),
        RuntimeChange::BuildSucceeded(BuildDone { duration_ms: 12, warnings: complaints() }),
        failed(BuildEnd::Failed, Some(2), None, None),
        failed(BuildEnd::Stopped, None, Some(15), None),
        failed(BuildEnd::NotStarted, None, None, Some(text("no npm"))),
    ]
}

fn crash() -> CrashReport {
    CrashReport {
        exit_code: Some(1),
        signal: None,
        why: None,
        last_lines: texts(["Error: boom", "    at main"]),
        at: AT,
    }
}

fn runs() -> Vec<RuntimeChange> {
    let start = |cause| RunStart {
        pid: 51,
        command: text("npm run dev"),
        profile: text("serve"),
        cause,
        restarts: 2,
    };
    let stop =
        |cause, exit_code, signal| RuntimeChange::Stopped(RunStop { cause, exit_code, signal });
    let crashed = |phase, crash, restart_in_ms| {
        RuntimeChange::Crashed(RunCrash { phase, crash, restart_in_ms })
    };
    let unstarted = CrashReport {
        exit_code: None,
        signal: Some(11),
        why: Some(text("no npm")),
        last_lines: Vec::new(),
        at: AT,
    };
    vec![
        RuntimeChange::Starting(RunStarting {
            command: text("npm run dev"),
            why: text("package.json has a script `dev`"),
            cause: RunCause::Run,
            restarts: 0,
        }),
        RuntimeChange::Started(start(RunCause::Run)),
        RuntimeChange::Restarted(start(RunCause::Restart)),
        RuntimeChange::Restarted(start(RunCause::Crash)),
        RuntimeChange::Stopping(RunStopping { cause: StopCause::Stop }),
        stop(StopCause::Exit, Some(0), None),
        stop(StopCause::Shutdown, None, Some(15)),
        crashed(CrashPhase::Running, crash(), Some(1000)),
        crashed(CrashPhase::Starting, unstarted, None),
        crashed(CrashPhase::Building, crash(), None),
    ]
}

fn ports() -> Vec<Port> {
    let port = |address, pid, http, url| Port { port: 5173, address, pid, http, url };
    vec![
        port(
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(51),
            true,
            Some(text("http://shop.localhost:4177/")),
        ),
        port(IpAddr::V6(Ipv6Addr::UNSPECIFIED), None, false, None),
    ]
}

fn previews() -> Vec<RuntimeChange> {
    let found = |by| PreviewFound { port: 5173, by, ports: ports() };
    vec![
        RuntimeChange::PreviewDetected(found(FoundBy::Output)),
        RuntimeChange::PreviewDetected(found(FoundBy::Listener)),
        RuntimeChange::PreviewReady(found(FoundBy::Configured)),
        RuntimeChange::PreviewLost(PreviewGone {
            port: 5173,
            why: text("does not answer"),
            ports: ports(),
        }),
    ]
}

fn terminals() -> Vec<RuntimeChange> {
    let end = |cause, exit_code, signal| {
        RuntimeChange::TerminalClosed(TerminalEnd { cause, exit_code, signal })
    };
    vec![
        RuntimeChange::TerminalOpened(TerminalOpen {
            pid: 52,
            command: text("/bin/bash"),
            profile: text("terminal"),
            cols: 120,
            rows: 40,
        }),
        RuntimeChange::TerminalResized(TerminalSize { cols: 80, rows: 24 }),
        end(StopCause::Exit, Some(0), None),
        end(StopCause::Stop, None, Some(1)),
    ]
}

fn terminal_view() -> TerminalView {
    TerminalView {
        status: TerminalStatus::Live,
        action: Some(id(4)),
        pid: Some(52),
        cols: 120,
        rows: 40,
        offset: Some(7),
        exit_code: Some(0),
        signal: Some(1),
    }
}

fn dev_server_view() -> DevServerView {
    DevServerView {
        status: RuntimeStatus::Crashed,
        action: Some(id(4)),
        pid: Some(51),
        command: Some(text("npm run dev")),
        why: Some(text("package.json has a script `dev`")),
        restarts: 2,
        started_at: Some(AT),
        exit_code: Some(1),
        signal: Some(9),
        crash: Some(crash()),
        restart_at: Some(AT + 1),
    }
}

fn build_view() -> BuildView {
    BuildView {
        status: BuildStatus::Failed,
        action: Some(id(4)),
        pid: Some(50),
        command: Some(text("npm run build")),
        started_at: Some(AT),
        duration_ms: Some(12),
        exit_code: Some(2),
        signal: Some(9),
        errors: complaints(),
        omitted: 4,
    }
}

fn preview_view() -> PreviewView {
    PreviewView {
        status: PreviewStatus::Ready,
        port: Some(5173),
        url: Some(text("http://shop.localhost:4177/")),
        ports: ports(),
    }
}

pub(crate) fn views() -> Vec<RuntimeView> {
    let full = RuntimeView {
        project: id(1),
        status: RuntimeStatus::Crashed,
        terminal: terminal_view(),
        dev_server: dev_server_view(),
        build: build_view(),
        preview: preview_view(),
    };
    vec![full, RuntimeView::new(id(1))]
}

fn states() -> Vec<RuntimeState> {
    let state = |view: RuntimeView, kernel| RuntimeState {
        project: view.project,
        status: view.status,
        mode: Mode::Auto,
        kernel,
        terminal: view.terminal,
        dev_server: view.dev_server,
        build: view.build,
        preview: view.preview,
        seq: 70,
    };
    let [full, empty] = views().try_into().unwrap();
    let connected =
        RuntimeKernel { status: KernelStatus::Connected, pid: Some(43), heartbeat_ms: Some(1) };
    let lost = RuntimeKernel { status: KernelStatus::Lost, pid: None, heartbeat_ms: None };
    vec![state(full, connected), state(empty, lost)]
}

pub(crate) fn snapshots() -> Vec<RuntimeNow> {
    views().into_iter().map(|runtime| RuntimeNow { reached: 9, runtime }).collect()
}

pub(crate) fn log_pages() -> Vec<LogPage> {
    let page = |data: &[u8]| LogPage {
        oldest: 1,
        offset: 2,
        next: 5,
        end: 9,
        data: Printed::Bytes(data.to_vec().into()),
    };
    vec![page(b"ok\n"), page(&[0xff])]
}

#[test]
fn bodies_of_the_runtime_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("runtime view", &views());
    golden.section("runtime status", &states());
    let answers: Vec<_> =
        views().into_iter().map(|runtime| RuntimeAnswer { started: true, runtime }).collect();
    golden.section("runtime action result", &answers);
    let url = |status, url| PreviewUrl { status, url };
    golden.section(
        "preview url",
        &[url(PreviewStatus::Ready, Some(text("http://x/"))), url(PreviewStatus::None, None)],
    );
    golden.section("log page", &log_pages());
    golden.check(&expect_file!["files/runtime.txt"]);
}
