//! Why a model did not answer, and what a person can do about it.

use std::time::Duration;

/// Why a model did not answer. The message of the provider is kept, without keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The provider has no key here.
    #[error("there is no key for `{provider}`")]
    NoKey {
        /// The provider.
        provider: String,
        /// The variables that may hold one.
        variables: Vec<String>,
    },
    /// The key is wrong.
    #[error("the provider does not accept the key: {0}")]
    Unauthorized(String),
    /// The key is right, but not for this.
    #[error("the provider does not permit this: {0}")]
    Forbidden(String),
    /// Nothing is left to pay with.
    #[error("the account has no credit or quota left: {0}")]
    QuotaExceeded(String),
    /// The provider has no such model.
    #[error("the provider does not know this model: {0}")]
    UnknownModel(String),
    /// Too many requests.
    #[error("too many requests: {message}")]
    RateLimited {
        /// When it may be tried again, if the provider said so.
        retry_after: Option<Duration>,
        /// What it said.
        message: String,
    },
    /// The provider failed or has too much to do.
    #[error("the provider is overloaded or failed ({}): {message}", status_text(*.status))]
    Overloaded {
        /// The HTTP status, if it was said before the stream began.
        status: Option<u16>,
        /// When it may be tried again, if the provider said so.
        retry_after: Option<Duration>,
        /// What it said.
        message: String,
    },
    /// The conversation is longer than the model can read.
    #[error("the conversation is too long for this model: {0}")]
    ContextLength(String),
    /// The provider did not understand the request.
    #[error("the provider rejects the request: {0}")]
    BadRequest(String),
    /// The provider declines to let the model see the request at all.
    #[error("the provider declined: {0}")]
    Refused(String),
    /// The stream ended before the model had said why it stopped.
    #[error("the answer broke off: {0}")]
    Truncated(String),
    /// Nothing came for too long.
    #[error("nothing came from the provider for {} s", .0.as_secs_f32())]
    Stalled(Duration),
    /// There was no connection.
    #[error("cannot reach the provider: {0}")]
    Connect(String),
    /// The connection broke before the provider answered.
    #[error("the provider hung up: {0}")]
    Disconnected(String),
    /// The provider sent something that is not in its protocol.
    #[error("the provider sent what this program does not understand: {0}")]
    Protocol(String),
    /// The request cannot be written down for any provider.
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

    /// Whether the provider cannot read what it is said to have thought.
    pub(super) fn is_rejected_reasoning(&self) -> bool {
        let Self::BadRequest(message) = self else { return false };
        let message = message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().all(|word| message.contains(word));
        says(&["encrypted content", "could not be"])
            || says(&["signature", "thinking"])
            || says(&["thought signature"])
            || says(&["thought_signature"])
    }

    /// How long the provider wants to be left alone.
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
                return format!("set {}, or name another model", variables.join(" or "));
            }
            Self::NoKey { .. } => "give the provider a key in the configuration",
            Self::Unauthorized(_) => {
                "check the provider's key; it may be old or of another account"
            }
            Self::Forbidden(_) => {
                "ask whoever manages the account for access, or name another model"
            }
            Self::QuotaExceeded(_) => "add credit or raise the limit in the provider's console",
            Self::UnknownModel(_) => "check the model's name against the provider's list",
            Self::RateLimited { .. } => "wait a little and try again, or name another model",
            Self::Overloaded { .. } => "try again in a while, or name another model",
            Self::ContextLength(_) => {
                "shorten the conversation, or name a model with a longer context"
            }
            Self::BadRequest(_) => {
                "read the provider's message; the model may lack what was asked for"
            }
            Self::Refused(_) => "say it otherwise; the provider's policy forbids this",
            Self::Truncated(_) | Self::Stalled(_) | Self::Disconnected(_) => {
                "try again; the connection or the provider failed"
            }
            Self::Connect(_) => "check the network, the proxy and the provider's address",
            Self::Protocol(_) => "check that the address speaks the provider's protocol",
            Self::Unsendable(_) => "report this; the request was put together wrongly",
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
