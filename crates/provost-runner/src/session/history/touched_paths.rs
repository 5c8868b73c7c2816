//! What a model is told of the project and of what it did, and people of what it said.

use provost_core::session::instructions::paths_in_arguments;
use provost_proto::runtime::RuntimeView;
use provost_proto::session::MessagePart;

use crate::model::{Completion as Answered, CompletionContent};

/// The most paths that are remembered; the newest count.
const MAX_TOUCHED_PATHS: usize = 256;

/// The paths that the model's calls named, the newest first. They are gathered as the
/// answers come, since a long conversation is too much to read before each.
#[derive(Debug, Default)]
pub(crate) struct TouchedPaths(Vec<String>);

impl TouchedPaths {
    /// Looks at what an answer calls.
    pub(crate) fn record_calls(&mut self, answer: &Answered) {
        let named = answer.tool_calls().flat_map(|call| paths_in_arguments(&call.arguments));
        self.0.splice(..0, named.take(MAX_TOUCHED_PATHS));
        self.0.truncate(MAX_TOUCHED_PATHS);
    }

    /// The paths.
    pub(crate) fn paths(&self) -> &[String] {
        &self.0
    }
}

/// What the project runs, in a few words.
pub(crate) fn describe_runtime(runtime: Option<&RuntimeView>) -> String {
    let Some(runtime) = runtime else { return "its dev server does not run".to_owned() };
    let status = serde_json::to_value(runtime.status).unwrap_or_default();
    let status = status.as_str().unwrap_or("stopped").to_owned();
    match runtime.preview.port {
        Some(port) => format!("its dev server is {status}, seen on port {port}"),
        None => format!("its dev server is {status}"),
    }
}

/// How many bytes the model wrote of an answer: what it said, thought and called, and
/// nothing of what its provider put around that.
pub(crate) fn completion_bytes(answer: &Answered) -> usize {
    let bytes = |content: &CompletionContent| match content {
        CompletionContent::Text { text }
        | CompletionContent::Reasoning { text }
        | CompletionContent::Refusal { text } => text.len(),
        CompletionContent::ToolCall(call) => call.name.len() + call.arguments.len(),
        CompletionContent::Other { .. } => 0,
    };
    answer.items.iter().map(|item| bytes(&item.content)).sum()
}

/// What people see of an answer.
pub(crate) fn completion_parts(answer: &Answered) -> Vec<MessagePart> {
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
