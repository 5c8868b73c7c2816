//! Writes a request for Responses.
//!
//! Nothing is stored at the provider (`store: false`): the whole conversation goes
//! along each time, with the encrypted reasoning that the model reads again.

use serde_json::{Value, json};

use super::super::history::{Said, Step, fit, steps};
use super::super::{Encoded, Ids};
use crate::model::{Content, Item, ModelError, Origin, Request, ToolChoice};

const IDS: Ids = Ids::Short(64);

/// Models that do not reason, and refuse to be asked for what they reasoned. All
/// others are asked: a new model more likely reasons than not.
const PLAIN: [&str; 4] = ["gpt-3", "gpt-4", "chatgpt-4", "gpt-5-chat"];

/// The smallest limit of an answer that is taken; what is said beyond a smaller one is
/// cut by whoever reads the stream.
const LEAST: u32 = 16;

/// Writes a request.
pub(in super::super) fn encode(request: &Request, origin: &Origin) -> Result<Encoded, ModelError> {
    let mut input = Vec::new();
    for step in steps(request, origin)? {
        match step {
            Step::User(text) => {
                let content = json!([{ "type": "input_text", "text": text }]);
                input.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            Step::Turn(said) => said_by_model(&said, &mut input),
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
    if !PLAIN.iter().any(|plain| origin.model.starts_with(plain)) {
        body["include"] = json!(["reasoning.encrypted_content"]);
        if let Some(thinking) = request.thinking {
            body["reasoning"] = json!({ "effort": thinking.effort.word() });
            if thinking.summary {
                body["reasoning"]["summary"] = json!("auto");
            }
        }
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        body["parallel_tool_calls"] = json!(true);
        if request.tool_choice == ToolChoice::None {
            body["tool_choice"] = json!("none");
        }
    }
    if let Some(most) = request.max_output_tokens {
        body["max_output_tokens"] = json!(most.max(LEAST));
    }
    if let Some(key) = &request.cache_key {
        body["prompt_cache_key"] = json!(key);
    }
    Ok(Encoded { path: "/responses".to_owned(), headers: Vec::new(), body })
}

fn tool(tool: &crate::model::Tool) -> Value {
    json!({
        "type": "function",
        "name": tool.name(),
        "description": tool.description,
        "parameters": tool.schema,
        // Strict schemas forbid optional arguments.
        "strict": false,
    })
}

fn said_by_model(said: &Said<'_>, input: &mut Vec<Value>) {
    let id = |id: &str| {
        if said.verbatim { json!(id) } else { json!(fit(id, IDS)) }
    };
    // Reasoning that nothing followed, since the answer was cut, is refused.
    let is_thought = |item: &&Item| matches!(item.content, Content::Reasoning { .. });
    let n_cut = said.turn.items.iter().rev().take_while(is_thought).count();
    for item in said.turn.items.iter().take(said.turn.items.len() - n_cut) {
        if let Some(native) = item.native.as_ref().filter(|_| said.verbatim) {
            if is_readable(native) {
                input.push(native.clone());
            }
            continue;
        }
        match &item.content {
            Content::Text { text } | Content::Refusal { text } if !text.is_empty() => {
                input.push(json!({ "type": "message", "role": "assistant", "content": text }));
            }
            Content::ToolCall(call) => input.push(json!({
                "type": "function_call",
                "call_id": id(call.id.as_str()),
                "name": call.name,
                "arguments": call.sound(),
            })),
            Content::Text { .. }
            | Content::Refusal { .. }
            | Content::Reasoning { .. }
            | Content::Other { .. } => {}
        }
    }
    input.extend(said.results.iter().map(|answered| {
        json!({
            "type": "function_call_output",
            "call_id": id(answered.call.id.as_str()),
            "output": answered.output,
        })
    }));
}

/// Whether the provider can make something of an item that it has not stored.
/// Reasoning of which nothing but an id came would be looked up, and not found.
fn is_readable(native: &Value) -> bool {
    let has = |field: &str| match &native[field] {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    native["type"] != "reasoning" || has("encrypted_content") || has("content")
}
