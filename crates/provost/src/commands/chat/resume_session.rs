//! A resumed session: its last messages, its state, and cancelling its running turn.

use provost_proto::session::{
    ItemContent, MessageAuthor, SessionDetail, SessionItem, SessionStatus,
};
use serde_json::{Value, json};

use super::chat_session::ChatSession;
use super::markdown::MarkdownRenderer;
use super::queued_messages::{join_text_parts, print_queued};
use crate::output::{bold, faint, print_line, print_stderr, sanitize_lines};

impl ChatSession {
    /// Prints the last messages, the queued ones, and whether a turn is running.
    pub(super) async fn print_session_state(&mut self) -> anyhow::Result<()> {
        let SessionDetail { session, items, .. } = self.client.get(&self.session_path("")).await?;
        let is_queued =
            |item: &SessionItem| session.queued.iter().any(|queued| queued.item == item.item);
        let (queued, sent): (Vec<_>, Vec<_>) = items.into_iter().partition(is_queued);
        let mut sent: Vec<_> = sent.into_iter().filter_map(message_from_item).collect();
        let last = sent.split_off(sent.len().saturating_sub(2));
        for (from, text) in last {
            match from {
                MessageAuthor::User => {
                    print_line(&format!("{}{}", bold("> "), sanitize_lines(&text)))?;
                }
                MessageAuthor::Assistant => {
                    let mut markdown = MarkdownRenderer::new();
                    let shown = markdown.push(&text);
                    print_line(&(shown + &markdown.finish()))?;
                }
            }
        }
        let queued: Vec<_> =
            queued.into_iter().filter_map(message_from_item).map(|(_, text)| text).collect();
        match session.status {
            SessionStatus::Running => {
                self.joined = session.turn.map(|turn| turn.id);
                print_queued(&queued);
                let more = match queued.len() {
                    0 => String::new(),
                    1 => ", and 1 message is queued".to_owned(),
                    n_queued => format!(", and {n_queued} messages are queued"),
                };
                print_stderr(&format!("A turn is running{more}. /cancel or Ctrl-C cancels it."));
            }
            SessionStatus::Interrupted => {
                print_queued(&queued);
                print_stderr("The last turn was interrupted; /continue continues it.");
            }
            SessionStatus::Idle => print_queued_after_stop(&queued),
            SessionStatus::Closed => print_stderr("This session is closed."),
        }
        Ok(())
    }

    /// Cancels the turn that was running when the chat joined the session, if it still is;
    /// returns whether it was.
    pub(super) async fn stop_joined_turn(&mut self) -> anyhow::Result<bool> {
        let Some(joined) = self.joined else { return Ok(false) };
        let SessionDetail { session, .. } = self.client.get(&self.session_path("")).await?;
        let is_running = session.status == SessionStatus::Running
            && session.turn.is_some_and(|turn| turn.id == joined);
        if !is_running {
            self.joined = None;
            return Ok(false);
        }
        print_stderr(&faint("\nCancelling the turn. Press Ctrl-C again to leave."));
        self.stop_current_turn().await
    }

    /// Cancels the running turn of the session; returns whether there was one.
    pub(super) async fn stop_current_turn(&mut self) -> anyhow::Result<bool> {
        let response: Value = self.client.post(&self.session_path("/cancel"), &json!({})).await?;
        if response["cancelled"] != true {
            return Ok(false);
        }
        self.joined = None;
        print_stderr("The turn was cancelled.");
        let SessionDetail { session, items, .. } = self.client.get(&self.session_path("")).await?;
        let is_queued =
            |item: &SessionItem| session.queued.iter().any(|queued| queued.item == item.item);
        let queued =
            items.into_iter().filter(is_queued).filter_map(message_from_item).map(|(_, text)| text);
        print_queued_after_stop(&queued.collect::<Vec<_>>());
        Ok(true)
    }
}

/// Prints the messages that a cancelled turn holds back, and how to send them.
fn print_queued_after_stop(queued: &[String]) {
    print_queued(queued);
    if !queued.is_empty() {
        print_stderr(&faint(
            "/continue continues the turn and then sends them; your next message is sent after them; \
             /drop withdraws them.",
        ));
    }
}

fn message_from_item(item: SessionItem) -> Option<(MessageAuthor, String)> {
    match item.content {
        ItemContent::Message { from, parts, .. } => Some((from, join_text_parts(&parts))),
        ItemContent::Tool { .. } | ItemContent::Compacted { .. } => None,
    }
}
