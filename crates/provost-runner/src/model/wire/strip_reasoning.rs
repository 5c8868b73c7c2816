//! Leaving out what only the one who wrote it can read.
//!
//! Encrypted reasoning and signatures are read by the provider, and by the account, that
//! made them. Where they are not any more, such as after a change of the key, a
//! conversation would be refused for ever with them, and goes on without.

use serde_json::{Value, json};

use super::WireFormat;
use super::gemini::SKIP_SIGNATURE_VALIDATION;

/// Takes it out of a request; tells whether there was any.
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
        // What was thought is told in plain text here.
        WireFormat::Chat => false,
    }
}

/// Keeps the elements of a list that are so; tells whether others were there.
fn retain_elements(list: &mut Value, is_kept: impl Fn(&Value) -> bool) -> bool {
    let Value::Array(list) = list else { return false };
    let n_before = list.len();
    list.retain(is_kept);
    list.len() < n_before
}

/// Changes the parts of each message; one of which none are left goes too.
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
