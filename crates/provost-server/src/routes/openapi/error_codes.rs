//! Which error codes each route can send.
//!
//! What follows from the shape of a route, such as the errors of reading a body, is derived from
//! its declaration; the rest is listed here. In a debug build every response is compared with
//! this, see [`super::check_response`].

use provost_proto::Code;
use serde_json::Value;

/// The checks of every request, and a daemon that fails or stops.
const ANY_REQUEST: &[Code] =
    &[Code::HostUnknown, Code::OriginForbidden, Code::Internal, Code::Unavailable];

/// A token is missing or does not permit the request.
const TOKEN: &[Code] = &[Code::Unauthenticated, Code::Forbidden];

/// Reading a body.
const BODY: &[Code] = &[
    Code::BadJson,
    Code::InvalidRequest,
    Code::RequestTimeout,
    Code::TooLarge,
    Code::UnsupportedMediaType,
];

/// Appending to the log.
const APPEND: &[Code] = &[
    Code::CommandReused,
    Code::Conflict,
    Code::InvalidRequest,
    Code::LogQuota,
    Code::NoSpace,
    Code::TooLarge,
];

/// Opening a folder as a project.
const OPEN_FOLDER: &[Code] = &[Code::NotADirectory, Code::PathNotFound, Code::PathRefused];

/// Calling the project's kernel.
const KERNEL: &[Code] = &[
    Code::KernelLost,
    Code::KernelTooOld,
    Code::NotFound,
    Code::SandboxUnavailable,
    Code::Timeout,
];

/// Roles and rules that are invalid or not as they were shown.
const GOVERNANCE: &[Code] = &[Code::BadGovernance, Code::Conflict, Code::HashMismatch];

/// The decision about an action.
const DECISION: &[Code] = &[
    Code::InvalidAction,
    Code::OutsideProject,
    Code::PolicyDenied,
    Code::ProtectedPath,
    Code::SkillDenied,
];

/// An approval that ended without the action.
const APPROVAL: &[Code] = &[
    Code::ApprovalDenied,
    Code::ApprovalExpired,
    Code::Cancelled,
    Code::HashMismatch,
    Code::TooManyQuestions,
];

/// The outcome of an action that ran.
const EXECUTION: &[Code] = &[
    Code::Ambiguous,
    Code::BadGovernance,
    Code::BadRuntime,
    Code::BinaryFile,
    Code::BuildFailed,
    Code::CmdNotFound,
    Code::Exists,
    Code::Hardlink,
    Code::IsDirectory,
    Code::Killed,
    Code::NoMatch,
    Code::NoSuchProcess,
    Code::NotADirectory,
    Code::NotAFile,
    Code::NotEmpty,
    Code::NothingToRun,
    Code::PatchConflict,
    Code::PermissionDenied,
    Code::PtyDead,
    Code::RuntimeCrashed,
    Code::RuntimeRunning,
    Code::RuntimeStopped,
    Code::SandboxDenied,
    Code::StillAlive,
    Code::TooManyProcesses,
];

/// Choosing role and model of a session.
const SESSION_MODEL: &[Code] =
    &[Code::BadGovernance, Code::NoModel, Code::SkillDenied, Code::UnknownModel];

/// Finding a notebook.
const NOTEBOOK: &[Code] = &[Code::NotebookNotFound];

/// What commands for a notebook are refused for.
const NOTEBOOK_COMMAND: &[Code] = &[
    Code::CellDeleted,
    Code::CellNotFound,
    Code::ExecutionNotFound,
    Code::ExecutionState,
    Code::Exists,
    Code::NoRuntime,
    Code::ProjectNotFound,
    Code::RuntimeActive,
    Code::StaleFence,
    Code::StaleRevision,
];

/// Starting a turn.
const START_TURN: &[Code] = &[
    Code::NoModel,
    Code::NothingToContinue,
    Code::SessionClosed,
    Code::TooManyMessages,
    Code::UnknownModel,
];

/// A turn that failed, for a client that waits for its end.
const TURN: &[Code] = &[
    Code::BudgetExceeded,
    Code::Cancelled,
    Code::ContextLength,
    Code::LoopDetected,
    Code::ModelFailed,
    Code::ModelKey,
    Code::Timeout,
    Code::TurnLimit,
];

