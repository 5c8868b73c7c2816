//! The runtime: its changes, as reports and as events, its views and its answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use expect_test::expect_file;
use provost_proto::kernel::{KernelReport, OutputData, ReportPayload};
use provost_proto::runtime::{
    BuildDiagnostic, BuildFailed, BuildFailureCause, BuildStarted, BuildStatus, BuildSucceeded,
    BuildView, CrashPhase, CrashReport, DevServerView, DiagnosticSeverity, ListeningPort,
    PortSource, PreviewDetection, PreviewLost, PreviewStatus, PreviewUrl, PreviewView, RunCause,
    RuntimeActionResult, RuntimeChange, RuntimeCrashed, RuntimeKernelStatus, RuntimeLogPage,
    RuntimeSnapshot, RuntimeStarted, RuntimeStarting, RuntimeStatus, RuntimeStatusResponse,
    RuntimeStopped, RuntimeStopping, RuntimeView, StopCause, TerminalClosed, TerminalOpened,
    TerminalSize, TerminalStatus, TerminalView,
};
use provost_proto::{Fact, KernelStatus, LogCursor, ProjectMode};

use crate::Golden;
use crate::samples::{AT, id, text, texts};

/// Each change as the event it becomes.
pub(crate) fn facts() -> Vec<Fact> {
    changes().into_iter().map(|change| change.into_fact(id(1), id(4), 9)).collect()
}

/// Each change as the report it comes in.
pub(crate) fn reports() -> Vec<KernelReport> {
    let report =
        |change| KernelReport { number: 9, action: id(4), what: ReportPayload::Runtime(change) };
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

fn complaints() -> Vec<BuildDiagnostic> {
    let complaint = |file, line, column, severity| BuildDiagnostic {
        file,
        line,
        column,
        message: text("no such name"),
        severity,
    };
    vec![
        complaint(Some(text("src/a.ts")), Some(3), Some(5), DiagnosticSeverity::Error),
        complaint(None, None, None, DiagnosticSeverity::Warning),
    ]
}

fn builds() -> Vec<RuntimeChange> {
    let failed = |end, exit_code, signal, why| {
        RuntimeChange::BuildFailed(BuildFailed {
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
        RuntimeChange::BuildStarted(BuildStarted { pid: 50, command: text("npm run build") }),
        RuntimeChange::BuildSucceeded(BuildSucceeded { duration_ms: 12, warnings: complaints() }),
        failed(BuildFailureCause::Failed, Some(2), None, None),
        failed(BuildFailureCause::Stopped, None, Some(15), None),
        failed(BuildFailureCause::NotStarted, None, None, Some(text("no npm"))),
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
    let start = |cause| RuntimeStarted {
        pid: 51,
        command: text("npm run dev"),
        profile: text("serve"),
        cause,
        restarts: 2,
    };
    let stop = |cause, exit_code, signal| {
        RuntimeChange::Stopped(RuntimeStopped { cause, exit_code, signal })
    };
    let crashed = |phase, crash, restart_in_ms| {
        RuntimeChange::Crashed(RuntimeCrashed { phase, crash, restart_in_ms })
    };
    let unstarted = CrashReport {
        exit_code: None,
        signal: Some(11),
        why: Some(text("no npm")),
        last_lines: Vec::new(),
        at: AT,
    };
    vec![
        RuntimeChange::Starting(RuntimeStarting {
            command: text("npm run dev"),
            why: text("package.json has a script `dev`"),
            cause: RunCause::Run,
            restarts: 0,
        }),
        RuntimeChange::Started(start(RunCause::Run)),
        RuntimeChange::Restarted(start(RunCause::Restart)),
        RuntimeChange::Restarted(start(RunCause::Crash)),
        RuntimeChange::Stopping(RuntimeStopping { cause: StopCause::Stop }),
        stop(StopCause::Exit, Some(0), None),
        stop(StopCause::Shutdown, None, Some(15)),
        crashed(CrashPhase::Running, crash(), Some(1000)),
        crashed(CrashPhase::Starting, unstarted, None),
        crashed(CrashPhase::Building, crash(), None),
    ]
}

fn ports() -> Vec<ListeningPort> {
    let port = |address, pid, http, url| ListeningPort { port: 5173, address, pid, http, url };
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
    let found = |by| PreviewDetection { port: 5173, by, ports: ports() };
    vec![
        RuntimeChange::PreviewDetected(found(PortSource::Output)),
        RuntimeChange::PreviewDetected(found(PortSource::Listener)),
        RuntimeChange::PreviewReady(found(PortSource::Configured)),
        RuntimeChange::PreviewLost(PreviewLost {
            port: 5173,
            why: text("does not answer"),
            ports: ports(),
        }),
    ]
}

fn terminals() -> Vec<RuntimeChange> {
    let end = |cause, exit_code, signal| {
        RuntimeChange::TerminalClosed(TerminalClosed { cause, exit_code, signal })
    };
    vec![
        RuntimeChange::TerminalOpened(TerminalOpened {
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
        responding_since: [(5173, LogCursor::from_seq(7))].into(),
        has_terminal: true,
    };
    vec![full, RuntimeView::new(id(1))]
}

fn states() -> Vec<RuntimeStatusResponse> {
    let state = |view: RuntimeView, kernel| RuntimeStatusResponse {
        project: view.project,
        status: view.status,
        mode: ProjectMode::Auto,
        kernel,
        terminal: view.terminal,
        dev_server: view.dev_server,
        build: view.build,
        preview: view.preview,
        cursor: LogCursor::from_seq(70),
    };
    let [full, empty] = views().try_into().unwrap();
    let connected = RuntimeKernelStatus {
        status: KernelStatus::Connected,
        pid: Some(43),
        heartbeat_ms: Some(1),
    };
    let lost = RuntimeKernelStatus { status: KernelStatus::Lost, pid: None, heartbeat_ms: None };
    vec![state(full, connected), state(empty, lost)]
}

pub(crate) fn snapshots() -> Vec<RuntimeSnapshot> {
    views().into_iter().map(|runtime| RuntimeSnapshot { reached: 9, runtime }).collect()
}

pub(crate) fn log_pages() -> Vec<RuntimeLogPage> {
    let page = |data: &[u8]| RuntimeLogPage {
        oldest: 1,
        offset: 2,
        next: 5,
        end: 9,
        data: OutputData::Bytes(data.to_vec().into()),
    };
    vec![page(b"ok\n"), page(&[0xff])]
}

#[test]
fn bodies_of_the_runtime_keep_their_fields() {
    let mut golden = Golden::default();
    golden.section("runtime view", &views());
    golden.section("runtime status", &states());
    let answers: Vec<_> =
        views().into_iter().map(|runtime| RuntimeActionResult { started: true, runtime }).collect();
    golden.section("runtime action result", &answers);
    let url = |status, url| PreviewUrl { status, url };
    golden.section(
        "preview url",
        &[url(PreviewStatus::Ready, Some(text("http://x/"))), url(PreviewStatus::None, None)],
    );
    golden.section("log page", &log_pages());
    golden.check(&expect_file!["files/runtime.txt"]);
}
