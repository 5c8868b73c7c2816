//! A session that is gone on with: what was said last, what goes on in it, and stopping
//! that.

use provost_proto::session::{
    ItemContent, MessageAuthor, SessionDetail, SessionItem, SessionStatus,
};
use serde_json::{Value, json};

use super::markdown::Markdown;
use super::turn::Chat;
use super::waiting::{tell_waiting, text};
use crate::output::{bold, faint, line, plain_lines, remark};

impl Chat {
    /// What was said last, what waits, and whether a turn goes on.
    pub(super) async fn recall(&mut self) -> anyhow::Result<()> {
        let SessionDetail { session, items, .. } = self.client.get(&self.path("")).await?;
        let waits =
            |item: &SessionItem| session.queued.iter().any(|queued| queued.item == item.item);
        let (waiting, said): (Vec<_>, Vec<_>) = items.into_iter().partition(waits);
        let mut said: Vec<_> = said.into_iter().filter_map(message).collect();
        let last = said.split_off(said.len().saturating_sub(2));
        for (from, text) in last {
            match from {
                MessageAuthor::User => line(&format!("{}{}", bold("> "), plain_lines(&text)))?,
                MessageAuthor::Assistant => {
                    let mut markdown = Markdown::new();
                    let shown = markdown.push(&text);
                    line(&(shown + &markdown.end()))?;
                }
            }
        }
        let waiting: Vec<_> = waiting.into_iter().filter_map(message).map(|said| said.1).collect();
        match session.status {
            SessionStatus::Running => {
                self.joined = session.turn.map(|turn| turn.id);
                tell_waiting(&waiting);
                let more = match waiting.len() {
                    0 => String::new(),
                    1 => ", and 1 message waits".to_owned(),
                    n_waiting => format!(", and {n_waiting} messages wait"),
                };
                remark(&format!("A turn goes on here{more}. /cancel or Ctrl-C stops it."));
            }
            SessionStatus::Interrupted => {
                tell_waiting(&waiting);
                remark("The last turn was cut off; /continue goes on with it.");
            }
            SessionStatus::Idle => tell_stopped(&waiting),
            SessionStatus::Closed => remark("This session is closed."),
        }
        Ok(())
    }

    /// Stops the turn that went on when the person came, if it still does; tells whether.
    pub(super) async fn stop_joined(&mut self) -> anyhow::Result<bool> {
        let Some(joined) = self.joined else { return Ok(false) };
        let SessionDetail { session, .. } = self.client.get(&self.path("")).await?;
        let goes_on = session.status == SessionStatus::Running
            && session.turn.is_some_and(|turn| turn.id == joined);
        if !goes_on {
            self.joined = None;
            return Ok(false);
        }
        remark(&faint("\nStopping. Ctrl-C again leaves."));
        self.stop_any().await
    }

    /// Stops whatever goes on in the session; tells whether something did.
    pub(super) async fn stop_any(&mut self) -> anyhow::Result<bool> {
        let told: Value = self.client.post(&self.path("/cancel"), &json!({})).await?;
        if told["cancelled"] != true {
            return Ok(false);
        }
        self.joined = None;
        remark("The turn was stopped.");
        let SessionDetail { session, items, .. } = self.client.get(&self.path("")).await?;
        let waits =
            |item: &SessionItem| session.queued.iter().any(|queued| queued.item == item.item);
        let waiting = items.into_iter().filter(waits).filter_map(message).map(|said| said.1);
        tell_stopped(&waiting.collect::<Vec<_>>());
        Ok(true)
    }
}

/// Says what a stop holds back in the session, and what becomes of it.
fn tell_stopped(waiting: &[String]) {
    tell_waiting(waiting);
    if !waiting.is_empty() {
        remark(&faint(
            "/continue goes on and then sends it, what you say next sends it before; \
             /drop takes it back.",
        ));
    }
}

fn message(item: SessionItem) -> Option<(MessageAuthor, String)> {
    match item.content {
        ItemContent::Message { from, parts, .. } => Some((from, text(&parts))),
        ItemContent::Tool { .. } | ItemContent::Compacted { .. } => None,
    }
}
