//! Encodes a request for `streamGenerateContent`.

use serde_json::{Value, json};

use super::super::EncodedRequest;
use super::super::conversation_steps::{
    AssistantStep, ConversationStep, append_alternating, build_conversation_steps,
};
use crate::model::{
    CompletionContent, CompletionItem, ModelError, ModelOrigin, ModelRequest, ReasoningEffort,
    ThinkingConfig, ToolChoice,
};

/// What Gemini documents for calls that another model made: without a signature,
/// its models since the third refuse them.
pub(in super::super) const SKIP_SIGNATURE_VALIDATION: &str = "skip_thought_signature_validator";

/// Encodes a request.
pub(in super::super) fn encode(
    request: &ModelRequest,
    origin: &ModelOrigin,
) -> Result<EncodedRequest, ModelError> {
    let mut contents: Vec<Value> = Vec::new();
    for step in build_conversation_steps(request, origin)? {
        match step {
            ConversationStep::User(text) => {
                append_alternating(&mut contents, "user", "parts", vec![json!({ "text": text })]);
            }
            ConversationStep::Assistant(assistant) => {
                append_alternating(
                    &mut contents,
                    "model",
                    "parts",
                    encode_parts(&assistant, &origin.model),
                );
                append_alternating(&mut contents, "user", "parts", encode_results(&assistant));
            }
        }
    }
    let mut body = json!({ "contents": contents });
    if !request.instructions.is_empty() {
        body["systemInstruction"] = json!({ "parts": [{ "text": request.instructions }] });
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(encode_tool).collect();
        body["tools"] = json!([{ "functionDeclarations": tools }]);
        if request.tool_choice == ToolChoice::None {
            body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "NONE" } });
        }
    }
    if let Some(most) = request.max_output_tokens {
        body["generationConfig"]["maxOutputTokens"] = json!(most);
    }
    if let Some(thinking) = request.thinking {
        body["generationConfig"]["thinkingConfig"] = encode_thinking(&origin.model, thinking);
    }
    let model = origin.model.strip_prefix("models/").unwrap_or(&origin.model);
    let path = format!("/models/{}:streamGenerateContent?alt=sse", encode_path_segment(model));
    Ok(EncodedRequest { path, headers: Vec::new(), body })
}

/// The name of a model as a segment of a path: nothing in it may end the segment.
fn encode_path_segment(model: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let written =
        |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    model.bytes().map(written).collect()
}

fn encode_tool(tool: &crate::model::ToolDefinition) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.description,
        "parametersJsonSchema": tool.schema,
    })
}

fn encode_parts(assistant: &AssistantStep<'_>, model: &str) -> Vec<Value> {
    let mut unsigned = needs_signature(model) && !assistant.verbatim;
    let mut part = |item: &CompletionItem| match (&item.content, item.native.as_ref()) {
        (_, Some(native)) if assistant.verbatim => Some(native.clone()),
        // A filter assistant it, not the model.
        (CompletionContent::Refusal { .. }, None) if assistant.verbatim => None,
        (CompletionContent::Text { text } | CompletionContent::Refusal { text }, _)
            if !text.is_empty() =>
        {
            Some(json!({ "text": text }))
        }
        (CompletionContent::ToolCall(call), _) => {
            let args = call.arguments_value();
            let mut part = json!({ "functionCall": { "name": call.name, "args": args } });
            // Of calls that were made together, the first carries the signature.
            if std::mem::take(&mut unsigned) {
                part["thoughtSignature"] = json!(SKIP_SIGNATURE_VALIDATION);
            }
            Some(part)
        }
        (
            CompletionContent::Text { .. }
            | CompletionContent::Refusal { .. }
            | CompletionContent::Reasoning { .. }
            | CompletionContent::Other { .. },
            _,
        ) => None,
    };
    assistant.turn.items.iter().filter_map(&mut part).collect()
}

fn encode_results(assistant: &AssistantStep<'_>) -> Vec<Value> {
    let calls =
        assistant.turn.items.iter().filter(|i| matches!(i.content, CompletionContent::ToolCall(_)));
    let natives = calls.map(|item| item.native.as_ref().filter(|_| assistant.verbatim));
    let result = |(answered, native): (
        &super::super::conversation_steps::AnsweredToolCall<'_>,
        Option<&Value>,
    )| {
        let field = if answered.status.is_failure() { "error" } else { "output" };
        let mut response =
            json!({ "name": answered.call.name, "response": { field: answered.output } });
        // Only a call that came with an id has one to be answered by.
        if let Some(id) = native.and_then(|native| native["functionCall"]["id"].as_str()) {
            response["id"] = json!(id);
        }
        json!({ "functionResponse": response })
    };
    assistant.results.iter().zip(natives).map(result).collect()
}

fn needs_signature(model: &str) -> bool {
    !["gemini-1", "gemini-2", "gemma"].iter().any(|old| model.contains(old))
}

fn encode_thinking(model: &str, thinking: ThinkingConfig) -> Value {
    let mut config = json!({ "includeThoughts": thinking.summary });
    if needs_signature(model) {
        config["thinkingLevel"] = json!(thinking.effort.as_str());
    } else {
        let budget = match thinking.effort {
            ReasoningEffort::Low => 1024,
            ReasoningEffort::Medium => 8192,
            ReasoningEffort::High => 24_576,
        };
        config["thinkingBudget"] = json!(budget);
    }
    config
}
