//! Errors of model requests, and advice for people.

use std::time::Duration;

/// Why a completion failed. The provider's message is kept, without keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No key is configured for the provider.
    #[error("no key for `{provider}`")]
    NoKey {
        /// The provider.
        provider: String,
        /// The variables that may hold one.
        variables: Vec<String>,
    },
    /// The key is wrong.
    #[error("the provider does not accept the key: {0}")]
    Unauthorized(String),
    /// The key does not permit this.
    #[error("the provider does not permit this: {0}")]
    Forbidden(String),
    /// The account has no credit left.
    #[error("the account has no credit or quota left: {0}")]
    QuotaExceeded(String),
    /// The provider has no such model.
    #[error("the provider does not know this model: {0}")]
    UnknownModel(String),
    /// Too many requests.
    #[error("too many requests: {message}")]
    RateLimited {
        /// When to retry, if the provider gave a time.
        retry_after: Option<Duration>,
        /// The provider's message.
        message: String,
    },
    /// The provider failed or is overloaded.
    #[error("the provider is overloaded or failed ({}): {message}", status_text(*.status))]
    Overloaded {
        /// The HTTP status; none if the error came in the stream.
        status: Option<u16>,
        /// When to retry, if the provider gave a time.
        retry_after: Option<Duration>,
        /// The provider's message.
        message: String,
    },
    /// The conversation is longer than the model can read.
    #[error("the conversation is too long for this model: {0}")]
    ContextLength(String),
    /// The provider rejects the request.
    #[error("the provider rejects the request: {0}")]
    BadRequest(String),
    /// The provider's policy blocked the request.
    #[error("the provider declined: {0}")]
    Refused(String),
    /// The stream ended without a stop reason.
    #[error("the response was cut off: {0}")]
    Truncated(String),
    /// No data within the timeout.
    #[error("no data from the provider for {} s", .0.as_secs_f32())]
    Stalled(Duration),
    /// No connection.
    #[error("cannot reach the provider: {0}")]
    Connect(String),
    /// The connection broke before a response.
    #[error("the provider closed the connection: {0}")]
    Disconnected(String),
    /// The provider violated its protocol.
    #[error("unexpected response of the provider: {0}")]
    Protocol(String),
    /// The request cannot be encoded for any provider.
    #[error("the request cannot be sent: {0}")]
    Unsendable(String),
}

fn status_text(status: Option<u16>) -> String {
    status.map_or_else(|| "in the stream".to_owned(), |status| format!("status {status}"))
}

impl ModelError {
    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Truncated(_)
            | Self::Stalled(_)
            | Self::Connect(_)
            | Self::Disconnected(_)
            | Self::Protocol(_) => true,
            Self::NoKey { .. }
            | Self::Unauthorized(_)
            | Self::Forbidden(_)
            | Self::QuotaExceeded(_)
            | Self::UnknownModel(_)
            | Self::ContextLength(_)
            | Self::BadRequest(_)
            | Self::Refused(_)
            | Self::Unsendable(_) => false,
        }
    }

    /// Whether the provider cannot read the reasoning that it was sent.
    pub(super) fn is_rejected_reasoning(&self) -> bool {
        let Self::BadRequest(message) = self else { return false };
        let message = message.to_ascii_lowercase();
        let mentions = |words: &[&str]| words.iter().all(|word| message.contains(word));
        mentions(&["encrypted content", "could not be"])
            || mentions(&["signature", "thinking"])
            || mentions(&["thought signature"])
            || mentions(&["thought_signature"])
    }

    /// Whether the provider has worked on the request, so that it charges for it even if nothing
    /// was received.
    pub(crate) fn is_charged(&self) -> bool {
        matches!(self, Self::Truncated(_) | Self::Stalled(_))
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } = self {
            *retry_after
        } else {
            None
        }
    }

    /// What a person can do.
    pub fn advice(&self) -> String {
        let advice = match self {
            Self::NoKey { variables, .. } if !variables.is_empty() => {
                return format!(
                    "set {} before the daemon starts, or name another model",
                    variables.join(" or ")
                );
            }
            Self::NoKey { .. } => "give the provider a key in the configuration",
            Self::Unauthorized(_) => {
                "check the provider's key; it may be expired or of another account"
            }
            Self::Forbidden(_) => {
                "ask whoever manages the account for access, or name another model"
            }
            Self::QuotaExceeded(_) => "add credit or raise the limit in the provider's console",
            Self::UnknownModel(_) => "check the model's name against the provider's list",
            Self::RateLimited { .. } => "wait and try again, or name another model",
            Self::Overloaded { .. } => "try again later, or name another model",
            Self::ContextLength(_) => {
                "shorten the conversation, or name a model with a longer context"
            }
            Self::BadRequest(_) => {
                "read the provider's message; the model may not support the request"
            }
            Self::Refused(_) => "rephrase it; the provider's policy forbids this",
            Self::Truncated(_) | Self::Stalled(_) | Self::Disconnected(_) => {
                "try again; the connection or the provider failed"
            }
            Self::Connect(_) => "check the network, the proxy and the provider's address",
            Self::Protocol(_) => "check that the address is that of the provider's API",
            Self::Unsendable(_) => "report this; it is a bug in how the request was built",
        };
        advice.to_owned()
    }

    /// The same with another message.
    pub(super) fn map_message(self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Unauthorized(text) => Self::Unauthorized(change(&text)),
            Self::Forbidden(text) => Self::Forbidden(change(&text)),
            Self::QuotaExceeded(text) => Self::QuotaExceeded(change(&text)),
            Self::UnknownModel(text) => Self::UnknownModel(change(&text)),
            Self::RateLimited { retry_after, message } => {
                Self::RateLimited { retry_after, message: change(&message) }
            }
            Self::Overloaded { status, retry_after, message } => {
                Self::Overloaded { status, retry_after, message: change(&message) }
            }
            Self::ContextLength(text) => Self::ContextLength(change(&text)),
            Self::BadRequest(text) => Self::BadRequest(change(&text)),
            Self::Refused(text) => Self::Refused(change(&text)),
            Self::Truncated(text) => Self::Truncated(change(&text)),
            Self::Connect(text) => Self::Connect(change(&text)),
            Self::Disconnected(text) => Self::Disconnected(change(&text)),
            Self::Protocol(text) => Self::Protocol(change(&text)),
            Self::Unsendable(text) => Self::Unsendable(change(&text)),
            Self::NoKey { .. } | Self::Stalled(_) => self,
        }
    }
}
