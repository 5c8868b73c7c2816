//! Responses of Chat Completions: completions, their chunks, and errors.

use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use provost_proto::session::{FinishReason, TokenUsage};
use provost_proto::{Code, ErrorResponse, Fact};
use serde_json::{Value, json};

use super::completion_request::ValidatedCompletionRequest;
use crate::api_error::ApiError;
use crate::stream::turn_cursor::{TurnEnd, TurnEvent};

/// An error in the format of `OpenAI`.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    body: Box<ErrorResponse>,
    /// The field that caused it.
    field: Option<String>,
    retry: RetryHint,
}

/// Whether the client may retry. Clients of `OpenAI` retry after 409 and 5xx unless the response
/// forbids it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RetryHint {
    /// The client decides.
    Allowed,
    /// The turn was cancelled, or a retry would repeat actions.
    Forbidden,
}

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl OpenAiError {
    pub(super) fn for_field(name: impl Into<String>, error: ApiError) -> Self {
        let body = Box::new(error.into_error_body());
        Self { body, field: Some(name.into()), retry: RetryHint::Allowed }
    }
}

impl From<ApiError> for OpenAiError {
    fn from(error: ApiError) -> Self {
        Self { body: Box::new(error.into_error_body()), field: None, retry: RetryHint::Allowed }
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.body.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let json = Json(error_json(&self.body, self.field.as_deref()));
        let code = Extension(self.body.code);
        match self.retry {
            RetryHint::Allowed => (status, code, json).into_response(),
            RetryHint::Forbidden => (status, code, [(SHOULD_RETRY, "false")], json).into_response(),
        }
    }
}

fn error_json(body: &ErrorResponse, field: Option<&str>) -> Value {
    let ErrorResponse { error, code, status, .. } = body;
    let kind = match status {
        401 => "authentication_error",
        402 => "insufficient_quota",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    json!({ "error": { "message": error, "type": kind, "param": field, "code": code, "status": status } })
}

fn usage_json(usage: TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": { "cached_tokens": usage.cached_input },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

fn finish_reason_name(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Done => "stop",
        FinishReason::MaxTokens => "length",
        FinishReason::Refused => "content_filter",
    }
}

/// Separates the texts of two completions of one turn.
const ANSWER_SEPARATOR: &str = "\n\n";

/// Collects the completions of a turn for a response without streaming.
pub(super) struct CompletionCollector {
    /// The client's limit of output tokens.
    max_output_tokens: Option<u32>,
    text: String,
    /// Bytes of `text` that belong to finished completions; a restarted attempt discards the
    /// rest.
    finished_len: usize,
    usage: TokenUsage,
    /// Whether a provider reported no usage, so that it is estimated.
    is_estimated: bool,
    /// Whether the agent called a tool.
    has_acted: bool,
}

impl CompletionCollector {
    pub(super) fn new(max_output_tokens: Option<u32>) -> Self {
        Self {
            max_output_tokens,
            text: String::new(),
            finished_len: 0,
            usage: TokenUsage::default(),
            is_estimated: false,
            has_acted: false,
        }
    }

    /// The error response for a turn that failed so far in.
    pub(super) fn to_openai_error(&self, error: ApiError) -> OpenAiError {
        self.end_with_error(Box::new(error.into_error_body()))
    }

    fn end_with_error(&self, body: Box<ErrorResponse>) -> OpenAiError {
        let is_stopped = matches!(body.code, Code::Cancelled | Code::SessionClosed);
        let retry =
            if is_stopped || self.has_acted { RetryHint::Forbidden } else { RetryHint::Allowed };
        OpenAiError { body, field: None, retry }
    }

    /// Applies an event; returns why the turn finished, if it did.
    pub(super) fn apply_event(
        &mut self,
        event: TurnEvent,
    ) -> Result<Option<FinishReason>, OpenAiError> {
        match event.fact {
            Some(Fact::TextDelta(delta)) => {
                if self.finished_len > 0 && self.finished_len == self.text.len() {
                    self.text.push_str(ANSWER_SEPARATOR);
                }
                self.text.push_str(&delta.text);
            }
            Some(Fact::AttemptRestarted(_)) => self.text.truncate(self.finished_len),
            Some(Fact::MessageAdded(_)) => self.finished_len = self.text.len(),
            Some(Fact::ToolCalled(_)) => self.has_acted = true,
            Some(Fact::UsageRecorded(recorded)) => {
                self.usage = self.usage.saturating_add(recorded.usage);
                self.is_estimated |= recorded.estimated;
            }
            Some(Fact::TaskUsed(task)) => self.usage = self.usage.saturating_add(task.usage),
            _ => {}
        }
        match event.end {
            None => Ok(None),
            Some(TurnEnd::Finished(reason)) => Ok(Some(reason)),
            Some(TurnEnd::Failed(body)) => Err(self.end_with_error(body)),
        }
    }

    /// The text, cut to about the limit if the provider exceeded it. An estimated usage is no
    /// reason to cut a completion that ended by itself.
    fn text_within_limit(&self, reason: FinishReason) -> &str {
        if self.is_estimated && reason != FinishReason::MaxTokens {
            return &self.text;
        }
        let reasoning = self.usage.reasoning;
        let visible = self.usage.output.saturating_sub(reasoning);
        let max_visible =
            self.max_output_tokens.map_or(visible, |max| u64::from(max).saturating_sub(reasoning));
        if visible <= max_visible {
            return &self.text;
        }
        let bytes =
            (self.text.len() as u128 * u128::from(max_visible)).checked_div(u128::from(visible));
        let mut end = bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        self.text.get(..end).unwrap_or_default()
    }

    pub(super) fn into_json(
        self,
        id: &str,
        model: &str,
        created: u64,
        reason: FinishReason,
    ) -> Value {
        let text = self.text_within_limit(reason);
        let is_cut = text.len() < self.text.len();
        let reason = if is_cut { FinishReason::MaxTokens } else { reason };
        json!({
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": text },
                "finish_reason": finish_reason_name(reason),
            }],
            "usage": usage_json(self.usage),
        })
    }
}

