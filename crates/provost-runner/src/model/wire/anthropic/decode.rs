//! Reads the events of Messages.
//!
//! A content block is put together from its start and its deltas, with everything
//! that was in them: signatures, redacted thoughts, citations, and fields that are
//! not known here. The answer is complete when a reason to stop was given.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::draft::{Begun, Draft, count};
use super::super::fault::Fault;
use super::super::{Decode, json, truncated};
use crate::model::{Content, Item, ModelError, SseEvent, StopReason, Usage};

/// An answer while it is read.
#[derive(Default)]
pub(in super::super) struct Answer {
    begun: bool,
    blocks: BTreeMap<u64, Block>,
    usage: Map<String, Value>,
    stop: Option<String>,
    explanation: String,
    done: bool,
}

/// A content block while it is read.
struct Block {
    value: Map<String, Value>,
    call: Option<Begun>,
    /// The arguments of a call, as text.
    json: String,
    closed: bool,
}

impl Decode for Answer {
    fn push(&mut self, event: &SseEvent, draft: &mut Draft) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        let data = json(event)?;
        let kind = data["type"].as_str().unwrap_or(&event.event);
        let at = count(&data["index"]);
        match kind {
            "message_start" if !self.begun => {
                self.begun = true;
                let message = &data["message"];
                draft.answered(&message["id"], &message["model"]);
                self.used(&message["usage"], draft);
            }
            "content_block_start" => self.start(at, &data["content_block"], draft),
            "content_block_delta" => self.delta(at, &data["delta"], draft),
            "content_block_stop" => {
                if let Some(block) = self.blocks.get_mut(&at) {
                    block.close(draft);
                }
            }
            "message_delta" => {
                self.used(&data["usage"], draft);
                let delta = &data["delta"];
                if let Some(reason) = delta["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                }
                if let Some(text) = delta["stop_details"]["explanation"].as_str() {
                    text.clone_into(&mut self.explanation);
                    draft.refusal(text);
                }
            }
            "message_stop" => self.done = true,
            "error" => return Err(Fault::of_value(&data).into_error()),
            // `ping`, a start that is repeated, and what is not known yet.
            _ => {}
        }
        Ok(())
    }

    fn has_stopped(&self) -> bool {
        self.stop.is_some()
    }

    fn is_done(&self) -> bool {
        self.done && self.stop.is_some()
    }

    fn finish(&mut self, draft: &mut Draft) -> Result<StopReason, ModelError> {
        let Some(stop) = self.stop.take() else { return Err(truncated()) };
        for (_, mut block) in std::mem::take(&mut self.blocks) {
            block.close(draft);
            draft.items.push(block.finish());
        }
        if !self.explanation.is_empty() {
            // Said beside the message, so there is no block to send back.
            let text = std::mem::take(&mut self.explanation);
            draft.items.push(Item { content: Content::Refusal { text }, native: None });
        }
        Ok(match stop.as_str() {
            "end_turn" => StopReason::EndTurn,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" => StopReason::MaxTokens,
            "stop_sequence" => StopReason::StopSequence,
            "pause_turn" => StopReason::Paused,
            "refusal" => StopReason::Refusal,
            "model_context_window_exceeded" => StopReason::ContextWindow,
            other => StopReason::Other { native: other.to_owned() },
        })
    }
}

