//! The provider-neutral request to a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, Completion, ModelError};

/// One request to a model, with everything that it gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// The model by its full name, like `anthropic/claude-sonnet-5`.
    pub model: String,
    /// The system prompt. May be empty.
    pub instructions: String,
    /// The tools it may call. Keep offering them while calls are in the messages:
    /// some providers refuse a history of calls without tools.
    pub tools: Vec<ToolDefinition>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// The conversation, oldest first.
    pub messages: Vec<ModelMessage>,
    /// Most output tokens; the provider's limit if absent.
    pub max_output_tokens: Option<u32>,
    /// How much it should reason; the model's default if absent.
    pub thinking: Option<ThinkingConfig>,
    /// The same for all requests of one session, so that providers find their
    /// caches again. Never a secret.
    pub cache_key: Option<String>,
}

impl ModelRequest {
    /// A request without tools or limits.
    pub fn new(model: impl Into<String>, messages: Vec<ModelMessage>) -> Self {
        Self {
            model: model.into(),
            instructions: String::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            messages,
            max_output_tokens: None,
            thinking: None,
            cache_key: None,
        }
    }
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub schema: Value,
}

impl ToolDefinition {
    /// The longest name that every provider takes.
    const LONGEST: usize = 64;

    /// A tool. Its name must be one that every provider takes: a letter or `_`,
    /// then letters, digits, `_` and `-`, at most 64 in all. (No dots: a skill like
    /// `fs.read` needs another name here.)
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Result<Self, ModelError> {
        let name = name.into();
        let mut letters = name.chars();
        let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let rest = letters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !first || !rest || name.len() > Self::LONGEST {
            return Err(ModelError::Unsendable(format!("no provider takes a tool named `{name}`")));
        }
        if !schema.is_object() {
            return Err(ModelError::Unsendable(format!("the schema of `{name}` is no object")));
        }
        Ok(Self { name, description: description.into(), schema })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// It must not, though it sees them.
    None,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingConfig {
    /// How much.
    pub effort: ReasoningEffort,
    /// Whether to request a readable summary if that is optional.
    /// (`OpenAI` refuses it to organizations that it has not verified.)
    pub summary: bool,
}

/// How much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningEffort {
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl ReasoningEffort {
    /// The word for it, the same with all providers that have one.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ModelMessage {
    /// A message of a person.
    User {
        /// The text.
        text: String,
    },
    /// A completion of a model.
    Assistant {
        /// The completion, as [`super::ModelEvent::End`] gave it.
        turn: Box<Completion>,
    },
    /// The results of the calls of the last completion, in any order. A call without a
    /// result here is reported to the model as interrupted.
    Results {
        /// One per call.
        results: Vec<ModelToolResult>,
    },
}

impl ModelMessage {
    /// A message of a person.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }
}

/// The result of a tool call, as a model gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelToolResult {
    /// The call.
    pub call: CallId,
    /// Whether it succeeded.
    pub status: ModelToolResultStatus,
    /// The text for the model.
    pub output: String,
}

/// Whether a call succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelToolResultStatus {
    /// It succeeded.
    Ok,
    /// It failed.
    Error,
    /// A person or a rule denied it.
    Denied,
}

impl ModelToolResultStatus {
    /// Whether providers get it marked as an error.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Ok => false,
            Self::Error | Self::Denied => true,
        }
    }
}
