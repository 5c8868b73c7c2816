//! Shell cells of a runtime in the daemon: each is an action `terminal.runCommand` of its own.
//!
//! So it is decided, confined and recorded like any other command: on the authority of the person
//! who started the runtime or, in a role, like that of an agent. The id of the action is that of
//! the execution: a daemon that was started again finds out whether it was requested, and takes the
//! output from the log where the notebook ends.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use provost_gateway::{
    ActionSubmission, Caller, Gateway, GatewayError, LocalRuntimeGrant, SubmissionOutcome,
};
use provost_proto::kernel::{ActionOutcome, OutputChunk, OutputData, OutputStream};
use provost_proto::notebook::{ExecutionOutcome, StreamName};
use provost_proto::{ActionId, Code, EventBodies, Fact, LogCursor, Stream, SubmitActionRequest};
use provost_store::{EventFilter, EventQuery, EventScope, LogTail, RecordedEvent, SearchFrom};
use serde_json::{Map, Value, json};

use crate::context::{ExecutionContext, RichOutput};
use crate::handler::{ExecutionEnd, ExecutionHandler};
use crate::text_decoder::TextDecoder;

/// The longest time that a cell may run: that of any command.
const TIMEOUT_MS: u64 = 3_600_000;

/// The most output of a cell: that of any command.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024 * 1024;

/// Runs cells as actions.
#[derive(Debug)]
pub struct ActionShellHandler {
    gateway: Arc<Gateway>,
    grant: LocalRuntimeGrant,
}

/// How the end of a run was found.
enum FollowedEnd {
    Finished(ActionOutcome),
    Denied { code: Code, why: String },
}

impl ActionShellHandler {
    /// Runs the cells of a notebook on this authority.
    pub fn new(gateway: Arc<Gateway>, grant: LocalRuntimeGrant) -> Self {
        Self { gateway, grant }
    }

    fn scope(&self) -> EventScope {
        EventScope::Stream(Stream::Project(self.grant.project()))
    }

    /// Requests the action, and follows it.
    async fn start(&self, context: &ExecutionContext) -> Result<ExecutionEnd, GatewayError> {
        let action = ActionId::new(context.execution().uuid());
        let from = *self.gateway.store().watch_head().borrow();
        let params = json!({
            "command": context.source(),
            "env": read_environment(context.parameters()),
            "timeoutMs": TIMEOUT_MS,
            "maxOutput": MAX_OUTPUT_BYTES,
        });
        let wanted = SubmitActionRequest {
            action: "terminal.runCommand".to_owned(),
            params,
            role: self.grant.name().role.clone(),
            session_id: None,
        };
        let caller = self.grant.action_caller();
        let submission =
            ActionSubmission { wanted, id: Some(action), command: None, wait: Duration::ZERO };
        let project = self.grant.project().uuid().to_string();
        let answer = match self.gateway.actions.submit_action(&caller, &project, submission).await {
            Ok(SubmissionOutcome::Finished(answer) | SubmissionOutcome::Running(answer)) => answer,
            Err(GatewayError::Fault(fault)) => {
                return Ok(report_denial(context, fault.code, fault.message).await);
            }
            Err(GatewayError::BadAction(bad)) => {
                return Ok(report_denial(context, Code::InvalidAction, bad.to_string()).await);
            }
            Err(error) => return Err(error),
        };
        if let Some(approval) = answer.approval_id {
            let text = format!(
                "Waits for an approval: `provost approvals allow {}` or `deny` answers it.",
                approval.uuid()
            );
            context.display(RichOutput::plain_text(text)).await;
        }
        // The same command may wait for an approval already, under another id.
        self.follow(context, &caller, answer.action_id, from).await
    }

    /// Copies the output of an action, from what the notebook has of it to its end.
    async fn follow(
        &self,
        context: &ExecutionContext,
        caller: &Caller,
        action: ActionId,
        from: LogCursor,
    ) -> Result<ExecutionEnd, GatewayError> {
        let mut tail = LogTail::new(Arc::clone(self.gateway.store()), self.scope(), from);
        let mut output = CopiedOutput::new(context);
        let mut is_cancelling = false;
        loop {
            let events = tokio::select! {
                events = tail.next() => events?,
                () = context.aborted(), if !is_cancelling => {
                    is_cancelling = true;
                    // One that has just ended is none to cancel.
                    if let Err(error) =
                        self.gateway.actions.cancel_action(caller, &action.to_string()).await
                    {
                        tracing::debug!(%error, "the cell is not cancelled");
                    }
                    continue;
                }
            };
            for event in events {
                if let Some(end) = self.take_event(&event, action, &mut output).await? {
                    output.finish().await;
                    return Ok(describe_end(context, end).await);
                }
            }
        }
    }

    async fn take_event(
        &self,
        event: &RecordedEvent,
        wanted: ActionId,
        output: &mut CopiedOutput<'_>,
    ) -> Result<Option<FollowedEnd>, GatewayError> {
        let event = event.decode_event()?;
        if !matches!(&*event.kind, "ACTION_OUTPUT" | "ACTION_FINISHED" | "ACTION_DENIED") {
            return Ok(None);
        }
        let event = self.gateway.log.with_body(event, EventBodies::Whole).await?;
        Ok(match event.fact() {
            Some(Fact::ActionOutput { action, output: chunk, .. }) if action == wanted => {
                output.print(&chunk).await;
                None
            }
            Some(Fact::ActionFinished { action, outcome, .. }) if action == wanted => {
                Some(FollowedEnd::Finished(outcome))
            }
            Some(Fact::ActionDenied { action, fault }) if action == wanted => {
                Some(FollowedEnd::Denied { code: fault.code, why: fault.message })
            }
            _ => None,
        })
    }

