//! Why something could not be said or done in a session.

use provost_core::session::budget::BudgetShortfall;
use provost_gateway::GatewayError;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{Code, limits};
use provost_store::StoreError;

use crate::model::{ModelError, UnknownModel};

/// A refusal, in the reader's words.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunnerError {
    /// No such session.
    #[error("there is no session `{0}`; `provost sessions` lists them")]
    SessionNotFound(String),
    /// The session is closed.
    #[error("this session was closed; open another")]
    SessionClosed,
    /// No turn can be gone on with.
    #[error("no turn of this session was cut off; say something to begin one")]
    NothingToContinue,
    /// The message has its turn, or had it, or was taken back before.
    #[error("this message does not wait any more; only one that waits can be taken back")]
    MessageNotQueued,
    /// The key was used for something else than a message.
    #[error("this `Idempotency-Key` was used for something else; choose another")]
    IdempotencyKeyReused,
    /// Too many messages wait.
    #[error(
        "{} messages wait for their turn in this session; let it come to them, or cancel",
        limits::MAX_QUEUED_MESSAGES
    )]
    QueueFull,
    /// The message says nothing or too much.
    #[error("{0}")]
    BadMessage(String),
    /// Nobody named a model.
    #[error(
        "the role `{0}` names no model and neither did you; name one, or set `model` in \
         config.toml; without any, take the tour: `provost chat --model script/tour`"
    )]
    NoModel(String),
    /// There is no such model.
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    /// The daemon is ending.
    #[error("the daemon is stopping; ask again when it is back")]
    Stopping,
    /// The authority said no.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}

impl From<StoreError> for RunnerError {
    fn from(error: StoreError) -> Self {
        Self::Gateway(error.into())
    }
}

/// Whether a text can be a message.
pub(super) fn check_text(text: &str) -> Result<(), RunnerError> {
    if text.trim().is_empty() {
        return Err(RunnerError::BadMessage("a message must say something".to_owned()));
    }
    if text.len() > limits::MAX_MESSAGE_BYTES {
        let why = format!(
            "a message has at most {} bytes; put longer texts into a file of the project",
            limits::MAX_MESSAGE_BYTES
        );
        return Err(RunnerError::BadMessage(why));
    }
    Ok(())
}

/// Why a turn ended before it was done.
#[derive(Debug)]
pub(super) enum TurnError {
    /// The model did not answer.
    Model(ModelError),
    /// There is no such model.
    UnknownModel(UnknownModel),
    /// Nothing is left to pay with.
    BudgetExceeded(BudgetShortfall),
    /// The price of the model is not known, and there is a budget.
    UnknownPrice(String),
    /// A person stopped it.
    Cancelled,
    /// The authority or the log failed.
    Runner(RunnerError),
}

impl<E: Into<RunnerError>> From<E> for TurnError {
    fn from(error: E) -> Self {
        Self::Runner(error.into())
    }
}

/// What the log tells of it; `None` if it was cancelled.
pub(super) fn fault_from_turn_error(broken: &TurnError) -> Option<ErrorInfo> {
    let (code, message) = match broken {
        TurnError::Cancelled => return None,
        TurnError::Model(error) => {
            (model_error_code(error), format!("{error}; {}", error.advice()))
        }
        TurnError::UnknownModel(error) => (Code::UnknownModel, error.to_string()),
        TurnError::BudgetExceeded(error) => (error.code(), error.to_string()),
        TurnError::UnknownPrice(model) => (
            Code::BudgetExceeded,
            format!(
                "the price of `{model}` is not known, so that no budget in dollars can be kept; \
                 give it one in the file that `prices` in config.toml names, or take the budget away"
            ),
        ),
        TurnError::Runner(RunnerError::Gateway(GatewayError::Fault(fault))) => {
            return Some(fault.clone());
        }
        TurnError::Runner(error) => (Code::Unavailable, error.to_string()),
    };
    Some(ErrorInfo { code, message, details: None })
}

fn model_error_code(error: &ModelError) -> Code {
    match error {
        ModelError::NoKey { .. } | ModelError::Unauthorized(_) | ModelError::Forbidden(_) => {
            Code::ModelKey
        }
        ModelError::UnknownModel(_) => Code::UnknownModel,
        ModelError::ContextLength(_) => Code::ContextLength,
        ModelError::QuotaExceeded(_)
        | ModelError::RateLimited { .. }
        | ModelError::Overloaded { .. }
        | ModelError::BadRequest(_)
        | ModelError::Refused(_)
        | ModelError::Truncated(_)
        | ModelError::Stalled(_)
        | ModelError::Connect(_)
        | ModelError::Protocol(_)
        | ModelError::Disconnected(_)
        | ModelError::Unsendable(_) => Code::ModelFailed,
    }
}
