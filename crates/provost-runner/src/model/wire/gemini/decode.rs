//! Reads the chunks of `streamGenerateContent`.
//!
//! Each chunk brings parts. Texts that follow one another are joined, unless one of
//! them carries more than text: a signature belongs to the part on which it came,
//! and must go back on it. The answer is complete when a reason to finish was given.

use serde_json::{Map, Value, json};

use super::super::completion_builder::{CompletionBuilder, StartedToolCall, parse_count};
use super::super::provider_failure::ProviderFailure;
use super::super::{WireDecoder, parse_event_json, truncated_stream_error};
use super::partial_arguments;
use crate::model::{
    CompletionContent, CompletionItem, CompletionUsage, ModelError, SseEvent, StopReason,
};

/// An answer while it is read.
#[derive(Default)]
pub(in super::super) struct GeminiDecoder {
    parts: Vec<GeminiPart>,
    finish: Option<String>,
    message: String,
    usage: Value,
}

/// A part of the answer.
struct GeminiPart {
    value: Map<String, Value>,
    call: Option<StartedToolCall>,
    /// Whether more of the call's arguments come.
    open: bool,
}

impl WireDecoder for GeminiDecoder {
    fn push_event(
        &mut self,
        event: &SseEvent,
        draft: &mut CompletionBuilder,
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let chunk = parse_event_json(event)?;
        if !chunk["error"].is_null() || !chunk[0]["error"].is_null() {
            return Err(ProviderFailure::from_json(&chunk).into_error());
        }
        draft.set_response_metadata(&chunk["responseId"], &chunk["modelVersion"]);
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.apply_part(part, draft);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
            self.set_message(&candidate["finishMessage"]);
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            self.finish = Some(format!("blocked: {reason}"));
            self.set_message(&chunk["promptFeedback"]["blockReasonMessage"]);
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

    fn finish(&mut self, draft: &mut CompletionBuilder) -> Result<StopReason, ModelError> {
        if !self.usage.is_null() {
            draft.set_usage(parse_usage(&self.usage), &self.usage);
        }
        let Some(finish) = self.finish.take() else { return Err(truncated_stream_error()) };
        if let Some(error) = finish_error(&finish, &self.message) {
            return Err(error);
        }
        for mut part in std::mem::take(&mut self.parts) {
            part.close(draft);
            part.add_to_completion(draft);
        }
        let stop = stop_reason(&finish, draft);
        if matches!(stop, StopReason::Refusal | StopReason::ContentFilter) {
            let message = std::mem::take(&mut self.message);
            let text = if message.is_empty() { finish } else { message };
            draft.push_refusal(&text);
            // Said beside the content, so there is no part to send back.
            draft.items.push(CompletionItem {
                content: CompletionContent::Refusal { text },
                native: None,
            });
        }
        Ok(stop)
    }
}

impl GeminiDecoder {
    fn set_message(&mut self, message: &Value) {
        message.as_str().unwrap_or_default().clone_into(&mut self.message);
    }

    fn apply_part(&mut self, part: &Value, draft: &mut CompletionBuilder) {
        let Value::Object(value) = part else { return };
        if let Some(call) = value.get("functionCall") {
            self.apply_call(call, value, draft);
            return;
        }
        let Some(text) = value.get("text").and_then(Value::as_str) else {
            self.parts.push(GeminiPart { value: value.clone(), call: None, open: false });
            return;
        };
        if is_thought(value) {
            draft.push_reasoning(text);
        } else {
            draft.push_text(text);
        }
        let joins = |last: &&mut GeminiPart| {
            is_text_only(&last.value)
                && is_text_only(value)
                && is_thought(&last.value) == is_thought(value)
        };
        if let Some(last) = self.parts.last_mut().filter(joins)
            && let Some(Value::String(have)) = last.value.get_mut("text")
        {
            have.push_str(text);
        } else if !text.is_empty() || !is_text_only(value) {
            self.parts.push(GeminiPart { value: value.clone(), call: None, open: false });
        }
    }

