//! What a client of Chat Completions asks for. What cannot be done as it is asked is
//! refused by name: an answer that silently is another one helps nobody.

use provost_proto::Code;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::told::Refused;
use crate::problem::Failure;

/// A request as it came.
#[derive(Deserialize)]
pub(crate) struct Completion {
    model: String,
    messages: Vec<Message>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Value,
}

/// A request that can be met.
pub(super) struct Asked {
    pub(super) model: String,
    messages: Vec<(String, String)>,
    pub(super) stream: bool,
    /// Whether the tokens are told at the end of a stream.
    pub(super) counts: bool,
    /// The most tokens of all answers of the turn together.
    pub(super) most: Option<u32>,
}

/// A field that is not read here: which values change nothing, and why no others.
type Field = (&'static str, fn(&Value) -> bool, &'static str);

const OWN_TOOLS: &str = "an agent calls the tools of its role, and no others; leave it out";
const OWN_CHOICE: &str = "which tools are there is a matter of the role; leave it out, or ask a \
    role without skills";
const OWN_MODEL: &str = "how the model is set is a matter of the role; leave it out";
const ONLY_TEXT: &str = "an agent answers in text; leave it out";
const NO_ODDS: &str = "an agent tells no odds; leave it out";

/// A value of null is the same as none, for each of them.
const FIELDS: &[Field] = &[
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
    ("n", |value| is(value, 1.0), "an agent answers once; leave it out, or ask again"),
    ("tools", is_empty, OWN_TOOLS),
    ("functions", is_empty, OWN_TOOLS),
    ("tool_choice", |value| value == "auto", OWN_CHOICE),
    ("function_call", |value| value == "auto", OWN_CHOICE),
    ("parallel_tool_calls", |value| value == true, OWN_CHOICE),
    ("response_format", |value| value["type"] == "text", ONLY_TEXT),
    ("modalities", |value| *value == serde_json::json!(["text"]), ONLY_TEXT),
    ("audio", |_| false, ONLY_TEXT),
    ("stop", is_empty, "an agent is not stopped by words; leave it out"),
    ("temperature", |value| is(value, 1.0), OWN_MODEL),
    ("top_p", |value| is(value, 1.0), OWN_MODEL),
    ("presence_penalty", |value| is(value, 0.0), OWN_MODEL),
    ("frequency_penalty", |value| is(value, 0.0), OWN_MODEL),
    ("logit_bias", is_empty, OWN_MODEL),
    ("seed", |_| false, OWN_MODEL),
    ("reasoning_effort", |_| false, OWN_MODEL),
    ("verbosity", |value| value == "medium", OWN_MODEL),
    ("prediction", |_| false, OWN_MODEL),
    ("service_tier", |value| value == "auto" || value == "default", OWN_MODEL),
    ("web_search_options", |_| false, OWN_TOOLS),
    ("logprobs", |value| value == false, NO_ODDS),
    ("top_logprobs", |value| is(value, 0.0), NO_ODDS),
    (
        "store",
        |value| value == false,
        "the log keeps what is said, and nothing is fetched from it \
      here; leave it out",
    ),
];

fn is(value: &Value, wanted: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - wanted).abs() < f64::EPSILON)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn refused(field: &str, why: &str) -> Refused {
    let why = format!("`{field}` cannot be taken as it is: {why}");
    Refused::field(field, Failure::new(Code::InvalidRequest, why))
}

impl Completion {
    /// The request, if all of it can be met.
    pub(super) fn read(self) -> Result<Asked, Refused> {
        let Self { model, messages, mut rest } = self;
        rest.retain(|_, value| !value.is_null());
        for (name, value) in &rest {
            let Some((_, changes_nothing, why)) = FIELDS.iter().find(|(known, ..)| known == name)
            else {
                return Err(refused(name, "it is not known here; leave it out"));
            };
            if !changes_nothing(value) {
                return Err(refused(name, why));
            }
        }
        let read = messages.iter().enumerate().map(|(place, message)| message.read(place));
        Ok(Asked {
            model,
            messages: read.collect::<Result<_, _>>()?,
            stream: flag(&rest, "stream")?,
            counts: counts(&rest)?,
            most: most(&rest)?,
        })
    }
}

fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, Refused> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            Err(refused(name, "it is true or false"))
        }
    }
}

fn counts(fields: &Map<String, Value>) -> Result<bool, Refused> {
    let Some(options) = fields.get("stream_options") else { return Ok(false) };
    let Some(options) = options.as_object() else {
        return Err(refused("stream_options", "it is an object"));
    };
    // What pads a stream against listeners is the connection's matter.
    let known = |name: &&String| !matches!(name.as_str(), "include_usage" | "include_obfuscation");
    if let Some(name) = options.keys().find(known) {
        let name = format!("stream_options.{name}");
        return Err(refused(&name, "it is not known here; leave it out"));
    }
    flag(options, "include_usage")
}

/// The limit, by its new name or by its old one.
fn most(fields: &Map<String, Value>) -> Result<Option<u32>, Refused> {
    let mut most = None;
    for name in ["max_completion_tokens", "max_tokens"] {
        let Some(value) = fields.get(name) else { continue };
        let read = value.as_u64().and_then(|value| u32::try_from(value).ok());
        let read = read.filter(|read| *read > 0);
        let read =
            read.ok_or_else(|| refused(name, "it is a whole number of tokens, from 1 on"))?;
        if most.replace(read).is_some_and(|before| before != read) {
            return Err(refused(name, "`max_completion_tokens` says another number"));
        }
    }
    Ok(most)
}

impl Message {
    /// Who said what.
    fn read(&self, place: usize) -> Result<(String, String), Refused> {
        let field = |name: &str| format!("messages[{place}].{name}");
        if !matches!(self.role.as_str(), "system" | "developer" | "user" | "assistant") {
            return Err(refused(&field("role"), OWN_TOOLS));
        }
        if !self.tool_calls.is_null() && !is_empty(&self.tool_calls) {
            return Err(refused(&field("tool_calls"), OWN_TOOLS));
        }
        let no_text = || refused(&field("content"), "it is text, or a list of parts of text");
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

impl Asked {
    /// What the user said last. What came before is in the session.
    pub(super) fn last(&self) -> Result<String, Refused> {
        let last = self.messages.last().filter(|(role, _)| role == "user");
        let last = last.map(|(_, text)| text.clone());
        last.ok_or_else(|| refused("messages", "the last one is of the user"))
    }

    /// The whole conversation as one message, since the client keeps it.
    pub(super) fn transcript(&self) -> Result<String, Refused> {
        let last = self.last()?;
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
