//! A session that is gone on with: what was said last, what goes on in it, and stopping
//! that.

use provost_proto::session::{
    ItemContent, MessageAuthor, SessionDetail, SessionItem, SessionStatus,
};
use serde_json::{Value, json};

use super::chat_session::ChatSession;
use super::markdown::MarkdownRenderer;
use super::queued_messages::{join_text_parts, print_queued};
use crate::output::{bold, faint, print_line, print_stderr, sanitize_lines};

impl ChatSession {
    /// What was said last, what waits, and whether a turn goes on.
    pub(super) async fn print_session_state(&mut self) -> anyhow::Result<()> {
        let SessionDetail { session, items, .. } = self.client.get(&self.session_path("")).await?;
        let waits =
            |item: &SessionItem| session.queued.iter().any(|queued| queued.item == item.item);
        let (waiting, said): (Vec<_>, Vec<_>) = items.into_iter().partition(waits);
        let mut said: Vec<_> = said.into_iter().filter_map(message_from_item).collect();
        let last = said.split_off(said.len().saturating_sub(2));
        for (from, text) in last {
            match from {
                MessageAuthor::User => {
                    print_line(&format!("{}{}", bold("> "), sanitize_lines(&text)))?
                }
                MessageAuthor::Assistant => {
                    let mut markdown = MarkdownRenderer::new();
                    let shown = markdown.push(&text);
                    print_line(&(shown + &markdown.finish()))?;
                }
            }
        }
        let waiting: Vec<_> =
            waiting.into_iter().filter_map(message_from_item).map(|said| said.1).collect();
        match session.status {
            SessionStatus::Running => {
                self.joined = session.turn.map(|turn| turn.id);
                print_queued(&waiting);
                let more = match waiting.len() {
                    0 => String::new(),
                    1 => ", and 1 message waits".to_owned(),
                    n_waiting => format!(", and {n_waiting} messages wait"),
                };
                print_stderr(&format!("A turn goes on here{more}. /cancel or Ctrl-C stops it."));
            }
            SessionStatus::Interrupted => {
                print_queued(&waiting);
                print_stderr("The last turn was cut off; /continue goes on with it.");
            }
            SessionStatus::Idle => print_queued_after_stop(&waiting),
            SessionStatus::Closed => print_stderr("This session is closed."),
        }
        Ok(())
    }

    /// Stops the turn that went on when the person came, if it still does; tells whether.
    pub(super) async fn stop_joined_turn(&mut self) -> anyhow::Result<bool> {
        let Some(joined) = self.joined else { return Ok(false) };
        let SessionDetail { session, .. } = self.client.get(&self.session_path("")).await?;
        let goes_on = session.status == SessionStatus::Running
            && session.turn.is_some_and(|turn| turn.id == joined);
        if !goes_on {
            self.joined = None;
            return Ok(false);
        }
        print_stderr(&faint("\nStopping. Ctrl-C again leaves."));
        self.stop_current_turn().await
    }

    /// Stops whatever goes on in the session; tells whether something did.
    pub(super) async fn stop_current_turn(&mut self) -> anyhow::Result<bool> {
        let told: Value = self.client.post(&self.session_path("/cancel"), &json!({})).await?;
        if told["cancelled"] != true {
            return Ok(false);
        }
        self.joined = None;
        print_stderr("The turn was stopped.");
        let SessionDetail { session, items, .. } = self.client.get(&self.session_path("")).await?;
        let waits =
            |item: &SessionItem| session.queued.iter().any(|queued| queued.item == item.item);
        let waiting =
            items.into_iter().filter(waits).filter_map(message_from_item).map(|said| said.1);
        print_queued_after_stop(&waiting.collect::<Vec<_>>());
        Ok(true)
    }
}

/// Says what a stop holds back in the session, and what becomes of it.
fn print_queued_after_stop(waiting: &[String]) {
    print_queued(waiting);
    if !waiting.is_empty() {
        print_stderr(&faint(
            "/continue goes on and then sends it, what you say next sends it before; \
             /drop takes it back.",
        ));
    }
}

fn message_from_item(item: SessionItem) -> Option<(MessageAuthor, String)> {
    match item.content {
        ItemContent::Message { from, parts, .. } => Some((from, join_text_parts(&parts))),
        ItemContent::Tool { .. } | ItemContent::Compacted { .. } => None,
    }
}
