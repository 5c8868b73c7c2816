//! Reasoning in the ways that servers of Chat Completions send it:
//! `reasoning_content` (`DeepSeek`, vLLM, llama.cpp), `reasoning` (Ollama, Groq,
//! `OpenRouter`), `reasoning_details` (`OpenRouter`; with signatures), or parts of
//! the content (Mistral). Each is kept under its own name, to be sent back so.

use serde_json::{Map, Value, json};

use super::super::completion_builder::CompletionBuilder;

/// Reasoning while it is read.
#[derive(Default)]
pub(super) struct ReasoningBuilder {
    /// The reasoning, without the name that the server gives it.
    text: String,
    content: Option<String>,
    plain: Option<String>,
    details: Vec<Value>,
    parts: String,
}

impl ReasoningBuilder {
    /// Takes what a delta says of it.
    pub(super) fn push_delta(&mut self, delta: &Value, draft: &mut CompletionBuilder) {
        let content = delta["reasoning_content"].as_str();
        let plain = delta["reasoning"].as_str();
        let details = delta["reasoning_details"].as_array();
        if let Some(text) = content {
            self.content.get_or_insert_default().push_str(text);
        }
        if let Some(text) = plain {
            self.plain.get_or_insert_default().push_str(text);
        }
        let mut detailed = String::new();
        for detail in details.into_iter().flatten() {
            for field in ["text", "summary"] {
                detailed.push_str(detail[field].as_str().unwrap_or_default());
            }
            self.merge_detail(detail);
        }
        // The same text often comes under two names at once.
        let mut texts = [content, plain, Some(detailed.as_str())].into_iter().flatten();
        self.emit_text(texts.find(|text| !text.is_empty()).unwrap_or_default(), draft);
    }

    /// Takes a part of the content that is of type `thinking`.
    pub(super) fn push_thinking_part(&mut self, part: &Value, draft: &mut CompletionBuilder) {
        let whole = part["thinking"].as_str();
        let parts = part["thinking"].as_array().into_iter().flatten();
        let parts = parts.filter_map(|part| part["text"].as_str());
        let texts: String = whole.into_iter().chain(parts).collect();
        self.parts.push_str(&texts);
        self.emit_text(&texts, draft);
    }

    fn emit_text(&mut self, text: &str, draft: &mut CompletionBuilder) {
        self.text.push_str(text);
        draft.push_reasoning(text);
    }

    /// Adds a detail to the one it continues: same type, same index, and text. What
    /// is encrypted comes whole.
    fn merge_detail(&mut self, detail: &Value) {
        let Some(new) = detail.as_object() else { return };
        let continues = |last: &Value| {
            last["type"] == detail["type"]
                && last["index"] == detail["index"]
                && detail["type"] != "reasoning.encrypted"
        };
        match self.details.last_mut().filter(|last| continues(last)).and_then(Value::as_object_mut)
        {
            None => self.details.push(detail.clone()),
            Some(last) => merge_fields(last, new),
        }
    }

    /// The text, and the fragment of the message that says it.
    pub(super) fn finish(self) -> Option<(String, Value)> {
        let mut native = Map::new();
        if let Some(text) = self.content {
            native.insert("reasoning_content".to_owned(), json!(text));
        }
        if let Some(text) = self.plain {
            native.insert("reasoning".to_owned(), json!(text));
        }
        if !self.details.is_empty() {
            native.insert("reasoning_details".to_owned(), json!(self.details));
        }
        if !self.parts.is_empty() {
            let thinking = json!([{ "type": "text", "text": self.parts }]);
            let part = json!([{ "type": "thinking", "thinking": thinking }]);
            native.insert("content".to_owned(), part);
        }
        (!native.is_empty()).then_some((self.text, Value::Object(native)))
    }
}

/// Texts are added, everything else replaces what was there.
fn merge_fields(last: &mut Map<String, Value>, new: &Map<String, Value>) {
    for (key, value) in new.iter().filter(|(_, value)| !value.is_null()) {
        match (last.get_mut(key), value) {
            (Some(Value::String(have)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary") =>
            {
                have.push_str(more);
            }
            (_, value) => drop(last.insert(key.clone(), value.clone())),
        }
    }
}
