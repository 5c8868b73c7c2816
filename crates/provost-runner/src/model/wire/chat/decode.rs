//! Reads chunks of Chat Completions, with what compatible servers do differently:
//! calls without an index or with the same one, arguments as an object, ids that
//! are missing or repeated, `finish_reason: ""`, `usage: {}`, errors in the stream.
//!
//! The answer is complete when there was a reason to finish or `[DONE]`: some
//! servers leave out the one, some the other. With neither, it broke off.

use serde_json::{Map, Value, json};

use super::super::completion_builder::{CompletionBuilder, StartedToolCall, parse_count};
use super::super::provider_failure::ProviderFailure;
use super::super::{WireDecoder, parse_event_json, truncated_stream_error};
use super::reasoning::ReasoningBuilder;
use crate::model::{CompletionContent, CompletionUsage, ModelError, SseEvent, StopReason};

/// An answer while it is read.
#[derive(Default)]
pub(in super::super) struct ChatDecoder {
    text: String,
    refusal: String,
    reasoning: ReasoningBuilder,
    calls: Vec<PartialToolCall>,
    finish: Option<String>,
    done: bool,
}

/// A call while it is read.
struct PartialToolCall {
    /// The server's index, if it gives one.
    place: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// How many bytes of the arguments were told.
    told: usize,
    begun: Option<StartedToolCall>,
    /// What else the server wrote beside the call (Gemini puts signatures there).
    extra: Map<String, Value>,
}

impl WireDecoder for ChatDecoder {
    fn push_event(
        &mut self,
        event: &SseEvent,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
        }
        if self.done || data.is_empty() {
            return Ok(());
        }
        let chunk = parse_event_json(event)?;
        let is_error = chunk["object"] == "error" || event.event == "error";
        if !chunk["error"].is_null() || is_error {
            return Err(ProviderFailure::from_json(&chunk).into_error());
        }
        draft.set_response_metadata(&chunk["id"], &chunk["model"]);
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| parse_count(&choice["index"]) == 0) {
            if !choice["error"].is_null() {
                return Err(ProviderFailure::from_json(choice).into_error());
            }
            self.apply_choice(choice, draft);
        }
        for usage in [&chunk["usage"], &chunk["x_groq"]["usage"]] {
            if usage["prompt_tokens"].is_number() {
                draft.set_usage(parse_usage(usage), usage);
                break;
            }
        }
        Ok(())
    }

    fn has_stopped(&self) -> bool {
        self.finish.is_some()
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn finish(&mut self, draft: &mut CompletionBuilder) -> Result<StopReason, ModelError> {
        if self.finish.is_none() && !self.done {
            return Err(truncated_stream_error());
        }
        for call in &mut self.calls {
            call.emit_new_arguments(draft);
            if let Some(begun) = &call.begun {
                draft.end_call(begun);
            }
        }
        if let Some((text, native)) = std::mem::take(&mut self.reasoning).finish() {
            draft.push_item(CompletionContent::Reasoning { text }, native);
        }
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            draft.push_item(
                CompletionContent::Text { text: text.clone() },
                json!({ "content": text }),
            );
        }
        if !self.refusal.is_empty() {
            let text = std::mem::take(&mut self.refusal);
            draft.push_item(
                CompletionContent::Refusal { text: text.clone() },
                json!({ "refusal": text }),
            );
        }
        for call in std::mem::take(&mut self.calls) {
            if let Some(begun) = call.begun {
                let read = begun.to_tool_call(&call.arguments);
                let mut native = call.extra;
                native.insert("id".to_owned(), json!(read.id));
                native.insert("type".to_owned(), json!("function"));
                let function =
                    json!({ "name": read.name, "arguments": read.valid_arguments_json() });
                native.insert("function".to_owned(), function);
                draft.push_item(CompletionContent::ToolCall(read), Value::Object(native));
            }
        }
        self.stop_reason(draft)
    }
}