impl Answer {
    fn start(&mut self, at: u64, block: &Value, draft: &mut Draft) {
        let Value::Object(value) = block else { return };
        if self.blocks.contains_key(&at) {
            return;
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut call = None;
        match text("type") {
            "text" => draft.text(text("text")),
            "thinking" => draft.reasoning(text("thinking")),
            "tool_use" => {
                let id = Some(text("id"));
                call = Some(draft.begin(id, text("name")));
            }
            _ => {}
        }
        let block = Block { value: value.clone(), call, json: String::new(), closed: false };
        self.blocks.insert(at, block);
    }

    fn delta(&mut self, at: u64, delta: &Value, draft: &mut Draft) {
        let Some(block) = self.blocks.get_mut(&at).filter(|block| !block.closed) else { return };
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                block.append("text", text("text"));
                draft.text(text("text"));
            }
            "thinking_delta" => {
                block.append("thinking", text("thinking"));
                draft.reasoning(text("thinking"));
            }
            "signature_delta" => {
                block.value.insert("signature".to_owned(), json!(text("signature")));
            }
            "input_json_delta" => {
                block.json.push_str(text("partial_json"));
                if let Some(call) = &block.call {
                    draft.arguments(call.index, text("partial_json"));
                }
            }
            "citations_delta" => {
                let list = block.value.entry("citations").or_insert_with(|| json!([]));
                if !list.is_array() {
                    *list = json!([]);
                }
                if let Value::Array(list) = list {
                    list.push(delta["citation"].clone());
                }
            }
            _ => block.add(delta),
        }
    }

    /// Usage comes at the start and at the end; what the end does not repeat holds.
    fn used(&mut self, usage: &Value, draft: &mut Draft) {
        let Some(new) = usage.as_object() else { return };
        for (key, value) in new.iter().filter(|(_, value)| !value.is_null()) {
            self.usage.insert(key.clone(), value.clone());
        }
        let get = |name: &str| self.usage.get(name).map_or(0, count);
        let (cached, written) =
            (get("cache_read_input_tokens"), get("cache_creation_input_tokens"));
        let details = self.usage.get("output_tokens_details");
        let usage = Usage {
            // Anthropic counts what was cached apart.
            input: get("input_tokens") + cached + written,
            output: get("output_tokens"),
            cached_input: cached,
            cache_write: written,
            reasoning: details.map_or(0, |details| count(&details["thinking_tokens"])),
            reported_usd: None,
        };
        draft.usage(usage, &Value::Object(self.usage.clone()));
    }
}

impl Block {
    fn append(&mut self, field: &str, more: &str) {
        match self.value.get_mut(field) {
            Some(Value::String(have)) => have.push_str(more),
            _ => drop(self.value.insert(field.to_owned(), json!(more))),
        }
    }

    /// A delta of a kind that is not known: texts are added, the rest replaces.
    fn add(&mut self, delta: &Value) {
        for (key, value) in delta.as_object().into_iter().flatten() {
            if let Some(text) = value.as_str().filter(|_| key != "type") {
                self.append(key, text);
            } else if key != "type" {
                self.value.insert(key.clone(), value.clone());
            }
        }
    }

    fn close(&mut self, draft: &mut Draft) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        if let Some(call) = &self.call {
            // A proxy may send the arguments whole, with the start.
            let whole = self.value.get("input").and_then(Value::as_object);
            if let (true, Some(whole)) = (self.json.is_empty(), whole.filter(|w| !w.is_empty())) {
                self.json = json!(whole).to_string();
                draft.arguments(call.index, &self.json);
            }
            draft.end_call(call);
        }
    }

    fn finish(mut self) -> Item {
        let text = |name: &str| {
            self.value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let content = match (&self.call, text("type").as_str()) {
            (Some(call), _) => {
                let call = call.with(&self.json);
                self.value.insert("id".to_owned(), json!(call.id));
                self.value.insert("input".to_owned(), json!(call.parsed().unwrap_or_default()));
                Content::ToolCall(call)
            }
            (None, "text") => Content::Text { text: text("text") },
            (None, "thinking") => Content::Reasoning { text: text("thinking") },
            (None, "redacted_thinking") => Content::Reasoning { text: String::new() },
            (None, kind) => {
                let kind = kind.to_owned();
                // Tools that the provider runs itself stream their arguments too.
                if let Ok(input) = serde_json::from_str::<Value>(&self.json) {
                    self.value.insert("input".to_owned(), input);
                }
                Content::Other { kind }
            }
        };
        Item { content, native: Some(Value::Object(self.value)) }
    }
}
