//! The wire formats: a request written down, and a stream read. Pure.

mod anthropic;
mod chat;
mod completion_builder;
mod conversation_steps;
mod gemini;
pub(crate) mod provider_failure;
mod responses;
pub(crate) mod strip_reasoning;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ModelError, ModelEvent, ModelOrigin, ModelRequest, SseEvent, SseParser, StopReason};
use completion_builder::CompletionBuilder;

/// The longest answer, in bytes of the stream. A guard against a server that
/// never ends, far above what any model writes.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WireFormat {
    /// Responses, of `OpenAI`.
    Responses,
    /// Chat Completions, as `OpenAI` and everybody who imitates it speak it.
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
    /// How it is told how much to think.
    pub effort: EffortField,
    /// Whether it must be asked for usage, and may be.
    pub asks_for_usage: bool,
    /// Whether each message with calls must say what was thought, be it nothing.
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

/// How a provider is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortField {
    /// It cannot be told.
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
    /// The request in this format. `origin` says whom it is for: turns that come from
    /// there are sent as they came.
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
            draft: CompletionBuilder::new(origin),
            decode,
            n_bytes: 0,
        }
    }
}

/// Reads one answer: bytes in, events out. The same events come of the same bytes,
/// however they are cut. After an error it must not be used again.
pub struct CompletionDecoder {
    sse: SseParser,
    draft: CompletionBuilder,
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
        let pushed = self.decode.push_event(event, &mut self.draft);
        out.append(&mut self.draft.out);
        pushed
    }

    /// Whether anything came yet.
    pub fn has_begun(&self) -> bool {
        self.n_bytes > 0
    }

    /// Whether the model has said why it stopped. What it used may still come.
    pub fn has_stopped(&self) -> bool {
        self.decode.has_stopped()
    }

    /// Whether the provider has said that nothing more comes.
    pub fn is_done(&self) -> bool {
        self.decode.is_done()
    }

    /// The body has ended: adds what was left, and the end of the turn.
    ///
    /// If the model has not said why it stopped, or stopped for a reason that is not known
    /// here and said nothing, the answer is [`ModelError::Truncated`].
    /// If it has, half an event at the end changes nothing.
    pub fn finish(mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let last = std::mem::take(&mut self.sse).finish();
        if let Some(event) = last.filter(|event| !is_incomplete_event(event)) {
            self.push_event(&event, out)?;
        }
        let stop = self.decode.finish(&mut self.draft);
        out.append(&mut self.draft.out);
        let stop = stop?;
        if let StopReason::Other { native } = &stop
            && self.draft.has_no_output()
        {
            let why = format!("the model stopped without an answer ({native})");
            return Err(ModelError::Truncated(why));
        }
        let turn = self.draft.into_completion(stop);
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
        draft: &mut CompletionBuilder,
    ) -> Result<(), ModelError>;
    /// Whether the model has said why it stopped.
    fn has_stopped(&self) -> bool;
    /// Whether nothing more comes.
    fn is_done(&self) -> bool;
    /// Completes what is open, and says why the model stopped.
    fn finish(&mut self, draft: &mut CompletionBuilder) -> Result<StopReason, ModelError>;
}

/// The JSON of an event.
fn parse_event_json(event: &SseEvent) -> Result<Value, ModelError> {
    serde_json::from_str(&event.data)
        .map_err(|error| ModelError::Protocol(format!("an event is not JSON: {error}")))
}

/// The stream ended too early.
fn truncated_stream_error() -> ModelError {
    ModelError::Truncated("the stream ended before the model said why it stopped".to_owned())
}