/// What does not follow from the declaration of a route.
fn listed_codes(method: &str, path: &str) -> &'static [&'static [Code]] {
    match (method, path) {
        // A link previewer's `HEAD` gets 405.
        ("get", "/login") => &[&[Code::LoginExpired, Code::MethodNotAllowed], APPEND],
        ("post", "/api/projects") => &[OPEN_FOLDER],
        ("delete", "/api/projects/{p}") => &[KERNEL],
        ("post", "/api/projects/{p}/notebooks" | "/api/projects/{p}/notebooks/import")
        | ("delete", "/api/notebooks/{n}/runtimes/{runtime}")
        | (
            "get",
            "/api/notebooks/{n}"
            | "/api/notebooks/{n}/ipynb"
            | "/api/notebooks/{n}/runtimes"
            | "/api/notebooks/{n}/artifacts/{hash}",
        ) => &[NOTEBOOK],
        ("post", "/api/notebooks/{n}/runtimes") => {
            &[NOTEBOOK, GOVERNANCE, &[Code::NoRuntime, Code::ProjectNotFound, Code::SkillDenied]]
        }
        ("post", "/api/notebooks/{n}/commands") => &[NOTEBOOK, NOTEBOOK_COMMAND],
        ("put", "/api/notebooks/{n}/artifacts/{hash}") => &[BODY, NOTEBOOK, &[Code::HashMismatch]],
        ("get", "/api/audit" | "/api/sessions" | "/api/usage") | ("post", "/api/login-links") => {
            &[&[Code::ProjectNotFound]]
        }
        ("get", "/api/documents" | "/api/events") | ("post", "/api/tokens") => {
            &[&[Code::NotFound, Code::ProjectNotFound]]
        }
        ("post", "/api/projects/{p}/actions" | "/api/projects/{p}/runtime/{what}") => {
            &[DECISION, APPROVAL, EXECUTION, KERNEL]
        }
        ("post", "/api/actions/{id}/cancel")
        | ("get", "/api/projects/{p}/runtime/status" | "/api/projects/{p}/runtime/logs") => {
            &[KERNEL]
        }
        ("get", "/api/projects/{p}/preview/url") => &[&[Code::PreviewDown], KERNEL],
        ("post", "/api/approvals/{id}") => {
            &[&[Code::ApprovalResolved, Code::OwnRequest], DECISION, GOVERNANCE, KERNEL]
        }
        ("patch", "/api/projects/{p}/roles/{role}") | ("post", "/api/projects/{p}/trust") => {
            &[GOVERNANCE, &[Code::NotFound, Code::UnknownModel]]
        }
        ("get", "/api/projects/{p}/roles" | "/api/projects/{p}/policy" | "/v1/models") => {
            &[GOVERNANCE]
        }
        ("post", "/api/projects/{p}/policy/explain" | "/api/projects/{p}/policy/simulate") => {
            &[GOVERNANCE, DECISION, KERNEL]
        }
        ("post", "/api/sessions") => &[SESSION_MODEL, &[Code::ProjectNotFound]],
        ("post", "/api/tour") => &[SESSION_MODEL, OPEN_FOLDER, GOVERNANCE, &[Code::NotFound]],
        ("delete", "/api/sessions/{id}" | "/api/sessions/{id}/messages/{message}") => {
            &[&[Code::SessionClosed]]
        }
        ("post", "/api/sessions/{id}/messages" | "/api/sessions/{id}/continue") => &[START_TURN],
        ("post", "/v1/chat/completions") => {
            &[SESSION_MODEL, START_TURN, TURN, &[Code::NotFound, Code::ProjectNotFound]]
        }
        _ => &[],
    }
}

/// All error codes that a route can send, in order of their status and name.
pub(super) fn codes_of_operation(method: &str, path: &str, operation: &Value) -> Vec<Code> {
    let mut codes = ANY_REQUEST.to_vec();
    // Only routes without a token declare their security themselves.
    if operation.get("security").is_none() {
        codes.extend(TOKEN);
    }
    if operation.get("requestBody").is_some() {
        codes.extend(BODY);
    }
    if operation.get("parameters").is_some() {
        codes.push(Code::InvalidRequest);
    }
    if method != "get" {
        codes.extend(APPEND);
    }
    if path.contains("{p}") {
        codes.push(Code::ProjectNotFound);
    }
    if path.replace("{p}", "").contains('{') {
        codes.push(Code::NotFound);
    }
    codes.extend(listed_codes(method, path).iter().copied().flatten());
    codes.sort_unstable_by_key(|code| (code.status(), code.as_str()));
    codes.dedup();
    codes
}
