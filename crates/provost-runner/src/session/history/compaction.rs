//! Summarizing a conversation that no longer fits the model.

use futures::StreamExt as _;
use provost_proto::Fact;
use provost_proto::session::{CompletionPurpose, SessionCompacted};
use tokio_util::sync::CancellationToken;

use super::touched_paths::TouchedPaths;
use crate::model::{
    CompletionUsage, ModelError, ModelEvent, ModelMessage, ModelStream, ToolChoice,
};
use crate::session::error::TurnError;
use crate::session::turn::delta_writer::CompletionOutcome;
use crate::session::turn::{Turn, TurnState};

const SUMMARY_PROMPT: &str = "The conversation is about to be cut. Write a summary of it for yourself, from \
    which you can go on without the rest: what the person wants, in their words; what was decided \
    and why; what was done, with the names of files and commands; what is open, and what comes \
    next. Call no tool. Write nothing but the summary.";

/// How much of what a tool returned is told when a summary must fit.
const MAX_EXCERPT_BYTES: usize = 2 * 1024;

/// How often a summary is tried with less and less.
const MAX_SUMMARY_ATTEMPTS: usize = 3;

impl Turn {
    /// Has the model summarize what came before, and goes on from there.
    pub(crate) async fn compact_conversation(
        &self,
        state: &mut TurnState,
    ) -> Result<(), TurnError> {
        let mut messages = state.history.messages.clone();
        let asked = last_user_message(&messages);
        for _ in 0..MAX_SUMMARY_ATTEMPTS {
            let mut request =
                self.build_request(&state.view, messages.clone(), &state.history.touched).await?;
            request.tool_choice = ToolChoice::None;
            request.messages.push(ModelMessage::user(SUMMARY_PROMPT));
            match self.request_completion(state, &mut request, CompletionPurpose::Summary).await {
                Err(TurnError::Model(ModelError::ContextLength(_))) => {
                    messages = shrink_messages(messages)
                }
                Err(broken) => return Err(broken),
                Ok(answer) => {
                    let said = answer.text();
                    let mut text = format!("What came before, summarized:\n\n{}", said.trim());
                    if let Some(asked) = &asked {
                        text.extend(["\n\nThe last thing that was said to you:\n\n", asked]);
                    }
                    text.push_str("\n\nGo on.");
                    return self.apply_summary(state, text).await;
                }
            }
        }
        let why = "not even a summary of it fits".to_owned();
        Err(TurnError::Model(ModelError::ContextLength(why)))
    }

    async fn apply_summary(&self, state: &mut TurnState, summary: String) -> Result<(), TurnError> {
        let mut facts = std::mem::take(&mut state.pending_usage);
        let item = self.journal.next_item_number();
        let (session, turn) = (self.journal.session, self.id);
        let compacted = SessionCompacted { session, turn, item, summary: summary.clone() };
        facts.push(Fact::SessionCompacted(compacted));
        self.journal.append_as_agent(&self.by, facts).await?;
        state.history.messages = vec![ModelMessage::user(summary)];
        state.history.touched = TouchedPaths::default();
        state.progress.context = 0;
        Ok(())
    }
}

fn last_user_message(messages: &[ModelMessage]) -> Option<String> {
    messages.iter().rev().find_map(|message| match message {
        ModelMessage::User { text } => Some(text.clone()),
        ModelMessage::Assistant { .. } | ModelMessage::Results { .. } => None,
    })
}

/// The newer half, beginning with what a person said, and less of what tools returned.
fn shrink_messages(mut messages: Vec<ModelMessage>) -> Vec<ModelMessage> {
    let half = messages.len() / 2;
    let is_said = |message: &ModelMessage| matches!(message, ModelMessage::User { .. });
    let first = messages.iter().skip(half).position(is_said).map(|at| at + half);
    let mut kept = first.map_or_else(Vec::new, |first| messages.split_off(first));
    for message in &mut kept {
        if let ModelMessage::Results { results } = message {
            for result in results {
                result.output = crate::session::turn::tool_output::truncate_middle(
                    std::mem::take(&mut result.output),
                    MAX_EXCERPT_BYTES,
                );
            }
        }
    }
    kept
}

/// Reads a stream that nobody sees.
pub(crate) async fn read_stream_silently(
    mut stream: ModelStream,
    cancel: &CancellationToken,
) -> CompletionOutcome {
    let (mut usage, parts) = (CompletionUsage::default(), Vec::new());
    let end = loop {
        tokio::select! {
            () = cancel.cancelled() => break Err(TurnError::Cancelled),
            event = stream.next() => match event {
                Some(Ok(ModelEvent::End { turn })) => {
                    usage = turn.usage;
                    break Ok(turn);
                }
                Some(Ok(ModelEvent::Usage { usage: so_far })) => usage = so_far,
                Some(Ok(_)) => {}
                Some(Err(error)) => break Err(TurnError::Model(error)),
                None => break Err(TurnError::Model(ModelError::Truncated("no end".to_owned()))),
            },
        }
    };
    // Who saw nothing of it counts nothing of what was cut off.
    CompletionOutcome { end, parts, written: 0, usage }
}
