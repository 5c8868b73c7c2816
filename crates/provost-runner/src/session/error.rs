//! Errors of sessions and turns.

use provost_core::session::budget::BudgetShortfall;
use provost_gateway::GatewayError;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{Code, limits};
use provost_store::StoreError;

use crate::model::{ModelError, UnknownModel};

/// Why a request to a session failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunnerError {
    /// No such session.
    #[error("no session `{0}`; `provost sessions` lists the sessions")]
    SessionNotFound(String),
    /// The session is closed.
    #[error("the session is closed; open a new one")]
    SessionClosed,
    /// There is no turn to continue.
    #[error(
        "the session has no interrupted turn and no queued message; send a message to start a turn"
    )]
    NothingToContinue,
    /// The message's turn has started or ended, or the message was withdrawn before.
    #[error("the message is not queued any more; only a queued message can be withdrawn")]
    MessageNotQueued,
    /// The key was used for a request that is not a message.
    #[error("this `Idempotency-Key` was used for another request; choose a new key")]
    IdempotencyKeyReused,
    /// Too many messages are queued.
    #[error(
        "{} messages are queued in this session; wait for its turn to finish, or cancel it",
        limits::MAX_QUEUED_MESSAGES
    )]
    QueueFull,
    /// The message is empty or too long.
    #[error("{0}")]
    BadMessage(String),
    /// No model is configured or named.
    #[error(
        "no model: the role `{0}` names none and neither does the request; name one, or set \
        `model` in config.toml; to try Provost without a model: `provost chat --model script/tour`"
    )]
    NoModel(String),
    /// No provider has this model.
    #[error(transparent)]
    UnknownModel(#[from] UnknownModel),
    /// The daemon is stopping.
    #[error("the daemon is stopping; try again after its restart")]
    Stopping,
    /// The gateway refused or failed.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}

impl From<StoreError> for RunnerError {
    fn from(error: StoreError) -> Self {
        Self::Gateway(error.into())
    }
}

/// Checks that a message is neither empty nor too long.
pub(super) fn check_text(text: &str) -> Result<(), RunnerError> {
    if text.trim().is_empty() {
        return Err(RunnerError::BadMessage("the message is empty".to_owned()));
    }
    if text.len() > limits::MAX_MESSAGE_BYTES {
        let why = format!(
            "the message is longer than {} bytes; put longer text into a file of the project",
            limits::MAX_MESSAGE_BYTES
        );
        return Err(RunnerError::BadMessage(why));
    }
    Ok(())
}

/// Why a turn ended early.
#[derive(Debug)]
pub(super) enum TurnError {
    /// The model or its provider failed.
    Model(ModelError),
    /// No provider has this model.
    UnknownModel(UnknownModel),
    /// A budget does not cover another completion.
    BudgetExceeded(BudgetShortfall),
    /// There is a budget in dollars and the model has no known price.
    UnknownPrice(String),
    /// A person or a disconnected client cancelled it.
    Cancelled,
    /// The gateway or the log failed.
    Runner(RunnerError),
}

impl<E: Into<RunnerError>> From<E> for TurnError {
    fn from(error: E) -> Self {
        Self::Runner(error.into())
    }
}

/// The error as the log records it; `None` if the turn was cancelled.
pub(super) fn fault_from_turn_error(error: &TurnError) -> Option<ErrorInfo> {
    let (code, message) = match error {
        TurnError::Cancelled => return None,
        TurnError::Model(error) => {
            (model_error_code(error), format!("{error}; {}", error.advice()))
        }
        TurnError::UnknownModel(error) => (Code::UnknownModel, error.to_string()),
        TurnError::BudgetExceeded(error) => (error.code(), error.to_string()),
        TurnError::UnknownPrice(model) => (
            Code::BudgetExceeded,
            format!(
                "the price of `{model}` is not known, so a budget in dollars cannot be enforced; \
                add the price to the file that `prices` in config.toml names, or remove the budget"
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
