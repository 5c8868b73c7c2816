//! Completions, encoded in each of the wire formats as their documentation specifies.

mod chat;
mod gemini;
mod messages;
mod responses;

use std::time::Duration;

use serde_json::Value;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FakeWireFormat {
    /// Responses.
    Responses,
    /// Chat Completions.
    Chat,
    /// Messages.
    Messages,
    /// `streamGenerateContent`.
    Gemini,
}

impl FakeWireFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Responses, Self::Chat, Self::Messages, Self::Gemini];

    pub(crate) fn from_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            path if path.ends_with("/responses") => Some(Self::Responses),
            path if path.ends_with("/chat/completions") => Some(Self::Chat),
            path if path.ends_with("/messages") => Some(Self::Messages),
            path if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    pub(crate) fn base_path(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => "/v1",
            Self::Messages => "",
            Self::Gemini => "/v1beta",
        }
    }
}

/// One part of a completion.
#[derive(Debug, Clone)]
pub enum FakeCompletionPart {
    /// Reasoning with its signature.
    Reasoning {
        /// The reasoning text.
        text: String,
        /// The signature, or the encrypted content.
        signature: String,
    },
    /// Text.
    Text(String),
    /// A tool call.
    ToolCall {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
}

/// The token usage of a completion.
#[derive(Debug, Clone, Copy)]
pub struct FakeTokenUsage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Input tokens from a cache.
    pub cached: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub thinking: u64,
}

/// One completion of a model.
#[derive(Debug, Clone)]
pub struct FakeCompletion {
    /// Its parts, in order.
    pub parts: Vec<FakeCompletionPart>,
    /// Its token usage.
    pub tokens: FakeTokenUsage,
    /// The delay between two events.
    pub pace: Duration,
}

impl FakeCompletion {
    /// A completion without a delay.
    pub fn new(parts: Vec<FakeCompletionPart>) -> Self {
        let tokens = FakeTokenUsage { input: 100, cached: 64, output: 20, thinking: 12 };
        Self { parts, tokens, pace: Duration::ZERO }
    }

    /// A text, one event per word.
    pub fn from_text(text: &str) -> Self {
        Self::new(vec![FakeCompletionPart::Text(text.to_owned())])
    }

    /// One tool call.
    pub fn from_tool_call(id: &str, name: &str, arguments: Value) -> Self {
        let (id, name) = (id.to_owned(), name.to_owned());
        Self::new(vec![FakeCompletionPart::ToolCall { id, name, arguments }])
    }

    /// The events of the stream, each with its framing.
    pub fn encode_events(&self, format: FakeWireFormat) -> Vec<String> {
        match format {
            FakeWireFormat::Responses => frame_named_events(&self.encode_responses()),
            FakeWireFormat::Messages => frame_named_events(&self.encode_messages()),
            FakeWireFormat::Chat => {
                let mut events = frame_data_events(&self.encode_chat());
                events.push("data: [DONE]\n\n".to_owned());
                events
            }
            FakeWireFormat::Gemini => frame_data_events(&self.encode_gemini()),
        }
    }

    fn has_tool_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, FakeCompletionPart::ToolCall { .. }))
    }
}

fn split_words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive(' ').map(str::to_owned)
}

fn split_halves(text: &str) -> impl Iterator<Item = String> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    [first.to_owned(), second.to_owned()].into_iter()
}

fn frame_named_events(events: &[Value]) -> Vec<String> {
    let frame = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(frame).collect()
}

fn frame_data_events(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
