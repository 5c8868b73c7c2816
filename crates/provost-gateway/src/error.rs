//! Errors of the gateway.

use provost_core::action::BadAction;
use provost_core::redact::TooManySecrets;
use provost_proto::TokenClass;
use provost_proto::kernel::ErrorInfo;
use provost_store::StoreError;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GatewayError {
    /// The token is missing, unknown, revoked or expired.
    #[error("{0}; run `provost up` for a new login link, or create another token")]
    Unauthenticated(&'static str),
    /// The login link was used before, or has expired.
    #[error("this login link was used already or is too old; run `provost up` to get a new one")]
    LoginExpired,
    /// The caller's class does not permit this.
    #[error("{class} tokens may not do this; it takes {needs}")]
    Forbidden {
        /// The caller's class.
        class: &'static str,
        /// The class that is required.
        needs: &'static str,
    },
    /// The caller is bound to another project.
    #[error("this token is bound to one project and cannot see beyond it")]
    BoundToOtherProject,
    /// The caller is bound to another role.
    #[error("this token acts in the role `{0}` and in no other")]
    BoundToOtherRole(String),
    /// The session belongs to another principal.
    #[error("this session belongs to another token; name one of your own")]
    SessionOwnedByOther,
    /// No such project.
    #[error("there is no project `{0}`; `provost projects` lists them")]
    ProjectNotFound(String),
    /// No such token.
    #[error("there is no token `{0}` that still works; `provost token list` shows them")]
    TokenNotFound(String),
    /// The idempotency key was used before, and the secret was shown only then.
    #[error("this request was carried out before, and its token was shown then; ask for another")]
    TokenAlreadyShown,
    /// The folder does not exist.
    #[error("{0} does not exist")]
    PathNotFound(String),
    /// The path is not a folder.
    #[error("{0} is not a folder; open the folder it is in")]
    NotADirectory(String),
    /// The folder may not be a project.
    #[error("{path} cannot be a project: {why}")]
    PathRefused {
        /// The folder.
        path: String,
        /// The reason.
        why: String,
    },
    /// A field of the request is invalid.
    #[error("{field}: {why}")]
    InvalidField {
        /// The name of the field.
        field: &'static str,
        /// The reason.
        why: String,
    },
    /// No such action.
    #[error("there is no action `{0}`")]
    ActionNotFound(String),
    /// No such approval, grant, role or file.
    #[error("there is no {what} `{name}`")]
    ItemNotFound {
        /// The kind of item.
        what: &'static str,
        /// The name in the request.
        name: String,
    },
    /// The daemon is shutting down.
    #[error("the daemon is stopping; ask again when it is back")]
    Stopping,
    /// The project is closed.
    #[error("the project is closed; `provost up PATH` opens it")]
    ProjectClosed,
    /// Unknown action, or invalid parameters.
    #[error(transparent)]
    BadAction(#[from] BadAction),
    /// The action failed or was denied; the log has the same.
    #[error("{}", .0.message)]
    Fault(ErrorInfo),
    /// There are more secrets in the environment than can be redacted.
    #[error(transparent)]
    TooManySecrets(#[from] TooManySecrets),
    /// The operating system provided no random numbers.
    #[error("the machine gives no random numbers: {0}")]
    NoRandomness(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The name of a token class.
pub(crate) const fn class_name(class: TokenClass) -> &'static str {
    match class {
        TokenClass::Operator => "operator",
        TokenClass::Agent => "agent",
        TokenClass::Runtime => "runtime",
        TokenClass::Viewer => "viewer",
    }
}
