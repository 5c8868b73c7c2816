//! What a client of Chat Completions is told: answers, their pieces, and errors.

use axum::Json;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use provost_proto::session::{FinishReason, TokenUsage};
use provost_proto::{Code, ErrorResponse, Fact};
use serde_json::{Value, json};

use super::completion_request::ValidatedCompletionRequest;
use crate::api_error::ApiError;
use crate::stream::turn_cursor::{TurnEnd, TurnEvent};

/// An error as such clients read it.
#[derive(Debug)]
pub(crate) struct OpenAiError {
    problem: Box<ErrorResponse>,
    /// The field that it is about.
    field: Option<String>,
    again: RetryHint,
}

/// Whether to ask again is left to the client. Those of `OpenAI` do so by themselves after
/// 409 and 5xx, unless they are told not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RetryHint {
    /// It may.
    Allowed,
    /// Somebody wanted it to end, or it would do twice what was done.
    Forbidden,
}

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl OpenAiError {
    pub(super) fn for_field(name: impl Into<String>, failure: ApiError) -> Self {
        let problem = Box::new(failure.into_error_body());
        Self { problem, field: Some(name.into()), again: RetryHint::Allowed }
    }
}

impl From<ApiError> for OpenAiError {
    fn from(failure: ApiError) -> Self {
        Self {
            problem: Box::new(failure.into_error_body()),
            field: None,
            again: RetryHint::Allowed,
        }
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let told = Json(error_json(&self.problem, self.field.as_deref()));
        match self.again {
            RetryHint::Allowed => (status, told).into_response(),
            RetryHint::Forbidden => (status, [(SHOULD_RETRY, "false")], told).into_response(),
        }
    }
}

fn error_json(problem: &ErrorResponse, field: Option<&str>) -> Value {
    let ErrorResponse { error, code, status, .. } = problem;
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

/// What stands between the text of two answers of one turn.
const ANSWER_SEPARATOR: &str = "\n\n";

/// An answer that is told when it is whole.
pub(super) struct CompletionCollector {
    /// The most tokens that the client wants of it.
    most: Option<u32>,
    text: String,
    /// How much of it is of answers that are over: what begins anew is behind it.
    is_said: usize,
    used: TokenUsage,
    /// Whether a provider told none of its tokens, so that they are only guessed.
    is_guessed: bool,
    /// Whether the agent called anything.
    has_acted: bool,
}

impl CompletionCollector {
    pub(super) fn new(most: Option<u32>) -> Self {
        let (text, used) = (String::new(), TokenUsage::default());
        Self { most, text, is_said: 0, used, is_guessed: false, has_acted: false }
    }

    /// Why there is no answer.
    pub(super) fn to_openai_error(&self, failure: ApiError) -> OpenAiError {
        self.end_with_error(Box::new(failure.into_error_body()))
    }

    fn end_with_error(&self, problem: Box<ErrorResponse>) -> OpenAiError {
        let is_stopped = matches!(problem.code, Code::Cancelled | Code::SessionClosed);
        let again =
            if is_stopped || self.has_acted { RetryHint::Forbidden } else { RetryHint::Allowed };
        OpenAiError { problem, field: None, again }
    }

    /// Why the turn ended, if it did.
    pub(super) fn apply_event(
        &mut self,
        said: TurnEvent,
    ) -> Result<Option<FinishReason>, OpenAiError> {
        if let Some(Fact::TextDelta(delta)) = &said.fact {
            if self.is_said > 0 && self.is_said == self.text.len() {
                self.text.push_str(ANSWER_SEPARATOR);
            }
            self.text.push_str(&delta.text);
        } else if let Some(Fact::AttemptRestarted(_)) = &said.fact {
            self.text.truncate(self.is_said);
        } else if let Some(Fact::MessageAdded(_)) = &said.fact {
            self.is_said = self.text.len();
        } else if let Some(Fact::ToolCalled(_)) = &said.fact {
            self.has_acted = true;
        } else if let Some(Fact::UsageRecorded(usage)) = said.fact {
            self.used = self.used.saturating_add(usage.usage);
            self.is_guessed |= usage.estimated;
        } else if let Some(Fact::TaskUsed(task)) = said.fact {
            self.used = self.used.saturating_add(task.usage);
        }
        match said.end {
            None => Ok(None),
            Some(TurnEnd::Finished(reason)) => Ok(Some(reason)),
            Some(TurnEnd::Failed(problem)) => Err(self.end_with_error(problem)),
        }
    }

    /// Of an answer whose provider did not keep the limit, about as much as that is. A
    /// guess is no reason to cut what ended by itself.
    fn text_within_limit(&self, reason: FinishReason) -> &str {
        if self.is_guessed && reason != FinishReason::MaxTokens {
            return &self.text;
        }
        let thought = self.used.reasoning;
        let said = self.used.output.saturating_sub(thought);
        let most = self.most.map_or(said, |most| u64::from(most).saturating_sub(thought));
        if said <= most {
            return &self.text;
        }
        let bytes = (self.text.len() as u128 * u128::from(most)).checked_div(u128::from(said));
        let mut fits = bytes.and_then(|fits| usize::try_from(fits).ok()).unwrap_or(0);
        while !self.text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text.get(..fits).unwrap_or_default()
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
            "usage": usage_json(self.used),
        })
    }
}

