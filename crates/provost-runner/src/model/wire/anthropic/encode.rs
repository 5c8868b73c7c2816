//! Encodes a request for Anthropic's Messages API.
//!
//! Rules of the format: user and assistant messages alternate, so neighbors are joined;
//! results come first in their message; no text is empty; blocks of a completion are sent back
//! unchanged, thoughts with their signatures; a refusal is not sent again, nor the message that
//! caused it.

use serde_json::{Value, json};

use super::super::conversation_steps::{
    AssistantStep, ConversationStep, append_alternating, build_conversation_steps, fit_call_id,
};
use super::super::{CallIdFormat, EncodedRequest};
use crate::model::{
    CompletionContent, ModelError, ModelOrigin, ModelRequest, ReasoningEffort, StopReason,
    ThinkingConfig, ToolChoice,
};

const CALL_ID_FORMAT: CallIdFormat = CallIdFormat::MaxLength(64);

/// Output limit if the request has none, since the format requires a number. Every model since
/// Claude 4 can write more, earlier ones cannot.
const DEFAULT_MAX_TOKENS: u32 = 32_000;
const LEGACY_MAX_TOKENS: u32 = 4096;

/// The least that may be thought, and what is left for the answer beside it.
const MIN_THINKING_TOKENS: u32 = 1024;

/// Encodes a request.
pub(in super::super) fn encode(
    request: &ModelRequest,
    origin: &ModelOrigin,
) -> Result<EncodedRequest, ModelError> {
    let steps = drop_declined_steps(build_conversation_steps(request, origin)?);
    let mut messages: Vec<Value> = Vec::new();
    for step in &steps {
        match step {
            ConversationStep::User(text) => {
                // An empty text is refused, and there must be something.
                let text = if text.trim().is_empty() { "(nothing)" } else { text };
                append_alternating(
                    &mut messages,
                    "user",
                    "content",
                    vec![json!({ "type": "text", "text": text })],
                );
            }
            ConversationStep::Assistant(assistant) => {
                append_alternating(&mut messages, "assistant", "content", encode_blocks(assistant));
                append_alternating(&mut messages, "user", "content", encode_results(assistant));
            }
        }
    }
    let old = origin.model.starts_with("claude-3");
    let most = request.max_output_tokens.unwrap_or(if old {
        LEGACY_MAX_TOKENS
    } else {
        DEFAULT_MAX_TOKENS
    });
    let mut body = json!({ "model": origin.model, "max_tokens": most, "stream": true });
    if let Some(thinking) = request.thinking.filter(|_| can_enable_thinking(&origin.model, &steps))
    {
        encode_thinking(&mut body, &origin.model, most, thinking);
    }
    mark_cacheable(messages.last_mut().map(|message| &mut message["content"]));
    body["messages"] = json!(messages);
    if !request.instructions.is_empty() {
        body["system"] = json!([{ "type": "text", "text": request.instructions }]);
        mark_cacheable(body.get_mut("system"));
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(encode_tool).collect();
        if request.tool_choice == ToolChoice::None {
            body["tool_choice"] = json!({ "type": "none" });
        }
    }
    let headers = vec![("anthropic-version", "2023-06-01".to_owned())];
    Ok(EncodedRequest { path: "/v1/messages".to_owned(), headers, body })
}

/// The conversation without refusals. With them, the provider keeps refusing later messages, as
/// its documentation warns.
fn drop_declined_steps(steps: Vec<ConversationStep<'_>>) -> Vec<ConversationStep<'_>> {
    let mut kept: Vec<ConversationStep<'_>> = Vec::new();
    let n_steps = steps.len();
    for (n, step) in steps.into_iter().enumerate() {
        let is_declined = match &step {
            ConversationStep::User(_) => false,
            ConversationStep::Assistant(assistant) => {
                assistant.verbatim && assistant.turn.stop == StopReason::Refusal
            }
        };
        if is_declined && n + 1 < n_steps {
            let last_user = kept.iter().rposition(|step| matches!(step, ConversationStep::User(_)));
            kept.truncate(last_user.unwrap_or(0));
        } else {
            kept.push(step);
        }
    }
    kept
}

fn encode_tool(tool: &crate::model::ToolDefinition) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description,
        "input_schema": tool.schema,
    })
}

