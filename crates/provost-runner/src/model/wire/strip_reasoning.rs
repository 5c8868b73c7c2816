//! Removes reasoning that its provider cannot read any more.
//!
//! Only the provider and account that made encrypted reasoning and signatures can read them.
//! After a change of the key, for example, a conversation with them would be rejected for ever;
//! it continues without them.

use serde_json::{Value, json};

use super::WireFormat;
use super::gemini::SKIP_SIGNATURE_VALIDATION;

/// Removes it from a request; returns whether there was any.
pub(crate) fn strip_signed_reasoning(wire: WireFormat, body: &mut Value) -> bool {
    match wire {
        WireFormat::Responses => {
            retain_elements(&mut body["input"], |item| item["type"] != "reasoning")
        }
        WireFormat::Messages => {
            let signed = ["thinking", "redacted_thinking"];
            let is_plain = |block: &Value| !signed.iter().any(|kind| block["type"] == *kind);
            edit_message_parts(&mut body["messages"], "content", |blocks| {
                retain_elements(blocks, is_plain)
            })
        }
        WireFormat::Gemini => edit_message_parts(&mut body["contents"], "parts", strip_signatures),
        // This format has reasoning in plain text only.
        WireFormat::Chat => false,
    }
}

/// Keeps matching elements of an array; returns whether others were removed.
fn retain_elements(list: &mut Value, is_kept: impl Fn(&Value) -> bool) -> bool {
    let Value::Array(list) = list else { return false };
    let n_before = list.len();
    list.retain(is_kept);
    list.len() < n_before
}

/// Changes the parts of each message, and removes messages without parts.
fn edit_message_parts(
    messages: &mut Value,
    field: &str,
    change: impl Fn(&mut Value) -> bool,
) -> bool {
    let mut is_changed = false;
    for message in messages.as_array_mut().into_iter().flatten() {
        is_changed |= change(&mut message[field]);
    }
    retain_elements(messages, |message| {
        message[field].as_array().is_none_or(|parts| !parts.is_empty())
    });
    is_changed
}

fn strip_signatures(parts: &mut Value) -> bool {
    let mut is_changed = false;
    for part in parts.as_array_mut().into_iter().flatten() {
        let is_call = part["functionCall"].is_object();
        let Value::Object(fields) = part else { continue };
        let signature = fields.remove("thoughtSignature");
        is_changed |=
            signature.as_ref().is_some_and(|signature| signature != SKIP_SIGNATURE_VALIDATION);
        if is_call && signature.is_some() {
            fields.insert("thoughtSignature".to_owned(), json!(SKIP_SIGNATURE_VALIDATION));
        }
    }
    let is_thought = |part: &Value| part["thought"] == true;
    let is_empty = |part: &Value| part.as_object().is_some_and(serde_json::Map::is_empty);
    let is_silent = |part: &Value| part["text"] == "";
    let others = |part: &Value| !is_thought(part) && !is_empty(part) && !is_silent(part);
    retain_elements(parts, others) || is_changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_left_out_and_everything_else_stays() {
        for (wire, mut body, left) in [
            (
                WireFormat::Responses,
                json!({ "input": [{ "type": "reasoning" }, { "type": "function_call" }] }),
                json!({ "input": [{ "type": "function_call" }] }),
            ),
            (
                WireFormat::Messages,
                json!({ "messages": [
                    { "content": [{ "type": "thinking" }, { "type": "text" }] },
                    { "content": [{ "type": "redacted_thinking" }] },
                ] }),
                json!({ "messages": [{ "content": [{ "type": "text" }] }] }),
            ),
            (
                WireFormat::Gemini,
                json!({ "contents": [{ "parts": [
                    { "text": "Hm", "thought": true },
                    { "text": "A", "thoughtSignature": "x" },
                    { "functionCall": {}, "thoughtSignature": "x" },
                    { "text": "", "thoughtSignature": "x" },
                ] }] }),
                json!({ "contents": [{ "parts": [
                    { "text": "A" },
                    { "functionCall": {}, "thoughtSignature": SKIP_SIGNATURE_VALIDATION },
                ] }] }),
            ),
        ] {
            assert!(strip_signed_reasoning(wire, &mut body), "{wire:?}");
            assert_eq!(body, left, "{wire:?}");
            assert!(
                !strip_signed_reasoning(wire, &mut body),
                "{wire:?} has nothing more to forget"
            );
        }
    }
}
