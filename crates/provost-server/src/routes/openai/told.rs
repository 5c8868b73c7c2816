//! What a client of Chat Completions is told: answers, their pieces, and errors.

use axum::Json;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use provost_proto::session::{FinishReason, TokenUsage};
use provost_proto::{Code, ErrorResponse, Fact};
use serde_json::{Value, json};

use super::asked::Asked;
use crate::problem::Failure;
use crate::talk::{Ended, Said};

/// An error as such clients read it.
#[derive(Debug)]
pub(crate) struct Refused {
    problem: Box<ErrorResponse>,
    /// The field that it is about.
    field: Option<String>,
    again: Again,
}

/// Whether to ask again is left to the client. Those of `OpenAI` do so by themselves after
/// 409 and 5xx, unless they are told not to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// It may.
    Maybe,
    /// Somebody wanted it to end, or it would do twice what was done.
    No,
}

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl Refused {
    pub(super) fn field(name: impl Into<String>, failure: Failure) -> Self {
        let problem = Box::new(failure.into_problem());
        Self { problem, field: Some(name.into()), again: Again::Maybe }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { problem: Box::new(failure.into_problem()), field: None, again: Again::Maybe }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.problem.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let told = Json(error(&self.problem, self.field.as_deref()));
        match self.again {
            Again::Maybe => (status, told).into_response(),
            Again::No => (status, [(SHOULD_RETRY, "false")], told).into_response(),
        }
    }
}

fn error(problem: &ErrorResponse, field: Option<&str>) -> Value {
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

fn tokens(usage: TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
        "prompt_tokens_details": { "cached_tokens": usage.cached_input },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

fn finish(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Done => "stop",
        FinishReason::MaxTokens => "length",
        FinishReason::Refused => "content_filter",
    }
}

/// What stands between the text of two answers of one turn.
const GAP: &str = "\n\n";

/// An answer that is told when it is whole.
pub(super) struct Whole {
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

impl Whole {
    pub(super) fn new(most: Option<u32>) -> Self {
        let (text, used) = (String::new(), TokenUsage::default());
        Self { most, text, is_said: 0, used, is_guessed: false, has_acted: false }
    }

    /// Why there is no answer.
    pub(super) fn refused(&self, failure: Failure) -> Refused {
        self.ended(Box::new(failure.into_problem()))
    }

    fn ended(&self, problem: Box<ErrorResponse>) -> Refused {
        let is_stopped = matches!(problem.code, Code::Cancelled | Code::SessionClosed);
        let again = if is_stopped || self.has_acted { Again::No } else { Again::Maybe };
        Refused { problem, field: None, again }
    }

    /// Why the turn ended, if it did.
    pub(super) fn hear(&mut self, said: Said) -> Result<Option<FinishReason>, Refused> {
        if let Some(Fact::TextDelta(delta)) = &said.fact {
            if self.is_said > 0 && self.is_said == self.text.len() {
                self.text.push_str(GAP);
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
            Some(Ended::Well(reason)) => Ok(Some(reason)),
            Some(Ended::Badly(problem)) => Err(self.ended(problem)),
        }
    }

    /// Of an answer whose provider did not keep the limit, about as much as that is. A
    /// guess is no reason to cut what ended by itself.
    fn fitting(&self, reason: FinishReason) -> &str {
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

    pub(super) fn told(self, id: &str, model: &str, created: u64, reason: FinishReason) -> Value {
        let text = self.fitting(reason);
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
                "finish_reason": finish(reason),
            }],
            "usage": tokens(self.used),
        })
    }
}

/// What makes the pieces of one answer.
pub(super) struct Chunks {
    id: String,
    model: String,
    created: u64,
    /// Whether the tokens are told at the end.
    counts: bool,
    used: TokenUsage,
    has_begun: bool,
    text: Text,
}

/// How it stands with the text of the turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    /// Nothing was said yet.
    None,
    /// Something was.
    Said,
    /// That answer is over, and more would be of another.
    Over,
}

impl Chunks {
    pub(super) fn new(id: String, created: u64, asked: &Asked) -> Self {
        let (model, counts) = (asked.model.clone(), asked.counts);
        let (used, has_begun) = (TokenUsage::default(), false);
        Self { id, model, created, counts, used, has_begun, text: Text::None }
    }

    /// What the client is sent for this.
    pub(super) fn of(&mut self, said: &Said) -> String {
        let mut piece = String::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            piece.push_str(&self.delta(&json!({ "role": "assistant", "content": "" }), None));
        }
        if let Some(fact) = &said.fact {
            piece.push_str(&self.fact(fact));
        }
        match &said.end {
            None => {}
            Some(Ended::Well(reason)) => {
                piece.push_str(&self.delta(&json!({}), Some(finish(*reason))));
                if self.counts {
                    piece.push_str(&self.chunk(&json!([]), &tokens(self.used)));
                }
                piece.push_str("data: [DONE]\n\n");
            }
            Some(Ended::Badly(problem)) => {
                let told = error(problem, None).to_string();
                piece.extend(["data: ", &told, "\n\ndata: [DONE]\n\n"]);
            }
        }
        piece
    }

    fn fact(&mut self, fact: &Fact) -> String {
        if let Fact::TextDelta(delta) = fact {
            let before = std::mem::replace(&mut self.text, Text::Said);
            let gap = if before == Text::Over { GAP } else { "" };
            self.delta(&json!({ "content": format!("{gap}{}", delta.text) }), None)
        } else if let Fact::ReasoningDelta(delta) = fact {
            self.delta(&json!({ "reasoning_content": delta.text }), None)
        } else if let Fact::AttemptRestarted(_) = fact {
            self.delta(&json!({ "content": "\n\n[the answer begins anew]\n\n" }), None)
        } else if let Fact::MessageAdded(_) = fact {
            if self.text == Text::Said {
                self.text = Text::Over;
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

    fn delta(&self, delta: &Value, finish: Option<&str>) -> String {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        self.chunk(&choices, &Value::Null)
    }

    fn chunk(&self, choices: &Value, usage: &Value) -> String {
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
