//! Writes a model's stream to the log: every delta is there before a client sees it.
//!
//! Deltas are batched while the previous append is in progress, and for a short interval when
//! many completions stream at once (see [`super::write_throttle`]). A single stream is not
//! delayed, and many streams cause few events.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use provost_core::session::budget::BudgetShortfall;
use provost_gateway::GatewayError;
use provost_proto::session::{
    AttemptFailed, AttemptRestarted, ContentDelta, MessagePart, ToolDelta,
};
use provost_proto::{Fact, SessionId, TurnId, limits};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::write_throttle::WriteThrottle;
use crate::model::{Completion, CompletionUsage, ModelEvent, ModelStream};
use crate::session::CallerIdentity;
use crate::session::budget::attempt_meter::AttemptMeter;
use crate::session::error::TurnError;
use crate::session::history::session_log::SessionLog;

/// The result of streaming one completion.
pub(crate) struct CompletionOutcome {
    /// The completion, or why it failed.
    pub(crate) end: Result<Box<Completion>, TurnError>,
    /// The text and reasoning so far.
    pub(crate) parts: Vec<MessagePart>,
    /// What each attempt used.
    pub(crate) attempts: Vec<CompletionUsage>,
    /// Whether any of that is an estimate.
    pub(crate) is_estimated: bool,
}

/// Checks that the budgets cover another attempt beside what a broken one used.
pub(crate) type ChargeAttempt<'a> =
    dyn Fn(&CompletionUsage) -> Result<(), BudgetShortfall> + Send + Sync + 'a;

/// Appends the deltas of one stream.
pub(crate) struct DeltaWriter<'a> {
    pub(crate) log: &'a Arc<SessionLog>,
    pub(crate) turn: TurnId,
    pub(crate) by: &'a CallerIdentity,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) throttle: &'a WriteThrottle,
    pub(crate) charge_attempt: &'a ChargeAttempt<'a>,
}

type PendingWrite = BoxFuture<'static, Result<(), GatewayError>>;

/// Deltas that are not appended yet, and totals of the stream.
struct DeltaBuffer {
    session: SessionId,
    turn: TurnId,
    pending: Vec<Fact>,
    bytes: usize,
    text: String,
    reasoning: String,
}

impl DeltaWriter<'_> {
    /// Reads the stream to its end. Dropping the stream closes the connection.
    pub(crate) async fn write_stream(
        &self,
        mut stream: ModelStream,
        mut meter: AttemptMeter,
    ) -> CompletionOutcome {
        let mut buffer = DeltaBuffer::new(self.log.session, self.turn);
        let mut writing: Option<PendingWrite> = None;
        let throttle = self.throttle.register_writer();
        let mut due = Instant::now();
        let end = loop {
            let has_unwritten = writing.is_none() && !buffer.pending.is_empty();
            let waits_until_due = if has_unwritten
                && (buffer.bytes >= limits::MAX_DELTA_BYTES || due <= Instant::now())
            {
                writing = Some(self.append_facts(buffer.take_pending()));
                due = Instant::now() + throttle.write_interval();
                false
            } else {
                has_unwritten
            };
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => break Err(TurnError::Cancelled),
                done = await_pending_write(&mut writing), if writing.is_some() => {
                    writing = None;
                    if let Err(error) = done {
                        break Err(error.into());
                    }
                }
                () = sleep_until(due), if waits_until_due => {}
                event = stream.next(), if buffer.bytes < limits::MAX_DELTA_BYTES => match event {
                    Some(Ok(ModelEvent::End { turn })) => break Ok(turn),
                    Some(Ok(event)) => {
                        let used = meter.record_event(&event);
                        buffer.record_event(event);
                        if let Some(shortfall) = used.and_then(|used| (self.charge_attempt)(&used).err()) {
                            break Err(TurnError::BudgetExceeded(shortfall));
                        }
                        if buffer.text.len() + buffer.reasoning.len() > limits::MAX_COMPLETION_BYTES {
                            let why = format!("the completion is longer than {} bytes", limits::MAX_COMPLETION_BYTES);
                            break Err(TurnError::Model(crate::model::ModelError::Protocol(why)));
                        }
                    }
                    Some(Err(error)) => break Err(TurnError::Model(error)),
                    None => {
                        let why = "the stream ended without its final event".to_owned();
                        break Err(TurnError::Model(crate::model::ModelError::Truncated(why)));
                    }
                },
            }
        };
        drop(stream);
        let end = self.flush_pending(end, writing, &mut buffer).await;
        let (attempts, is_estimated) = meter.finish(end.as_deref());
        CompletionOutcome { end, parts: buffer.into_parts(), attempts, is_estimated }
    }

    /// Waits for the append in progress and writes the remaining deltas.
    async fn flush_pending(
        &self,
        end: Result<Box<Completion>, TurnError>,
        writing: Option<PendingWrite>,
        buffer: &mut DeltaBuffer,
    ) -> Result<Box<Completion>, TurnError> {
        if let Some(writing) = writing {
            writing.await?;
        }
        if !buffer.pending.is_empty() {
            self.append_facts(buffer.take_pending()).await?;
        }
        end
    }

    fn append_facts(&self, facts: Vec<Fact>) -> PendingWrite {
        let (log, by) = (Arc::clone(self.log), self.by.clone());
        Box::pin(async move { log.append_as_agent(&by, facts).await })
    }
}

