//! Responses.

use serde_json::{Value, json};

use super::{FakeCompletion, FakeCompletionPart, FakeTokenUsage, split_halves, split_words};

impl FakeCompletion {
    pub(super) fn encode_responses(&self) -> Vec<Value> {
        let head = json!({ "id": "resp_fake", "object": "response", "model": "fake" });
        let mut events = vec![json!({ "type": "response.created", "response": head })];
        let mut output = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let (item, deltas) = encode_response_item(at, part);
            let mut begun = item.clone();
            for empty in ["arguments", "content", "summary"] {
                if let Some(value) = begun.get_mut(empty) {
                    *value = if value.is_string() { json!("") } else { json!([]) };
                }
            }
            let added = "response.output_item.added";
            events.push(json!({ "type": added, "output_index": at, "item": begun }));
            events.extend(deltas);
            let done = "response.output_item.done";
            events.push(json!({ "type": done, "output_index": at, "item": item }));
            output.push(item);
        }
        let FakeTokenUsage { input, cached, output: out, thinking } = self.tokens;
        let usage = json!({
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": cached },
            "output_tokens": out,
            "output_tokens_details": { "reasoning_tokens": thinking },
        });
        let mut whole = head;
        whole["status"] = json!("completed");
        whole["output"] = json!(output);
        whole["usage"] = usage;
        events.push(json!({ "type": "response.completed", "response": whole }));
        for (number, event) in events.iter_mut().enumerate() {
            event["sequence_number"] = json!(number);
        }
        events
    }
}

fn encode_response_item(at: usize, part: &FakeCompletionPart) -> (Value, Vec<Value>) {
    let delta = |kind: &str, id: &str, delta: String| {
        let kind = format!("response.{kind}.delta");
        json!({ "type": kind, "item_id": id, "output_index": at, "delta": delta })
    };
    match part {
        FakeCompletionPart::Reasoning { text, signature } => {
            let id = format!("rs_{at}");
            let item = json!({
                "id": id,
                "type": "reasoning",
                "summary": [{ "type": "summary_text", "text": text }],
                "encrypted_content": signature,
            });
            let kind = "reasoning_summary_text";
            (item, split_words(text).map(|word| delta(kind, &id, word)).collect())
        }
        FakeCompletionPart::Text(text) => {
            let id = format!("msg_{at}");
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            let item = json!({
                "id": id, "type": "message", "role": "assistant", "status": "completed",
                "content": content,
            });
            (item, split_words(text).map(|word| delta("output_text", &id, word)).collect())
        }
        FakeCompletionPart::ToolCall { id: call, name, arguments } => {
            let id = format!("fc_{at}");
            let arguments = arguments.to_string();
            let item = json!({
                "id": id, "type": "function_call", "status": "completed", "call_id": call,
                "name": name, "arguments": arguments,
            });
            let kind = "function_call_arguments";
            (item, split_halves(&arguments).map(|part| delta(kind, &id, part)).collect())
        }
    }
}
