//! What a model is told of the project and of what it did, and people of what it said.

use provost_core::session::instructions::paths_in_arguments;
use provost_proto::runtime::RuntimeView;
use provost_proto::session::MessagePart;

use crate::model::{Content, Turn as Answered};

/// The most paths that are remembered; the newest count.
const TOUCHED: usize = 256;

/// The paths that the model's calls named, the newest first. They are gathered as the
/// answers come, since a long conversation is too much to read before each.
#[derive(Debug, Default)]
pub(super) struct Touched(Vec<String>);

impl Touched {
    /// Looks at what an answer calls.
    pub(super) fn see(&mut self, answer: &Answered) {
        let named = answer.calls().flat_map(|call| paths_in_arguments(&call.arguments));
        self.0.splice(..0, named.take(TOUCHED));
        self.0.truncate(TOUCHED);
    }

    /// The paths.
    pub(super) fn paths(&self) -> &[String] {
        &self.0
    }
}

/// What the project runs, in a few words.
pub(super) fn runs(runtime: Option<&RuntimeView>) -> String {
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
pub(super) fn written(answer: &Answered) -> usize {
    let bytes = |content: &Content| match content {
        Content::Text { text } | Content::Reasoning { text } | Content::Refusal { text } => {
            text.len()
        }
        Content::ToolCall(call) => call.name.len() + call.arguments.len(),
        Content::Other { .. } => 0,
    };
    answer.items.iter().map(|item| bytes(&item.content)).sum()
}

/// What people see of an answer.
pub(super) fn parts(answer: &Answered) -> Vec<MessagePart> {
    let part = |content: &Content| match content {
        Content::Text { text } => Some(MessagePart::Text { text: text.clone() }),
        Content::Reasoning { text } if !text.is_empty() => {
            Some(MessagePart::Reasoning { text: text.clone() })
        }
        Content::Refusal { text } => Some(MessagePart::Refusal { text: text.clone() }),
        Content::Reasoning { .. } | Content::ToolCall(_) | Content::Other { .. } => None,
    };
    answer.items.iter().filter_map(|item| part(&item.content)).collect()
}
