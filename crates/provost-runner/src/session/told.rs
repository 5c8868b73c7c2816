//! What a model is told of the project and of what it did, and people of what it said.

use provost_core::session::instructions::paths;
use provost_proto::runtime::RuntimeView;
use provost_proto::session::Part;

use crate::model::{Content, Message, Turn as Answered};

/// The most paths that are remembered; the newest count.
const TOUCHED: usize = 256;

/// The paths that the model's calls named.
pub(super) fn touched(messages: &[Message]) -> Vec<String> {
    let answers = messages.iter().rev().filter_map(|message| match message {
        Message::Assistant { turn } => Some(turn),
        Message::User { .. } | Message::Results { .. } => None,
    });
    let calls = answers.flat_map(|turn| turn.calls());
    calls.flat_map(|call| paths(&call.arguments)).take(TOUCHED).collect()
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

/// What people see of an answer.
pub(super) fn parts(answer: &Answered) -> Vec<Part> {
    let part = |content: &Content| match content {
        Content::Text { text } => Some(Part::Text { text: text.clone() }),
        Content::Reasoning { text } if !text.is_empty() => {
            Some(Part::Reasoning { text: text.clone() })
        }
        Content::Refusal { text } => Some(Part::Refusal { text: text.clone() }),
        Content::Reasoning { .. } | Content::ToolCall(_) | Content::Other { .. } => None,
    };
    answer.items.iter().filter_map(|item| part(&item.content)).collect()
}
