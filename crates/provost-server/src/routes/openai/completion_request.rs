//! Requests of Chat Completions. A field that cannot be honored is rejected by name rather
//! than ignored.

use provost_proto::Code;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::completion_response::OpenAiError;
use crate::api_error::ApiError;

/// A request as received.
#[derive(Deserialize)]
pub(crate) struct ChatCompletionRequest {
    model: String,
    messages: Vec<ChatMessage>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Value,
}

/// A request that can be honored.
pub(super) struct ValidatedCompletionRequest {
    pub(super) model: String,
    messages: Vec<(String, String)>,
    pub(super) stream: bool,
    /// Whether a stream ends with its usage.
    pub(super) include_usage: bool,
    /// Most output tokens of all completions of the turn together.
    pub(super) max_output_tokens: Option<u32>,
}

/// A field that is not used: its name, which values have no effect, and why others are rejected.
type FieldConstraint = (&'static str, fn(&Value) -> bool, &'static str);

const TOOLS_REJECTED: &str = "an agent calls only the tools of its role; omit it";
const TOOL_CHOICE_REJECTED: &str =
    "the role determines the tools; omit it, or use a role without skills";
const MODEL_SETTINGS_REJECTED: &str = "the role determines the model's settings; omit it";
const NON_TEXT_REJECTED: &str = "an agent responds in text; omit it";
const LOGPROBS_REJECTED: &str = "an agent returns no log probabilities; omit it";

/// For all of them, null is the same as absent.
const FIELD_CONSTRAINTS: &[FieldConstraint] = &[
    // For the provider; no effect on the completion.
    ("metadata", |_| true, ""),
    ("prompt_cache_key", |_| true, ""),
    ("prompt_cache_retention", |_| true, ""),
    ("safety_identifier", |_| true, ""),
    ("user", |_| true, ""),
    // Parsed below.
    ("max_completion_tokens", |_| true, ""),
    ("max_tokens", |_| true, ""),
    ("stream", |_| true, ""),
    ("stream_options", |_| true, ""),
    // Accepted only with the value that applies anyway.
    (
        "n",
        |value| equals_number(value, 1.0),
        "an agent responds once; omit it, or send several requests",
    ),
    ("tools", is_empty_collection, TOOLS_REJECTED),
    ("functions", is_empty_collection, TOOLS_REJECTED),
    ("tool_choice", |value| value == "auto", TOOL_CHOICE_REJECTED),
    ("function_call", |value| value == "auto", TOOL_CHOICE_REJECTED),
    ("parallel_tool_calls", |value| value == true, TOOL_CHOICE_REJECTED),
    ("response_format", |value| value["type"] == "text", NON_TEXT_REJECTED),
    ("modalities", |value| *value == serde_json::json!(["text"]), NON_TEXT_REJECTED),
    ("audio", |_| false, NON_TEXT_REJECTED),
    ("stop", is_empty_collection, "an agent has no stop sequences; omit it"),
    ("temperature", |value| equals_number(value, 1.0), MODEL_SETTINGS_REJECTED),
    ("top_p", |value| equals_number(value, 1.0), MODEL_SETTINGS_REJECTED),
    ("presence_penalty", |value| equals_number(value, 0.0), MODEL_SETTINGS_REJECTED),
    ("frequency_penalty", |value| equals_number(value, 0.0), MODEL_SETTINGS_REJECTED),
    ("logit_bias", is_empty_collection, MODEL_SETTINGS_REJECTED),
    ("seed", |_| false, MODEL_SETTINGS_REJECTED),
    ("reasoning_effort", |_| false, MODEL_SETTINGS_REJECTED),
    ("verbosity", |value| value == "medium", MODEL_SETTINGS_REJECTED),
    ("prediction", |_| false, MODEL_SETTINGS_REJECTED),
    ("service_tier", |value| value == "auto" || value == "default", MODEL_SETTINGS_REJECTED),
    ("web_search_options", |_| false, TOOLS_REJECTED),
    ("logprobs", |value| value == false, LOGPROBS_REJECTED),
    ("top_logprobs", |value| equals_number(value, 0.0), LOGPROBS_REJECTED),
    (
        "store",
        |value| value == false,
        "the log stores the conversation, and this API does not read it; \
      omit it",
    ),
];

fn equals_number(value: &Value, wanted: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - wanted).abs() < f64::EPSILON)
}

