//! Chat Completions.

use serde_json::{Value, json};

use super::{FakeCompletion, FakeCompletionPart, FakeTokenUsage, split_halves, split_words};

impl FakeCompletion {
    pub(super) fn encode_chat(&self) -> Vec<Value> {
        let chunk = |delta: Value, finish: Value| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
            let kind = "chat.completion.chunk";
            json!({ "id": "chatcmpl-fake", "object": kind, "model": "fake", "choices": [choice] })
        };
        let mut chunks = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
        let mut place = 0;
        for part in &self.parts {
            match part {
                FakeCompletionPart::Reasoning { text, .. } => chunks.extend(
                    split_words(text)
                        .map(|word| chunk(json!({ "reasoning_content": word }), Value::Null)),
                ),
                FakeCompletionPart::Text(text) => chunks.extend(
                    split_words(text).map(|word| chunk(json!({ "content": word }), Value::Null)),
                ),
                FakeCompletionPart::ToolCall { id, name, arguments } => {
                    let function = json!({ "name": name, "arguments": "" });
                    let first = json!({ "index": place, "id": id, "type": "function", "function": function });
                    chunks.push(chunk(json!({ "tool_calls": [first] }), Value::Null));
                    for part in split_halves(&arguments.to_string()) {
                        let more = json!({ "index": place, "function": { "arguments": part } });
                        chunks.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
                    }
                    place += 1;
                }
            }
        }
        let finish = if self.has_tool_calls() { "tool_calls" } else { "stop" };
        chunks.push(chunk(json!({}), json!(finish)));
        let FakeTokenUsage { input, cached, output, thinking } = self.tokens;
        chunks.push(json!({
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "choices": [],
            "usage": {
                "prompt_tokens": input,
                "completion_tokens": output,
                "total_tokens": input + output,
                "prompt_tokens_details": { "cached_tokens": cached },
                "completion_tokens_details": { "reasoning_tokens": thinking },
            },
        }));
        chunks
    }
}
