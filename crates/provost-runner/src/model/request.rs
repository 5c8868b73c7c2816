//! What a model is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, Completion, ModelError};

/// One request to a model: all it may know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// The model by its full name, like `anthropic/claude-sonnet-5`.
    pub model: String,
    /// What it is and how it is to behave. May be empty.
    pub instructions: String,
    /// The tools it may call. Keep offering them while calls are in the messages:
    /// some providers refuse a history of calls without tools.
    pub tools: Vec<ToolDefinition>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// The conversation, oldest first.
    pub messages: Vec<ModelMessage>,
    /// The most tokens it may answer with; the provider's own limit if absent.
    pub max_output_tokens: Option<u32>,
    /// How much it should think; the model's own habit if absent.
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
    /// As it likes.
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
    /// Whether to ask for a readable summary where that is a matter of choice.
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
    /// What a person said.
    User {
        /// The text.
        text: String,
    },
    /// What a model said.
    Assistant {
        /// The turn, as [`super::ModelEvent::ConnectionEnd`] gave it.
        turn: Box<Completion>,
    },
    /// What came of the calls of the turn before, in any order. A call that has no
    /// result here is told to have been interrupted.
    Results {
        /// One per call.
        results: Vec<ToolResult>,
    },
}

impl ModelMessage {
    /// What a person said.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Of which.
    pub call: CallId,
    /// How it went.
    pub status: ToolResultStatus,
    /// What the model is told.
    pub output: String,
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolResultStatus {
    /// It was done.
    Ok,
    /// It was tried and failed.
    Error,
    /// A person or a rule forbade it.
    Denied,
}

impl ToolResultStatus {
    /// Whether a model should take it for a failure.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Ok => false,
            Self::Error | Self::Denied => true,
        }
    }
}