    fn apply_call(
        &mut self,
        call: &Value,
        value: &Map<String, Value>,
        draft: &mut CompletionBuilder,
    ) {
        let goes_on = call["willContinue"] == true;
        let pieces = call["partialArgs"].as_array().into_iter().flatten();
        let open = self.parts.last_mut().filter(|part| part.open && call["name"].is_null());
        if let Some(part) = open {
            for (key, value) in value.iter().filter(|(key, _)| *key != "functionCall") {
                part.value.insert(key.clone(), value.clone());
            }
            if let Some(function) = part.value.get_mut("functionCall") {
                pieces.for_each(|piece| {
                    partial_arguments::apply_partial_argument(&mut function["args"], piece)
                });
            }
            if !goes_on {
                part.close(draft);
            }
            return;
        }
        let name = call["name"].as_str().unwrap_or_default();
        let begun = draft.begin_call(call["id"].as_str(), name);
        let mut part = GeminiPart { value: value.clone(), call: Some(begun), open: true };
        if let Some(Value::Object(function)) = part.value.get_mut("functionCall") {
            function.remove("willContinue");
            function.remove("partialArgs");
            let args = function.entry("args").or_insert_with(|| json!({}));
            pieces.for_each(|piece| partial_arguments::apply_partial_argument(args, piece));
        }
        if !goes_on {
            part.close(draft);
        }
        self.parts.push(part);
    }
}

impl GeminiPart {
    fn close(&mut self, draft: &mut CompletionBuilder) {
        if let (true, Some(call)) = (std::mem::replace(&mut self.open, false), &self.call) {
            draft.push_arguments(call.index, &self.arguments_json());
            draft.end_call(call);
        }
    }

    fn arguments_json(&self) -> String {
        let function = self.value.get("functionCall");
        function.map(|function| function["args"].to_string()).unwrap_or_default()
    }

    fn add_to_completion(self, draft: &mut CompletionBuilder) {
        let text = self.value.get("text").and_then(Value::as_str);
        let content = match (&self.call, text) {
            (Some(call), _) => {
                CompletionContent::ToolCall(call.to_tool_call(&self.arguments_json()))
            }
            (None, Some(text)) if is_thought(&self.value) => {
                CompletionContent::Reasoning { text: text.to_owned() }
            }
            (None, Some(text)) => CompletionContent::Text { text: text.to_owned() },
            (None, None) => {
                let known = |key: &&String| *key != "thought" && *key != "thoughtSignature";
                let kind = self.value.keys().find(known).cloned().unwrap_or_default();
                CompletionContent::Other { kind }
            }
        };
        draft.push_item(content, Value::Object(self.value));
    }
}

fn is_thought(part: &Map<String, Value>) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Whether there is nothing but text in a part.
fn is_text_only(part: &Map<String, Value>) -> bool {
    part.keys().all(|key| key == "text" || key == "thought")
}

/// What is no end but a failure: what the model wrote could not be read, which another
/// attempt may mend; or the conversation itself is at fault, which none does.
fn finish_error(finish: &str, message: &str) -> Option<ModelError> {
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

fn stop_reason(finish: &str, draft: &CompletionBuilder) -> StopReason {
    match finish {
        "STOP" => draft.default_stop_reason(),
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" => StopReason::ContentFilter,
        blocked if blocked.starts_with("blocked: ") => StopReason::Refusal,
        other => StopReason::Other { native: other.to_owned() },
    }
}

/// Usage in the neutral form. Gemini counts thoughts apart from the answer.
fn parse_usage(usage: &Value) -> CompletionUsage {
    let thoughts = parse_count(&usage["thoughtsTokenCount"]);
    CompletionUsage {
        input: parse_count(&usage["promptTokenCount"])
            + parse_count(&usage["toolUsePromptTokenCount"]),
        output: parse_count(&usage["candidatesTokenCount"]) + thoughts,
        cached_input: parse_count(&usage["cachedContentTokenCount"]),
        cache_write: 0,
        reasoning: thoughts,
        reported_usd: None,
    }
}
