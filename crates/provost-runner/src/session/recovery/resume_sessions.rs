//! Resuming sessions after a restart, and outcomes of actions that another daemon started.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_gateway::{AuditCursor, AuditFilter, GatewayError, JournaledDraft};
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputData, OutputStream};
use provost_proto::session::{
    ItemContent, MessageAuthor, MessagePart, SessionStatus, SessionView, ToolCallStatus, TurnStatus,
};
use provost_proto::{
    ActionId, ActionStatus, ActionView, Code, Fact, LogCursor, ProjectId, SessionId, Stream,
};
use provost_store::EventScope;

use super::unlogged_drafts::DraftCharge;
use crate::session::actor::SessionRequest;
use crate::session::turn::tool_execution::ToolOutcome;
use crate::session::turn::tool_output;
use crate::session::{Runner, RunnerError, history};

/// What the log tells about an action that another daemon or request started.
#[derive(Debug)]
pub(crate) enum RecoveredOutcome {
    /// The result is known.
    Complete(ToolOutcome),
    /// The action ended, but its result went to a daemon that is gone; this describes that.
    ResultLost(ToolOutcome),
}

/// Events of an action that are read at once.
const AUDIT_PAGE_SIZE: usize = 500;

impl Runner {
    /// Resumes turns with open tool calls and sessions with queued messages, and marks turns
    /// that were cut off in a completion as interrupted. Nothing resumes, and so reserves
    /// budget, before all interrupted completions are charged.
    pub(crate) async fn resume_sessions(self: &Arc<Self>) -> Result<(), RunnerError> {
        let docs = self.gateway.log.list_open_documents(ViewKind::Sessions).await?;
        let mut journals = self.record_earlier_journals().await?;
        let mut resumable = Vec::new();
        for session in docs.into_iter().filter_map(ViewDocument::into_session) {
            match session.status {
                SessionStatus::Running => {
                    let read = history::load_history(&**self.gateway.store(), &session).await?;
                    if read.open.is_empty() {
                        let journaled = journals.remove(&session.id);
                        self.interrupt_turn(&session, read, journaled).await?;
                    } else {
                        resumable.push(session);
                    }
                }
                SessionStatus::Idle
                    if !session.queued.is_empty() && !must_wait_for_person(&session) =>
                {
                    resumable.push(session);
                }
                SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Closed => {}
            }
        }
        // What they hold is in the log now, or was there before the daemon ended.
        self.gateway.drafts.remove_journals()?;
        for session in &resumable {
            self.resume_session(session);
        }
        Ok(())
    }

    /// Puts into the log what completions of earlier daemons had streamed whose turns are over.
    /// Returns the drafts of turns that are not, by session.
    async fn record_earlier_journals(
        self: &Arc<Self>,
    ) -> Result<HashMap<SessionId, JournaledDraft>, RunnerError> {
        let mut open = HashMap::new();
        for journaled in self.gateway.drafts.read_journals()? {
            let id = journaled.draft.session;
            let Some(session) = self.gateway.sessions.find_session(id).await? else { continue };
            let is_running = session.status == SessionStatus::Running;
            if is_running && session.turn.as_ref().is_some_and(|turn| turn.id == journaled.turn) {
                open.insert(id, journaled);
            } else {
                let charge = DraftCharge::Missing;
                self.record_journaled(&session, &journaled, session.items, charge).await?;
            }
        }
        Ok(open)
    }

    fn resume_session(self: &Arc<Self>, session: &SessionView) {
        // The actor has just started, so its inbox has room.
        if let Err(error) = self.get_or_spawn_actor(session).try_send(SessionRequest::Resume) {
            tracing::error!(%error, "cannot resume a session");
        }
    }

    /// An action, if its request reached the log.
    pub(crate) async fn find_action(
        &self,
        id: ActionId,
    ) -> Result<Option<ActionView>, RunnerError> {
        Ok(self.gateway.actions.find_action(id).await?)
    }

    /// Waits for the end of an action that another daemon or request started, and reads its
    /// outcome from the log.
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

    /// Reads the outcome of an ended action from the log.
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
        let (mut cursor, mut printed, mut denied) = (LogCursor::END, Vec::new(), None);
        'pages: loop {
            let page = self
                .gateway
                .audit
                .search(scope, AuditCursor::Before(cursor), AUDIT_PAGE_SIZE, &filter)
                .await?;
            for event in page.events {
                match event.fact() {
                    Some(Fact::ActionOutput { output, .. }) => printed.push(output),
                    Some(Fact::ActionDenied { fault, .. }) => denied = Some(fault),
                    // The request is the action's first event: nothing precedes it.
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

    /// The last message of a session, as the result of the handoff to it.
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

/// Whether the last turn was cancelled or interrupted, so that queued messages wait until the
/// session is continued.
pub(crate) fn must_wait_for_person(session: &SessionView) -> bool {
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

/// The outcome of an ended action as far as the log tells it.
fn classify_ended_action(action: &ActionView, stdout: &[u8], stderr: &[u8]) -> RecoveredOutcome {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &action.outcome {
        Some(ActionOutcome { fault: Some(fault), .. }) => {
            let details = serde_json::json!({ "stdout": text(stdout), "stderr": text(stderr) });
            let returned =
                tool_output::render_failure(&ErrorInfo { details: Some(details), ..fault.clone() });
            // It is unknown whether the action took effect.
            if fault.code == Code::KernelLost {
                return RecoveredOutcome::ResultLost(returned);
            }
            RecoveredOutcome::Complete(returned)
        }
        Some(outcome) if action.name == "terminal.runCommand" => {
            let mut result = serde_json::json!({
                "exitCode": outcome.exit_code,
                "signal": outcome.signal,
                "stdout": text(stdout),
                "stderr": text(stderr),
            });
            provost_gateway::add_sandbox_notes(outcome, &mut result);
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
