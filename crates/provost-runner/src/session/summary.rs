//! Summarizing a conversation that no longer fits the model.

use futures::StreamExt as _;
use provost_proto::Fact;
use provost_proto::session::{CompletionPurpose, SessionCompacted};
use tokio_util::sync::CancellationToken;

use super::error::Broken;
use super::pump::Answer;
use super::told::Touched;
use super::turn::{State, Turn};
use crate::model::{Message, ModelError, ModelEvent, ModelStream, ToolChoice, Usage};

const WISH: &str = "The conversation is about to be cut. Write a summary of it for yourself, from \
    which you can go on without the rest: what the person wants, in their words; what was decided \
    and why; what was done, with the names of files and commands; what is open, and what comes \
    next. Call no tool. Write nothing but the summary.";

/// How much of what a tool returned is told when a summary must fit.
const EXCERPT: usize = 2 * 1024;

/// How often a summary is tried with less and less.
const TRIES: usize = 3;

impl Turn {
    /// Has the model summarize what came before, and goes on from there.
    pub(super) async fn compact(&self, state: &mut State) -> Result<(), Broken> {
        let mut messages = state.history.messages.clone();
        let asked = last_said(&messages);
        for _ in 0..TRIES {
            let mut request =
                self.request(&state.view, messages.clone(), &state.history.touched).await?;
            request.tool_choice = ToolChoice::None;
            request.messages.push(Message::user(WISH));
            match self.answer(state, &mut request, CompletionPurpose::Summary).await {
                Err(Broken::Model(ModelError::ContextLength(_))) => messages = less(messages),
                Err(broken) => return Err(broken),
                Ok(answer) => {
                    let said = answer.text();
                    let mut text = format!("What came before, summarized:\n\n{}", said.trim());
                    if let Some(asked) = &asked {
                        text.extend(["\n\nThe last thing that was said to you:\n\n", asked]);
                    }
                    text.push_str("\n\nGo on.");
                    return self.compacted(state, text).await;
                }
            }
        }
        let why = "not even a summary of it fits".to_owned();
        Err(Broken::Model(ModelError::ContextLength(why)))
    }

    async fn compacted(&self, state: &mut State, summary: String) -> Result<(), Broken> {
        let mut facts = std::mem::take(&mut state.pending_usage);
        let item = self.journal.place();
        let (session, turn) = (self.journal.session, self.id);
        let compacted = SessionCompacted { session, turn, item, summary: summary.clone() };
        facts.push(Fact::SessionCompacted(compacted));
        self.journal.model(&self.by, facts).await?;
        state.history.messages = vec![Message::user(summary)];
        state.history.touched = Touched::default();
        state.progress.context = 0;
        Ok(())
    }
}

fn last_said(messages: &[Message]) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        Message::User { text } => Some(text.clone()),
        Message::Assistant { .. } | Message::Results { .. } => None,
    })
}

/// The newer half, beginning with what a person said, and less of what tools returned.
fn less(mut messages: Vec<Message>) -> Vec<Message> {
    let half = messages.len() / 2;
    let is_said = |message: &Message| matches!(message, Message::User { .. });
    let first = messages.iter().skip(half).position(is_said).map(|at| at + half);
    let mut kept = first.map_or_else(Vec::new, |first| messages.split_off(first));
    for message in &mut kept {
        if let Message::Results { results } = message {
            for result in results {
                result.output = super::render::cut(std::mem::take(&mut result.output), EXCERPT);
            }
        }
    }
    kept
}

/// Reads a stream that nobody sees.
pub(super) async fn quietly(mut stream: ModelStream, cancel: &CancellationToken) -> Answer {
    let (mut usage, parts) = (Usage::default(), Vec::new());
    let end = loop {
        tokio::select! {
            () = cancel.cancelled() => break Err(Broken::Cancelled),
            event = stream.next() => match event {
                Some(Ok(ModelEvent::End { turn })) => {
                    usage = turn.usage;
                    break Ok(turn);
                }
                Some(Ok(ModelEvent::Usage { usage: so_far })) => usage = so_far,
                Some(Ok(_)) => {}
                Some(Err(error)) => break Err(Broken::Model(error)),
                None => break Err(Broken::Model(ModelError::Truncated("no end".to_owned()))),
            },
        }
    };
    // Who saw nothing of it counts nothing of what was cut off.
    Answer { end, parts, written: 0, usage }
}
