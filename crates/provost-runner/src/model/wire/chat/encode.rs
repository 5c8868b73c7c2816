//! Encodes a request for Chat Completions.

use serde_json::{Map, Value, json};

use super::super::conversation_steps::{
    AnsweredToolCall, AssistantStep, ConversationStep, build_conversation_steps, fit_call_id,
};
use super::super::{ChatDialect, EffortField, EncodedRequest};
use crate::model::{CompletionContent, ModelError, ModelOrigin, ModelRequest, ToolChoice};

/// Encodes a request.
pub(in super::super) fn encode(
    request: &ModelRequest,
    origin: &ModelOrigin,
    dialect: &ChatDialect,
) -> Result<EncodedRequest, ModelError> {
    let mut messages = Vec::new();
    if !request.instructions.is_empty() {
        messages.push(json!({ "role": "system", "content": request.instructions }));
    }
    for step in build_conversation_steps(request, origin)? {
        match step {
            ConversationStep::User(text) => {
                messages.push(json!({ "role": "user", "content": text }));
            }
            ConversationStep::Assistant(assistant) => {
                messages.extend(encode_assistant(&assistant, dialect));
                messages.extend(assistant.results.iter().map(|answered| {
                    let id = encode_call_id(answered, assistant.verbatim, dialect);
                    json!({ "role": "tool", "tool_call_id": id, "content": answered.output })
                }));
            }
        }
    }
    let mut body = json!({ "model": origin.model, "messages": messages, "stream": true });
    if dialect.asks_for_usage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(encode_tool).collect();
        if request.tool_choice == ToolChoice::None {
            body["tool_choice"] = json!("none");
        }
    }
    if let Some(most) = request.max_output_tokens {
        body[dialect.limit] = json!(most);
    }
    if let Some(thinking) = request.thinking {
        let word = thinking.effort.as_str();
        match dialect.effort {
            EffortField::None => {}
            EffortField::Flat => body["reasoning_effort"] = json!(word),
            EffortField::Nested => body["reasoning"] = json!({ "effort": word }),
        }
    }
    if let (true, Some(key)) = (dialect.takes_cache_key, &request.cache_key) {
        body["prompt_cache_key"] = json!(key);
    }
    Ok(EncodedRequest { path: "/chat/completions".to_owned(), headers: Vec::new(), body })
}

fn encode_tool(tool: &crate::model::ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name(),
            "description": tool.description,
            "parameters": tool.schema,
        },
    })
}

fn encode_call_id<'a>(
    answered: &AnsweredToolCall<'a>,
    verbatim: bool,
    dialect: &ChatDialect,
) -> std::borrow::Cow<'a, str> {
    let id = answered.call.id.as_str();
    if verbatim { id.into() } else { fit_call_id(id, dialect.ids) }
}

/// The message of a completion, or `None` if it is empty.
fn encode_assistant(assistant: &AssistantStep<'_>, dialect: &ChatDialect) -> Option<Value> {
    let mut message = Map::new();
    let mut content = Value::Null;
    let mut calls = Vec::new();
    let mut results = assistant.results.iter();
    for item in &assistant.turn.items {
        let native = item.native.as_ref().filter(|_| assistant.verbatim);
        if let CompletionContent::ToolCall(call) = &item.content {
            let answered = results.next()?;
            calls.push(native.cloned().unwrap_or_else(|| {
                let function = json!({ "name": call.name, "arguments": call.valid_arguments_json() });
                json!({ "id": encode_call_id(answered, false, dialect), "type": "function", "function": function })
            }));
            continue;
        }
        let neutral = match &item.content {
            CompletionContent::Text { text } | CompletionContent::Refusal { text } => {
                json!({ "content": text })
            }
            CompletionContent::Reasoning { .. }
            | CompletionContent::Other { .. }
            | CompletionContent::ToolCall(_) => json!({}),
        };
        let fragment = native.unwrap_or(&neutral).as_object().into_iter().flatten();
        for (key, value) in fragment {
            if key == "content" {
                content = join_contents(content, value);
            } else {
                message.insert(key.clone(), value.clone());
            }
        }
    }
    if message.is_empty() && content.is_null() && calls.is_empty() {
        return None;
    }
    if dialect.needs_reasoning && !calls.is_empty() {
        message.entry("reasoning_content").or_insert_with(|| json!(""));
    }
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

/// Two contents as one: texts as a text, parts and texts as parts.
fn join_contents(have: Value, more: &Value) -> Value {
    let parts = |value: &Value| match value.as_array() {
        Some(parts) => parts.clone(),
        None => vec![json!({ "type": "text", "text": value })],
    };
    match (have, more) {
        (Value::Null, more) => more.clone(),
        (Value::String(have), Value::String(more)) => json!(have + more),
        (have, more) => {
            let mut all = parts(&have);
            all.extend(parts(more));
            Value::Array(all)
        }
    }
}
