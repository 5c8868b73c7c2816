//! Writes a request for `streamGenerateContent`.

use serde_json::{Value, json};

use super::super::Encoded;
use super::super::history::{Said, Step, alternate, steps};
use crate::model::{Content, Effort, Item, ModelError, Origin, Request, Thinking, ToolChoice};

/// What Gemini documents for calls that another model made: without a signature,
/// its models since the third refuse them.
pub(in super::super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Writes a request.
pub(in super::super) fn encode(request: &Request, origin: &Origin) -> Result<Encoded, ModelError> {
    let mut contents: Vec<Value> = Vec::new();
    for step in steps(request, origin)? {
        match step {
            Step::User(text) => {
                alternate(&mut contents, "user", "parts", vec![json!({ "text": text })]);
            }
            Step::Turn(said) => {
                alternate(&mut contents, "model", "parts", parts(&said, &origin.model));
                alternate(&mut contents, "user", "parts", results(&said));
            }
        }
    }
    let mut body = json!({ "contents": contents });
    if !request.instructions.is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": request.instructions }] });
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body["tools"] = json!([{ "functionDeclarations": tools }]);
        if request.tool_choice == ToolChoice::None {
            body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "NONE" } });
        }
    }
    if let Some(most) = request.max_output_tokens {
        body["generationConfig"]["maxOutputTokens"] = json!(most);
    }
    if let Some(thinking) = request.thinking {
        body["generationConfig"]["thinkingConfig"] = think(&origin.model, thinking);
    }
    let model = origin.model.strip_prefix("models/").unwrap_or(&origin.model);
    let path = format!("/models/{}:streamGenerateContent?alt=sse", segment(model));
    Ok(Encoded { path, headers: Vec::new(), body })
}

/// The name of a model as a segment of a path: nothing in it may end the segment.
fn segment(model: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let written =
        |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    model.bytes().map(written).collect()
}

fn tool(tool: &crate::model::Tool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description,
        "parametersJsonSchema": tool.schema,
    })
}

fn parts(said: &Said<'_>, model: &str) -> Vec<Value> {
    let mut unsigned = needs_signature(model) && !said.verbatim;
    let mut part = |item: &Item| match (&item.content, item.native.as_ref()) {
        (_, Some(native)) if said.verbatim => Some(native.clone()),
        // A filter said it, not the model.
        (Content::Refusal { .. }, None) if said.verbatim => None,
        (Content::Text { text } | Content::Refusal { text }, _) if !text.is_empty() => {
            Some(json!({ "text": text }))
        }
        (Content::ToolCall(call), _) => {
            let args = call.parsed().unwrap_or_default();
            let mut part = json!({ "functionCall": { "name": call.name, "args": args } });
            // Of calls that were made together, the first carries the signature.
            if std::mem::take(&mut unsigned) {
                part["thoughtSignature"] = json!(NO_SIGNATURE);
            }
            Some(part)
        }
        (
            Content::Text { .. }
            | Content::Refusal { .. }
            | Content::Reasoning { .. }
            | Content::Other { .. },
            _,
        ) => None,
    };
    said.turn.items.iter().filter_map(&mut part).collect()
}

fn results(said: &Said<'_>) -> Vec<Value> {
    let calls = said.turn.items.iter().filter(|i| matches!(i.content, Content::ToolCall(_)));
    let natives = calls.map(|item| item.native.as_ref().filter(|_| said.verbatim));
    let result = |(answered, native): (&super::super::history::Answered<'_>, Option<&Value>)| {
        let field = if answered.status.is_failure() { "error" } else { "output" };
        let mut response =
            json!({ "name": answered.call.name, "response": { field: answered.output } });
        // Only a call that came with an id has one to be answered by.
        if let Some(id) = native.and_then(|native| native["functionCall"]["id"].as_str()) {
            response["id"] = json!(id);
        }
        json!({ "functionResponse": response })
    };
    said.results.iter().zip(natives).map(result).collect()
}

fn needs_signature(model: &str) -> bool {
    !["gemini-1", "gemini-2", "gemma"].iter().any(|old| model.contains(old))
}

fn think(model: &str, thinking: Thinking) -> Value {
    let mut config = json!({ "includeThoughts": thinking.summary });
    if needs_signature(model) {
        config["thinkingLevel"] = json!(thinking.effort.word());
    } else {
        let budget = match thinking.effort {
            Effort::Low => 1024,
            Effort::Medium => 8192,
            Effort::High => 24_576,
        };
        config["thinkingBudget"] = json!(budget);
    }
    config
}