/// Encodes the events of a turn as chunks of a stream.
pub(super) struct ChunkEncoder {
    id: String,
    model: String,
    created: u64,
    /// Whether the stream ends with its usage.
    include_usage: bool,
    usage: TokenUsage,
    has_begun: bool,
    text: StreamedTextState,
}

/// How far the text of the turn is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamedTextState {
    /// No text yet.
    None,
    /// A completion has text.
    Started,
    /// That completion is finished; further text belongs to another.
    Ended,
}

impl ChunkEncoder {
    pub(super) fn new(id: String, created: u64, request: &ValidatedCompletionRequest) -> Self {
        Self {
            id,
            model: request.model.clone(),
            created,
            include_usage: request.include_usage,
            usage: TokenUsage::default(),
            has_begun: false,
            text: StreamedTextState::None,
        }
    }

    /// The chunks for one event.
    pub(super) fn encode_event(&mut self, event: &TurnEvent) -> String {
        let mut chunks = String::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            chunks
                .push_str(&self.encode_delta(&json!({ "role": "assistant", "content": "" }), None));
        }
        if let Some(fact) = &event.fact {
            chunks.push_str(&self.encode_fact(fact));
        }
        match &event.end {
            None => {}
            Some(TurnEnd::Finished(reason)) => {
                chunks.push_str(&self.encode_delta(&json!({}), Some(finish_reason_name(*reason))));
                if self.include_usage {
                    chunks.push_str(&self.encode_chunk(&json!([]), &usage_json(self.usage)));
                }
                chunks.push_str("data: [DONE]\n\n");
            }
            Some(TurnEnd::Failed(body)) => {
                let json = error_json(body, None).to_string();
                chunks.extend(["data: ", &json, "\n\ndata: [DONE]\n\n"]);
            }
        }
        chunks
    }

    fn encode_fact(&mut self, fact: &Fact) -> String {
        #[expect(clippy::wildcard_enum_match_arm, reason = "other facts add nothing to a stream")]
        match fact {
            Fact::TextDelta(delta) => {
                let before = std::mem::replace(&mut self.text, StreamedTextState::Started);
                let gap = if before == StreamedTextState::Ended { ANSWER_SEPARATOR } else { "" };
                return self
                    .encode_delta(&json!({ "content": format!("{gap}{}", delta.text) }), None);
            }
            Fact::ReasoningDelta(delta) => {
                return self.encode_delta(&json!({ "reasoning_content": delta.text }), None);
            }
            Fact::AttemptRestarted(_) => {
                let notice = json!({ "content": "\n\n[the answer begins anew]\n\n" });
                return self.encode_delta(&notice, None);
            }
            Fact::MessageAdded(_) if self.text == StreamedTextState::Started => {
                self.text = StreamedTextState::Ended;
            }
            Fact::UsageRecorded(recorded) => {
                self.usage = self.usage.saturating_add(recorded.usage);
            }
            Fact::TaskUsed(task) => self.usage = self.usage.saturating_add(task.usage),
            _ => {}
        }
        String::new()
    }

    fn encode_delta(&self, delta: &Value, finish: Option<&str>) -> String {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.encode_chunk(&choices, &Value::Null)
    }

    fn encode_chunk(&self, choices: &Value, usage: &Value) -> String {
        let chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    }
}
