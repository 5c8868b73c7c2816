//! How it stands with a project's runtime: folded from the log, and now.

use serde::{Deserialize, Serialize};

use super::{BuildDiagnostic, CrashReport, ListeningPort};
use crate::kernel::{OutputData, ReportNumber};
use crate::{ActionId, KernelStatus, ProjectId, ProjectMode, Seq, UnixMicros};

macro_rules! status {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            pub enum $name { $($(#[$about])* $variant,)+ }
        )+
    };
}

macro_rules! view {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            pub struct $name { $($(#[$about])* pub $field: $type,)+ }
        )+
    };
}

status! {
    /// Whether a project runs.
    RuntimeStatus {
        /// Nothing of it is alive.
        #[default]
        Stopped,
        /// It was asked to run, and its program does not run yet.
        Starting,
        /// Its build runs.
        Building,
        /// Its dev server runs.
        Running,
        /// It was told to end, and something of it is still alive.
        Stopping,
        /// It ended though nobody asked.
        Crashed,
    }
    /// How the last build ended.
    BuildStatus {
        /// There was none.
        #[default]
        None,
        /// It runs.
        Running,
        /// It succeeded.
        Succeeded,
        /// It failed.
        Failed,
        /// Someone stopped it.
        Stopped,
    }
    /// Whether there is something to look at.
    PreviewStatus {
        /// Nothing listens.
        #[default]
        None,
        /// Something listens; it has not answered yet.
        Detected,
        /// It answers.
        Ready,
        /// It answered, and does not any more.
        Lost,
    }
    /// Whether there is a terminal.
    TerminalStatus {
        /// Nobody has opened it.
        #[default]
        None,
        /// Its shell runs.
        Live,
        /// Its shell has ended.
        Exited,
    }
}

view! {
    /// A project's terminal.
    #[derive(Default)]
    TerminalView {
        /// Whether it is there.
        status: TerminalStatus,
        /// The action that opened it.
        action: Option<ActionId>,
        /// The process id of its shell.
        pid: Option<u32>,
        /// Its width.
        cols: u16,
        /// Its height.
        rows: u16,
        /// How many bytes it has printed; only the kernel knows, so it is missing in the log.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        offset: Option<u64>,
        /// The exit code of its shell.
        exit_code: Option<i32>,
        /// The signal that ended its shell.
        signal: Option<i32>,
    }
    /// A project's dev server.
    #[derive(Default)]
    DevServerView {
        /// Whether it runs.
        status: RuntimeStatus,
        /// The action that began its run.
        action: Option<ActionId>,
        /// Its process id.
        pid: Option<u32>,
        /// What runs, or ran last.
        command: Option<String>,
        /// Why just that, in plain words.
        why: Option<String>,
        /// How many times it was restarted after a crash, in this run.
        restarts: u32,
        /// When its run began.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        started_at: Option<UnixMicros>,
        /// The exit code it ended with.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// How it crashed, if it did and has not run since.
        crash: Option<CrashReport>,
        /// When it is restarted, if it is.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        restart_at: Option<UnixMicros>,
    }
    /// A project's last build.
    #[derive(Default)]
    BuildView {
        /// How it ended.
        status: BuildStatus,
        /// The action that began it.
        action: Option<ActionId>,
        /// Its process id, while it runs.
        pid: Option<u32>,
        /// What ran.
        command: Option<String>,
        /// When it began.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        started_at: Option<UnixMicros>,
        /// How long it took.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        duration_ms: Option<u64>,
        /// The exit code it ended with.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// What the tool complained about.
        errors: Vec<BuildDiagnostic>,
        /// How many more there were.
        omitted: u32,
    }
    /// A project's preview.
    #[derive(Default)]
    PreviewView {
        /// Whether it answers.
        status: PreviewStatus,
        /// Its port.
        port: Option<u16>,
        /// Where it is proxied; only the daemon knows, so it is missing in the log.
        url: Option<String>,
        /// All on which something of the project listens.
        ports: Vec<ListeningPort>,
    }
    /// A project's runtime, as far as the log knows.
    RuntimeView {
        /// Whose it is.
        project: ProjectId,
        /// Whether it runs.
        status: RuntimeStatus,
        /// Its terminal.
        terminal: TerminalView,
        /// Its dev server.
        dev_server: DevServerView,
        /// Its last build.
        build: BuildView,
        /// Its preview.
        preview: PreviewView,
    }
    /// What a kernel answers to `runtime`: how it stands now.
    RuntimeSnapshot {
        /// The last report that is in it.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        reached: ReportNumber,
        /// How it stands.
        runtime: RuntimeView,
    }
    /// A project's kernel process, as the runtime's status shows it.
    RuntimeKernelStatus {
        /// Whether it is there.
        status: KernelStatus,
        /// Its process id.
        pid: Option<u32>,
        /// How long its last heartbeat took; none if it does not answer.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        heartbeat_ms: Option<u64>,
    }
    /// The answer of `GET /api/projects/{p}/runtime/status`: the truth.
    RuntimeStatusResponse {
        /// Whose it is.
        project: ProjectId,
        /// Whether it runs.
        status: RuntimeStatus,
        /// The project's mode.
        mode: ProjectMode,
        /// Its kernel process.
        kernel: RuntimeKernelStatus,
        /// Its terminal.
        terminal: TerminalView,
        /// Its dev server.
        dev_server: DevServerView,
        /// Its last build.
        build: BuildView,
        /// Its preview.
        preview: PreviewView,
        /// The last event that is in it.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        seq: Seq,
    }
    /// The result of `runtime.run`, `.stop`, `.restart`, `.build` and `.status`.
    RuntimeActionResult {
        /// Whether this very request started something.
        started: bool,
        /// How it stands.
        runtime: RuntimeView,
    }
    /// The answer of `GET /api/projects/{p}/preview/url`.
    PreviewUrl {
        /// Whether it answers.
        status: PreviewStatus,
        /// Where to look; none while nothing listens.
        url: Option<String>,
    }
}

/// A piece of what builds and dev servers printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuntimeLogPage {
    /// The oldest byte that is still kept: what was asked for before it is gone.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub oldest: u64,
    /// Where this piece begins.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub offset: u64,
    /// Where to go on; the next request's `after`.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub next: u64,
    /// How much there is by now.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub end: u64,
    /// What was printed, with its escape codes.
    #[cfg_attr(feature = "ts", ts(type = "{ text: string } | { hex: string }"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub data: OutputData,
}

impl RuntimeView {
    /// Of a project in which nothing has run yet.
    pub fn new(project: ProjectId) -> Self {
        Self {
            project,
            status: RuntimeStatus::default(),
            terminal: TerminalView::default(),
            dev_server: DevServerView::default(),
            build: BuildView::default(),
            preview: PreviewView::default(),
        }
    }

    /// What the whole is, if its dev server and its last build are so. A dev
    /// server that waits for its build is starting, and the whole is building;
    /// so is a project in which only a build is alive.
    pub fn combined_status(dev_server: RuntimeStatus, build: BuildStatus) -> RuntimeStatus {
        match (dev_server, build) {
            (
                RuntimeStatus::Stopped | RuntimeStatus::Crashed | RuntimeStatus::Starting,
                BuildStatus::Running,
            ) => RuntimeStatus::Building,
            (
                status,
                BuildStatus::None
                | BuildStatus::Running
                | BuildStatus::Succeeded
                | BuildStatus::Failed
                | BuildStatus::Stopped,
            ) => status,
        }
    }
}
