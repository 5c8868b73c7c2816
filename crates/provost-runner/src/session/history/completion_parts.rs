//! The visible parts of a completion, and its size.

use provost_proto::session::MessagePart;

use crate::model::{Completion, CompletionContent};

/// Bytes that the model wrote: text, reasoning and calls, without the provider's framing.
pub(crate) fn written_bytes(answer: &Completion) -> usize {
    let bytes = |content: &CompletionContent| match content {
        CompletionContent::Text { text }
        | CompletionContent::Reasoning { text }
        | CompletionContent::Refusal { text } => text.len(),
        CompletionContent::ToolCall(call) => call.name.len() + call.arguments.len(),
        CompletionContent::Other { .. } => 0,
    };
    answer.items.iter().map(|item| bytes(&item.content)).sum()
}

/// The parts of a completion that people see.
pub(crate) fn visible_parts(answer: &Completion) -> Vec<MessagePart> {
    let part = |content: &CompletionContent| match content {
        CompletionContent::Text { text } => Some(MessagePart::Text { text: text.clone() }),
        CompletionContent::Reasoning { text } if !text.is_empty() => {
            Some(MessagePart::Reasoning { text: text.clone() })
        }
        CompletionContent::Refusal { text } => Some(MessagePart::Refusal { text: text.clone() }),
        CompletionContent::Reasoning { .. }
        | CompletionContent::ToolCall(_)
        | CompletionContent::Other { .. } => None,
    };
    answer.items.iter().filter_map(|item| part(&item.content)).collect()
}