async fn await_pending_write(writing: &mut Option<PendingWrite>) -> Result<(), GatewayError> {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

impl DeltaBuffer {
    fn new(session: SessionId, turn: TurnId) -> Self {
        Self {
            session,
            turn,
            pending: Vec::new(),
            bytes: 0,
            text: String::new(),
            reasoning: String::new(),
        }
    }

    fn take_pending(&mut self) -> Vec<Fact> {
        self.bytes = 0;
        std::mem::take(&mut self.pending)
    }

    fn record_event(&mut self, event: ModelEvent) {
        let (session, turn) = (self.session, self.turn);
        match event {
            ModelEvent::TextDelta { text } | ModelEvent::Refusal { text } => {
                self.text.push_str(&text);
                self.bytes += text.len();
                if let Some(Fact::TextDelta(last)) = self.pending.last_mut() {
                    last.text.push_str(&text);
                } else {
                    self.pending.push(Fact::TextDelta(ContentDelta { session, turn, text }));
                }
            }
            ModelEvent::ReasoningDelta { text } => {
                self.reasoning.push_str(&text);
                self.bytes += text.len();
                if let Some(Fact::ReasoningDelta(last)) = self.pending.last_mut() {
                    last.text.push_str(&text);
                } else {
                    self.pending.push(Fact::ReasoningDelta(ContentDelta { session, turn, text }));
                }
            }
            ModelEvent::ToolCallBegin { index, name, .. } => {
                self.bytes += name.len();
                let tool = provost_core::session::tools::action_for_tool(&name);
                let tool = Some(tool.map_or(name, str::to_owned));
                let text = String::new();
                self.pending.push(Fact::ToolDelta(ToolDelta { session, turn, index, tool, text }));
            }
            ModelEvent::ToolCallArguments { index, delta } => self.push_arguments(index, delta),
            ModelEvent::Waiting { attempt, millis, reason, is_charged: charged } => {
                let (retry_in_ms, why) = (millis, reason);
                let failed = AttemptFailed { session, turn, attempt, retry_in_ms, why, charged };
                self.pending.push(Fact::AttemptFailed(failed));
            }
            ModelEvent::Restarted { attempt } => {
                (self.text, self.reasoning) = (String::new(), String::new());
                let restarted = AttemptRestarted { session, turn, attempt };
                self.pending.push(Fact::AttemptRestarted(restarted));
            }
            ModelEvent::ToolCallEnd { .. } | ModelEvent::Usage { .. } | ModelEvent::End { .. } => {}
        }
    }

    fn push_arguments(&mut self, index: u32, text: String) {
        let (session, turn) = (self.session, self.turn);
        self.bytes += text.len();
        if let Some(Fact::ToolDelta(last)) = self.pending.last_mut()
            && last.index == index
        {
            return last.text.push_str(&text);
        }
        self.pending.push(Fact::ToolDelta(ToolDelta { session, turn, index, tool: None, text }));
    }

    /// Text and reasoning so far.
    fn into_parts(self) -> Vec<MessagePart> {
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(MessagePart::Reasoning { text: self.reasoning });
        }
        if !self.text.is_empty() {
            parts.push(MessagePart::Text { text: self.text });
        }
        parts
    }
}