    /// Follows the action of an earlier daemon, or requests it if that did not.
    async fn resume_action(
        &self,
        context: &ExecutionContext,
    ) -> Result<ExecutionEnd, GatewayError> {
        let action = ActionId::new(context.execution().uuid());
        if self.gateway.actions.find_action(action).await?.is_none() {
            return self.start(context).await;
        }
        let from = self.find_request(action).await?;
        self.follow(context, &self.grant.action_caller(), action, from).await
    }

    /// The position of the request of an action.
    async fn find_request(&self, action: ActionId) -> Result<LogCursor, GatewayError> {
        let filter = EventFilter {
            kinds: vec!["ACTION_REQUESTED".to_owned()],
            words: vec![action.uuid().to_string()],
            ..EventFilter::default()
        };
        let mut from = LogCursor::START;
        loop {
            let query = EventQuery {
                scope: self.scope(),
                from: SearchFrom::After(from),
                limit: 1,
                filter: filter.clone(),
            };
            let page = self.gateway.store().search_events(query).await?;
            if let Some(event) = page.events.first() {
                return Ok(event.cursor());
            }
            match page.next {
                Some(next) => from = next,
                None => return Ok(LogCursor::START),
            }
        }
    }
}

impl ExecutionHandler for ActionShellHandler {
    fn execute(&self, context: ExecutionContext) -> BoxFuture<'_, ExecutionEnd> {
        Box::pin(async move { end_of(self.start(&context).await) })
    }

    fn resume(&self, context: ExecutionContext) -> BoxFuture<'_, ExecutionEnd> {
        Box::pin(async move { end_of(self.resume_action(&context).await) })
    }
}

fn end_of(ended: Result<ExecutionEnd, GatewayError>) -> ExecutionEnd {
    ended.unwrap_or_else(|error| ExecutionEnd::error(error.to_string()))
}

/// The parameters of the notebook as variables.
fn read_environment(parameters: &Map<String, Value>) -> Map<String, Value> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    parameters.iter().map(|(name, value)| (name.clone(), Value::String(text(value)))).collect()
}

async fn report_denial(context: &ExecutionContext, code: Code, why: String) -> ExecutionEnd {
    context.error(code.as_str(), &why, Vec::new()).await;
    ExecutionEnd::error(why)
}

async fn describe_end(context: &ExecutionContext, end: FollowedEnd) -> ExecutionEnd {
    let outcome = match end {
        FollowedEnd::Finished(outcome) => outcome,
        FollowedEnd::Denied { code: Code::Cancelled, .. } => return ExecutionEnd::CANCELLED,
        FollowedEnd::Denied { code, why } => return report_denial(context, code, why).await,
    };
    match (outcome.fault, outcome.exit_code, outcome.signal) {
        (Some(fault), _, _) if fault.code == Code::Cancelled || context.is_aborted() => {
            ExecutionEnd { outcome: ExecutionOutcome::Cancelled, why: Some(fault.message) }
        }
        (Some(fault), _, _) => report_denial(context, fault.code, fault.message).await,
        (None, Some(0), _) => ExecutionEnd::OK,
        (None, _, _) if context.is_aborted() => ExecutionEnd::CANCELLED,
        (None, Some(code), _) => ExecutionEnd::error(format!("exit code {code}")),
        (None, None, Some(signal)) => ExecutionEnd::error(format!("killed by signal {signal}")),
        (None, None, None) => ExecutionEnd::error("it ended in an unknown way"),
    }
}

/// Output on its way into the notebook, without what that has already.
struct CopiedOutput<'a> {
    context: &'a ExecutionContext,
    stdout: CopiedStream,
    stderr: CopiedStream,
}

/// One stream.
struct CopiedStream {
    name: StreamName,
    decoder: TextDecoder,
    /// How many bytes of text to leave out.
    known: u64,
}

impl CopiedStream {
    fn new(name: StreamName, context: &ExecutionContext) -> Self {
        Self { name, decoder: TextDecoder::default(), known: context.reported_bytes(name) }
    }

    async fn print(&mut self, context: &ExecutionContext, text: String) {
        let skipped = usize::try_from(self.known).unwrap_or(usize::MAX).min(text.len());
        self.known -= u64::try_from(skipped).unwrap_or_default();
        if let Some(rest) = text.get(skipped..).filter(|rest| !rest.is_empty()) {
            context.print(self.name, rest).await;
        }
    }
}

impl<'a> CopiedOutput<'a> {
    fn new(context: &'a ExecutionContext) -> Self {
        let stream = |name| CopiedStream::new(name, context);
        Self { context, stdout: stream(StreamName::Stdout), stderr: stream(StreamName::Stderr) }
    }

    async fn print(&mut self, chunk: &OutputChunk) {
        let stream = match chunk.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let text = match &chunk.data {
            OutputData::Bytes(bytes) => stream.decoder.decode(bytes),
            OutputData::Blob(lost) => format!("[{} bytes are missing in the log]\n", lost.size),
        };
        if chunk.dropped > 0 {
            let note = format!("[{} bytes were dropped here]\n", chunk.dropped);
            stream.print(self.context, note).await;
        }
        stream.print(self.context, text).await;
    }

    async fn finish(&mut self) {
        for stream in [&mut self.stdout, &mut self.stderr] {
            let text = stream.decoder.finish();
            stream.print(self.context, text).await;
        }
    }
}
