//! Reads the chunks of `streamGenerateContent`.
//!
//! Each chunk brings parts. Texts that follow one another are joined, unless one of
//! them carries more than text: a signature belongs to the part on which it came,
//! and must go back on it. The answer is complete when a reason to finish was given.

use serde_json::{Map, Value, json};

use super::super::draft::{Begun, Draft, count};
use super::super::fault::Fault;
use super::super::{Decode, json, truncated};
use super::arguments;
use crate::model::{Content, Item, ModelError, SseEvent, StopReason, Usage};

/// An answer while it is read.
#[derive(Default)]
pub(in super::super) struct Answer {
    parts: Vec<Part>,
    finish: Option<String>,
    message: String,
    usage: Value,
}

/// A part of the answer.
struct Part {
    value: Map<String, Value>,
    call: Option<Begun>,
    /// Whether more of the call's arguments come.
    open: bool,
}

impl Decode for Answer {
    fn push(&mut self, event: &SseEvent, draft: &mut Draft) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let chunk = json(event)?;
        if !chunk["error"].is_null() || !chunk[0]["error"].is_null() {
            return Err(Fault::of_value(&chunk).into_error());
        }
        draft.answered(&chunk["responseId"], &chunk["modelVersion"]);
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, draft);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
            self.say(&candidate["finishMessage"]);
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            self.finish = Some(format!("blocked: {reason}"));
            self.say(&chunk["promptFeedback"]["blockReasonMessage"]);
        }
        if chunk["usageMetadata"]["promptTokenCount"].is_number() {
            self.usage = chunk["usageMetadata"].clone();
        }
        Ok(())
    }

    fn has_stopped(&self) -> bool {
        // Early models give a reason with every chunk.
        false
    }

    fn is_done(&self) -> bool {
        // There is no last event; the body ends.
        false
    }

    fn finish(&mut self, draft: &mut Draft) -> Result<StopReason, ModelError> {
        if !self.usage.is_null() {
            draft.usage(used(&self.usage), &self.usage);
        }
        let Some(finish) = self.finish.take() else { return Err(truncated()) };
        if let Some(error) = broken(&finish, &self.message) {
            return Err(error);
        }
        for mut part in std::mem::take(&mut self.parts) {
            part.close(draft);
            part.keep(draft);
        }
        let stop = stop(&finish, draft);
        if matches!(stop, StopReason::Refusal | StopReason::ContentFilter) {
            let message = std::mem::take(&mut self.message);
            let text = if message.is_empty() { finish } else { message };
            draft.refusal(&text);
            // Said beside the content, so there is no part to send back.
            draft.items.push(Item { content: Content::Refusal { text }, native: None });
        }
        Ok(stop)
    }
}

impl Answer {
    fn say(&mut self, message: &Value) {
        message.as_str().unwrap_or_default().clone_into(&mut self.message);
    }

    fn part(&mut self, part: &Value, draft: &mut Draft) {
        let Value::Object(value) = part else { return };
        if let Some(call) = value.get("functionCall") {
            self.call(call, value, draft);
            return;
        }
        let Some(text) = value.get("text").and_then(Value::as_str) else {
            self.parts.push(Part { value: value.clone(), call: None, open: false });
            return;
        };
        if is_thought(value) {
            draft.reasoning(text);
        } else {
            draft.text(text);
        }
        let joins = |last: &&mut Part| {
            is_plain(&last.value) && is_plain(value) && is_thought(&last.value) == is_thought(value)
        };
        if let Some(last) = self.parts.last_mut().filter(joins)
            && let Some(Value::String(have)) = last.value.get_mut("text")
        {
            have.push_str(text);
        } else if !text.is_empty() || !is_plain(value) {
            self.parts.push(Part { value: value.clone(), call: None, open: false });
        }
    }

