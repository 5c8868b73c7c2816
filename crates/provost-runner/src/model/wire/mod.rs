//! The wire formats: encoding requests and decoding streams. Pure.
//!
//! | format | provider | folder |
//! |---|---|---|
//! | Messages | Anthropic | `anthropic` |
//! | Responses | `OpenAI` | `responses` |
//! | Chat Completions | `OpenAI` and compatible servers | `chat` |
//! | `streamGenerateContent` | Gemini | `gemini` |

mod anthropic;
mod chat;
mod completion_builder;
mod conversation_steps;
mod gemini;
pub(crate) mod provider_failure;
mod responses;
pub(crate) mod strip_reasoning;

use provost_core::exact_json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ModelError, ModelEvent, ModelOrigin, ModelRequest, SseEvent, SseParser, StopReason};
use completion_builder::CompletionBuilder;

/// Most bytes of a stream. A guard against a server that never ends, far above what any model
/// writes.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireFormat {
    /// Responses, of `OpenAI`.
    Responses,
    /// Chat Completions, of `OpenAI` and compatible servers.
    Chat,
    /// Messages, of Anthropic.
    Messages,
    /// `streamGenerateContent`, of Gemini.
    Gemini,
}

/// A request as it goes over the wire, without the key.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedRequest {
    /// What follows the provider's base address.
    pub path: String,
    /// Headers of the wire format.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Value,
}

/// How a provider's Chat Completions differ from those of `OpenAI`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatDialect {
    /// Which ids of calls it takes.
    pub ids: CallIdFormat,
    /// The field for the longest answer.
    pub limit: &'static str,
    /// The field for the reasoning effort.
    pub effort: EffortField,
    /// Whether usage must be requested by `stream_options`.
    pub asks_for_usage: bool,
    /// Whether each message with calls must contain reasoning, even if empty.
    pub needs_reasoning: bool,
    /// Whether it takes `prompt_cache_key`.
    pub takes_cache_key: bool,
}

/// Which ids of calls a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIdFormat {
    /// Letters, digits, `_` and `-`, at most this many.
    MaxLength(usize),
    /// Exactly nine letters and digits.
    NineAlphanumeric,
}

/// How a provider takes the reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortField {
    /// Not supported.
    None,
    /// `reasoning_effort`.
    Flat,
    /// `reasoning.effort`.
    Nested,
}

impl ChatDialect {
    /// What nearly every server understands.
    pub const PLAIN: Self = Self {
        ids: CallIdFormat::MaxLength(40),
        limit: "max_tokens",
        effort: EffortField::None,
        asks_for_usage: true,
        needs_reasoning: false,
        takes_cache_key: false,
    };
}

impl WireFormat {
    /// Encodes a request in this format for the model `origin`: completions of the same model
    /// are sent back unchanged.
    pub fn encode(
        self,
        request: &ModelRequest,
        origin: &ModelOrigin,
        dialect: &ChatDialect,
    ) -> Result<EncodedRequest, ModelError> {
        match self {
            Self::Responses => responses::encode(request, origin),
            Self::Chat => chat::encode(request, origin, dialect),
            Self::Messages => anthropic::encode(request, origin),
            Self::Gemini => gemini::encode(request, origin),
        }
    }

    /// Reads an answer in this format.
    pub fn decoder(self, origin: ModelOrigin) -> CompletionDecoder {
        let decode: Box<dyn WireDecoder + Send + Sync> = match self {
            Self::Responses => Box::new(responses::ResponsesDecoder::default()),
            Self::Chat => Box::new(chat::ChatDecoder::default()),
            Self::Messages => Box::new(anthropic::AnthropicDecoder::default()),
            Self::Gemini => Box::new(gemini::GeminiDecoder::default()),
        };
        CompletionDecoder {
            sse: SseParser::new(),
            builder: CompletionBuilder::new(origin),
            decode,
            n_bytes: 0,
        }
    }
}

