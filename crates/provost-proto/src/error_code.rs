//! All error codes with their HTTP status, in one table.
//!
//! A code is stable: clients may branch on it. The message beside it is for people and may change
//! at any time.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)+) => {
        /// Why something was refused or failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// All codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Its HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }
        }
    };
}

codes! {
    /// The body is not valid JSON.
    BadJson = "BAD_JSON", 400;
    /// The JSON, the query or the path is not valid for the route.
    InvalidRequest = "INVALID_REQUEST", 422;
    /// Unknown action, or invalid parameters.
    InvalidAction = "INVALID_ACTION", 422;
    /// No token, or one that is unknown, revoked or expired.
    Unauthenticated = "UNAUTHENTICATED", 401;
    /// The login link was used already, has expired, or never existed.
    LoginExpired = "LOGIN_EXPIRED", 401;
    /// The ticket was used already, has expired, or never existed.
    TicketExpired = "TICKET_EXPIRED", 401;
    /// A budget is exhausted; the message says which.
    BudgetExceeded = "BUDGET_EXCEEDED", 402;
    /// The token's class or project does not permit this.
    Forbidden = "FORBIDDEN", 403;
    /// The request comes from a page of another origin.
    OriginForbidden = "ORIGIN_FORBIDDEN", 403;
    /// The role lacks the skill, or does not exist.
    SkillDenied = "SKILL_DENIED", 403;
    /// A rule denies it.
    PolicyDenied = "POLICY_DENIED", 403;
    /// A person denied it.
    ApprovalDenied = "APPROVAL_DENIED", 403;
    /// The approval was not answered in time.
    ApprovalExpired = "APPROVAL_EXPIRED", 403;
    /// The requester cannot answer their own approval.
    OwnRequest = "OWN_REQUEST", 403;
    /// The path controls Provost, git or an agent, or is the project itself.
    ProtectedPath = "PROTECTED_PATH", 403;
    /// The path leads out of the project, directly or through a symbolic link.
    OutsideProject = "OUTSIDE_PROJECT", 403;
    /// The operating system does not permit it.
    PermissionDenied = "PERMISSION_DENIED", 403;
    /// The sandbox blocked what the command tried to do.
    SandboxDenied = "SANDBOX_DENIED", 403;
    /// There is nothing at this address or path.
    NotFound = "NOT_FOUND", 404;
    /// No project has this id or name.
    ProjectNotFound = "PROJECT_NOT_FOUND", 404;
    /// No background process has this id.
    NoSuchProcess = "NO_SUCH_PROCESS", 404;
    /// No notebook has this id, or it was deleted.
    NotebookNotFound = "NOTEBOOK_NOT_FOUND", 404;
    /// The notebook has no cell with this id.
    CellNotFound = "CELL_NOT_FOUND", 404;
    /// The notebook has no execution with this id.
    ExecutionNotFound = "EXECUTION_NOT_FOUND", 404;
    /// The route exists, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405;
    /// The request was not received in time.
    RequestTimeout = "REQUEST_TIMEOUT", 408;
    /// A concurrent change was first.
    Conflict = "CONFLICT", 409;
    /// The same idempotency key came with another request.
    CommandReused = "COMMAND_REUSED", 409;
    /// The name exists already.
    Exists = "EXISTS", 409;
    /// The folder is not empty.
    NotEmpty = "NOT_EMPTY", 409;
    /// The file has another hard link, which may be outside the project.
    Hardlink = "HARDLINK", 409;
    /// The text to replace is not in the file.
    NoMatch = "NO_MATCH", 409;
    /// The text to replace is in the file more than once.
    Ambiguous = "AMBIGUOUS", 409;
    /// A part of the patch does not fit the file.
    PatchConflict = "PATCH_CONFLICT", 409;
    /// The approval was answered, has expired or was withdrawn.
    ApprovalResolved = "APPROVAL_RESOLVED", 409;
    /// The answer is for another action or file than the one that waits.
    HashMismatch = "HASH_MISMATCH", 409;
    /// The project has no terminal, or its shell has ended.
    PtyDead = "PTY_DEAD", 409;
    /// The project runs already, with another command than the requested one.
    RuntimeRunning = "RUNTIME_RUNNING", 409;
    /// Nothing of the project runs, but the request needs it.
    RuntimeStopped = "RUNTIME_STOPPED", 409;
    /// The session is closed.
    SessionClosed = "SESSION_CLOSED", 409;
    /// No turn of the session was interrupted or failed.
    NothingToContinue = "NOTHING_TO_CONTINUE", 409;
    /// The cell was changed since; the change must be rebased.
    StaleRevision = "STALE_REVISION", 409;
    /// The runtime session is not active any more.
    StaleFence = "STALE_FENCE", 409;
    /// The cell was deleted; it can be restored.
    CellDeleted = "CELL_DELETED", 409;
    /// The execution is not in a state that permits this.
    ExecutionState = "EXECUTION_STATE", 409;
    /// A runtime session is active, which does not permit this.
    RuntimeActive = "RUNTIME_ACTIVE", 409;
    /// No slot of the notebook executes cells of this kind.
    NoRuntime = "NO_RUNTIME", 409;
    /// It was cancelled before it was done.
    Cancelled = "CANCELLED", 409;
    /// The result of the action is no longer available.
    ResultGone = "RESULT_GONE", 410;
    /// The body, the file or the output is too large.
    TooLarge = "TOO_LARGE", 413;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415;
    /// Too many approvals are pending.
    TooManyQuestions = "TOO_MANY_QUESTIONS", 429;
    /// The requester or the project has written too much to the log for now, or the log is full.
    LogQuota = "LOG_QUOTA", 429;
    /// Too many commands are running.
    TooManyProcesses = "TOO_MANY_PROCESSES", 429;
    /// Too many messages are queued in the session.
    TooManyMessages = "TOO_MANY_MESSAGES", 429;
    /// The `Host` header is not one of ours.
    HostUnknown = "HOST_UNKNOWN", 421;
    /// The folder to open does not exist.
    PathNotFound = "PATH_NOT_FOUND", 422;
    /// The path to open is not a folder.
    NotADirectory = "NOT_A_DIRECTORY", 422;
    /// The folder may not be a project; the message says why.
    PathRefused = "PATH_REFUSED", 422;
    /// A file is required, but this is a folder.
    IsDirectory = "IS_DIRECTORY", 422;
    /// A regular file is required, but this is a link, a pipe, a socket or a device.
    NotAFile = "NOT_A_FILE", 422;
    /// The file is not text.
    BinaryFile = "BINARY_FILE", 422;
    /// The file is not a valid role or policy, or the change would make it invalid.
    BadGovernance = "BAD_GOVERNANCE", 422;
    /// `provost.toml` is invalid; the message says where and why.
    BadRuntime = "BAD_RUNTIME", 422;
    /// Nothing to run or build is configured or detected.
    NothingToRun = "NOTHING_TO_RUN", 422;
    /// The build failed; the details say where.
    BuildFailed = "BUILD_FAILED", 422;
    /// The dev server ended before it ran; the details say how.
    RuntimeCrashed = "RUNTIME_CRASHED", 422;
    /// The program does not exist.
    CmdNotFound = "CMD_NOT_FOUND", 422;
    /// A signal ended the command.
    Killed = "KILLED", 422;
    /// Neither the session nor its role names a model, and there is no default.
    NoModel = "NO_MODEL", 422;
    /// The model does not exist, or its provider does not know it.
    UnknownModel = "UNKNOWN_MODEL", 422;
    /// The session exceeds the context of the model, even after compaction.
    ContextLength = "CONTEXT_LENGTH", 422;
    /// A turn reached its limit of steps, tokens or time.
    TurnLimit = "TURN_LIMIT", 422;
    /// The model repeated the same tool call.
    LoopDetected = "LOOP_DETECTED", 422;
    /// An internal error.
    Internal = "INTERNAL", 500;
    /// A process of the project is still alive although it was killed.
    StillAlive = "STILL_ALIVE", 500;
    /// The provider of the model failed or could not be reached.
    ModelFailed = "MODEL_FAILED", 502;
    /// The provider has no key here, or does not accept it.
    ModelKey = "MODEL_KEY", 502;
    /// The project's preview sent an invalid HTTP response.
    PreviewBroken = "PREVIEW_BROKEN", 502;
    /// No process of the project listens, or it does not answer.
    PreviewDown = "PREVIEW_DOWN", 503;
    /// The project's kernel process has a version that does not support this.
    KernelTooOld = "KERNEL_TOO_OLD", 503;
    /// The project's kernel process ended during the request.
    KernelLost = "KERNEL_LOST", 503;
    /// The daemon is stopping, or the log cannot be written.
    Unavailable = "UNAVAILABLE", 503;
    /// This machine cannot provide the requested protection.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE", 503;
    /// The project's preview did not answer in time.
    PreviewTimeout = "PREVIEW_TIMEOUT", 504;
    /// It took longer than its timeout.
    Timeout = "TIMEOUT", 504;
    /// The disk is full.
    NoSpace = "NO_SPACE", 507;
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

// Written out because the derive does not see a `rename` that a macro passes on.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Code {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(Self::ALL.iter().map(|code| code.as_str())))
            .description(Some("Why something was refused or failed."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Code {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_written_as_it_is_named() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{code}\""));
            assert!((400..600).contains(&code.status()), "{code}");
        }
    }
}
