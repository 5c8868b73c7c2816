//! After the daemon was away: what was under way is found in the log.

use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_gateway::{Cursor, Filter, GatewayError};
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputData, OutputStream};
use provost_proto::session::{
    ItemContent, MessageAuthor, MessagePart, SessionStatus, SessionView, ToolCallStatus, TurnStatus,
};
use provost_proto::{ActionId, ActionStatus, ActionView, Code, Fact, ProjectId, Seq, Stream};
use provost_store::EventScope;

use super::inbox::Ask;
use super::tools::Returned;
use super::{Runner, RunnerError, history, render};

/// What is known of an action that somebody else began.
#[derive(Debug)]
pub(super) enum Followed {
    /// What came of it.
    Told(Returned),
    /// It is over, and what it answered went to a daemon that is gone; this is all
    /// that can be said.
    Lost(Returned),
}

/// How many events of an action are read at once.
const PAGE: usize = 500;

impl Runner {
    /// Goes on with what a daemon before had under way, or says that it was cut off.
    /// Nobody goes on, and reserves anything, before all that was cut off is paid for.
    pub(super) async fn take_up(self: &Arc<Self>) -> Result<(), RunnerError> {
        let docs = self.gateway.store().list_documents(ViewKind::Sessions).await?;
        let mut going_on = Vec::new();
        for session in docs.into_iter().filter_map(ViewDocument::into_session) {
            match session.status {
                SessionStatus::Running => {
                    let read = history::read(&**self.gateway.store(), &session).await?;
                    if read.open.is_empty() {
                        self.interrupt(&session, read).await?;
                    } else {
                        going_on.push(session);
                    }
                }
                SessionStatus::Idle if !session.queued.is_empty() && !is_stopped(&session) => {
                    going_on.push(session);
                }
                SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Closed => {}
            }
        }
        for session in &going_on {
            self.remind(session);
        }
        Ok(())
    }

    fn remind(self: &Arc<Self>, session: &SessionView) {
        // It has just begun, so that its inbox has room.
        if let Err(error) = self.wake(session).try_send(Ask::TakeUp) {
            tracing::error!(%error, "a session could not be taken up");
        }
    }

    /// An action, if it ever arrived.
    pub(super) async fn action(&self, id: ActionId) -> Result<Option<ActionView>, RunnerError> {
        Ok(self.gateway.find_action(id).await?)
    }

    /// Waits for the end of an action that somebody else began, and tells it from
    /// the log.
    pub(super) async fn followed(
        &self,
        project: ProjectId,
        id: ActionId,
    ) -> Result<Followed, RunnerError> {
        let mut head = self.gateway.store().watch_head();
        loop {
            head.mark_unchanged();
            let missing = || GatewayError::ActionNotFound(id.to_string());
            let action = self.action(id).await?.ok_or_else(missing)?;
            match action.status {
                ActionStatus::Finished | ActionStatus::Denied => {
                    return self.told(project, &action).await;
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
    async fn told(&self, project: ProjectId, action: &ActionView) -> Result<Followed, RunnerError> {
        let kinds = ["ACTION_OUTPUT", "ACTION_DENIED", "ACTION_REQUESTED", "ACTION_READ"];
        let filter = Filter {
            action: Some(action.id),
            kinds: kinds.map(str::to_owned).into(),
            ..Filter::default()
        };
        let scope = EventScope::Stream(Stream::Project(project));
        let (mut cursor, mut printed, mut denied) = (Seq::MAX, Vec::new(), None);
        'pages: loop {
            let page = self.gateway.audit(scope, Cursor::Before(cursor), PAGE, &filter).await?;
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
            return Ok(Followed::Told(render::failed(&fault)));
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
        Ok(ended(action, &stdout, &stderr))
    }

    /// What a session said last, for the one that handed it a task.
    pub(super) async fn said_last(&self, view: &SessionView) -> Result<Returned, RunnerError> {
        let turn = view.turn.as_ref();
        let status = turn.map(|turn| turn.status);
        let mut items = history::items(&**self.gateway.store(), view).await?;
        items.retain(|item| item.turn.is_some() && item.turn == turn.map(|turn| turn.id));
        let text = items.iter().rev().find_map(|item| match &item.content {
            ItemContent::Message { from: MessageAuthor::Assistant, parts, .. } => {
                Some(plain(parts))
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
        Ok(Returned {
            status,
            output: render::cut(output, provost_proto::limits::MAX_TOOL_OUTPUT_BYTES),
        })
    }
}

/// Whether a person stopped the last turn: what waits does so until they want it.
pub(super) fn is_stopped(session: &SessionView) -> bool {
    let is_running = session.status == SessionStatus::Running;
    !is_running
        && session.turn.as_ref().is_some_and(|turn| {
            matches!(turn.status, TurnStatus::Cancelled | TurnStatus::Interrupted)
        })
}

fn plain(parts: &[MessagePart]) -> String {
    let texts = parts.iter().map(|part| match part {
        MessagePart::Text { text } | MessagePart::Refusal { text } => text.as_str(),
        MessagePart::Reasoning { .. } => "",
    });
    texts.collect()
}

/// What is known of an action whose answer went to a daemon that is gone.
fn ended(action: &ActionView, stdout: &[u8], stderr: &[u8]) -> Followed {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &action.outcome {
        Some(ActionOutcome { fault: Some(fault), .. }) => {
            let details = serde_json::json!({ "stdout": text(stdout), "stderr": text(stderr) });
            let returned = render::failed(&ErrorInfo { details: Some(details), ..fault.clone() });
            // Nobody knows whether it was done.
            if fault.code == Code::KernelLost {
                return Followed::Lost(returned);
            }
            Followed::Told(returned)
        }
        Some(outcome) if action.name == "terminal.runCommand" => {
            let result = serde_json::json!({
                "exitCode": outcome.exit_code,
                "signal": outcome.signal,
                "stdout": text(stdout),
                "stderr": text(stderr),
            });
            Followed::Told(render::done(&action.name, &result))
        }
        Some(_) => Followed::Lost(Returned {
            status: ToolCallStatus::Ok,
            output: "It was done, but its answer was lost when Provost restarted. If you need \
                     what it returned, look again."
                .to_owned(),
        }),
        None => Followed::Told(render::failed(&ErrorInfo {
            code: Code::Cancelled,
            message: "it did not run".to_owned(),
            details: None,
        })),
    }
}
