//! Encodes a request for the Responses API.
//!
//! Nothing is stored at the provider (`store: false`): the whole conversation goes
//! along each time, with the encrypted reasoning that the model reads again.

use serde_json::{Value, json};

use super::super::conversation_steps::{
    AssistantStep, ConversationStep, build_conversation_steps, fit_call_id,
};
use super::super::{CallIdFormat, EncodedRequest};
use crate::model::{
    CompletionContent, CompletionItem, ModelError, ModelOrigin, ModelRequest, ToolChoice,
};

const CALL_ID_FORMAT: CallIdFormat = CallIdFormat::MaxLength(64);

/// Models that do not reason, and reject a request for reasoning. All others get it, since a
/// new model more likely reasons than not.
const NON_REASONING_MODELS: [&str; 4] = ["gpt-3", "gpt-4", "chatgpt-4", "gpt-5-chat"];

/// The smallest output limit that the provider accepts; a smaller one is enforced by the output
/// limiter.
const PROVIDER_MIN_OUTPUT_TOKENS: u32 = 16;

/// Encodes a request.
pub(in super::super) fn encode(
    request: &ModelRequest,
    origin: &ModelOrigin,
) -> Result<EncodedRequest, ModelError> {
    let mut input = Vec::new();
    for step in build_conversation_steps(request, origin)? {
        match step {
            ConversationStep::User(text) => {
                let content = json!([{ "type": "input_text", "text": text }]);
                input.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            ConversationStep::Assistant(assistant) => encode_assistant(&assistant, &mut input),
        }
    }
    let mut body = json!({
        "model": origin.model,
        "input": input,
        "stream": true,
        "store": false,
    });
    if !request.instructions.is_empty() {
        body["instructions"] = json!(request.instructions);
    }
    if !NON_REASONING_MODELS.iter().any(|plain| origin.model.starts_with(plain)) {
        body["include"] = json!(["reasoning.encrypted_content"]);
        if let Some(thinking) = request.thinking {
            body["reasoning"] = json!({ "effort": thinking.effort.as_str() });
            if thinking.summary {
                body["reasoning"]["summary"] = json!("auto");
            }
        }
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(encode_tool).collect();
        body["parallel_tool_calls"] = json!(true);
        if request.tool_choice == ToolChoice::None {
            body["tool_choice"] = json!("none");
        }
    }
    if let Some(most) = request.max_output_tokens {
        body["max_output_tokens"] = json!(most.max(PROVIDER_MIN_OUTPUT_TOKENS));
    }
    if let Some(key) = &request.cache_key {
        body["prompt_cache_key"] = json!(key);
    }
    Ok(EncodedRequest { path: "/responses".to_owned(), headers: Vec::new(), body })
}

fn encode_tool(tool: &crate::model::ToolDefinition) -> Value {
    json!({
        "type": "function",
        "name": tool.name(),
        "description": tool.description,
        "parameters": tool.schema,
        // Strict schemas forbid optional arguments.
        "strict": false,
    })
}

fn encode_assistant(assistant: &AssistantStep<'_>, input: &mut Vec<Value>) {
    let id = |id: &str| {
        if assistant.verbatim { json!(id) } else { json!(fit_call_id(id, CALL_ID_FORMAT)) }
    };
    // Reasoning that nothing followed, since the answer was cut, is refused.
    let is_thought =
        |item: &&CompletionItem| matches!(item.content, CompletionContent::Reasoning { .. });
    let n_cut = assistant.turn.items.iter().rev().take_while(is_thought).count();
    for item in assistant.turn.items.iter().take(assistant.turn.items.len() - n_cut) {
        if let Some(native) = item.native.as_ref().filter(|_| assistant.verbatim) {
            if is_readable(native) {
                input.push(native.clone());
            }
            continue;
        }
        match &item.content {
            CompletionContent::Text { text } | CompletionContent::Refusal { text }
                if !text.is_empty() =>
            {
                input.push(json!({ "type": "message", "role": "assistant", "content": text }));
            }
            CompletionContent::ToolCall(call) => input.push(json!({
                "type": "function_call",
                "call_id": id(call.id.as_str()),
                "name": call.name,
                "arguments": call.valid_arguments_json(),
            })),
            CompletionContent::Text { .. }
            | CompletionContent::Refusal { .. }
            | CompletionContent::Reasoning { .. }
            | CompletionContent::Other { .. } => {}
        }
    }
    input.extend(assistant.results.iter().map(|answered| {
        json!({
            "type": "function_call_output",
            "call_id": id(answered.call.id.as_str()),
            "output": answered.output,
        })
    }));
}

/// Whether an item can be sent to a provider that has not stored it. It would look up reasoning
/// that consists of an id only, and not find it.
fn is_readable(native: &Value) -> bool {
    let has = |field: &str| match &native[field] {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    native["type"] != "reasoning" || has("encrypted_content") || has("content")
}
