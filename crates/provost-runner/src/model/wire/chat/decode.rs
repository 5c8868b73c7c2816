//! Decodes the chunks of Chat Completions, with what compatible servers do differently:
//! calls without an index or with the same one, arguments as an object, ids that
//! are missing or repeated, `finish_reason: ""`, `usage: {}`, errors in the stream.
//!
//! The completion is complete after a finish reason or `[DONE]`: some servers omit the one,
//! some the other. With neither, it was cut off.

use provost_core::exact_json;
use serde_json::{Map, Value, json};

use super::super::completion_builder::{
    CompletionBuilder, StartedToolCall, is_number, parse_count,
};
use super::super::provider_failure::ProviderFailure;
use super::super::{WireDecoder, parse_event_json, truncated_stream_error};
use super::reasoning::ReasoningBuilder;
use crate::model::{CompletionContent, CompletionUsage, ModelError, SseEvent, StopReason};

/// A completion in progress.
#[derive(Default)]
pub(in super::super) struct ChatDecoder {
    text: String,
    refusal: String,
    reasoning: ReasoningBuilder,
    calls: Vec<PartialToolCall>,
    finish: Option<String>,
    done: bool,
}

/// A tool call in progress.
struct PartialToolCall {
    /// The server's index, if it gives one.
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Bytes of the arguments that were reported as events.
    reported: usize,
    started: Option<StartedToolCall>,
    /// What else the server wrote beside the call (Gemini puts signatures there).
    extra: Map<String, Value>,
}

impl WireDecoder for ChatDecoder {
    fn push_event(
        &mut self,
        event: &SseEvent,
        builder: &mut CompletionBuilder,
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
        builder.set_response_metadata(&chunk["id"], &chunk["model"]);
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| parse_count(&choice["index"]) == 0) {
            if !choice["error"].is_null() {
                return Err(ProviderFailure::from_json(choice).into_error());
            }
            self.apply_choice(choice, builder);
        }
        for usage in [&chunk["usage"], &chunk["x_groq"]["usage"]] {
            if is_number(&usage["prompt_tokens"]) {
                builder.set_usage(parse_usage(usage), usage);
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

    fn finish(&mut self, builder: &mut CompletionBuilder) -> Result<StopReason, ModelError> {
        if self.finish.is_none() && !self.done {
            return Err(truncated_stream_error());
        }
        for call in &mut self.calls {
            call.emit_new_arguments(builder);
            if let Some(started) = &call.started {
                builder.end_call(started);
            }
        }
        if let Some((text, native)) = std::mem::take(&mut self.reasoning).finish() {
            builder.push_item(CompletionContent::Reasoning { text }, native);
        }
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            builder.push_item(
                CompletionContent::Text { text: text.clone() },
                json!({ "content": text }),
            );
        }
        if !self.refusal.is_empty() {
            let text = std::mem::take(&mut self.refusal);
            builder.push_item(
                CompletionContent::Refusal { text: text.clone() },
                json!({ "refusal": text }),
            );
        }
        for call in std::mem::take(&mut self.calls) {
            if let Some(started) = call.started {
                let read = started.to_tool_call(&call.arguments);
                let mut native = call.extra;
                native.insert("id".to_owned(), json!(read.id));
                native.insert("type".to_owned(), json!("function"));
                let function =
                    json!({ "name": read.name, "arguments": read.valid_arguments_json() });
                native.insert("function".to_owned(), function);
                builder.push_item(CompletionContent::ToolCall(read), Value::Object(native));
            }
        }
        self.stop_reason(builder)
    }
}

impl ChatDecoder {
    fn apply_choice(&mut self, choice: &Value, builder: &mut CompletionBuilder) {
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.reasoning.push_delta(delta, builder);
        match &delta["content"] {
            Value::String(text) => self.push_text(text, builder),
            Value::Array(parts) => {
                for part in parts {
                    if part["type"] == "thinking" {
                        self.reasoning.push_thinking_part(part, builder);
                    } else if let Some(text) = part["text"].as_str() {
                        self.push_text(text, builder);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        if let Some(text) = delta["refusal"].as_str() {
            self.refusal.push_str(text);
            builder.push_refusal(text);
        }
        for entry in delta["tool_calls"].as_array().into_iter().flatten() {
            self.apply_call_delta(entry, builder);
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|text| !text.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
    }

    fn push_text(&mut self, text: &str, builder: &mut CompletionBuilder) {
        self.text.push_str(text);
        builder.push_text(text);
    }

    /// Applies a fragment of a call.
    fn apply_call_delta(&mut self, entry: &Value, builder: &mut CompletionBuilder) {
        let index = entry["index"].as_u64();
        let id = entry["id"].as_str().unwrap_or_default();
        let function = &entry["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let at = self.find_call(index, id, name);
        let at = at.unwrap_or_else(|| {
            self.calls.push(PartialToolCall::new(index));
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
                call.arguments = exact_json::to_text(object);
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
        call.emit_new_arguments(builder);
    }

    /// The call that a fragment belongs to, if it has started.
    ///
    /// By the index, unless a different id shows that it is another call: some servers give
    /// every call the index 0. Without an index, by the id; a fragment with a name and no known
    /// id is a new call, one with neither continues the last.
    fn find_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same = |call: &PartialToolCall| id.is_empty() || call.id.is_empty() || call.id == id;
        if index.is_some() {
            let at = self.calls.iter().rposition(|call| call.index == index)?;
            let call = self.calls.get(at)?;
            return (same(call) || name.is_empty()).then_some(at);
        }
        if !id.is_empty() {
            return self.calls.iter().rposition(|call| call.id == id);
        }
        if name.is_empty() { self.calls.len().checked_sub(1) } else { None }
    }

    fn stop_reason(&self, builder: &CompletionBuilder) -> Result<StopReason, ModelError> {
        let natural = builder.default_stop_reason();
        Ok(match self.finish.as_deref() {
            None | Some("stop" | "tool_calls" | "function_call" | "eos") => {
                let refused = matches!(natural, StopReason::EndTurn)
                    && builder
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
    fn new(index: Option<u64>) -> Self {
        let (id, name, arguments) = Default::default();
        Self { index, id, name, arguments, reported: 0, started: None, extra: Map::new() }
    }

    /// Reports new arguments. Nothing is reported before the name is known.
    fn emit_new_arguments(&mut self, builder: &mut CompletionBuilder) {
        if self.started.is_none() && !self.name.is_empty() {
            self.started = Some(builder.begin_call(Some(&self.id), &self.name));
        }
        if let Some(started) = &self.started {
            builder.push_arguments(started.index, &self.arguments[self.reported..]);
            self.reported = self.arguments.len();
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
        reported_usd: exact_json::as_f64(&usage["cost"]),
    }
}
