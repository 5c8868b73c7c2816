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
    BuildDone, BuildEnd, BuildFailure, BuildStart, CrashPhase, FoundBy, PreviewFound, PreviewGone,
    RunCause, RunCrash, RunStart, RunStarting, RunStop, RunStopping, RuntimeChange, StopCause,
    TerminalEnd, TerminalOpen, TerminalSize,
};
pub use state::{
    BuildStatus, BuildView, DevServerView, LogPage, PreviewStatus, PreviewUrl, PreviewView,
    RuntimeAnswer, RuntimeKernel, RuntimeNow, RuntimeState, RuntimeStatus, RuntimeView,
    TerminalStatus, TerminalView,
};

use crate::Micros;

/// One thing that a tool complained about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BuildError {
    /// The file, as the tool named it; none if it named none.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// What is wrong, in the tool's words.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Severity {
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
    pub at: Micros,
}

/// A port on which something of the project listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Port {
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