/// Marks the end of what the provider may cache: everything up to the last block.
fn mark_cacheable(content: Option<&mut Value>) {
    let last = content.and_then(Value::as_array_mut).and_then(|blocks| blocks.last_mut());
    // Thoughts cannot be marked.
    let markable =
        |block: &Value| ["text", "tool_result"].iter().any(|kind| block["type"] == *kind);
    if let Some(block) = last.filter(|block| markable(block)) {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn encode_blocks(assistant: &AssistantStep<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    for item in &assistant.turn.items {
        let native = item.native.as_ref().filter(|_| assistant.verbatim);
        let block = match (&item.content, native) {
            (CompletionContent::Text { text }, _) if text.trim().is_empty() => continue,
            // A thought that was cut off has no signature, and is refused without.
            (CompletionContent::Reasoning { .. }, Some(native)) if is_unsigned(native) => continue,
            (_, Some(native)) => native.clone(),
            (CompletionContent::Text { text }, None) => json!({ "type": "text", "text": text }),
            (CompletionContent::ToolCall(call), None) => json!({
                "type": "tool_use",
                "id": fit_call_id(call.id.as_str(), CALL_ID_FORMAT),
                "name": call.name,
                "input": call.arguments_value(),
            }),
            (CompletionContent::Refusal { text }, None)
                if !assistant.verbatim && !text.trim().is_empty() =>
            {
                json!({ "type": "text", "text": text })
            }
            (
                CompletionContent::Refusal { .. }
                | CompletionContent::Reasoning { .. }
                | CompletionContent::Other { .. },
                None,
            ) => {
                continue;
            }
        };
        blocks.push(block);
    }
    blocks
}

fn is_unsigned(native: &Value) -> bool {
    native["type"] == "thinking" && native["signature"].as_str().unwrap_or_default().is_empty()
}

fn encode_results(assistant: &AssistantStep<'_>) -> Vec<Value> {
    let result = |answered: &super::super::conversation_steps::AnsweredToolCall<'_>| {
        let id = answered.call.id.as_str();
        let id = if assistant.verbatim { id.into() } else { fit_call_id(id, CALL_ID_FORMAT) };
        let failed = answered.status.is_failure();
        // The content of an error must not be empty.
        let empty = answered.output.is_empty() && failed;
        let output = if empty { "(no message)" } else { answered.output };
        json!({ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed })
    };
    assistant.results.iter().map(result).collect()
}

/// Models that need a budget of thinking tokens. Later ones decide themselves.
const THINKING_BUDGET_MODELS: [&str; 7] =
    ["claude-3", "-4-0", "-4-1", "-4-5", "-4-2025", "claude-sonnet-4@", "claude-opus-4@"];

fn encode_thinking(body: &mut Value, model: &str, most: u32, thinking: ThinkingConfig) {
    let budget = match thinking.effort {
        ReasoningEffort::Low => 2048,
        ReasoningEffort::Medium => 8192,
        ReasoningEffort::High => 24_000,
    };
    // The budget is a part of the whole answer.
    let budget = budget.min(most / 2);
    if !uses_thinking_budget(model) {
        body["thinking"] = json!({ "type": "adaptive" });
        if thinking.summary {
            body["thinking"]["display"] = json!("summarized");
        }
        body["output_config"] = json!({ "effort": thinking.effort.as_str() });
    } else if budget >= MIN_THINKING_TOKENS {
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
    }
}

fn uses_thinking_budget(model: &str) -> bool {
    THINKING_BUDGET_MODELS.iter().any(|part| model.contains(part))
}

/// Whether thinking can be requested. With a budget, the current turn must have started with
/// thoughts; one that did not, or that another model started, continues without thinking.
fn can_enable_thinking(model: &str, steps: &[ConversationStep<'_>]) -> bool {
    let thoughtful = |assistant: &AssistantStep<'_>| {
        let first = assistant.turn.items.first();
        let thought =
            first.is_some_and(|item| matches!(item.content, CompletionContent::Reasoning { .. }));
        assistant.verbatim && thought
    };
    !uses_thinking_budget(model)
        || steps.iter().all(|step| match step {
            ConversationStep::User(_) => true,
            ConversationStep::Assistant(assistant) => {
                !assistant.current || assistant.results.is_empty() || thoughtful(assistant)
            }
        })
}
