//! Compaction: replacing a conversation that does not fit the model's context by a summary.

use futures::StreamExt as _;
use provost_proto::Fact;
use provost_proto::session::{CompletionPurpose, SessionCompacted};
use tokio_util::sync::CancellationToken;

use super::touched_paths::TouchedPaths;
use crate::model::{ModelError, ModelEvent, ModelMessage, ModelStream, ToolChoice};
use crate::session::budget::attempt_meter::AttemptMeter;
use crate::session::error::TurnError;
use crate::session::turn::delta_writer::{ChargeAttempt, CompletionOutcome};
use crate::session::turn::{Turn, TurnState};

const SUMMARY_PROMPT: &str = "The conversation is about to be cut. Write a summary of it for yourself, from \
    which you can go on without the rest: what the person wants, in their words; what was decided \
    and why; what was done, with the names of files and commands; what is open, and what comes \
    next. Call no tool. Write nothing but the summary.";

/// Bytes of each tool result that are kept when the request for a summary must shrink.
const MAX_EXCERPT_BYTES: usize = 2 * 1024;

/// How often a summary is requested, each time with a shorter conversation.
const MAX_SUMMARY_ATTEMPTS: usize = 3;

impl Turn {
    /// Has the model summarize the conversation, and replaces it by the summary.
    pub(crate) async fn compact_conversation(
        &self,
        state: &mut TurnState,
    ) -> Result<(), TurnError> {
        let mut messages = state.history.messages.clone();
        let last_message = last_user_message(&messages);
        for _ in 0..MAX_SUMMARY_ATTEMPTS {
            let mut request =
                self.build_request(&state.view, messages.clone(), &state.history.touched).await?;
            request.tool_choice = ToolChoice::None;
            request.messages.push(ModelMessage::user(SUMMARY_PROMPT));
            match self.request_completion(state, &mut request, CompletionPurpose::Summary).await {
                Err(TurnError::Model(ModelError::ContextLength(_))) => {
                    messages = shrink_messages(messages);
                }
                Err(error) => return Err(error),
                Ok(answer) => {
                    let summary = answer.text();
                    let mut text = format!("What came before, summarized:\n\n{}", summary.trim());
                    if let Some(last_message) = &last_message {
                        text.extend(["\n\nThe last thing that was said to you:\n\n", last_message]);
                    }
                    text.push_str("\n\nGo on.");
                    return self.apply_summary(state, text).await;
                }
            }
        }
        let why = "the conversation does not fit even in part for a summary".to_owned();
        Err(TurnError::Model(ModelError::ContextLength(why)))
    }

    async fn apply_summary(&self, state: &mut TurnState, summary: String) -> Result<(), TurnError> {
        let mut facts = std::mem::take(&mut state.pending_usage);
        let item = self.log.next_item_number();
        let (session, turn) = (self.log.session, self.id);
        let compacted = SessionCompacted { session, turn, item, summary: summary.clone() };
        facts.push(Fact::SessionCompacted(compacted));
        self.log.append_as_agent(&self.by, facts).await?;
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

/// The newer half from its first user message on, with shortened tool results.
fn shrink_messages(mut messages: Vec<ModelMessage>) -> Vec<ModelMessage> {
    let half = messages.len() / 2;
    let is_user = |message: &ModelMessage| matches!(message, ModelMessage::User { .. });
    let first = messages.iter().skip(half).position(is_user).map(|at| at + half);
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

/// Reads a stream to its end without showing it.
pub(crate) async fn read_stream_silently(
    mut stream: ModelStream,
    cancel: &CancellationToken,
    mut meter: AttemptMeter,
    charge_attempt: &ChargeAttempt<'_>,
) -> CompletionOutcome {
    let end = loop {
        tokio::select! {
            () = cancel.cancelled() => break Err(TurnError::Cancelled),
            event = stream.next() => match event {
                Some(Ok(ModelEvent::End { turn })) => break Ok(turn),
                Some(Ok(event)) => {
                    let used = meter.record_event(&event);
                    if let Some(shortfall) = used.and_then(|used| charge_attempt(&used).err()) {
                        break Err(TurnError::BudgetExceeded(shortfall));
                    }
                }
                Some(Err(error)) => break Err(TurnError::Model(error)),
                None => break Err(TurnError::Model(ModelError::Truncated("no end".to_owned()))),
            },
        }
    };
    let (attempts, is_estimated) = meter.finish(end.as_deref());
    CompletionOutcome { end, streamed: None, attempts, is_estimated }
}
