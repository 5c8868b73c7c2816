//! Decodes the event stream of the Responses API.
//!
//! Items are reported as they grow and kept as `response.output_item.done` gives them:
//! reasoning with its id, its summary and its encrypted content. Events carry a sequence
//! number; repeated ones are skipped.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::completion_builder::{
    CompletionBuilder, StartedToolCall, is_number, parse_count,
};
use super::super::provider_failure::ProviderFailure;
use super::super::{WireDecoder, parse_event_json, truncated_stream_error};
use crate::model::{
    CompletionContent, CompletionItem, CompletionUsage, ModelError, SseEvent, StopReason,
};

/// A completion in progress.
#[derive(Default)]
pub(in super::super) struct ResponsesDecoder {
    last: u64,
    open: BTreeMap<u64, OpenOutputItem>,
    finished: BTreeMap<u64, CompletionItem>,
    end: Option<Value>,
    refused: bool,
}

/// An item in progress.
#[derive(Default)]
struct OpenOutputItem {
    call: Option<StartedToolCall>,
    /// Arguments or text reported so far.
    arguments: String,
    texts: usize,
    ended: bool,
}

impl WireDecoder for ResponsesDecoder {
    fn push_event(
        &mut self,
        event: &SseEvent,
        builder: &mut CompletionBuilder,
    ) -> Result<(), ModelError> {
        if event.data.trim() == "[DONE]" || self.end.is_some() {
            return Ok(());
        }
        let data = parse_event_json(event)?;
        // Servers that do not count give every event the number 0.
        if let Some(number) = data["sequence_number"].as_u64().filter(|number| *number > 0) {
            if number <= self.last {
                return Ok(());
            }
            self.last = number;
        }
        let kind = data["type"].as_str().unwrap_or(&event.event).to_owned();
        let at = parse_count(&data["output_index"]);
        let delta = data["delta"].as_str().unwrap_or_default();
        match kind.as_str() {
            "response.created" | "response.in_progress" => {
                builder.set_response_metadata(&data["response"]["id"], &data["response"]["model"]);
            }
            "response.output_item.added" => self.begin_item(at, &data["item"], builder),
            "response.output_item.done" => self.finish_item(at, &data["item"], builder),
            "response.output_text.delta" => {
                self.open.entry(at).or_default().texts += delta.len();
                builder.push_text(delta);
            }
            "response.refusal.delta" => {
                self.open.entry(at).or_default().texts += delta.len();
                builder.push_refusal(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.open.entry(at).or_default().texts += delta.len();
                builder.push_reasoning(delta);
            }
            "response.reasoning_summary_part.added" if parse_count(&data["summary_index"]) > 0 => {
                builder.push_reasoning("\n\n");
            }
            "response.function_call_arguments.delta" => self.push_arguments(at, delta, builder),
            "response.function_call_arguments.done" => {
                self.push_missing_arguments(
                    at,
                    data["arguments"].as_str().unwrap_or_default(),
                    builder,
                );
            }
            "response.completed" | "response.incomplete" => {
                self.finish_response(&data["response"], builder);
            }
            "response.failed" => {
                return Err(ProviderFailure::from_json(&data["response"]).into_error());
            }
            "error" => return Err(ProviderFailure::from_json(&data).into_error()),
            // Duplicates of other events, or events of tools that are never offered.
            _ if !data["error"].is_null() => {
                return Err(ProviderFailure::from_json(&data).into_error());
            }
            _ => {}
        }
        Ok(())
    }

    fn has_stopped(&self) -> bool {
        self.end.is_some()
    }

    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn finish(&mut self, builder: &mut CompletionBuilder) -> Result<StopReason, ModelError> {
        let Some(response) = self.end.take() else { return Err(truncated_stream_error()) };
        for (_, item) in std::mem::take(&mut self.finished) {
            builder.items.push(item);
        }
        if response["status"] != "incomplete" {
            let natural = builder.default_stop_reason();
            let refused = self.refused && natural == StopReason::EndTurn;
            return Ok(if refused { StopReason::Refusal } else { natural });
        }
        Ok(match response["incomplete_details"]["reason"].as_str() {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::ContentFilter,
            Some(reason) => StopReason::Other { native: reason.to_owned() },
            None => StopReason::Other { native: "incomplete".to_owned() },
        })
    }
}

impl ResponsesDecoder {
    fn begin_item(&mut self, at: u64, item: &Value, builder: &mut CompletionBuilder) {
        if item["type"] == "function_call" && !self.open.contains_key(&at) {
            let name = item["name"].as_str().unwrap_or_default();
            let call = Some(builder.begin_call(item["call_id"].as_str(), name));
            self.open.insert(at, OpenOutputItem { call, ..OpenOutputItem::default() });
            self.push_arguments(at, item["arguments"].as_str().unwrap_or_default(), builder);
        }
    }

