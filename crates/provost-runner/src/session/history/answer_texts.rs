//! A completion as its provider sent it, without the texts that the message has anyway.
//!
//! The text of a completion is a part of its message, stands in the neutral form of the completion
//! and once more in what the provider sent. The log has it once: a text of the completion that is
//! a part of the message is left out, and put back when the completion is sent to the model.

use provost_proto::session::{AnswerText, MessagePart};
use serde_json::Value;

/// Shorter texts stay where they are: naming their places would take more.
const MIN_SHARED_BYTES: usize = 64;

/// Leaves out the texts that are parts of the message; returns where they belong.
pub(crate) fn share_texts(answer: &mut Value, parts: &[MessagePart]) -> Vec<AnswerText> {
    let mut shared = Vec::new();
    share_below(answer, &mut String::new(), parts, &mut shared);
    shared
}

fn share_below(
    value: &mut Value,
    at: &mut String,
    parts: &[MessagePart],
    shared: &mut Vec<AnswerText>,
) {
    let len = at.len();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) if text.len() < MIN_SHARED_BYTES => {}
        Value::String(text) => {
            let part = parts.iter().position(|part| part_text(part) == text);
            if let Some(part) = part.and_then(|part| u32::try_from(part).ok()) {
                text.clear();
                shared.push(AnswerText { at: at.clone(), part });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                share_below(item, at, parts, shared);
                at.truncate(len);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                share_below(member, at, parts, shared);
                at.truncate(len);
            }
        }
    }
}

/// Puts the texts back. Returns whether all of them have a place and a part.
pub(crate) fn restore_texts(
    answer: &mut Value,
    parts: &[MessagePart],
    shared: &[AnswerText],
) -> bool {
    shared.iter().all(|text| {
        let part = usize::try_from(text.part).ok().and_then(|part| parts.get(part));
        match (answer.pointer_mut(&text.at), part) {
            (Some(place), Some(part)) => {
                *place = Value::from(part_text(part));
                true
            }
            (Some(_) | None, _) => false,
        }
    })
}

fn part_text(part: &MessagePart) -> &str {
    match part {
        MessagePart::Text { text }
        | MessagePart::Reasoning { text }
        | MessagePart::Refusal { text } => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_is_a_part_is_left_out_wherever_it_stands_and_put_back() {
        let (reply, thought) = ("said ".repeat(20), "thought ".repeat(20));
        let parts = [
            MessagePart::Reasoning { text: thought.clone() },
            MessagePart::Text { text: reply.clone() },
            MessagePart::Text { text: "short".to_owned() },
        ];
        let whole = json!({
            "items": [
                { "content": { "text": thought }, "native": { "a/b": [{ "~": thought }] } },
                { "content": { "text": reply }, "native": { "text": reply, "other": reply.len() } },
                { "content": { "text": "short" }, "native": format!("{reply}!") },
            ],
        });
        let mut answer = whole.clone();
        let shared = share_texts(&mut answer, &parts);
        assert_eq!(shared.len(), 4);
        let text = answer.to_string();
        assert!(!text.contains(&thought) && text.matches(&reply).count() == 1, "{text}");
        assert!(restore_texts(&mut answer, &parts, &shared));
        assert_eq!(answer, whole);
        assert!(!restore_texts(&mut answer, &parts[..1], &shared), "a part is missing");
        assert!(!restore_texts(&mut json!({}), &parts, &shared), "a place is missing");
    }
}
