//! Classifies the errors of providers.
//!
//! All providers send an object with a message; the names of the error kinds differ. The same
//! objects come as a body with a status, and in a stream without one.

use std::time::Duration;

use serde_json::Value;

use super::super::ModelError;

/// The longest message that is kept of a provider.
const MAX_MESSAGE_CHARS: usize = 2000;

/// What is known of a failure.
#[derive(Debug, Default)]
pub(crate) struct ProviderFailure {
    status: Option<u16>,
    /// All words by which the provider classes it, in lower case.
    words: Vec<String>,
    message: String,
    retry_after: Option<Duration>,
}

impl ProviderFailure {
    /// Reads a body that came with a status.
    pub(crate) fn from_body(status: u16, body: &str, retry_after: Option<Duration>) -> Self {
        let mut fault = match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_json(&value),
            Err(_) => Self { message: truncate_message(body.trim()), ..Self::default() },
        };
        if fault.message.is_empty() {
            fault.message = format!("status {status} without a message");
        }
        // Some servers answer 200 and put the status into the error.
        if status >= 400 {
            fault.status = Some(status);
        }
        fault.retry_after = retry_after.or(fault.retry_after);
        fault
    }

    /// Reads an error in a stream.
    pub(crate) fn from_json(value: &Value) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = text(error)
            .or_else(|| text(&error["message"]))
            .or_else(|| text(&error["message"]["detail"]))
            .or_else(|| text(&value["detail"]))
            .unwrap_or_else(|| if error.is_null() { String::new() } else { error.to_string() });
        let number = |value: &Value| value.as_u64().and_then(|code| u16::try_from(code).ok());
        let mut words: Vec<String> = ["type", "code", "status"]
            .iter()
            .filter_map(|name| error[*name].as_str())
            .map(str::to_ascii_lowercase)
            .collect();
        let details = error["details"].as_array().into_iter().flatten();
        let mut retry_after = None;
        for detail in details {
            words.extend(detail["reason"].as_str().map(str::to_ascii_lowercase));
            retry_after =
                retry_after.or(detail["retryDelay"].as_str().and_then(parse_google_duration));
        }
        let status = number(&error["code"]).filter(|code| (400..600).contains(code));
        Self { status, words, message: truncate_message(&message), retry_after }
    }

    /// The error that it is.
    pub(crate) fn into_error(self) -> ModelError {
        let Self { status, retry_after, .. } = self;
        let is = |word: &str| self.words.iter().any(|have| have == word);
        let has = |word: &str| self.words.iter().any(|have| have.contains(word));
        let mentions = |text: &str| self.message.to_ascii_lowercase().contains(text);
        let at = |codes: &[u16]| status.is_some_and(|status| codes.contains(&status));
        let request = status.is_none_or(|status| (400..500).contains(&status));
        let too_long = CONTEXT_LENGTH_PHRASES.iter().any(|text| mentions(text)) && !at(&[429]);
        let message = self.message.clone();
        if has("context_length") || has("exceed_context") || at(&[413]) || request && too_long {
            return ModelError::ContextLength(message);
        }
        if at(&[401]) || is("authentication_error") || has("api_key") || is("unauthenticated") {
            return ModelError::Unauthorized(message);
        }
        if at(&[402])
            || is("insufficient_quota")
            || is("billing_error")
            || mentions("credit balance")
        {
            return ModelError::QuotaExceeded(message);
        }
        if has("content_filter") || has("content_policy") || is("invalid_prompt") {
            return ModelError::Refused(message);
        }
        if at(&[403]) || is("permission_error") || is("permission_denied") {
            return ModelError::Forbidden(message);
        }
        if at(&[404]) || is("model_not_found") || is("not_found_error") || is("not_found") {
            return ModelError::UnknownModel(message);
        }
        if at(&[429]) || has("rate_limit") || is("resource_exhausted") {
            return ModelError::RateLimited { retry_after, message };
        }
        let client = is("invalid_request_error") || is("invalid_argument") || is("bad_request");
        let transient = at(&[408, 409, 425]);
        if !transient && (client || status.is_some_and(|status| (400..500).contains(&status))) {
            return ModelError::BadRequest(message);
        }
        ModelError::Overloaded { status, retry_after, message }
    }
}

/// Phrases for a conversation that is too long.
const CONTEXT_LENGTH_PHRASES: [&str; 10] = [
    "maximum context length",
    "context length",
    "context limit",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "reduce the length of the messages",
    "exceeds the maximum number of tokens",
];

/// A duration as Google writes it: `34.4s`.
fn parse_google_duration(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn truncate_message(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
