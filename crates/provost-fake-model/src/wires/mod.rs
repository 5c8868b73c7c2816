//! What a model says, written in each of the wire formats, as their documentation
//! gives them.

mod chat;
mod gemini;
mod messages;
mod responses;

use std::time::Duration;

use serde_json::Value;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Responses.
    Responses,
    /// Chat Completions.
    Chat,
    /// Messages.
    Messages,
    /// `streamGenerateContent`.
    Gemini,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Responses, Self::Chat, Self::Messages, Self::Gemini];

    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            path if path.ends_with("/responses") => Some(Self::Responses),
            path if path.ends_with("/chat/completions") => Some(Self::Chat),
            path if path.ends_with("/messages") => Some(Self::Messages),
            path if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    pub(crate) fn base(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => "/v1",
            Self::Messages => "",
            Self::Gemini => "/v1beta",
        }
    }
}

/// One thing that a model says.
#[derive(Debug, Clone)]
pub enum Said {
    /// It thinks, and signs it.
    Think {
        /// What it thinks.
        text: String,
        /// The signature, or what is encrypted.
        signature: String,
    },
    /// It says something.
    Say(String),
    /// It calls a tool.
    Call {
        /// The id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
}

/// What an answer used.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    /// Of the request, those below included.
    pub input: u64,
    /// Of these, from a cache.
    pub cached: u64,
    /// Of the answer, those below included.
    pub output: u64,
    /// Of these, for thinking.
    pub thinking: u64,
}

/// One answer of a model.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What it says, in order.
    pub said: Vec<Said>,
    /// What it used.
    pub tokens: Tokens,
    /// The while between two events.
    pub pace: Duration,
}

impl Answer {
    /// An answer without a pace.
    pub fn new(said: Vec<Said>) -> Self {
        let tokens = Tokens { input: 100, cached: 64, output: 20, thinking: 12 };
        Self { said, tokens, pace: Duration::ZERO }
    }

    /// A text, in one event per word.
    pub fn text(text: &str) -> Self {
        Self::new(vec![Said::Say(text.to_owned())])
    }

    /// One call.
    pub fn call(id: &str, name: &str, arguments: Value) -> Self {
        let (id, name) = (id.to_owned(), name.to_owned());
        Self::new(vec![Said::Call { id, name, arguments }])
    }

    /// The events of the stream, each with its framing.
    pub fn events(&self, format: Format) -> Vec<String> {
        match format {
            Format::Responses => named(&self.responses()),
            Format::Messages => named(&self.messages()),
            Format::Chat => {
                let mut events = bare(&self.chat());
                events.push("data: [DONE]\n\n".to_owned());
                events
            }
            Format::Gemini => bare(&self.gemini()),
        }
    }

    fn calls(&self) -> bool {
        self.said.iter().any(|said| matches!(said, Said::Call { .. }))
    }
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive(' ').map(str::to_owned)
}

fn halves(text: &str) -> impl Iterator<Item = String> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    [first.to_owned(), second.to_owned()].into_iter()
}

fn named(events: &[Value]) -> Vec<String> {
    let frame = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(frame).collect()
}

fn bare(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
