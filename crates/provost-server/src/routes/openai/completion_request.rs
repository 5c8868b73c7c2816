//! What a client of Chat Completions asks for. What cannot be done as it is asked is
//! refused by name: an answer that silently is another one helps nobody.

use provost_proto::Code;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::completion_response::OpenAiError;
use crate::api_error::ApiError;

/// A request as it came.
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

/// A request that can be met.
pub(super) struct ValidatedCompletionRequest {
    pub(super) model: String,
    messages: Vec<(String, String)>,
    pub(super) stream: bool,
    /// Whether the tokens are told at the end of a stream.
    pub(super) counts: bool,
    /// The most tokens of all answers of the turn together.
    pub(super) most: Option<u32>,
}

/// A field that is not read here: which values change nothing, and why no others.
type FieldConstraint = (&'static str, fn(&Value) -> bool, &'static str);

const TOOLS_REJECTED: &str = "an agent calls the tools of its role, and no others; leave it out";
const TOOL_CHOICE_REJECTED: &str = "which tools are there is a matter of the role; leave it out, or ask a \
    role without skills";
const MODEL_SETTINGS_REJECTED: &str = "how the model is set is a matter of the role; leave it out";
const NON_TEXT_REJECTED: &str = "an agent answers in text; leave it out";
const LOGPROBS_REJECTED: &str = "an agent tells no odds; leave it out";

/// A value of null is the same as none, for each of them.
const FIELD_CONSTRAINTS: &[FieldConstraint] = &[
    // For whoever serves; they change no answer.
    ("metadata", |_| true, ""),
    ("prompt_cache_key", |_| true, ""),
    ("prompt_cache_retention", |_| true, ""),
    ("safety_identifier", |_| true, ""),
    ("user", |_| true, ""),
    // Read below.
    ("max_completion_tokens", |_| true, ""),
    ("max_tokens", |_| true, ""),
    ("stream", |_| true, ""),
    ("stream_options", |_| true, ""),
    // Only what happens anyway.
    ("n", |value| equals_number(value, 1.0), "an agent answers once; leave it out, or ask again"),
    ("tools", is_empty_collection, TOOLS_REJECTED),
    ("functions", is_empty_collection, TOOLS_REJECTED),
    ("tool_choice", |value| value == "auto", TOOL_CHOICE_REJECTED),
    ("function_call", |value| value == "auto", TOOL_CHOICE_REJECTED),
    ("parallel_tool_calls", |value| value == true, TOOL_CHOICE_REJECTED),
    ("response_format", |value| value["type"] == "text", NON_TEXT_REJECTED),
    ("modalities", |value| *value == serde_json::json!(["text"]), NON_TEXT_REJECTED),
    ("audio", |_| false, NON_TEXT_REJECTED),
    ("stop", is_empty_collection, "an agent is not stopped by words; leave it out"),
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
        "the log keeps what is said, and nothing is fetched from it \
      here; leave it out",
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
    let why = format!("`{field}` cannot be taken as it is: {why}");
    OpenAiError::for_field(field, ApiError::new(Code::InvalidRequest, why))
}

impl ChatCompletionRequest {
    /// The request, if all of it can be met.
    pub(super) fn validate(self) -> Result<ValidatedCompletionRequest, OpenAiError> {
        let Self { model, messages, mut rest } = self;
        rest.retain(|_, value| !value.is_null());
        for (name, value) in &rest {
            let Some((_, changes_nothing, why)) =
                FIELD_CONSTRAINTS.iter().find(|(known, ..)| known == name)
            else {
                return Err(reject_field(name, "it is not known here; leave it out"));
            };
            if !changes_nothing(value) {
                return Err(reject_field(name, why));
            }
        }
        let read = messages.iter().enumerate().map(|(place, message)| message.parse_text(place));
        Ok(ValidatedCompletionRequest {
            model,
            messages: read.collect::<Result<_, _>>()?,
            stream: parse_flag(&rest, "stream")?,
            counts: parse_include_usage(&rest)?,
            most: parse_max_tokens(&rest)?,
        })
    }
}

fn parse_flag(fields: &Map<String, Value>, name: &str) -> Result<bool, OpenAiError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            Err(reject_field(name, "it is true or false"))
        }
    }
}

fn parse_include_usage(fields: &Map<String, Value>) -> Result<bool, OpenAiError> {
    let Some(options) = fields.get("stream_options") else { return Ok(false) };
    let Some(options) = options.as_object() else {
        return Err(reject_field("stream_options", "it is an object"));
    };
    // What pads a stream against listeners is the connection's matter.
    let known = |name: &&String| !matches!(name.as_str(), "include_usage" | "include_obfuscation");
    if let Some(name) = options.keys().find(known) {
        let name = format!("stream_options.{name}");
        return Err(reject_field(&name, "it is not known here; leave it out"));
    }
    parse_flag(options, "include_usage")
}

/// The limit, by its new name or by its old one.
fn parse_max_tokens(fields: &Map<String, Value>) -> Result<Option<u32>, OpenAiError> {
    let mut most = None;
    for name in ["max_completion_tokens", "max_tokens"] {
        let Some(value) = fields.get(name) else { continue };
        let read = value.as_u64().and_then(|value| u32::try_from(value).ok());
        let read = read.filter(|read| *read > 0);
        let read =
            read.ok_or_else(|| reject_field(name, "it is a whole number of tokens, from 1 on"))?;
        if most.replace(read).is_some_and(|before| before != read) {
            return Err(reject_field(name, "`max_completion_tokens` says another number"));
        }
    }
    Ok(most)
}

impl ChatMessage {
    /// Who said what.
    fn parse_text(&self, place: usize) -> Result<(String, String), OpenAiError> {
        let field = |name: &str| format!("messages[{place}].{name}");
        if !matches!(self.role.as_str(), "system" | "developer" | "user" | "assistant") {
            return Err(reject_field(&field("role"), TOOLS_REJECTED));
        }
        if !self.tool_calls.is_null() && !is_empty_collection(&self.tool_calls) {
            return Err(reject_field(&field("tool_calls"), TOOLS_REJECTED));
        }
        let no_text = || reject_field(&field("content"), "it is text, or a list of parts of text");
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
    /// What the user said last. What came before is in the session.
    pub(super) fn last_user_text(&self) -> Result<String, OpenAiError> {
        let last = self.messages.last().filter(|(role, _)| role == "user");
        let last = last.map(|(_, text)| text.clone());
        last.ok_or_else(|| reject_field("messages", "the last one is of the user"))
    }

    /// The whole conversation as one message, since the client keeps it.
    pub(super) fn format_transcript(&self) -> Result<String, OpenAiError> {
        let last = self.last_user_text()?;
        let before = self.messages.get(..self.messages.len().saturating_sub(1)).unwrap_or_default();
        if before.is_empty() {
            return Ok(last);
        }
        let told = before.iter().map(|(role, text)| format!("[{role}]\n{text}\n\n"));
        Ok(format!("What was said before:\n\n{}[user]\n{last}", told.collect::<String>()))
    }
}

#[cfg(test)]
mod tests;
