//! What waits to be sent, here and in the session: how it is told, and taken back.

use provost_proto::session::{ItemContent, MessagePart, QueuedMessage, SessionDetail};

use super::chat_session::ChatSession;
use super::line_input::LineInput;
use crate::output::{faint, print_stderr, sanitize_lines, sanitize_text};

impl ChatSession {
    /// Takes back what waits, here and in the session.
    pub(super) async fn withdraw_queued(&self, keyboard: &mut LineInput) -> anyhow::Result<()> {
        let mut taken = keyboard.drain_all();
        let path = format!("/api/sessions/{}", self.session.id.uuid());
        let detail: SessionDetail = self.client.get(&path).await?;
        for queued in &detail.session.queued {
            let message = format!("{path}/messages/{}", queued.message.uuid());
            let told: anyhow::Result<serde_json::Value> = self.client.delete(&message).await;
            match told {
                Ok(_) => taken.extend(find_queued_text(&detail, queued)),
                // It was sent or taken back meanwhile.
                Err(error) => print_stderr(&sanitize_lines(&format!("{error:#}"))),
            }
        }
        print_withdrawn(&taken);
        Ok(())
    }
}

/// What was said and waits, whoever said it.
fn find_queued_text(detail: &SessionDetail, queued: &QueuedMessage) -> Option<String> {
    let item = detail.items.iter().find(|item| item.item == queued.item)?;
    match &item.content {
        ItemContent::Message { parts, .. } => Some(join_text_parts(parts)),
        ItemContent::Tool { .. } | ItemContent::Compacted { .. } => None,
    }
}

/// The words of a message.
pub(super) fn join_text_parts(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => text.as_str(),
        MessagePart::Reasoning { .. } => "",
    });
    texts.collect()
}

/// Says what was taken back.
pub(super) fn print_withdrawn(lines: &[String]) {
    print_labeled_lines("taken back", lines);
    print_stderr(if lines.is_empty() { "Nothing waits." } else { "Nothing waits any more." });
}

/// Says what is held back, and how it is sent after all.
pub(super) fn print_held(lines: &[String]) {
    print_unsent(lines);
    if !lines.is_empty() {
        print_stderr(&faint(
            "/continue goes on and then sends it, what you say next sends it before; \
             /drop takes it back.",
        ));
    }
}

/// Says what waits in the session, whoever said it.
pub(super) fn print_queued(lines: &[String]) {
    print_labeled_lines("waits", lines);
}

/// Says what was typed for later, to somebody who leaves.
pub(super) fn print_unsent(lines: &[String]) {
    print_labeled_lines("not sent", lines);
}

fn print_labeled_lines(what: &str, lines: &[String]) {
    for line in lines {
        print_stderr(&faint(&format!("{what}: {}", sanitize_text(line.trim()))));
    }
}
