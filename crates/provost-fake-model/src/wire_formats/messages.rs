//! Messages.

use serde_json::{Value, json};

use super::{FakeCompletion, FakeCompletionPart, FakeTokenUsage, split_halves, split_words};

impl FakeCompletion {
    pub(super) fn encode_messages(&self) -> Vec<Value> {
        let FakeTokenUsage { input, cached, output, .. } = self.tokens;
        let usage = json!({
            "input_tokens": input - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        });
        let message = json!({
            "id": "msg_fake", "type": "message", "role": "assistant", "model": "fake",
            "content": [], "stop_reason": null, "usage": usage,
        });
        let mut events = vec![json!({ "type": "message_start", "message": message })];
        for (at, part) in self.parts.iter().enumerate() {
            let (block, deltas) = encode_message_block(part);
            let start = "content_block_start";
            events.push(json!({ "type": start, "index": at, "content_block": block }));
            let delta =
                |delta| json!({ "type": "content_block_delta", "index": at, "delta": delta });
            events.extend(deltas.into_iter().map(delta));
            events.push(json!({ "type": "content_block_stop", "index": at }));
        }
        let stop = if self.has_tool_calls() { "tool_use" } else { "end_turn" };
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": output },
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }
}

fn encode_message_block(part: &FakeCompletionPart) -> (Value, Vec<Value>) {
    match part {
        FakeCompletionPart::Reasoning { text, signature } => {
            let thought = |word| json!({ "type": "thinking_delta", "thinking": word });
            let mut deltas: Vec<Value> = split_words(text).map(thought).collect();
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        FakeCompletionPart::Text(text) => {
            let say = |word| json!({ "type": "text_delta", "text": word });
            (json!({ "type": "text", "text": "" }), split_words(text).map(say).collect())
        }
        FakeCompletionPart::ToolCall { id, name, arguments } => {
            let part = |part| json!({ "type": "input_json_delta", "partial_json": part });
            let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
            (block, split_halves(&arguments.to_string()).map(part).collect())
        }
    }
}
