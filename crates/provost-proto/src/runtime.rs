//! The runtime of a project: its dev server, builds, preview and terminal.
//!
//! The kernel process has the authoritative state and sends each change as one numbered report
//! ([`RuntimeChange`]), which becomes one fact of the log. The changes are folded into a
//! [`RuntimeView`]; the status route adds transient data.

mod change;
mod state;
#[cfg(test)]
mod tests;

use core::net::IpAddr;

use serde::{Deserialize, Serialize};

pub use change::{
    BuildFailed, BuildFailureCause, BuildStarted, BuildSucceeded, CrashPhase, PortSource,
    PreviewDetection, PreviewLost, RunCause, RuntimeChange, RuntimeCrashed, RuntimeStarted,
    RuntimeStarting, RuntimeStopped, RuntimeStopping, StopCause, TerminalClosed, TerminalOpened,
    TerminalSize,
};
pub use state::{
    BuildStatus, BuildView, DevServerView, PreviewStatus, PreviewUrl, PreviewView,
    RuntimeActionResult, RuntimeKernelStatus, RuntimeLogPage, RuntimeSnapshot, RuntimeStatus,
    RuntimeStatusResponse, RuntimeView, TerminalStatus, TerminalView,
};

use crate::UnixMicros;

/// One error or warning of a build tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BuildDiagnostic {
    /// The file, as the tool named it.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The tool's message.
    pub message: String,
    /// The severity.
    pub severity: DiagnosticSeverity,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DiagnosticSeverity {
    /// The build fails because of it.
    Error,
    /// The build succeeds in spite of it.
    Warning,
}

/// How a dev server ended without a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CrashReport {
    /// The exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started, if so.
    pub why: Option<String>,
    /// The last lines of output, without escape sequences: at most
    /// [`MAX_CRASH_LINES`](crate::limits::MAX_CRASH_LINES).
    pub last_lines: Vec<String>,
    /// When, by the kernel's clock.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// A port on which a process of the project listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListeningPort {
    /// Its number.
    pub port: u16,
    /// The address it is bound to.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub address: IpAddr,
    /// The process that listens, if it is known.
    pub pid: Option<u32>,
    /// Whether it answered an HTTP request.
    pub http: bool,
    /// Its proxied URL; only the daemon knows it, so it is not in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub url: Option<String>,
}
