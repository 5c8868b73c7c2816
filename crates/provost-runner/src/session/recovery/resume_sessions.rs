//! After the daemon was away: what was under way is found in the log.

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_gateway::{AuditCursor, AuditFilter, GatewayError};
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputData, OutputStream};
use provost_proto::session::{
    ItemContent, MessageAuthor, MessagePart, SessionStatus, SessionView, ToolCallStatus, TurnStatus,
};
use provost_proto::{ActionId, ActionStatus, ActionView, Code, Fact, ProjectId, Seq, Stream};
use provost_store::EventScope;

use crate::session::actor::SessionRequest;
use crate::session::turn::tool_execution::ToolOutcome;
use crate::session::turn::tool_output;
use crate::session::{Runner, RunnerError, history};

/// What is known of an action that somebody else began.
#[derive(Debug)]
pub(crate) enum RecoveredOutcome {
    /// What came of it.
    Complete(ToolOutcome),
    /// It is over, and what it answered went to a daemon that is gone; this is all
    /// that can be said.
    ResultLost(ToolOutcome),
}

/// How many events of an action are read at once.
const AUDIT_PAGE_SIZE: usize = 500;

impl Runner {
    /// Goes on with what a daemon before had under way, or says that it was cut off.
    /// Nobody goes on, and reserves anything, before all that was cut off is paid for.
    pub(crate) async fn resume_sessions(self: &Arc<Self>) -> Result<(), RunnerError> {
        let docs = self.gateway.store().list_documents(ViewKind::Sessions).await?;
        let mut going_on = Vec::new();
        for session in docs.into_iter().filter_map(ViewDocument::into_session) {
            match session.status {
                SessionStatus::Running => {
                    let read = history::load_history(&**self.gateway.store(), &session).await?;
                    if read.open.is_empty() {
                        self.interrupt_turn(&session, read).await?;
                    } else {
                        going_on.push(session);
                    }
                }
                SessionStatus::Idle
                    if !session.queued.is_empty() && !is_stopped_by_person(&session) =>
                {
                    going_on.push(session);
                }
                SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Closed => {}
            }
        }
        for session in &going_on {
            self.resume_session(session);
        }
        Ok(())
    }

    fn resume_session(self: &Arc<Self>, session: &SessionView) {
        // It has just begun, so that its inbox has room.
        if let Err(error) = self.get_or_spawn_actor(session).try_send(SessionRequest::Resume) {
            tracing::error!(%error, "a session could not be taken up");
        }
    }

    /// An action, if it ever arrived.
    pub(crate) async fn find_action(
        &self,
        id: ActionId,
    ) -> Result<Option<ActionView>, RunnerError> {
        Ok(self.gateway.find_action(id).await?)
    }

    /// Waits for the end of an action that somebody else began, and tells it from
    /// the log.
    pub(crate) async fn await_action_outcome(
        &self,
        project: ProjectId,
        id: ActionId,
    ) -> Result<RecoveredOutcome, RunnerError> {
        let mut head = self.gateway.store().watch_head();
        loop {
            head.mark_unchanged();
            let missing = || GatewayError::ActionNotFound(id.to_string());
            let action = self.find_action(id).await?.ok_or_else(missing)?;
            match action.status {
                ActionStatus::Finished | ActionStatus::Denied => {
                    return self.load_action_outcome(project, &action).await;
                }
                ActionStatus::Requested
                | ActionStatus::Waiting
                | ActionStatus::Allowed
                | ActionStatus::Running => {}
            }
            head.changed().await.map_err(|_| RunnerError::Stopping)?;
        }
    }

    /// What the log tells of an action that has ended.
    async fn load_action_outcome(
        &self,
        project: ProjectId,
        action: &ActionView,
    ) -> Result<RecoveredOutcome, RunnerError> {
        let kinds = ["ACTION_OUTPUT", "ACTION_DENIED", "ACTION_REQUESTED", "ACTION_READ"];
        let filter = AuditFilter {
            action: Some(action.id),
            kinds: kinds.map(str::to_owned).into(),
            ..AuditFilter::default()
        };
        let scope = EventScope::Stream(Stream::Project(project));
        let (mut cursor, mut printed, mut denied) = (Seq::MAX, Vec::new(), None);
        'pages: loop {
            let page = self
                .gateway
                .search_audit_log(scope, AuditCursor::Before(cursor), AUDIT_PAGE_SIZE, &filter)
                .await?;
            for event in page.events {
                match event.fact() {
                    Some(Fact::ActionOutput { output, .. }) => printed.push(output),
                    Some(Fact::ActionDenied { fault, .. }) => denied = Some(fault),
                    // The first of them, so that nothing lies before it.
                    Some(_) => break 'pages,
                    None => {}
                }
            }
            match page.next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        if let Some(fault) = denied {
            return Ok(RecoveredOutcome::Complete(tool_output::render_failure(&fault)));
        }
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        for output in printed.into_iter().rev() {
            let bytes = match output.data {
                OutputData::Bytes(bytes) => bytes.to_vec(),
                OutputData::Blob(kept) => {
                    self.gateway.store().get_blob(kept.hash).await?.unwrap_or_default()
                }
            };
            match output.stream {
                OutputStream::Stdout => stdout.extend(bytes),
                OutputStream::Stderr => stderr.extend(bytes),
            }
        }
        Ok(classify_ended_action(action, &stdout, &stderr))
    }

