//! The protocol between the daemon and a project's kernel process.
//!
//! One Unix socket, frames with a length and a kind. Control messages are JSON-RPC 2.0 requests
//! of the daemon. Events of commands are numbered reports, which the kernel keeps until the
//! daemon has recorded them: a crash of the daemon neither loses nor duplicates one. Output of
//! commands is sent as raw bytes, not as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

pub use crate::output::{OutputChunk, OutputData, OutputStream};
use crate::runtime::RuntimeChange;
use crate::{ActionId, Code, PinnedFile, RawJson};

/// The version of this protocol. A kernel outlives the daemon that started it, so
/// the two exchange their versions first; a daemon refuses a kernel with another
/// version, and leaves it running.
pub const PROTOCOL_VERSION: u32 = 4;

/// The longest frame, in bytes. Larger ones are refused before anything is allocated.
pub const MAX_FRAME_BYTES: usize = 24 * 1024 * 1024;

/// The number of a report, from 1.
pub type ReportNumber = u64;

/// The requests of the daemon. The name of a variant is the JSON-RPC method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "method",
    content = "params",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Method {
    /// The handshake. Must come first.
    Hello {
        /// Proves that the daemon can read the kernel's folder.
        secret: String,
        /// The daemon's protocol version.
        protocol: u32,
    },
    /// The secrets that the kernel must redact, and the daemon's ports. Every daemon must send
    /// them before anything is executed.
    Secrets {
        /// All known secrets.
        values: Vec<KnownSecret>,
        /// The ports of the daemon and of its previews, on which no run may listen. Kernels
        /// that do not know this field ignore it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ports: Vec<u16>,
    },
    /// The heartbeat; the response is empty.
    Ping {},
    /// Send the reports after this one, and then new ones as they occur.
    Attach {
        /// The last report that is in the log.
        after: ReportNumber,
    },
    /// The reports up to this one are in the log.
    Acknowledge {
        /// The last of them.
        up_to: ReportNumber,
    },
    /// Execute a permitted action.
    Execute {
        /// The action.
        id: ActionId,
        /// Its name.
        action: String,
        /// Its parameters.
        params: Value,
        /// The rules about paths that a search or listing must not show, or a command must
        /// not write.
        #[serde(rename = "limits", default, skip_serializing_if = "Vec::is_empty")]
        visibility_rules: Vec<VisibilityRule>,
        /// The preconditions of the decision, if there are any. The kernel checks them before it
        /// executes the action.
        #[serde(rename = "terms", default, skip_serializing_if = "Option::is_none")]
        preconditions: Option<Preconditions>,
        /// Whether it is a person's own, or a person was shown exactly this action and allowed
        /// it: what it writes is theirs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approved: bool,
        /// For a command: paths that it can read besides what it always can.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        readable: Vec<String>,
    },
    /// Cancel an action.
    Cancel {
        /// The action.
        id: ActionId,
    },
    /// Return the outcomes of these actions.
    Outcomes {
        /// The actions.
        ids: Vec<ActionId>,
        /// Whether to respond only when one of them has ended, or none of them is running.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wait: bool,
    },
    /// Turn this connection into the terminal's stream: after the response
    /// ([`TerminalAttachResponse`](crate::terminal::TerminalAttachResponse)) both sides send its
    /// frames.
    Terminal {
        /// How many bytes of output the client has; absent for a new client.
        after: Option<u64>,
        /// The width of the client's window, in columns.
        cols: u16,
        /// Its height, in rows.
        rows: u16,
    },
    /// Read the output of builds and dev servers; the response is a
    /// [`RuntimeLogPage`](crate::runtime::RuntimeLogPage).
    Logs {
        /// The offset from which to read.
        after: u64,
        /// The most bytes to return.
        limit: u64,
    },
    /// Read the current state of the runtime; the response is a
    /// [`RuntimeSnapshot`](crate::runtime::RuntimeSnapshot).
    Runtime {},
    /// Stop all processes, then exit.
    Shutdown {},
}