impl ChatDecoder {
    fn apply_choice(&mut self, choice: &Value, draft: &mut CompletionBuilder) {
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.reasoning.push_delta(delta, draft);
        match &delta["content"] {
            Value::String(text) => self.push_text(text, draft),
            Value::Array(parts) => {
                for part in parts {
                    if part["type"] == "thinking" {
                        self.reasoning.push_thinking_part(part, draft);
                    } else if let Some(text) = part["text"].as_str() {
                        self.push_text(text, draft);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        if let Some(text) = delta["refusal"].as_str() {
            self.refusal.push_str(text);
            draft.push_refusal(text);
        }
        for entry in delta["tool_calls"].as_array().into_iter().flatten() {
            self.apply_call_delta(entry, draft);
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|text| !text.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
    }

    fn push_text(&mut self, text: &str, draft: &mut CompletionBuilder) {
        self.text.push_str(text);
        draft.push_text(text);
    }

    /// Takes a piece of a call.
    fn apply_call_delta(&mut self, entry: &Value, draft: &mut CompletionBuilder) {
        let place = entry["index"].as_u64();
        let id = entry["id"].as_str().unwrap_or_default();
        let function = &entry["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let at = self.find_call(place, id, name);
        let at = at.unwrap_or_else(|| {
            self.calls.push(PartialToolCall::new(place));
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match &function["arguments"] {
            Value::String(text) => call.arguments.push_str(text),
            object @ Value::Object(_) if call.arguments.is_empty() => {
                call.arguments = object.to_string();
            }
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_) => {}
        }
        for (key, value) in entry.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "index" | "id" | "type" | "function") {
                call.extra.insert(key.clone(), value.clone());
            }
        }
        call.emit_new_arguments(draft);
    }

    /// The call that a piece belongs to, if it has begun.
    ///
    /// By the index, unless another id says that it is another call after all: some
    /// servers give every call the index 0. Without an index, by the id; a piece
    /// with a name and no known id is a new call, one with neither goes on with the last.
    fn find_call(&self, place: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same = |call: &PartialToolCall| id.is_empty() || call.id.is_empty() || call.id == id;
        if place.is_some() {
            let at = self.calls.iter().rposition(|call| call.place == place)?;
            let call = self.calls.get(at)?;
            return (same(call) || name.is_empty()).then_some(at);
        }
        if !id.is_empty() {
            return self.calls.iter().rposition(|call| call.id == id);
        }
        if name.is_empty() { self.calls.len().checked_sub(1) } else { None }
    }

    fn stop_reason(&self, draft: &CompletionBuilder) -> Result<StopReason, ModelError> {
        let natural = draft.default_stop_reason();
        Ok(match self.finish.as_deref() {
            None | Some("stop" | "tool_calls" | "function_call" | "eos") => {
                let refused = matches!(natural, StopReason::EndTurn)
                    && draft
                        .items
                        .iter()
                        .any(|i| matches!(i.content, CompletionContent::Refusal { .. }));
                if refused { StopReason::Refusal } else { natural }
            }
            Some("length" | "max_tokens" | "model_length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::ContentFilter,
            Some(reason @ ("error" | "insufficient_system_resource")) => {
                let message = format!("the provider stopped with `{reason}`");
                return Err(ModelError::Overloaded { status: None, retry_after: None, message });
            }
            Some(reason) => StopReason::Other { native: reason.to_owned() },
        })
    }
}

impl PartialToolCall {
    fn new(place: Option<u64>) -> Self {
        let (id, name, arguments) = Default::default();
        Self { place, id, name, arguments, told: 0, begun: None, extra: Map::new() }
    }

    /// Tells what is new. Nothing is told before the name is known.
    fn emit_new_arguments(&mut self, draft: &mut CompletionBuilder) {
        if self.begun.is_none() && !self.name.is_empty() {
            self.begun = Some(draft.begin_call(Some(&self.id), &self.name));
        }
        if let Some(begun) = &self.begun {
            draft.push_arguments(begun.index, &self.arguments[self.told..]);
            self.told = self.arguments.len();
        }
    }
}

/// Usage in the neutral form.
fn parse_usage(usage: &Value) -> CompletionUsage {
    let prompt = &usage["prompt_tokens_details"];
    let cached = &prompt["cached_tokens"];
    let cached = if cached.is_number() { cached } else { &usage["prompt_cache_hit_tokens"] };
    CompletionUsage {
        input: parse_count(&usage["prompt_tokens"]),
        output: parse_count(&usage["completion_tokens"]),
        cached_input: parse_count(cached),
        cache_write: parse_count(&prompt["cache_write_tokens"]),
        reasoning: parse_count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        reported_usd: usage["cost"].as_f64(),
    }
}
