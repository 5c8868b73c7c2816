//! A conversation in the order that every provider requires: each completion followed directly
//! by the results of its calls, each call with exactly one result.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::super::{
    Completion, ModelError, ModelMessage, ModelOrigin, ModelRequest, ModelToolResultStatus,
    ToolCall,
};
use super::CallIdFormat;

/// Output that the model gets for a call without a result.
const INTERRUPTED_RESULT: &str =
    "There is no result: the turn was interrupted before the call ended.";

/// One step of a conversation.
pub(super) enum ConversationStep<'a> {
    /// What a person assistant.
    User(&'a str),
    /// What a model assistant, and what came of its calls.
    Assistant(AssistantStep<'a>),
}

/// A turn in its place.
pub(super) struct AssistantStep<'a> {
    pub(super) turn: &'a Completion,
    /// Whether it goes back to the model that said it, and so as it came.
    pub(super) verbatim: bool,
    /// Whether no person has spoken since.
    pub(super) current: bool,
    /// In the order of the calls.
    pub(super) results: Vec<AnsweredToolCall<'a>>,
}

/// A call and what came of it.
pub(super) struct AnsweredToolCall<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) status: ModelToolResultStatus,
    pub(super) output: &'a str,
}

/// The steps of a request's conversation.
pub(super) fn build_conversation_steps<'a>(
    request: &'a ModelRequest,
    origin: &ModelOrigin,
) -> Result<Vec<ConversationStep<'a>>, ModelError> {
    let mut steps: Vec<ConversationStep<'a>> = Vec::new();
    for message in &request.messages {
        match message {
            ModelMessage::User { text } => {
                for step in &mut steps {
                    if let ConversationStep::Assistant(assistant) = step {
                        assistant.current = false;
                    }
                }
                steps.push(ConversationStep::User(text));
            }
            ModelMessage::Assistant { turn } => {
                steps.push(ConversationStep::Assistant(AssistantStep {
                    turn,
                    verbatim: turn.origin == *origin,
                    current: true,
                    results: turn.tool_calls().map(AnsweredToolCall::interrupted).collect(),
                }));
            }
            ModelMessage::Results { results } => {
                let Some(ConversationStep::Assistant(assistant)) = steps.last_mut() else {
                    return Err(unsendable_error("results without a turn before them"));
                };
                for result in results {
                    let mut answered = assistant.results.iter_mut();
                    let Some(answered) = answered.find(|have| have.call.id == result.call) else {
                        return Err(unsendable_error(
                            "a result of a call that the turn does not have",
                        ));
                    };
                    answered.status = result.status;
                    answered.output = &result.output;
                }
            }
        }
    }
    if !matches!(steps.first(), Some(ConversationStep::User(_))) {
        return Err(unsendable_error("a conversation that does not begin with a person"));
    }
    Ok(steps)
}

impl<'a> AnsweredToolCall<'a> {
    fn interrupted(call: &'a ToolCall) -> Self {
        Self { call, status: ModelToolResultStatus::Error, output: INTERRUPTED_RESULT }
    }
}

fn unsendable_error(what: &str) -> ModelError {
    ModelError::Unsendable(what.to_owned())
}

/// Adds parts of one side to a conversation in which the sides alternate: to the last
/// message if it is of the same side, whose parts are in this field.
pub(super) fn append_alternating(
    messages: &mut Vec<Value>,
    role: &str,
    field: &str,
    parts: Vec<Value>,
) {
    if parts.is_empty() {
        return;
    }
    if let Some(last) = messages.last_mut().filter(|last| last["role"] == role)
        && let Some(have) = last[field].as_array_mut()
    {
        have.extend(parts);
        return;
    }
    messages.push(json!({ "role": role, field: parts }));
}

/// The id of a call in a form that the provider takes. The same id always gives
/// the same form, so that a call and its result stay together.
pub(super) fn fit_call_id(id: &str, ids: CallIdFormat) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric();
    match ids {
        CallIdFormat::NineAlphanumeric if id.len() == 9 && id.chars().all(plain) => {
            Cow::Borrowed(id)
        }
        CallIdFormat::NineAlphanumeric => Cow::Owned(hash_call_id(id)),
        CallIdFormat::MaxLength(most) => {
            let allowed = |c: char| plain(c) || c == '_' || c == '-';
            if !id.is_empty() && id.len() <= most && id.chars().all(allowed) {
                Cow::Borrowed(id)
            } else {
                Cow::Owned(format!("call_{}", hash_call_id(id)))
            }
        }
    }
}

/// Nine letters and digits made of an id (FNV-1a).
fn hash_call_id(id: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let mut hash =
        id.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    // The low bits of this hash mix badly; fold the high ones in.
    hash ^= hash >> 32;
    let letter = |position: u32| {
        let bits = usize::try_from((hash >> (5 * position)) & 31).unwrap_or(0);
        char::from(LETTERS[bits])
    };
    (0..9).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_and_stay_different() {
        assert_eq!(fit_call_id("tk85n1k4m", CallIdFormat::NineAlphanumeric), "tk85n1k4m");
        assert_eq!(fit_call_id("toolu_01", CallIdFormat::MaxLength(40)), "toolu_01");
        let made: std::collections::BTreeSet<_> = (0..2000)
            .map(|n| fit_call_id(&format!("call_{n}"), CallIdFormat::NineAlphanumeric).into_owned())
            .collect();
        assert_eq!(made.len(), 2000);
        for id in ["", "a.b", "ü", &"x".repeat(65)] {
            let fitted = fit_call_id(id, CallIdFormat::MaxLength(64));
            assert!(fitted.starts_with("call_") && fitted.len() == 14, "{id} became {fitted}");
        }
    }
}
