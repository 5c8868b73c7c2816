//! What a project runs: its dev server, its builds, its preview, its terminal.
//!
//! The kernel process is the truth and says each change as one numbered report
//! ([`RuntimeChange`]), which becomes one fact of the log. Folded, the changes
//! are a [`RuntimeView`]; the status route adds what only the moment knows.

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

/// One thing that a tool complained about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BuildDiagnostic {
    /// The file, as the tool named it; none if it named none.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// What is wrong, in the tool's words.
    pub message: String,
    /// How bad it is.
    pub severity: DiagnosticSeverity,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DiagnosticSeverity {
    /// It does not work.
    Error,
    /// It may not be meant.
    Warning,
}

/// How a dev server ended that nobody told to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CrashReport {
    /// The exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal, if that ended it.
    pub signal: Option<i32>,
    /// Why it could not even start, if so.
    pub why: Option<String>,
    /// What was printed last, without escape codes: at most
    /// [`CRASH_LINES`](crate::limits::CRASH_LINES).
    pub last_lines: Vec<String>,
    /// When, by the kernel's clock.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub at: UnixMicros,
}

/// A port on which something of the project listens.
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
    /// The process that listens, if that is known.
    pub pid: Option<u32>,
    /// Whether it has answered a request over HTTP.
    pub http: bool,
    /// Where it is proxied; only the daemon knows, so it is missing in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub url: Option<String>,
}
