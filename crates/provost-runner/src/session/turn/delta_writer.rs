//! Reads a model's stream and shows it while it comes: every piece is in the journal of the draft
//! before a client sees it. What the completion said goes into the log at its end.

use std::sync::Arc;

use futures::StreamExt as _;
use provost_core::session::budget::BudgetShortfall;
use provost_core::session::tools::action_for_tool;
use provost_gateway::{DraftPart, DraftWriter};
use provost_proto::session::{AttemptFailed, AttemptRestarted, DraftToolCall, MessagePart};
use provost_proto::{Fact, TurnId, limits};
use tokio_util::sync::CancellationToken;

use crate::model::{Completion, CompletionUsage, ModelError, ModelEvent, ModelStream};
use crate::session::CallerIdentity;
use crate::session::budget::attempt_meter::AttemptMeter;
use crate::session::error::TurnError;
use crate::session::history::session_log::SessionLog;

/// The result of streaming one completion.
pub(crate) struct CompletionOutcome {
    /// The completion, or why it failed.
    pub(crate) end: Result<Box<Completion>, TurnError>,
    /// What was streamed, if it was shown.
    pub(crate) streamed: Option<StreamedCompletion>,
    /// What each attempt used.
    pub(crate) attempts: Vec<CompletionUsage>,
    /// Whether any of that is an estimate.
    pub(crate) is_estimated: bool,
}

/// What the current attempt at a completion has streamed.
pub(crate) struct StreamedCompletion {
    pub(crate) draft: DraftWriter,
    text: String,
    reasoning: String,
    calls: Vec<DraftToolCall>,
    bytes: usize,
}

/// Checks that the budgets cover another attempt beside what a broken one used.
pub(crate) type ChargeAttempt<'a> =
    dyn Fn(&CompletionUsage) -> Result<(), BudgetShortfall> + Send + Sync + 'a;

/// Shows the deltas of one stream.
pub(crate) struct DeltaWriter<'a> {
    pub(crate) log: &'a Arc<SessionLog>,
    pub(crate) turn: TurnId,
    pub(crate) by: &'a CallerIdentity,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) charge_attempt: &'a ChargeAttempt<'a>,
}

impl DeltaWriter<'_> {
    /// Reads the stream to its end. Dropping the stream closes the connection.
    pub(crate) async fn write_stream(
        &self,
        mut stream: ModelStream,
        mut meter: AttemptMeter,
        draft: DraftWriter,
    ) -> CompletionOutcome {
        let mut streamed = StreamedCompletion::new(draft);
        let end = loop {
            let event = tokio::select! {
                biased;
                () = self.cancel.cancelled() => break Err(TurnError::Cancelled),
                event = stream.next() => event,
            };
            match event {
                Some(Ok(ModelEvent::End { turn })) => break Ok(turn),
                Some(Ok(event)) => {
                    let used = meter.record_event(&event);
                    if let Err(error) = self.write_event(event, &mut streamed).await {
                        break Err(error);
                    }
                    if let Some(shortfall) =
                        used.and_then(|used| (self.charge_attempt)(&used).err())
                    {
                        break Err(TurnError::BudgetExceeded(shortfall));
                    }
                    if streamed.bytes > limits::MAX_COMPLETION_BYTES {
                        let most = limits::MAX_COMPLETION_BYTES;
                        let why = format!("the completion is longer than {most} bytes");
                        break Err(TurnError::Model(ModelError::Protocol(why)));
                    }
                }
                Some(Err(error)) => break Err(TurnError::Model(error)),
                None => {
                    let why = "the stream ended without its final event".to_owned();
                    break Err(TurnError::Model(ModelError::Truncated(why)));
                }
            }
        };
        drop(stream);
        let end = match streamed.draft.close() {
            Ok(()) => end,
            Err(error) => Err(error.into()),
        };
        let (attempts, is_estimated) = meter.finish(end.as_deref());
        CompletionOutcome { end, streamed: Some(streamed), attempts, is_estimated }
    }

    async fn write_event(
        &self,
        event: ModelEvent,
        streamed: &mut StreamedCompletion,
    ) -> Result<(), TurnError> {
        let (session, turn) = (self.log.session, self.turn);
        match event {
            ModelEvent::TextDelta { text } | ModelEvent::Refusal { text } => {
                streamed.text.push_str(&text);
                streamed.push_text(DraftPart::Text, &text)?;
            }
            ModelEvent::ReasoningDelta { text } => {
                streamed.reasoning.push_str(&text);
                streamed.push_text(DraftPart::Reasoning, &text)?;
            }
            ModelEvent::ToolCallBegin { index, name, .. } => {
                streamed.begin_call(index, action_for_tool(&name).unwrap_or(&name))?;
            }
            ModelEvent::ToolCallArguments { index, delta } => {
                if let Some(call) = streamed.call_mut(index) {
                    call.arguments.push_str(&delta);
                }
                streamed.push_text(DraftPart::Call(index), &delta)?;
            }
            ModelEvent::Waiting { attempt, millis, reason, is_charged: charged } => {
                let (retry_in_ms, why) = (millis, reason);
                let failed = AttemptFailed { session, turn, attempt, retry_in_ms, why, charged };
                streamed.draft.fail_attempt(&failed, self.log.gateway.clock().now())?;
                self.log.append_as_agent(self.by, vec![Fact::AttemptFailed(failed)]).await?;
            }
            ModelEvent::Restarted { attempt } => {
                let (parts, calls) = streamed.take_content();
                let restarted = AttemptRestarted { session, turn, attempt, streamed: parts, calls };
                let facts = vec![Fact::AttemptRestarted(restarted)];
                let since = self.log.append_as_agent(self.by, facts).await?;
                streamed.draft.restart(attempt, since)?;
            }
            ModelEvent::ToolCallEnd { .. } | ModelEvent::Usage { .. } | ModelEvent::End { .. } => {}
        }
        Ok(())
    }
}

impl StreamedCompletion {
    fn new(draft: DraftWriter) -> Self {
        let (text, reasoning, calls) = (String::new(), String::new(), Vec::new());
        Self { draft, text, reasoning, calls, bytes: 0 }
    }

    fn push_text(&mut self, part: DraftPart, text: &str) -> Result<(), TurnError> {
        self.bytes += text.len();
        Ok(self.draft.push_text(part, text)?)
    }

    fn begin_call(&mut self, index: u32, tool: &str) -> Result<(), TurnError> {
        self.bytes += tool.len();
        if let Some(call) = self.call_mut(index) {
            tool.clone_into(&mut call.tool);
        }
        Ok(self.draft.begin_call(index, tool)?)
    }

    /// The call with this index; none beyond the limit of calls.
    fn call_mut(&mut self, index: u32) -> Option<&mut DraftToolCall> {
        let at = usize::try_from(index).ok().filter(|at| *at < limits::MAX_TOOL_CALLS)?;
        while self.calls.len() <= at {
            self.calls.push(DraftToolCall { tool: String::new(), arguments: String::new() });
        }
        self.calls.get_mut(at)
    }

    /// Text, reasoning and calls so far; nothing of them is left.
    pub(crate) fn take_content(&mut self) -> (Vec<MessagePart>, Vec<DraftToolCall>) {
        self.bytes = 0;
        let mut parts = Vec::new();
        let (text, reasoning) =
            (std::mem::take(&mut self.text), std::mem::take(&mut self.reasoning));
        if !reasoning.is_empty() {
            parts.push(MessagePart::Reasoning { text: reasoning });
        }
        if !text.is_empty() {
            parts.push(MessagePart::Text { text });
        }
        (parts, std::mem::take(&mut self.calls))
    }
}
