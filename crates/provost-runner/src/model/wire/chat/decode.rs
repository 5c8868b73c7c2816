//! Reads chunks of Chat Completions, with what compatible servers do differently:
//! calls without an index or with the same one, arguments as an object, ids that
//! are missing or repeated, `finish_reason: ""`, `usage: {}`, errors in the stream.
//!
//! The answer is complete when there was a reason to finish or `[DONE]`: some
//! servers leave out the one, some the other. With neither, it broke off.

use serde_json::{Map, Value, json};

use super::super::draft::{Begun, Draft, count};
use super::super::fault::Fault;
use super::super::{Decode, json, truncated};
use super::reasoning::Reasoning;
use crate::model::{Content, ModelError, SseEvent, StopReason, Usage};

/// An answer while it is read.
#[derive(Default)]
pub(in super::super) struct Answer {
    text: String,
    refusal: String,
    reasoning: Reasoning,
    calls: Vec<Call>,
    finish: Option<String>,
    done: bool,
}

/// A call while it is read.
struct Call {
    /// The server's index, if it gives one.
    place: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// How many bytes of the arguments were told.
    told: usize,
    begun: Option<Begun>,
    /// What else the server wrote beside the call (Gemini puts signatures there).
    extra: Map<String, Value>,
}

impl Decode for Answer {
    fn push(&mut self, event: &SseEvent, draft: &mut Draft) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
        }
        if self.done || data.is_empty() {
            return Ok(());
        }
        let chunk = json(event)?;
        let is_error = chunk["object"] == "error" || event.event == "error";
        if !chunk["error"].is_null() || is_error {
            return Err(Fault::of_value(&chunk).into_error());
        }
        draft.answered(&chunk["id"], &chunk["model"]);
        let choices = chunk["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| count(&choice["index"]) == 0) {
            if !choice["error"].is_null() {
                return Err(Fault::of_value(choice).into_error());
            }
            self.delta(choice, draft);
        }
        for usage in [&chunk["usage"], &chunk["x_groq"]["usage"]] {
            if usage["prompt_tokens"].is_number() {
                draft.usage(used(usage), usage);
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

    fn finish(&mut self, draft: &mut Draft) -> Result<StopReason, ModelError> {
        if self.finish.is_none() && !self.done {
            return Err(truncated());
        }
        for call in &mut self.calls {
            call.tell(draft);
            if let Some(begun) = &call.begun {
                draft.end_call(begun);
            }
        }
        if let Some((text, native)) = std::mem::take(&mut self.reasoning).finish() {
            draft.keep(Content::Reasoning { text }, native);
        }
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            draft.keep(Content::Text { text: text.clone() }, json!({ "content": text }));
        }
        if !self.refusal.is_empty() {
            let text = std::mem::take(&mut self.refusal);
            draft.keep(Content::Refusal { text: text.clone() }, json!({ "refusal": text }));
        }
        for call in std::mem::take(&mut self.calls) {
            if let Some(begun) = call.begun {
                let read = begun.with(&call.arguments);
                let mut native = call.extra;
                native.insert("id".to_owned(), json!(read.id));
                native.insert("type".to_owned(), json!("function"));
                let function = json!({ "name": read.name, "arguments": read.sound() });
                native.insert("function".to_owned(), function);
                draft.keep(Content::ToolCall(read), Value::Object(native));
            }
        }
        self.stop(draft)
    }
}

impl Answer {
    fn delta(&mut self, choice: &Value, draft: &mut Draft) {
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.reasoning.push(delta, draft);
        match &delta["content"] {
            Value::String(text) => self.say(text, draft),
            Value::Array(parts) => {
                for part in parts {
                    if part["type"] == "thinking" {
                        self.reasoning.part(part, draft);
                    } else if let Some(text) = part["text"].as_str() {
                        self.say(text, draft);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
        if let Some(text) = delta["refusal"].as_str() {
            self.refusal.push_str(text);
            draft.refusal(text);
        }
        for entry in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(entry, draft);
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|text| !text.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
    }

    fn say(&mut self, text: &str, draft: &mut Draft) {
        self.text.push_str(text);
        draft.text(text);
    }

    /// Takes a piece of a call.
    fn call(&mut self, entry: &Value, draft: &mut Draft) {
        let place = entry["index"].as_u64();
        let id = entry["id"].as_str().unwrap_or_default();
        let function = &entry["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let at = self.find(place, id, name);
        let at = at.unwrap_or_else(|| {
            self.calls.push(Call::new(place));
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
        call.tell(draft);
    }

    /// The call that a piece belongs to, if it has begun.
    ///
    /// By the index, unless another id says that it is another call after all: some
    /// servers give every call the index 0. Without an index, by the id; a piece
    /// with a name and no known id is a new call, one with neither goes on with the last.
    fn find(&self, place: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
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

    fn stop(&self, draft: &Draft) -> Result<StopReason, ModelError> {
        let natural = draft.natural_stop();
        Ok(match self.finish.as_deref() {
            None | Some("stop" | "tool_calls" | "function_call" | "eos") => {
                let refused = matches!(natural, StopReason::EndTurn)
                    && draft.items.iter().any(|i| matches!(i.content, Content::Refusal { .. }));
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

impl Call {
    fn new(place: Option<u64>) -> Self {
        let (id, name, arguments) = Default::default();
        Self { place, id, name, arguments, told: 0, begun: None, extra: Map::new() }
    }

    /// Tells what is new. Nothing is told before the name is known.
    fn tell(&mut self, draft: &mut Draft) {
        if self.begun.is_none() && !self.name.is_empty() {
            self.begun = Some(draft.begin(Some(&self.id), &self.name));
        }
        if let Some(begun) = &self.begun {
            draft.arguments(begun.index, &self.arguments[self.told..]);
            self.told = self.arguments.len();
        }
    }
}

/// Usage in the neutral form.
fn used(usage: &Value) -> Usage {
    let prompt = &usage["prompt_tokens_details"];
    let cached = &prompt["cached_tokens"];
    let cached = if cached.is_number() { cached } else { &usage["prompt_cache_hit_tokens"] };
    Usage {
        input: count(&usage["prompt_tokens"]),
        output: count(&usage["completion_tokens"]),
        cached_input: count(cached),
        cache_write: count(&prompt["cache_write_tokens"]),
        reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        reported_usd: usage["cost"].as_f64(),
    }
}