/// Reads one answer: bytes in, events out. The same events come of the same bytes,
/// however they are cut. After an error it must not be used again.
pub struct CompletionDecoder {
    sse: SseParser,
    builder: CompletionBuilder,
    decode: Box<dyn WireDecoder + Send + Sync>,
    n_bytes: usize,
}

impl std::fmt::Debug for CompletionDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("n_bytes", &self.n_bytes).finish_non_exhaustive()
    }
}

impl CompletionDecoder {
    /// Takes bytes of the body and adds the events that they complete, also those
    /// before an error.
    pub fn push_bytes(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.n_bytes += bytes.len();
        if self.n_bytes > MAX_STREAM_BYTES {
            return Err(ModelError::Protocol(format!("more than {MAX_STREAM_BYTES} bytes")));
        }
        let mut events = Vec::new();
        let read = self.sse.push_bytes(bytes, &mut events);
        for event in &events {
            self.push_event(event, out)?;
        }
        read
    }

    /// Takes one event of the stream.
    pub fn push_event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let pushed = self.decode.push_event(event, &mut self.builder);
        out.append(&mut self.builder.out);
        pushed
    }

    /// Whether anything came yet.
    pub fn has_begun(&self) -> bool {
        self.n_bytes > 0
    }

    /// Whether the stop reason was received. Usage may still follow.
    pub fn has_stopped(&self) -> bool {
        self.decode.has_stopped()
    }

    /// Whether the provider has ended the stream.
    pub fn is_done(&self) -> bool {
        self.decode.is_done()
    }

    /// The body has ended: adds what was left, and the end of the turn.
    ///
    /// Without a stop reason, or with an unknown one and no content, this is
    /// [`ModelError::Truncated`]. With one, an incomplete event at the end changes nothing.
    pub fn finish(mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let last = std::mem::take(&mut self.sse).finish();
        if let Some(event) = last.filter(|event| !is_incomplete_event(event)) {
            self.push_event(&event, out)?;
        }
        let stop = self.decode.finish(&mut self.builder);
        out.append(&mut self.builder.out);
        let stop = stop?;
        if let StopReason::Other { native } = &stop
            && self.builder.has_no_output()
        {
            let why = format!("the model stopped without content ({native})");
            return Err(ModelError::Truncated(why));
        }
        let turn = self.builder.into_completion(stop);
        out.push(ModelEvent::End { turn: Box::new(turn) });
        Ok(())
    }
}

/// Whether an event that was not ended lacks a part: it is no JSON, nor the one word
/// that some streams end with.
fn is_incomplete_event(event: &SseEvent) -> bool {
    event.data.trim() != "[DONE]" && parse_event_json(event).is_err()
}

/// The part of a decoder that differs by wire format.
trait WireDecoder {
    /// Takes one event.
    fn push_event(
        &mut self,
        event: &SseEvent,
        builder: &mut CompletionBuilder,
    ) -> Result<(), ModelError>;
    /// Whether the stop reason was received.
    fn has_stopped(&self) -> bool;
    /// Whether nothing more comes.
    fn is_done(&self) -> bool;
    /// Completes open items and returns the stop reason.
    fn finish(&mut self, builder: &mut CompletionBuilder) -> Result<StopReason, ModelError>;
}

/// The members that hold the arguments of a call: their text is kept as it came.
const ARGUMENT_MEMBERS: [&str; 3] = ["args", "input", "arguments"];

/// The JSON of an event. What a `Value` cannot hold as it was written is held as text.
fn parse_event_json(event: &SseEvent) -> Result<Value, ModelError> {
    exact_json::parse_message(&event.data, &ARGUMENT_MEMBERS)
        .map_err(|error| ModelError::Protocol(format!("an event is not JSON: {error}")))
}

/// The stream ended too early.
fn truncated_stream_error() -> ModelError {
    ModelError::Truncated("the stream ended without a stop reason".to_owned())
}
