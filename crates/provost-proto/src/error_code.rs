//! Every error code with its HTTP status, in one table.
//!
//! A code is stable: clients may branch on it. The sentence beside it is for
//! people and may be reworded at any time.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)+) => {
        /// Why something was refused or failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// The whole table, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// As it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The HTTP status it is answered with.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }
        }
    };
}

codes! {
    /// The body is not JSON at all.
    BadJson = "BAD_JSON", 400;
    /// The JSON, the query or the path is not what the route takes.
    InvalidRequest = "INVALID_REQUEST", 422;
    /// No action has this name, or its parameters are not what it takes.
    InvalidAction = "INVALID_ACTION", 422;
    /// No token, or one that is unknown, revoked or expired.
    Unauthenticated = "UNAUTHENTICATED", 401;
    /// The login link was used already, is too old, or never was.
    LoginExpired = "LOGIN_EXPIRED", 401;
    /// The ticket was used already, is too old, or never was.
    TicketExpired = "TICKET_EXPIRED", 401;
    /// What may be spent is spent; the sentence says on what.
    BudgetExceeded = "BUDGET_EXCEEDED", 402;
    /// The token's class or project does not permit this.
    Forbidden = "FORBIDDEN", 403;
    /// The request comes from a page of another origin.
    OriginForbidden = "ORIGIN_FORBIDDEN", 403;
    /// The role does not have the skill, or there is no role.
    SkillDenied = "SKILL_DENIED", 403;
    /// A rule forbids it.
    PolicyDenied = "POLICY_DENIED", 403;
    /// A person said no.
    ApprovalDenied = "APPROVAL_DENIED", 403;
    /// Nobody answered in time, so it may not run.
    ApprovalExpired = "APPROVAL_EXPIRED", 403;
    /// Nobody may answer their own request.
    OwnRequest = "OWN_REQUEST", 403;
    /// The path governs Provost, git or an agent, or is the project itself.
    ProtectedPath = "PROTECTED_PATH", 403;
    /// The path leads out of the project, itself or through a symbolic link.
    OutsideProject = "OUTSIDE_PROJECT", 403;
    /// The operating system does not let this user do it.
    PermissionDenied = "PERMISSION_DENIED", 403;
    /// The sandbox stopped what the command tried to do.
    SandboxDenied = "SANDBOX_DENIED", 403;
    /// There is nothing at this address or path.
    NotFound = "NOT_FOUND", 404;
    /// No project with this id or name.
    ProjectNotFound = "PROJECT_NOT_FOUND", 404;
    /// No background process has this id.
    NoSuchProcess = "NO_SUCH_PROCESS", 404;
    /// The route exists, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405;
    /// The request did not arrive in time.
    RequestTimeout = "REQUEST_TIMEOUT", 408;
    /// Someone else changed it first.
    Conflict = "CONFLICT", 409;
    /// The same idempotency key came with another request.
    CommandReused = "COMMAND_REUSED", 409;
    /// The name is taken already.
    Exists = "EXISTS", 409;
    /// The folder holds something.
    NotEmpty = "NOT_EMPTY", 409;
    /// The file has a second name, which may be outside the project.
    Hardlink = "HARDLINK", 409;
    /// The text to replace is not in the file.
    NoMatch = "NO_MATCH", 409;
    /// The text to replace is in the file more than once.
    Ambiguous = "AMBIGUOUS", 409;
    /// A part of the patch does not fit the file.
    PatchConflict = "PATCH_CONFLICT", 409;
    /// The question has been answered, has expired or has fallen away.
    ApprovalResolved = "APPROVAL_RESOLVED", 409;
    /// What was shown is not what waits: the answer is bound to another action or file.
    HashMismatch = "HASH_MISMATCH", 409;
    /// The project has no terminal, or its shell has ended.
    PtyDead = "PTY_DEAD", 409;
    /// The project runs already, as something else than was asked for.
    RuntimeRunning = "RUNTIME_RUNNING", 409;
    /// Nothing of the project runs, and it was needed.
    RuntimeStopped = "RUNTIME_STOPPED", 409;
    /// The conversation was closed.
    SessionClosed = "SESSION_CLOSED", 409;
    /// No turn of the conversation was cut off or failed.
    NothingToContinue = "NOTHING_TO_CONTINUE", 409;
    /// Someone stopped it before it was done.
    Cancelled = "CANCELLED", 409;
    /// What came of the action is not kept any more.
    ResultGone = "RESULT_GONE", 410;
    /// The body, the file or the output is larger than is taken.
    TooLarge = "TOO_LARGE", 413;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415;
    /// As many questions are open as people can answer.
    TooManyQuestions = "TOO_MANY_QUESTIONS", 429;
    /// As many commands run as may.
    TooManyProcesses = "TOO_MANY_PROCESSES", 429;
    /// As many messages wait for their turn in the conversation as may.
    TooManyMessages = "TOO_MANY_MESSAGES", 429;
    /// The `KernelHost` is not one of ours.
    HostUnknown = "HOST_UNKNOWN", 421;
    /// The folder to open does not exist.
    PathNotFound = "PATH_NOT_FOUND", 422;
    /// The path to open is not a folder.
    NotADirectory = "NOT_A_DIRECTORY", 422;
    /// The folder may not be a project, and the sentence says why.
    PathRefused = "PATH_REFUSED", 422;
    /// A file was needed, and this is a folder.
    IsDirectory = "IS_DIRECTORY", 422;
    /// A regular file was needed, and this is a link, a pipe, a socket or a device.
    NotAFile = "NOT_A_FILE", 422;
    /// The file is not text.
    BinaryFile = "BINARY_FILE", 422;
    /// The file is no role, no rules, or the change would make it so.
    BadGovernance = "BAD_GOVERNANCE", 422;
    /// `provost.toml` cannot be read, and the sentence says where and why.
    BadRuntime = "BAD_RUNTIME", 422;
    /// Nothing says what to run or build here, and nothing was detected.
    NothingToRun = "NOTHING_TO_RUN", 422;
    /// The build failed; the details say where.
    BuildFailed = "BUILD_FAILED", 422;
    /// The dev server ended before it ran; the details say how.
    RuntimeCrashed = "RUNTIME_CRASHED", 422;
    /// There is no such program.
    CmdNotFound = "CMD_NOT_FOUND", 422;
    /// The command was ended by a signal.
    Killed = "KILLED", 422;
    /// Neither the session nor its role names a model, and there is none to take.
    NoModel = "NO_MODEL", 422;
    /// There is no such model, or its provider does not know it.
    UnknownModel = "UNKNOWN_MODEL", 422;
    /// The conversation does not fit the model, even when it is summarized.
    ContextLength = "CONTEXT_LENGTH", 422;
    /// A turn took more steps, tokens or time than one may.
    TurnLimit = "TURN_LIMIT", 422;
    /// The model called the same tool in the same way again and again.
    LoopDetected = "LOOP_DETECTED", 422;
    /// A fault of Provost.
    Internal = "INTERNAL", 500;
    /// Something of the project is still alive though it was killed.
    StillAlive = "STILL_ALIVE", 500;
    /// The provider of the model failed or could not be reached.
    ModelFailed = "MODEL_FAILED", 502;
    /// The provider has no key here, or does not accept it.
    ModelKey = "MODEL_KEY", 502;
    /// The project's preview answered with something that is no HTTP.
    PreviewBroken = "PREVIEW_BROKEN", 502;
    /// Nothing of the project listens, or it does not answer.
    PreviewDown = "PREVIEW_DOWN", 503;
    /// The project's kernel process is of a version that cannot do this.
    KernelTooOld = "KERNEL_TOO_OLD", 503;
    /// The project's kernel process ended while it was needed.
    KernelLost = "KERNEL_LOST", 503;
    /// The daemon is stopping, or the log cannot be written.
    Unavailable = "UNAVAILABLE", 503;
    /// This machine cannot give the protection that was asked for.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE", 503;
    /// The project's preview did not answer in time.
    PreviewTimeout = "PREVIEW_TIMEOUT", 504;
    /// It took longer than it may.
    Timeout = "TIMEOUT", 504;
    /// The disk is full.
    NoSpace = "NO_SPACE", 507;
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

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