fn is_empty_collection(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn reject_field(field: &str, why: &str) -> OpenAiError {
    let why = format!("`{field}` is not supported with this value: {why}");
    OpenAiError::for_field(field, ApiError::new(Code::InvalidRequest, why))
}

impl ChatCompletionRequest {
    /// Checks that all fields can be honored.
    pub(super) fn validate(self) -> Result<ValidatedCompletionRequest, OpenAiError> {
        let Self { model, messages, mut rest } = self;
        rest.retain(|_, value| !value.is_null());
        for (name, value) in &rest {
            let Some((_, has_no_effect, why)) =
                FIELD_CONSTRAINTS.iter().find(|(known, ..)| known == name)
            else {
                return Err(reject_field(name, "the field is unknown; omit it"));
            };
            if !has_no_effect(value) {
                return Err(reject_field(name, why));
            }
        }
        let texts = messages.iter().enumerate().map(|(index, message)| message.parse_text(index));
        Ok(ValidatedCompletionRequest {
            model,
            messages: texts.collect::<Result<_, _>>()?,
            stream: parse_flag(&rest, "stream")?,
            include_usage: parse_include_usage(&rest)?,
            max_output_tokens: parse_max_tokens(&rest)?,
        })
    }
}

fn parse_flag(fields: &Map<String, Value>, name: &str) -> Result<bool, OpenAiError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            Err(reject_field(name, "expected true or false"))
        }
    }
}

fn parse_include_usage(fields: &Map<String, Value>) -> Result<bool, OpenAiError> {
    let Some(options) = fields.get("stream_options") else { return Ok(false) };
    let Some(options) = options.as_object() else {
        return Err(reject_field("stream_options", "expected an object"));
    };
    // Obfuscation pads chunks against eavesdroppers; the transport takes care of that.
    let is_unknown =
        |name: &&String| !matches!(name.as_str(), "include_usage" | "include_obfuscation");
    if let Some(name) = options.keys().find(is_unknown) {
        let name = format!("stream_options.{name}");
        return Err(reject_field(&name, "the field is unknown; omit it"));
    }
    parse_flag(options, "include_usage")
}

/// The token limit, by its current or its deprecated name.
fn parse_max_tokens(fields: &Map<String, Value>) -> Result<Option<u32>, OpenAiError> {
    let mut max_tokens = None;
    for name in ["max_completion_tokens", "max_tokens"] {
        let Some(value) = fields.get(name) else { continue };
        let read = value.as_u64().and_then(|value| u32::try_from(value).ok());
        let read = read.filter(|read| *read > 0);
        let read =
            read.ok_or_else(|| reject_field(name, "expected a number of tokens, at least 1"))?;
        if max_tokens.replace(read).is_some_and(|before| before != read) {
            return Err(reject_field(name, "`max_completion_tokens` has another value"));
        }
    }
    Ok(max_tokens)
}

impl ChatMessage {
    /// The role and the text.
    fn parse_text(&self, index: usize) -> Result<(String, String), OpenAiError> {
        let field = |name: &str| format!("messages[{index}].{name}");
        if !matches!(self.role.as_str(), "system" | "developer" | "user" | "assistant") {
            return Err(reject_field(&field("role"), TOOLS_REJECTED));
        }
        if !self.tool_calls.is_null() && !is_empty_collection(&self.tool_calls) {
            return Err(reject_field(&field("tool_calls"), TOOLS_REJECTED));
        }
        let no_text =
            || reject_field(&field("content"), "expected text, or an array of text parts");
        let text = match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let text = |part: &Value| {
                    let kind = matches!(part["type"].as_str(), Some("text") | None);
                    part["text"].as_str().filter(|_| kind).map(str::to_owned)
                };
                parts.iter().map(text).collect::<Option<_>>().ok_or_else(no_text)?
            }
            Value::Null => String::new(),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(no_text()),
        };
        Ok((self.role.clone(), text))
    }
}

impl ValidatedCompletionRequest {
    /// The last message of the user; the session has those before it.
    pub(super) fn last_user_text(&self) -> Result<String, OpenAiError> {
        let last = self.messages.last().filter(|(role, _)| role == "user");
        let last = last.map(|(_, text)| text.clone());
        last.ok_or_else(|| reject_field("messages", "the last message must have the role `user`"))
    }

    /// The whole conversation as one message, for a new session of a client that keeps it.
    pub(super) fn format_transcript(&self) -> Result<String, OpenAiError> {
        let last = self.last_user_text()?;
        let before = self.messages.get(..self.messages.len().saturating_sub(1)).unwrap_or_default();
        if before.is_empty() {
            return Ok(last);
        }
        let earlier = before.iter().map(|(role, text)| format!("[{role}]\n{text}\n\n"));
        Ok(format!("What was said before:\n\n{}[user]\n{last}", earlier.collect::<String>()))
    }
}

#[cfg(test)]
mod tests;
