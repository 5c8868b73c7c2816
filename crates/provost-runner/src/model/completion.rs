//! A finished completion: in a neutral form, and as its provider wrote it.

use std::fmt;

use provost_core::exact_json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::WireFormat;

/// The id of a tool call, as the provider gave it, or made up where it gave none.
/// Unique within its turn only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    /// Names the call that has this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which model answered, and in which wire format. What it wrote can be given
/// back unchanged only where all three are the same: signatures and encrypted
/// reasoning are read by the model that made them and by no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelOrigin {
    /// The name of the provider, the first part of a model's full name.
    pub provider: String,
    /// The wire format; none where nothing went over a wire (a script).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireFormat>,
    /// The requested model, without the provider.
    pub model: String,
}

/// One reply of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The model that wrote it.
    pub origin: ModelOrigin,
    /// Its parts, in order.
    pub items: Vec<CompletionItem>,
    /// Why it stopped.
    pub stop: StopReason,
    /// Its usage. Zero if the provider reported none.
    pub usage: CompletionUsage,
    /// The model that answered, by its provider's own account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Usage as the provider wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_usage: Option<Value>,
}

impl Completion {
    /// The calls of tools, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.items.iter().filter_map(|item| match &item.content {
            CompletionContent::ToolCall(call) => Some(call),
            CompletionContent::Text { .. }
            | CompletionContent::Reasoning { .. }
            | CompletionContent::Refusal { .. }
            | CompletionContent::Other { .. } => None,
        })
    }

    /// The text of the answer.
    pub fn text(&self) -> String {
        self.items.iter().filter_map(CompletionItem::text).collect()
    }
}

/// One part of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionItem {
    /// The neutral form.
    pub content: CompletionContent,
    /// What the provider wrote, whole: an output item, a content block, a part, or
    /// (Chat Completions) a fragment of the assistant's message. `None` in a turn
    /// that was put together elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Value>,
}

impl CompletionItem {
    /// The text, if it is a text of the answer.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            CompletionContent::Text { text } => Some(text),
            CompletionContent::Reasoning { .. }
            | CompletionContent::ToolCall(_)
            | CompletionContent::Refusal { .. }
            | CompletionContent::Other { .. } => None,
        }
    }
}

/// The neutral form of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CompletionContent {
    /// Text of the answer.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning, as far as the provider sends it; may be empty.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A call of a tool.
    ToolCall(ToolCall),
    /// A refusal.
    Refusal {
        /// The text.
        text: String,
    },
    /// Something this crate does not know and keeps for the provider.
    Other {
        /// The provider's name for it.
        kind: String,
    },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call.
    pub id: CallId,
    /// The name of the tool.
    pub name: String,
    /// The arguments as JSON text, just as they were streamed.
    pub arguments: String,
}

/// The arguments of a call are not a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments of `{name}` are not a JSON object: {why}")]
pub struct ToolArgumentsError {
    /// The tool that was called.
    pub name: String,
    /// What is wrong, in the words of the parser.
    pub why: String,
}

impl ToolCall {
    /// The arguments, read. No text at all means no arguments.
    pub fn parse_arguments(&self) -> Result<Map<String, Value>, ToolArgumentsError> {
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_str(&self.arguments)
            .map_err(|error| ToolArgumentsError { name: self.name.clone(), why: error.to_string() })
    }

    /// The arguments as JSON text that a provider takes back: what broke off is sent
    /// as no arguments, because servers refuse a history that is not JSON.
    pub(super) fn valid_arguments_json(&self) -> &str {
        let is_object = self.arguments.trim_start().starts_with('{');
        let is_sound = is_object && exact_json::parse(&self.arguments).is_ok();
        if is_sound { &self.arguments } else { "{}" }
    }

    /// The same as a value, with what a `Value` would change held as text.
    pub(super) fn arguments_value(&self) -> Value {
        exact_json::tree_or_text(self.valid_arguments_json()).unwrap_or_else(|| json!({}))
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StopReason {
    /// It finished.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// It reached the limit of its answer; a call may be incomplete.
    MaxTokens,
    /// The conversation and the answer no longer fit its context.
    ContextWindow,
    /// It reached a stop sequence.
    StopSequence,
    /// It declined.
    Refusal,
    /// A filter of the provider stopped it.
    ContentFilter,
    /// The provider paused a long turn; send the turn back to go on.
    Paused,
    /// Something else.
    Other {
        /// In the provider's word.
        native: String,
    },
}

/// Tokens that were used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompletionUsage {
    /// All tokens of the request, those below included.
    pub input: u64,
    /// All tokens of the answer, reasoning included.
    pub output: u64,
    /// Of the input, those read from a cache.
    pub cached_input: u64,
    /// Of the input, those written to a cache.
    pub cache_write: u64,
    /// Of the output, those spent on reasoning.
    pub reasoning: u64,
    /// Cost in dollars as reported by the provider (`OpenRouter` does).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported_usd: Option<f64>,
}
