//! The state of a project's runtime: folded from the log, and current.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BuildDiagnostic, CrashReport, ListeningPort};
use crate::kernel::{OutputData, ReportNumber};
use crate::{ActionId, KernelStatus, LogCursor, ProjectId, ProjectMode, UnixMicros};

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
    /// The status of a project's runtime.
    RuntimeStatus {
        /// Nothing runs.
        #[default]
        Stopped,
        /// It is about to be started.
        Starting,
        /// The build runs.
        Building,
        /// The dev server runs.
        Running,
        /// It is being stopped, and a process of it is still alive.
        Stopping,
        /// It ended without a request.
        Crashed,
    }
    /// The status of the last build.
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
    /// The status of the preview.
    PreviewStatus {
        /// No process listens.
        #[default]
        None,
        /// A process listens, but has not answered yet.
        Detected,
        /// It answers.
        Ready,
        /// It no longer answers.
        Lost,
    }
    /// The status of the terminal.
    TerminalStatus {
        /// It was not opened.
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
        /// Its status.
        status: TerminalStatus,
        /// The action that opened it.
        action: Option<ActionId>,
        /// The process id of its shell.
        pid: Option<u32>,
        /// Its width, in columns.
        cols: u16,
        /// Its height, in rows.
        rows: u16,
        /// How many bytes it has printed; only the kernel knows it, so it is not in the log.
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
        /// Its status.
        status: RuntimeStatus,
        /// The action that started its run.
        action: Option<ActionId>,
        /// Its process id.
        pid: Option<u32>,
        /// The command of the current or last run.
        command: Option<String>,
        /// Why this command was chosen, as text for people.
        why: Option<String>,
        /// How many times it was restarted after a crash, in this run.
        restarts: u32,
        /// When its run was started.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        started_at: Option<UnixMicros>,
        /// The exit code it ended with.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// How it crashed, if it did and has not been started since.
        crash: Option<CrashReport>,
        /// When it will be restarted, if it will.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        restart_at: Option<UnixMicros>,
    }
    /// A project's last build.
    #[derive(Default)]
    BuildView {
        /// Its status.
        status: BuildStatus,
        /// The action that started it.
        action: Option<ActionId>,
        /// Its process id, while it runs.
        pid: Option<u32>,
        /// The command.
        command: Option<String>,
        /// When it was started.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        started_at: Option<UnixMicros>,
        /// The duration.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        duration_ms: Option<u64>,
        /// The exit code it ended with.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Its diagnostics.
        errors: Vec<BuildDiagnostic>,
        /// How many more diagnostics there were.
        omitted: u32,
    }
    /// A project's preview.
    #[derive(Default)]
    PreviewView {
        /// Its status.
        status: PreviewStatus,
        /// Its port.
        port: Option<u16>,
        /// Its proxied URL; only the daemon knows it, so it is not in the log.
        url: Option<String>,
        /// All ports on which processes of the project listen.
        ports: Vec<ListeningPort>,
    }
    /// A project's runtime, according to the log.
    RuntimeView {
        /// The project.
        project: ProjectId,
        /// Its status.
        status: RuntimeStatus,
        /// Its terminal.
        terminal: TerminalView,
        /// Its dev server.
        dev_server: DevServerView,
        /// Its last build.
        build: BuildView,
        /// Its preview.
        preview: PreviewView,
        /// The ports that answer over HTTP, each with the event since which it does. Only the log
        /// has positions, so a kernel leaves it empty.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        #[cfg_attr(feature = "ts", ts(optional, type = "Record<string, LogCursor>"))]
        #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<u16, crate::Seq>))]
        responding_since: BTreeMap<u16, LogCursor>,
        /// Whether the kernel has a terminal, live or exited: none outlives its kernel.
        #[serde(default)]
        has_terminal: bool,
    }
    /// The response of a kernel to `runtime`: the current state.
    RuntimeSnapshot {
        /// The last report that is included.
        #[cfg_attr(feature = "ts", ts(type = "number"))]
        reached: ReportNumber,
        /// The state.
        runtime: RuntimeView,
    }
    /// A project's kernel process, as the runtime's status shows it.
    RuntimeKernelStatus {
        /// Its status.
        status: KernelStatus,
        /// Its process id.
        pid: Option<u32>,
        /// The duration of the last heartbeat; absent if it does not answer.
        #[cfg_attr(feature = "ts", ts(type = "number | null"))]
        heartbeat_ms: Option<u64>,
    }
    /// The response of `GET /api/projects/{p}/runtime/status`: the current state.
    RuntimeStatusResponse {
        /// The project.
        project: ProjectId,
        /// Its status.
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
        /// The last event that is included.
        #[cfg_attr(feature = "openapi", schema(value_type = crate::Seq))]
        #[serde(rename = "seq")]
        cursor: LogCursor,
    }
    /// The result of `runtime.run`, `.stop`, `.restart`, `.build` and `.status`.
    RuntimeActionResult {
        /// Whether this request started something.
        started: bool,
        /// The state.
        runtime: RuntimeView,
    }
    /// The response of `GET /api/projects/{p}/preview/url`.
    PreviewUrl {
        /// Its status.
        status: PreviewStatus,
        /// The URL; absent while nothing listens.
        url: Option<String>,
    }
}

/// A page of the output of builds and dev servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuntimeLogPage {
    /// The offset of the oldest byte that is still kept: anything requested before it is gone.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub oldest: u64,
    /// The offset of this page.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub offset: u64,
    /// The offset of the next page, to be sent as `after`.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub next: u64,
    /// How many bytes were printed so far.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub end: u64,
    /// The output, with its escape sequences.
    #[cfg_attr(feature = "ts", ts(type = "{ text: string } | { hex: string }"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub data: OutputData,
}

impl RuntimeView {
    /// The view of a project in which nothing has run yet.
    pub fn new(project: ProjectId) -> Self {
        Self {
            project,
            status: RuntimeStatus::default(),
            terminal: TerminalView::default(),
            dev_server: DevServerView::default(),
            build: BuildView::default(),
            preview: PreviewView::default(),
            responding_since: BTreeMap::new(),
            has_terminal: false,
        }
    }

    /// The status of the runtime, given those of its dev server and of its last build. While a
    /// dev server waits for its build, or only a build runs, the status is building.
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