/// A rule about paths that a requester may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VisibilityRule {
    /// Its id.
    pub id: String,
    /// Its layer: `builtin`, `user` or `project`.
    pub layer: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The paths that it is about; all if empty.
    pub path: Vec<String>,
    /// The paths that it excepts.
    pub except: Vec<String>,
}

/// What the decision about an action depends on: the kernel checks it before it executes the
/// action.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The links on the paths that it names. No other link is followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<ObservedLink>,
    /// The files that it takes instructions from, with the hashes that were approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinnedFile>,
    /// Those of them that it runs: they must not be replaced before they were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
}

/// A symbolic link, and its target at the time of the decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedLink {
    /// The link, relative to the project.
    pub path: String,
    /// The target, relative to the project; `.` is the project.
    #[serde(rename = "leadsTo")]
    pub target: String,
}

/// A secret value. `{:?}` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSecret {
    /// Its source, usually a variable. The mark that replaces the secret shows this name.
    pub name: String,
    /// The secret itself.
    pub value: String,
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownSecret({})", self.name)
    }
}

/// A numbered request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcRequest {
    /// Always `2.0`.
    pub jsonrpc: JsonRpcVersion,
    /// The response has the same number.
    pub id: u64,
    /// The method with its parameters.
    #[serde(flatten)]
    pub method: Method,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcResponse {
    /// Always `2.0`.
    pub jsonrpc: JsonRpcVersion,
    /// The number of the request.
    pub id: u64,
    /// The result, on success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// The error, on failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

/// A JSON-RPC error; our own data is in `data`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// −32000 for our own errors.
    pub code: i64,
    /// A message for people.
    pub message: String,
    /// Our error code with details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorInfo>,
}

/// `"2.0"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsonRpcVersion {
    /// The only version.
    #[serde(rename = "2.0")]
    V2,
}

/// The response to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelloResponse {
    /// The kernel's protocol version.
    pub protocol: u32,
    /// Identifies the kernel process; new with every start.
    pub boot: Uuid,
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The running actions.
    pub running: Vec<ActionId>,
}

/// Why an action failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorInfo {
    /// A stable code.
    pub code: Code,
    /// A message for people.
    pub message: String,
    /// Further data, where it helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub details: Option<Value>,
}

/// A numbered report about a command or the project's runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KernelReport {
    /// Its number.
    pub number: ReportNumber,
    /// The action; for a change of the runtime, the one that started it.
    pub action: ActionId,
    /// The content.
    pub what: ReportPayload,
}

/// The content of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReportPayload {
    /// A command was started.
    Started {
        /// Its process id.
        pid: u32,
        /// The sandbox profile.
        profile: String,
        /// The sandbox mechanisms that were applied, as `provost doctor` names them.
        layers: BTreeMap<String, Value>,
    },
    /// A command printed output.
    Output(OutputChunk),
    /// A command has ended, and no process of it is left.
    Finished(ActionOutcome),
    /// The project's runtime changed. Since version 4.
    Runtime(RuntimeChange),
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionOutcome {
    /// The exit code of a command that exited.
    pub exit_code: Option<i32>,
    /// The signal that ended a command.
    pub signal: Option<i32>,
    /// The duration.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub duration_ms: u64,
    /// Why it failed, if it did. An exit code of 1 is not a failure.
    pub fault: Option<ErrorInfo>,
    /// For actions on files, what changed; for commands, how much was printed and
    /// [`ObservedChanges`].
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub summary: Value,
}

/// Changes in the project's folder while a command ran, whoever made them: `meanwhile` in the
/// summary of its outcome, if there are any.
///
/// Without what the project's ignore files exclude, and without git's own data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ObservedChanges {
    /// New or changed files and, with a trailing `/`, folders that are new and empty, were moved,
    /// or have other permissions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub changed: Vec<String>,
    /// Folders in which names were added or removed, where it is unknown which; `.` is the
    /// project folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub folders: Vec<String>,
    /// Whether more may have changed than is listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
    pub more: bool,
}