    /// What a session said last, for the one that handed it a task.
    pub(crate) async fn load_handoff_outcome(
        &self,
        view: &SessionView,
    ) -> Result<ToolOutcome, RunnerError> {
        let turn = view.turn.as_ref();
        let status = turn.map(|turn| turn.status);
        let mut items = history::load_items(&**self.gateway.store(), view).await?;
        items.retain(|item| item.turn.is_some() && item.turn == turn.map(|turn| turn.id));
        let text = items.iter().rev().find_map(|item| match &item.content {
            ItemContent::Message { from: MessageAuthor::Assistant, parts, .. } => {
                Some(visible_text(parts))
            }
            ItemContent::Message { .. }
            | ItemContent::Tool { .. }
            | ItemContent::Compacted { .. } => None,
        });
        let text = text.unwrap_or_default();
        let (status, output) = match status {
            Some(TurnStatus::Finished) => (ToolCallStatus::Ok, text),
            Some(TurnStatus::Cancelled) => {
                (ToolCallStatus::Cancelled, format!("cancelled. {text}"))
            }
            Some(TurnStatus::Failed) => {
                let fault = turn.and_then(|turn| turn.fault.as_ref());
                let why = fault.map_or("it failed", |fault| fault.message.as_str());
                (ToolCallStatus::Error, format!("failed: {why}. {text}"))
            }
            Some(TurnStatus::Interrupted | TurnStatus::Running) | None => {
                (ToolCallStatus::Error, format!("it was interrupted. {text}"))
            }
        };
        Ok(ToolOutcome {
            status,
            output: tool_output::truncate_middle(
                output,
                provost_proto::limits::MAX_TOOL_OUTPUT_BYTES,
            ),
        })
    }
}

/// Whether a person stopped the last turn: what waits does so until they want it.
pub(crate) fn is_stopped_by_person(session: &SessionView) -> bool {
    let is_running = session.status == SessionStatus::Running;
    !is_running
        && session.turn.as_ref().is_some_and(|turn| {
            matches!(turn.status, TurnStatus::Cancelled | TurnStatus::Interrupted)
        })
}

fn visible_text(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => text.as_str(),
        MessagePart::Reasoning { .. } => "",
    });
    texts.collect()
}

/// What is known of an action whose answer went to a daemon that is gone.
fn classify_ended_action(action: &ActionView, stdout: &[u8], stderr: &[u8]) -> RecoveredOutcome {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &action.outcome {
        Some(ActionOutcome { fault: Some(fault), .. }) => {
            let details = serde_json::json!({ "stdout": text(stdout), "stderr": text(stderr) });
            let returned =
                tool_output::render_failure(&ErrorInfo { details: Some(details), ..fault.clone() });
            // Nobody knows whether it was done.
            if fault.code == Code::KernelLost {
                return RecoveredOutcome::ResultLost(returned);
            }
            RecoveredOutcome::Complete(returned)
        }
        Some(outcome) if action.name == "terminal.runCommand" => {
            let result = serde_json::json!({
                "exitCode": outcome.exit_code,
                "signal": outcome.signal,
                "stdout": text(stdout),
                "stderr": text(stderr),
            });
            RecoveredOutcome::Complete(tool_output::render_success(&action.name, &result))
        }
        Some(_) => RecoveredOutcome::ResultLost(ToolOutcome {
            status: ToolCallStatus::Ok,
            output: "It was done, but its answer was lost when Provost restarted. If you need \
                     what it returned, look again."
                .to_owned(),
        }),
        None => RecoveredOutcome::Complete(tool_output::render_failure(&ErrorInfo {
            code: Code::Cancelled,
            message: "it did not run".to_owned(),
            details: None,
        })),
    }
}