/// What makes the pieces of one answer.
pub(super) struct ChunkEncoder {
    id: String,
    model: String,
    created: u64,
    /// Whether the tokens are told at the end.
    counts: bool,
    used: TokenUsage,
    has_begun: bool,
    text: StreamedTextState,
}

/// How it stands with the text of the turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamedTextState {
    /// Nothing was said yet.
    None,
    /// Something was.
    Started,
    /// That answer is over, and more would be of another.
    Ended,
}

impl ChunkEncoder {
    pub(super) fn new(id: String, created: u64, asked: &ValidatedCompletionRequest) -> Self {
        let (model, counts) = (asked.model.clone(), asked.counts);
        let (used, has_begun) = (TokenUsage::default(), false);
        Self { id, model, created, counts, used, has_begun, text: StreamedTextState::None }
    }

    /// What the client is sent for this.
    pub(super) fn encode_event(&mut self, said: &TurnEvent) -> String {
        let mut piece = String::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            piece
                .push_str(&self.encode_delta(&json!({ "role": "assistant", "content": "" }), None));
        }
        if let Some(fact) = &said.fact {
            piece.push_str(&self.encode_fact(fact));
        }
        match &said.end {
            None => {}
            Some(TurnEnd::Finished(reason)) => {
                piece.push_str(&self.encode_delta(&json!({}), Some(finish_reason_name(*reason))));
                if self.counts {
                    piece.push_str(&self.encode_chunk(&json!([]), &usage_json(self.used)));
                }
                piece.push_str("data: [DONE]\n\n");
            }
            Some(TurnEnd::Failed(problem)) => {
                let told = error_json(problem, None).to_string();
                piece.extend(["data: ", &told, "\n\ndata: [DONE]\n\n"]);
            }
        }
        piece
    }

    fn encode_fact(&mut self, fact: &Fact) -> String {
        if let Fact::TextDelta(delta) = fact {
            let before = std::mem::replace(&mut self.text, StreamedTextState::Started);
            let gap = if before == StreamedTextState::Ended { ANSWER_SEPARATOR } else { "" };
            self.encode_delta(&json!({ "content": format!("{gap}{}", delta.text) }), None)
        } else if let Fact::ReasoningDelta(delta) = fact {
            self.encode_delta(&json!({ "reasoning_content": delta.text }), None)
        } else if let Fact::AttemptRestarted(_) = fact {
            self.encode_delta(&json!({ "content": "\n\n[the answer begins anew]\n\n" }), None)
        } else if let Fact::MessageAdded(_) = fact {
            if self.text == StreamedTextState::Started {
                self.text = StreamedTextState::Ended;
            }
            String::new()
        } else {
            if let Fact::UsageRecorded(usage) = fact {
                self.used = self.used.saturating_add(usage.usage);
            } else if let Fact::TaskUsed(task) = fact {
                self.used = self.used.saturating_add(task.usage);
            }
            String::new()
        }
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
