//! What the daemon and a project's kernel process say to each other.
//!
//! One Unix socket, frames with a length and a kind. Control is JSON-RPC 2.0:
//! the daemon asks, the kernel answers. What happens to commands comes up as
//! numbered reports, which the kernel keeps until the daemon has them in the
//! log: after a crash of the daemon nothing is lost and nothing is doubled.
//! What commands print travels as the bytes it is, not as JSON.

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

/// The longest frame. Larger ones are refused before anything is allocated.
pub const MAX_FRAME_BYTES: usize = 24 * 1024 * 1024;

/// The number of a report; the first is 1.
pub type ReportNumber = u64;

/// What the daemon can ask. The name of a variant is the JSON-RPC method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "method",
    content = "params",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Method {
    /// Who is there. Must come first.
    Hello {
        /// Proves that the daemon can read the kernel's folder.
        secret: String,
        /// The daemon's protocol.
        protocol: u32,
    },
    /// What the kernel must not let out. Must come before anything is executed,
    /// and from every daemon anew.
    Secrets {
        /// All that are known.
        values: Vec<KnownSecret>,
    },
    /// Nothing; the answer is the heartbeat.
    Ping {},
    /// Send the reports after this one, and then each as it happens.
    Attach {
        /// The last report that is in the log.
        after: ReportNumber,
    },
    /// The reports up to this one are in the log.
    Acknowledge {
        /// The last.
        up_to: ReportNumber,
    },
    /// Carry out an action that was permitted.
    Execute {
        /// Which.
        id: ActionId,
        /// Its name.
        action: String,
        /// Its parameters.
        params: Value,
        /// What is to be left out of what is looked into.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limits: Vec<VisibilityRule>,
        /// What was decided about, if something had to be decided. A kernel that
        /// does not know these does not keep to them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terms: Option<Preconditions>,
    },
    /// Stop an action.
    Cancel {
        /// Which.
        id: ActionId,
    },
    /// What became of these actions.
    Outcomes {
        /// Which.
        ids: Vec<ActionId>,
    },
    /// Make this connection the project's terminal: after the answer
    /// ([`TerminalAttachResponse`](crate::terminal::Attached)) both ends speak its frames.
    Terminal {
        /// How many bytes of output the client has; none if it begins anew.
        after: Option<u64>,
        /// The width of the client's window.
        cols: u16,
        /// Its height.
        rows: u16,
    },
    /// A piece of what builds and dev servers printed; the answer is a
    /// [`RuntimeLogPage`](crate::runtime::LogPage).
    Logs {
        /// From which byte.
        after: u64,
        /// How many bytes at most.
        limit: u64,
    },
    /// How the runtime stands now; the answer is a
    /// [`RuntimeSnapshot`](crate::runtime::RuntimeSnapshot).
    Runtime {},
    /// Stop every child, then end.
    Shutdown {},
}

/// A rule about what may be looked into, for whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VisibilityRule {
    /// Its name.
    pub id: String,
    /// Whose rule: `builtin`, `user` or `project`.
    pub layer: String,
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The paths it is about; all, if there are none.
    pub path: Vec<String>,
    /// And not these.
    pub except: Vec<String>,
}

/// What an action was decided about: the kernel does it so or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preconditions {
    /// The links on the way to the paths that it names. No other is followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<ObservedLink>,
    /// The files that tell it what to do, as whoever allowed it saw them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinnedFile>,
    /// Those of them that it runs: nothing may take their place before it has read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
}

/// A symbolic link, and where it led when the decision was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedLink {
    /// The link, relative to the project.
    pub path: String,
    /// The place, relative to the project; `.` is the project.
    pub leads_to: String,
}

/// A secret value. It is not shown by `{:?}`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSecret {
    /// Where it comes from: a variable, as a rule. Stands in its place.
    pub name: String,
    /// The secret itself.
    pub value: String,
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownSecret({})", self.name)
    }
}

/// A question with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcRequest {
    /// Always `2.0`.
    pub jsonrpc: JsonRpcVersion,
    /// The answer carries the same.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Method,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcResponse {
    /// Always `2.0`.
    pub jsonrpc: JsonRpcVersion,
    /// The number of the question.
    pub id: u64,
    /// What came out, if it went well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// What went wrong, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
}

/// An error of JSON-RPC; ours is in `data`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// −32000 for ours.
    pub code: i64,
    /// A sentence.
    pub message: String,
    /// Which of our codes, and more.
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

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelloResponse {
    /// The kernel's protocol.
    pub protocol: u32,
    /// New with every kernel process: tells reports of two of them apart.
    pub boot: Uuid,
    /// Its process id.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The actions that are running.
    pub running: Vec<ActionId>,
}

/// Why an action did not do what it should.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorInfo {
    /// A stable code.
    pub code: Code,
    /// A sentence for people.
    pub message: String,
    /// More, where it helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(type = "unknown", optional))]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub details: Option<Value>,
}

/// Something that happened to a command, or to the project's runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KernelReport {
    /// Its number.
    pub number: ReportNumber,
    /// The action it is about; of the runtime's changes, the one that began it.
    pub action: ActionId,
    /// What happened.
    pub what: ReportPayload,
}

/// What can happen to a command, and to the runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ReportPayload {
    /// It runs.
    Started {
        /// Its process id.
        pid: u32,
        /// The profile it runs under.
        profile: String,
        /// The layers of the wall that were applied, as `provost doctor` names them.
        layers: BTreeMap<String, Value>,
    },
    /// It printed something.
    Output(OutputChunk),
    /// It ended, and nothing of it is left.
    Finished(ActionOutcome),
    /// The project's runtime changed. Since protocol 4.
    Runtime(RuntimeChange),
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionOutcome {
    /// The exit code of a command that ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended a command.
    pub signal: Option<i32>,
    /// How long it took.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub duration_ms: u64,
    /// Why it failed, if it did. A command that exits with 1 did not fail.
    pub fault: Option<ErrorInfo>,
    /// What changed, for actions on files; how much was printed and what changed
    /// [`ObservedChanges`], for commands.
    #[cfg_attr(feature = "ts", ts(type = "unknown"))]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub summary: Value,
}

/// What changed in the project's folder while a command ran, whoever changed it:
/// `meanwhile` in the summary of its outcome, if there is anything to tell.
///
/// Left out is what the project's ignore files leave out, and git's own data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ObservedChanges {
    /// Files that are new or were changed, and, with a `/` at their end, folders that
    /// are new and empty, were moved, or got other rights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub changed: Vec<String>,
    /// Folders in which names were added or removed, and nothing that is new there
    /// tells which; `.` is the project's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<Vec<String>>"))]
    pub folders: Vec<String>,
    /// Set if more may have changed than is named.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "ts", ts(optional, as = "Option<bool>"))]
    pub more: bool,
}