    fn push_arguments(&mut self, at: u64, delta: &str, builder: &mut CompletionBuilder) {
        let open = self.open.entry(at).or_default();
        if let Some(call) = &open.call {
            open.arguments.push_str(delta);
            builder.push_arguments(call.index, delta);
        }
    }

    /// Reports the rest of the arguments, which are complete now.
    fn push_missing_arguments(&mut self, at: u64, whole: &str, builder: &mut CompletionBuilder) {
        let reported = self.open.get(&at).map_or(0, |open| open.arguments.len());
        if let Some(rest) = whole.get(reported..) {
            self.push_arguments(at, rest, builder);
        }
    }

    /// Keeps a complete item, and reports what was not reported of it.
    fn finish_item(&mut self, at: u64, item: &Value, builder: &mut CompletionBuilder) {
        if self.finished.contains_key(&at) {
            return;
        }
        self.begin_item(at, item, builder);
        let untold = self.open.get(&at).is_none_or(|open| open.texts == 0);
        let parts = |field: &str, kind: &str| -> Vec<&str> {
            let parts = item[field].as_array().into_iter().flatten();
            let parts = parts.filter(|part| part["type"] == kind);
            parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str())).collect()
        };
        let mut native = item.clone();
        let content = match item["type"].as_str().unwrap_or_default() {
            "message" => {
                let (text, refusal) = (
                    parts("content", "output_text").concat(),
                    parts("content", "refusal").concat(),
                );
                self.refused |= !refusal.is_empty();
                if untold {
                    builder.push_text(&text);
                    builder.push_refusal(&refusal);
                }
                let is_refusal = text.is_empty() && !refusal.is_empty();
                if is_refusal {
                    CompletionContent::Refusal { text: refusal }
                } else {
                    CompletionContent::Text { text }
                }
            }
            "reasoning" => {
                let mut texts = parts("summary", "summary_text");
                texts.extend(parts("content", "reasoning_text"));
                let text = texts.join("\n\n");
                if untold {
                    builder.push_reasoning(&text);
                }
                CompletionContent::Reasoning { text }
            }
            "function_call" => {
                self.push_missing_arguments(
                    at,
                    item["arguments"].as_str().unwrap_or_default(),
                    builder,
                );
                let Some(open) = self.open.get_mut(&at) else { return };
                let Some(call) = open.call.clone() else { return };
                builder.end_call(&call);
                open.ended = true;
                let call = call.to_tool_call(&open.arguments);
                native["call_id"] = json!(call.id);
                native["arguments"] = json!(call.valid_arguments_json());
                CompletionContent::ToolCall(call)
            }
            kind => CompletionContent::Other { kind: kind.to_owned() },
        };
        self.finished.insert(at, CompletionItem { content, native: Some(native) });
    }

    /// The end: items without a `done` event are taken from the final response.
    fn finish_response(&mut self, response: &Value, builder: &mut CompletionBuilder) {
        builder.set_response_metadata(&response["id"], &response["model"]);
        let known: Vec<Value> = self
            .finished
            .values()
            .filter_map(|item| item.native.as_ref().map(|native| native["id"].clone()))
            .collect();
        for (at, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            let missing = item["id"].is_null() || !known.contains(&item["id"]);
            if missing && !self.finished.contains_key(&at) {
                self.finish_item(at, item, builder);
            }
        }
        self.close_open_calls(builder);
        let usage = &response["usage"];
        if is_number(&usage["input_tokens"]) {
            builder.set_usage(parse_usage(usage), usage);
        }
        self.end = Some(json!({
            "status": response["status"],
            "incomplete_details": response["incomplete_details"],
        }));
    }

    /// Calls that were cut off by the output limit.
    fn close_open_calls(&mut self, builder: &mut CompletionBuilder) {
        for (at, open) in &mut self.open {
            if let (Some(call), false) = (&open.call, open.ended) {
                builder.end_call(call);
                let call = call.to_tool_call(&open.arguments);
                let native = json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.valid_arguments_json(),
                });
                let content = CompletionContent::ToolCall(call);
                self.finished.insert(*at, CompletionItem { content, native: Some(native) });
            }
        }
    }
}

/// Usage in the neutral form.
fn parse_usage(usage: &Value) -> CompletionUsage {
    CompletionUsage {
        input: parse_count(&usage["input_tokens"]),
        output: parse_count(&usage["output_tokens"]),
        cached_input: parse_count(&usage["input_tokens_details"]["cached_tokens"]),
        cache_write: parse_count(&usage["input_tokens_details"]["cache_write_tokens"]),
        reasoning: parse_count(&usage["output_tokens_details"]["reasoning_tokens"]),
        reported_usd: None,
    }
}
