//! Decodes the event stream of Anthropic's Messages API.
//!
//! A content block is assembled from its start and its deltas, with everything that was in
//! them: signatures, redacted thoughts, citations, and unknown fields. The completion is
//! complete when a stop reason was received.

use std::collections::BTreeMap;

use provost_core::exact_json;
use serde_json::{Map, Value, json};

use super::super::completion_builder::{CompletionBuilder, StartedToolCall, parse_count};
use super::super::provider_failure::ProviderFailure;
use super::super::{WireDecoder, parse_event_json, truncated_stream_error};
use crate::model::{
    CompletionContent, CompletionItem, CompletionUsage, ModelError, SseEvent, StopReason,
};

/// A completion in progress.
#[derive(Default)]
pub(in super::super) struct AnthropicDecoder {
    started: bool,
    blocks: BTreeMap<u64, ContentBlock>,
    usage: Map<String, Value>,
    stop: Option<String>,
    explanation: String,
    done: bool,
}

/// A content block in progress.
struct ContentBlock {
    value: Map<String, Value>,
    call: Option<StartedToolCall>,
    /// The arguments of a call, as text.
    json: String,
    closed: bool,
}

impl WireDecoder for AnthropicDecoder {
    fn push_event(
        &mut self,
        event: &SseEvent,
        builder: &mut CompletionBuilder,
    ) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        let data = parse_event_json(event)?;
        let kind = data["type"].as_str().unwrap_or(&event.event);
        let at = parse_count(&data["index"]);
        match kind {
            "message_start" if !self.started => {
                self.started = true;
                let message = &data["message"];
                builder.set_response_metadata(&message["id"], &message["model"]);
                self.merge_usage(&message["usage"], builder);
            }
            "content_block_start" => self.start_block(at, &data["content_block"], builder),
            "content_block_delta" => self.apply_delta(at, &data["delta"], builder),
            "content_block_stop" => {
                if let Some(block) = self.blocks.get_mut(&at) {
                    block.close(builder);
                }
            }
            "message_delta" => {
                self.merge_usage(&data["usage"], builder);
                let delta = &data["delta"];
                if let Some(reason) = delta["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                }
                if let Some(text) = delta["stop_details"]["explanation"].as_str() {
                    text.clone_into(&mut self.explanation);
                    builder.push_refusal(text);
                }
            }
            "message_stop" => self.done = true,
            "error" => return Err(ProviderFailure::from_json(&data).into_error()),
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

    fn finish(&mut self, builder: &mut CompletionBuilder) -> Result<StopReason, ModelError> {
        let Some(stop) = self.stop.take() else { return Err(truncated_stream_error()) };
        for (_, mut block) in std::mem::take(&mut self.blocks) {
            block.close(builder);
            builder.items.push(block.into_item());
        }
        if !self.explanation.is_empty() {
            // Said beside the message, so there is no block to send back.
            let text = std::mem::take(&mut self.explanation);
            builder.items.push(CompletionItem {
                content: CompletionContent::Refusal { text },
                native: None,
            });
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

impl AnthropicDecoder {
    fn start_block(&mut self, at: u64, block: &Value, builder: &mut CompletionBuilder) {
        let Value::Object(value) = block else { return };
        if self.blocks.contains_key(&at) {
            return;
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let mut call = None;
        match text("type") {
            "text" => builder.push_text(text("text")),
            "thinking" => builder.push_reasoning(text("thinking")),
            "tool_use" => {
                let id = Some(text("id"));
                call = Some(builder.begin_call(id, text("name")));
            }
            _ => {}
        }
        let block = ContentBlock { value: value.clone(), call, json: String::new(), closed: false };
        self.blocks.insert(at, block);
    }

    fn apply_delta(&mut self, at: u64, delta: &Value, builder: &mut CompletionBuilder) {
        let Some(block) = self.blocks.get_mut(&at).filter(|block| !block.closed) else { return };
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                block.append_text("text", text("text"));
                builder.push_text(text("text"));
            }
            "thinking_delta" => {
                block.append_text("thinking", text("thinking"));
                builder.push_reasoning(text("thinking"));
            }
            "signature_delta" => {
                block.value.insert("signature".to_owned(), json!(text("signature")));
            }
            "input_json_delta" => {
                block.json.push_str(text("partial_json"));
                if let Some(call) = &block.call {
                    builder.push_arguments(call.index, text("partial_json"));
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
            _ => block.merge_unknown_delta(delta),
        }
    }

    /// Usage comes at the start and at the end; what the end does not repeat holds.
    fn merge_usage(&mut self, usage: &Value, builder: &mut CompletionBuilder) {
        let Some(new) = usage.as_object() else { return };
        for (key, value) in new.iter().filter(|(_, value)| !value.is_null()) {
            self.usage.insert(key.clone(), value.clone());
        }
        let get = |name: &str| self.usage.get(name).map_or(0, parse_count);
        let (cached, written) =
            (get("cache_read_input_tokens"), get("cache_creation_input_tokens"));
        let details = self.usage.get("output_tokens_details");
        let usage = CompletionUsage {
            // Anthropic counts what was cached apart.
            input: get("input_tokens") + cached + written,
            output: get("output_tokens"),
            cached_input: cached,
            cache_write: written,
            reasoning: details.map_or(0, |details| parse_count(&details["thinking_tokens"])),
            reported_usd: None,
        };
        builder.set_usage(usage, &Value::Object(self.usage.clone()));
    }
}

impl ContentBlock {
    fn append_text(&mut self, field: &str, more: &str) {
        match self.value.get_mut(field) {
            Some(Value::String(have)) => have.push_str(more),
            _ => drop(self.value.insert(field.to_owned(), json!(more))),
        }
    }

    /// A delta of a kind that is not known: texts are added, the rest replaces.
    fn merge_unknown_delta(&mut self, delta: &Value) {
        for (key, value) in delta.as_object().into_iter().flatten() {
            if let Some(text) = value.as_str().filter(|_| key != "type") {
                self.append_text(key, text);
            } else if key != "type" {
                self.value.insert(key.clone(), value.clone());
            }
        }
    }

    fn close(&mut self, builder: &mut CompletionBuilder) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        if let Some(call) = &self.call {
            // A proxy may send the arguments whole, with the start.
            let whole = self.value.get("input").and_then(exact_json::extract_text);
            let is_empty =
                |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|v| v == json!({}));
            if let (true, Some(whole)) = (self.json.is_empty(), whole.filter(|w| !is_empty(w))) {
                self.json = whole.to_owned();
                builder.push_arguments(call.index, &self.json);
            }
            builder.end_call(call);
        }
    }

    fn into_item(mut self) -> CompletionItem {
        let text = |name: &str| {
            self.value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let content = match (&self.call, text("type").as_str()) {
            (Some(call), _) => {
                let call = call.to_tool_call(&self.json);
                self.value.insert("id".to_owned(), json!(call.id));
                self.value.insert("input".to_owned(), call.arguments_value());
                CompletionContent::ToolCall(call)
            }
            (None, "text") => CompletionContent::Text { text: text("text") },
            (None, "thinking") => CompletionContent::Reasoning { text: text("thinking") },
            (None, "redacted_thinking") => CompletionContent::Reasoning { text: String::new() },
            (None, kind) => {
                let kind = kind.to_owned();
                // Tools that the provider runs itself stream their arguments too.
                let sent = self.value.get("input").and_then(exact_json::extract_text);
                let input = exact_json::tree_or_text(&self.json)
                    .or_else(|| exact_json::tree_or_text(sent?));
                if let Some(input) = input {
                    self.value.insert("input".to_owned(), input);
                }
                CompletionContent::Other { kind }
            }
        };
        CompletionItem { content, native: Some(Value::Object(self.value)) }
    }
}
