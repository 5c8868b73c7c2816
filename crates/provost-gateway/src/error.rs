//! Why the gateway said no.

use provost_core::action::BadAction;
use provost_core::redact::TooManySecrets;
use provost_proto::TokenClass;
use provost_proto::kernel::ErrorInfo;
use provost_store::StoreError;

/// A refusal, in the reader's words.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GatewayError {
    /// No token, or one that does not work.
    #[error("{0}; run `provost up` for a new login link, or create another token")]
    Unauthenticated(&'static str),
    /// A login link that does not work any more.
    #[error("this login link was used already or is too old; run `provost up` to get a new one")]
    LoginExpired,
    /// The caller's class does not permit this.
    #[error("{class} tokens may not do this; it takes {needs}")]
    Forbidden {
        /// What the caller has.
        class: &'static str,
        /// What it would take.
        needs: &'static str,
    },
    /// The caller is bound to another project.
    #[error("this token is bound to one project and cannot see beyond it")]
    BoundToOtherProject,
    /// The caller is bound to another role.
    #[error("this token acts in the role `{0}` and in no other")]
    BoundToOtherRole(String),
    /// The session is another's.
    #[error("this session belongs to another token; name one of your own")]
    SessionOwnedByOther,
    /// No such project.
    #[error("there is no project `{0}`; `provost projects` lists them")]
    ProjectNotFound(String),
    /// No such token.
    #[error("there is no token `{0}` that still works; `provost token list` shows them")]
    TokenNotFound(String),
    /// The same request came again.
    #[error("this request was carried out before, and its token was shown then; ask for another")]
    TokenAlreadyShown,
    /// The folder is not there.
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
        /// Why not.
        why: String,
    },
    /// A field of the request does not fit.
    #[error("{field}: {why}")]
    InvalidField {
        /// Which.
        field: &'static str,
        /// Why.
        why: String,
    },
    /// No such action.
    #[error("there is no action `{0}`")]
    ActionNotFound(String),
    /// No such question, grant, role or file.
    #[error("there is no {what} `{name}`")]
    ItemNotFound {
        /// What kind of thing.
        what: &'static str,
        /// The name that was given.
        name: String,
    },
    /// The daemon is ending.
    #[error("the daemon is stopping; ask again when it is back")]
    Stopping,
    /// The project is closed.
    #[error("the project is closed; `provost up PATH` opens it")]
    ProjectClosed,
    /// The action is not one, or its parameters do not fit.
    #[error(transparent)]
    BadAction(#[from] BadAction),
    /// The action failed or was denied, and the log says so.
    #[error("{}", .0.message)]
    Fault(ErrorInfo),
    /// The secrets in the environment cannot be looked for.
    #[error(transparent)]
    TooManySecrets(#[from] TooManySecrets),
    /// The machine gave no random numbers.
    #[error("the machine gives no random numbers: {0}")]
    NoRandomness(String),
    /// The log refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A class in a sentence.
pub(crate) const fn class_name(class: TokenClass) -> &'static str {
    match class {
        TokenClass::Operator => "operator",
        TokenClass::Agent => "agent",
        TokenClass::Runtime => "runtime",
        TokenClass::Viewer => "viewer",
    }
}
