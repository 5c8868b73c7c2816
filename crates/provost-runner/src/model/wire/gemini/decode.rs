//! Decodes the chunks of `streamGenerateContent`.
//!
//! Each chunk brings parts. Texts that follow one another are joined, unless one of
//! them carries more than text: a signature belongs to the part on which it came,
//! and must go back on it. The answer is complete when a reason to finish was given.

use provost_core::exact_json;
use serde_json::{Map, Value, json};

use super::super::completion_builder::{
    CompletionBuilder, StartedToolCall, is_number, parse_count,
};
use super::super::provider_failure::ProviderFailure;
use super::super::{WireDecoder, parse_event_json, truncated_stream_error};
use super::partial_arguments;
use crate::model::{
    CompletionContent, CompletionItem, CompletionUsage, ModelError, SseEvent, StopReason,
};

/// A completion in progress.
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
        builder: &mut CompletionBuilder,
    ) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let chunk = parse_event_json(event)?;
        if !chunk["error"].is_null() || !chunk[0]["error"].is_null() {
            return Err(ProviderFailure::from_json(&chunk).into_error());
        }
        builder.set_response_metadata(&chunk["responseId"], &chunk["modelVersion"]);
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.apply_part(part, builder);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.finish = Some(reason.to_owned());
            self.set_message(&candidate["finishMessage"]);
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            self.finish = Some(format!("blocked: {reason}"));
            self.set_message(&chunk["promptFeedback"]["blockReasonMessage"]);
        }
        if is_number(&chunk["usageMetadata"]["promptTokenCount"]) {
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

    fn finish(&mut self, builder: &mut CompletionBuilder) -> Result<StopReason, ModelError> {
        if !self.usage.is_null() {
            builder.set_usage(parse_usage(&self.usage), &self.usage);
        }
        let Some(finish) = self.finish.take() else { return Err(truncated_stream_error()) };
        if let Some(error) = finish_error(&finish, &self.message) {
            return Err(error);
        }
        for mut part in std::mem::take(&mut self.parts) {
            part.close(builder);
            part.add_to_completion(builder);
        }
        let stop = stop_reason(&finish, builder);
        if matches!(stop, StopReason::Refusal | StopReason::ContentFilter) {
            let message = std::mem::take(&mut self.message);
            let text = if message.is_empty() { finish } else { message };
            builder.push_refusal(&text);
            // Sent beside the content, so there is no part to send back.
            builder.items.push(CompletionItem {
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

    fn apply_part(&mut self, part: &Value, builder: &mut CompletionBuilder) {
        let Value::Object(value) = part else { return };
        if let Some(call) = value.get("functionCall") {
            self.apply_call(call, value, builder);
            return;
        }
        let Some(text) = value.get("text").and_then(Value::as_str) else {
            self.parts.push(GeminiPart { value: value.clone(), call: None, open: false });
            return;
        };
        if is_thought(value) {
            builder.push_reasoning(text);
        } else {
            builder.push_text(text);
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
        builder: &mut CompletionBuilder,
    ) {
        let goes_on = call["willContinue"] == true;
        let fragments = call["partialArgs"].as_array().into_iter().flatten();
        let open = self.parts.last_mut().filter(|part| part.open && call["name"].is_null());
        if let Some(part) = open {
            for (key, value) in value.iter().filter(|(key, _)| *key != "functionCall") {
                part.value.insert(key.clone(), value.clone());
            }
            if let Some(function) = part.value.get_mut("functionCall") {
                fragments.for_each(|fragment| {
                    partial_arguments::apply_partial_argument(&mut function["args"], fragment);
                });
            }
            if !goes_on {
                part.close(builder);
            }
            return;
        }
        let name = call["name"].as_str().unwrap_or_default();
        let started = builder.begin_call(call["id"].as_str(), name);
        let mut part = GeminiPart { value: value.clone(), call: Some(started), open: true };
        if let Some(Value::Object(function)) = part.value.get_mut("functionCall") {
            function.remove("willContinue");
            function.remove("partialArgs");
            let args = function.entry("args").or_insert_with(|| json!({}));
            for fragment in fragments {
                partial_arguments::apply_partial_argument(args, fragment);
            }
        }
        if !goes_on {
            part.close(builder);
        }
        self.parts.push(part);
    }
}

impl GeminiPart {
    fn close(&mut self, builder: &mut CompletionBuilder) {
        if let (true, Some(call)) = (std::mem::replace(&mut self.open, false), &self.call) {
            builder.push_arguments(call.index, &self.arguments_json());
            builder.end_call(call);
        }
    }

    fn arguments_json(&self) -> String {
        let function = self.value.get("functionCall");
        function.map(|function| exact_json::to_text(&function["args"])).unwrap_or_default()
    }

    fn add_to_completion(mut self, builder: &mut CompletionBuilder) {
        let arguments = self.arguments_json();
        if let (Some(_), Some(function)) = (&self.call, self.value.get_mut("functionCall"))
            && let Some(args) = exact_json::tree_or_text(&arguments)
        {
            function["args"] = args;
        }
        let text = self.value.get("text").and_then(Value::as_str);
        let content = match (&self.call, text) {
            (Some(call), _) => CompletionContent::ToolCall(call.to_tool_call(&arguments)),
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
        builder.push_item(content, Value::Object(self.value));
    }
}

fn is_thought(part: &Map<String, Value>) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// Whether there is nothing but text in a part.
fn is_text_only(part: &Map<String, Value>) -> bool {
    part.keys().all(|key| key == "text" || key == "thought")
}

/// The error that a finish reason stands for, if any: a malformed call, which another attempt
/// may avoid, or a rejected conversation, which none does.
fn finish_error(finish: &str, message: &str) -> Option<ModelError> {
    let detail = if message.is_empty() { String::new() } else { format!(": {message}") };
    match finish {
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            let why = format!("malformed tool call ({finish}){detail}");
            Some(ModelError::Truncated(why))
        }
        "TOO_MANY_TOOL_CALLS" | "MISSING_THOUGHT_SIGNATURE" => {
            Some(ModelError::BadRequest(format!("{finish}{detail}")))
        }
        _ => None,
    }
}

fn stop_reason(finish: &str, builder: &CompletionBuilder) -> StopReason {
    match finish {
        "STOP" => builder.default_stop_reason(),
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
