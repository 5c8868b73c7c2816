//! Messages.

use serde_json::{Value, json};

use super::{Answer, Said, Tokens, halves, words};

impl Answer {
    pub(super) fn messages(&self) -> Vec<Value> {
        let Tokens { input, cached, output, .. } = self.tokens;
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
        for (at, said) in self.said.iter().enumerate() {
            let (block, deltas) = message_block(said);
            let start = "content_block_start";
            events.push(json!({ "type": start, "index": at, "content_block": block }));
            let delta =
                |delta| json!({ "type": "content_block_delta", "index": at, "delta": delta });
            events.extend(deltas.into_iter().map(delta));
            events.push(json!({ "type": "content_block_stop", "index": at }));
        }
        let stop = if self.calls() { "tool_use" } else { "end_turn" };
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": output },
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }
}

fn message_block(said: &Said) -> (Value, Vec<Value>) {
    match said {
        Said::Think { text, signature } => {
            let thought = |word| json!({ "type": "thinking_delta", "thinking": word });
            let mut deltas: Vec<Value> = words(text).map(thought).collect();
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        Said::Say(text) => {
            let say = |word| json!({ "type": "text_delta", "text": word });
            (json!({ "type": "text", "text": "" }), words(text).map(say).collect())
        }
        Said::Call { id, name, arguments } => {
            let part = |part| json!({ "type": "input_json_delta", "partial_json": part });
            let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
            (block, halves(&arguments.to_string()).map(part).collect())
        }
    }
}
