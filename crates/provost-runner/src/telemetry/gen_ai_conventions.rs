//! Attribute values of the OpenTelemetry conventions for generative AI.

use provost_proto::session::{MessagePart, TokenUsage};
use serde_json::{Value, json};

/// Bytes of one text that are exported; the middle of a longer one is left out.
const MAX_CONTENT_BYTES: usize = 16 * 1024;

pub(super) fn usage_attributes(usage: TokenUsage) -> [(&'static str, Value); 4] {
    [
        ("gen_ai.usage.input_tokens", json!(usage.input)),
        ("gen_ai.usage.output_tokens", json!(usage.output)),
        ("gen_ai.usage.cache_read.input_tokens", json!(usage.cached_input)),
        ("gen_ai.usage.cache_creation.input_tokens", json!(usage.cache_write)),
    ]
}

/// A message in the JSON form of the conventions, as a string.
pub(super) fn encode_message(role: &str, text: &str) -> Value {
    let parts = json!([{ "type": "text", "content": truncate_content(text) }]);
    json!(json!([{ "role": role, "parts": parts }]).to_string())
}

pub(super) fn truncate_content(text: &str) -> String {
    crate::session::truncate_middle(text.to_owned(), MAX_CONTENT_BYTES)
}

pub(super) fn visible_text(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => text.as_str(),
        MessagePart::Reasoning { .. } => "",
    });
    texts.collect()
}

/// The provider's name in the conventions.
pub(super) fn provider_name(provider: &str) -> &str {
    match provider {
        "gemini" | "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}

/// The finish reason in the conventions.
pub(super) fn convention_finish_reason(reason: &str) -> &str {
    match reason {
        "endTurn" | "stopSequence" => "stop",
        "toolUse" => "tool_call",
        "maxTokens" | "contextWindow" => "length",
        "refusal" | "contentFilter" => "content_filter",
        other => other,
    }
}