    fn call(&mut self, call: &Value, value: &Map<String, Value>, draft: &mut Draft) {
        let goes_on = call["willContinue"] == true;
        let pieces = call["partialArgs"].as_array().into_iter().flatten();
        let open = self.parts.last_mut().filter(|part| part.open && call["name"].is_null());
        if let Some(part) = open {
            for (key, value) in value.iter().filter(|(key, _)| *key != "functionCall") {
                part.value.insert(key.clone(), value.clone());
            }
            if let Some(function) = part.value.get_mut("functionCall") {
                pieces.for_each(|piece| arguments::put(&mut function["args"], piece));
            }
            if !goes_on {
                part.close(draft);
            }
            return;
        }
        let name = call["name"].as_str().unwrap_or_default();
        let begun = draft.begin(call["id"].as_str(), name);
        let mut part = Part { value: value.clone(), call: Some(begun), open: true };
        if let Some(Value::Object(function)) = part.value.get_mut("functionCall") {
            function.remove("willContinue");
            function.remove("partialArgs");
            let args = function.entry("args").or_insert_with(|| json!({}));
            pieces.for_each(|piece| arguments::put(args, piece));
        }
        if !goes_on {
            part.close(draft);
        }
        self.parts.push(part);
    }
}

impl Part {
    fn close(&mut self, draft: &mut Draft) {
        if let (true, Some(call)) = (std::mem::replace(&mut self.open, false), &self.call) {
            draft.arguments(call.index, &self.arguments());
            draft.end_call(call);
        }
    }

    fn arguments(&self) -> String {
        let function = self.value.get("functionCall");
        function.map(|function| function["args"].to_string()).unwrap_or_default()
    }

    fn keep(self, draft: &mut Draft) {
        let text = self.value.get("text").and_then(Value::as_str);
        let content = match (&self.call, text) {
            (Some(call), _) => Content::ToolCall(call.with(&self.arguments())),
            (None, Some(text)) if is_thought(&self.value) => {
                Content::Reasoning { text: text.to_owned() }
            }
            (None, Some(text)) => Content::Text { text: text.to_owned() },
            (None, None) => {
                let known = |key: &&String| *key != "thought" && *key != "thoughtSignature";
                let kind = self.value.keys().find(known).cloned().unwrap_or_default();
                Content::Other { kind }
            }
        };
        draft.keep(content, Value::Object(self.value));
    }
}

fn is_thought(part: &Map<String, Value>) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Whether there is nothing but text in a part.
fn is_plain(part: &Map<String, Value>) -> bool {
    part.keys().all(|key| key == "text" || key == "thought")
}

/// What is no end but a failure: what the model wrote could not be read, which another
/// attempt may mend; or the conversation itself is at fault, which none does.
fn broken(finish: &str, message: &str) -> Option<ModelError> {
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    match finish {
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            let why = format!("what the model called could not be read ({finish}){said}");
            Some(ModelError::Truncated(why))
        }
        "TOO_MANY_TOOL_CALLS" | "MISSING_THOUGHT_SIGNATURE" => {
            Some(ModelError::BadRequest(format!("{finish}{said}")))
        }
        _ => None,
    }
}

fn stop(finish: &str, draft: &Draft) -> StopReason {
    match finish {
        "STOP" => draft.natural_stop(),
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" => StopReason::ContentFilter,
        blocked if blocked.starts_with("blocked: ") => StopReason::Refusal,
        other => StopReason::Other { native: other.to_owned() },
    }
}

/// Usage in the neutral form. Gemini counts thoughts apart from the answer.
fn used(usage: &Value) -> Usage {
    let thoughts = count(&usage["thoughtsTokenCount"]);
    Usage {
        input: count(&usage["promptTokenCount"]) + count(&usage["toolUsePromptTokenCount"]),
        output: count(&usage["candidatesTokenCount"]) + thoughts,
        cached_input: count(&usage["cachedContentTokenCount"]),
        cache_write: 0,
        reasoning: thoughts,
        reported_usd: None,
    }
}
