//! Queued messages, deferred here or queued in the session: printing and withdrawing them.

use provost_proto::session::{ItemContent, MessagePart, QueuedMessage, SessionDetail};

use super::chat_session::ChatSession;
use super::line_input::LineInput;
use crate::output::{faint, print_stderr, sanitize_lines, sanitize_text};

impl ChatSession {
    /// Withdraws all deferred lines and queued messages.
    pub(super) async fn withdraw_queued(&self, keyboard: &mut LineInput) -> anyhow::Result<()> {
        let mut withdrawn = keyboard.drain_all();
        let path = format!("/api/sessions/{}", self.session.id.uuid());
        let detail: SessionDetail = self.client.get(&path).await?;
        for queued in &detail.session.queued {
            let message = format!("{path}/messages/{}", queued.message.uuid());
            let deleted: anyhow::Result<serde_json::Value> = self.client.delete(&message).await;
            match deleted {
                Ok(_) => withdrawn.extend(find_queued_text(&detail, queued)),
                // It was sent or withdrawn in the meantime.
                Err(error) => print_stderr(&sanitize_lines(&format!("{error:#}"))),
            }
        }
        print_withdrawn(&withdrawn);
        Ok(())
    }
}

/// The text of a queued message.
fn find_queued_text(detail: &SessionDetail, queued: &QueuedMessage) -> Option<String> {
    let item = detail.items.iter().find(|item| item.item == queued.item)?;
    match &item.content {
        ItemContent::Message { parts, .. } => Some(join_text_parts(parts)),
        ItemContent::Tool { .. } | ItemContent::Compacted { .. } => None,
    }
}

/// The text of a message, without reasoning.
pub(super) fn join_text_parts(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => text.as_str(),
        MessagePart::Reasoning { .. } => "",
    });
    texts.collect()
}

/// Prints the withdrawn lines.
pub(super) fn print_withdrawn(lines: &[String]) {
    print_labeled_lines("withdrawn", lines);
    print_stderr(if lines.is_empty() { "No queued messages." } else { "No more queued messages." });
}

/// Prints the held lines, and how to send or withdraw them.
pub(super) fn print_held(lines: &[String]) {
    print_unsent(lines);
    if !lines.is_empty() {
        print_stderr(&faint(
            "/continue continues the turn and then sends them; your next message is sent after them; \
             /drop withdraws them.",
        ));
    }
}

/// Prints the messages that are queued in the session.
pub(super) fn print_queued(lines: &[String]) {
    print_labeled_lines("queued", lines);
}

/// Prints the deferred lines that were not sent.
pub(super) fn print_unsent(lines: &[String]) {
    print_labeled_lines("not sent", lines);
}

fn print_labeled_lines(what: &str, lines: &[String]) {
    for line in lines {
        print_stderr(&faint(&format!("{what}: {}", sanitize_text(line.trim()))));
    }
}
