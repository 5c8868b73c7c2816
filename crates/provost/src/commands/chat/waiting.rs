//! What waits to be sent, here and in the session: how it is told, and taken back.

use provost_proto::session::{ItemContent, MessagePart, QueuedMessage, SessionDetail};

use super::keyboard::Keyboard;
use super::turn::Chat;
use crate::output::{faint, plain, plain_lines, remark};

impl Chat {
    /// Takes back what waits, here and in the session.
    pub(super) async fn take_back(&self, keyboard: &mut Keyboard) -> anyhow::Result<()> {
        let mut taken = keyboard.take();
        let path = format!("/api/sessions/{}", self.session.id.uuid());
        let detail: SessionDetail = self.client.get(&path).await?;
        for queued in &detail.session.queued {
            let message = format!("{path}/messages/{}", queued.message.uuid());
            let told: anyhow::Result<serde_json::Value> = self.client.delete(&message).await;
            match told {
                Ok(_) => taken.extend(said_at(&detail, queued)),
                // It was sent or taken back meanwhile.
                Err(error) => remark(&plain_lines(&format!("{error:#}"))),
            }
        }
        tell_taken(&taken);
        Ok(())
    }
}

/// What was said and waits, whoever said it.
fn said_at(detail: &SessionDetail, queued: &QueuedMessage) -> Option<String> {
    let item = detail.items.iter().find(|item| item.item == queued.item)?;
    match &item.content {
        ItemContent::Message { parts, .. } => Some(text(parts)),
        ItemContent::Tool { .. } | ItemContent::Compacted { .. } => None,
    }
}

/// The words of a message.
pub(super) fn text(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => text.as_str(),
        MessagePart::Reasoning { .. } => "",
    });
    texts.collect()
}

/// Says what was taken back.
pub(super) fn tell_taken(lines: &[String]) {
    tell("taken back", lines);
    remark(if lines.is_empty() { "Nothing waits." } else { "Nothing waits any more." });
}

/// Says what is held back, and how it is sent after all.
pub(super) fn tell_held(lines: &[String]) {
    tell_unsent(lines);
    if !lines.is_empty() {
        remark(&faint(
            "/continue goes on and then sends it, what you say next sends it before; \
             /drop takes it back.",
        ));
    }
}

/// Says what waits in the session, whoever said it.
pub(super) fn tell_waiting(lines: &[String]) {
    tell("waits", lines);
}

/// Says what was typed for later, to somebody who leaves.
pub(super) fn tell_unsent(lines: &[String]) {
    tell("not sent", lines);
}

fn tell(what: &str, lines: &[String]) {
    for line in lines {
        remark(&faint(&format!("{what}: {}", plain(line.trim()))));
    }
}
