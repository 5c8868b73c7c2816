//! `streamGenerateContent`.

use serde_json::{Value, json};

use super::{FakeCompletion, FakeCompletionPart, FakeTokenUsage, split_words};

impl FakeCompletion {
    pub(super) fn encode_gemini(&self) -> Vec<Value> {
        let FakeTokenUsage { input, cached, output, thinking } = self.tokens;
        let chunk = |parts: Value| {
            let content = json!({ "role": "model", "parts": parts });
            let candidates = json!([{ "index": 0, "content": content }]);
            json!({ "responseId": "fake", "modelVersion": "fake", "candidates": candidates })
        };
        let mut chunks = Vec::new();
        let mut signature = None;
        for part in &self.parts {
            match part {
                FakeCompletionPart::Reasoning { text, signature: signed } => {
                    signature = Some(signed);
                    chunks.push(chunk(json!([{ "text": text, "thought": true }])));
                }
                FakeCompletionPart::Text(text) => {
                    chunks.extend(split_words(text).map(|word| chunk(json!([{ "text": word }]))));
                }
                FakeCompletionPart::ToolCall { id, name, arguments } => {
                    let call = json!({ "id": id, "name": name, "args": arguments });
                    let mut part = json!({ "functionCall": call });
                    if let Some(signature) = signature.take() {
                        part["thoughtSignature"] = json!(signature);
                    }
                    chunks.push(chunk(json!([part])));
                }
            }
        }
        let mut last = chunk(json!([{ "text": "" }]));
        last["candidates"][0]["finishReason"] = json!("STOP");
        last["usageMetadata"] = json!({
            "promptTokenCount": input,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": output - thinking,
            "thoughtsTokenCount": thinking,
            "totalTokenCount": input + output,
        });
        chunks.push(last);
        chunks
    }
}
