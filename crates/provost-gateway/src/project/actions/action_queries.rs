//! The state and the result of an action, for a client that did not wait for it.
//!
//! The outcome, the output of a command and the reason of a denial come from the log. Other
//! results are kept in memory for a while; see [`UnclaimedResults`].
//!
//! [`UnclaimedResults`]: crate::project::executor::unclaimed_results::UnclaimedResults

use provost_core::fold::{EventMetadata, ViewDocument, ViewKind, read_action_view};
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputData, OutputStream};
use provost_proto::{ActionId, ActionStatus, ActionView, Code, Fact, LogCursor, Stream};
use provost_store::EventScope;
use serde_json::{Value, json};

use super::ActionService;
use crate::audit_log::{AuditCursor, AuditFilter};
use crate::project::executor::add_sandbox_notes;
use crate::project::kernels::faults::failed_outcome;
use crate::{Caller, GatewayError};

/// How much of a command's output is returned, in bytes for each stream.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// How many pages of the log are searched for the events of an action.
const MAX_LOG_PAGES: usize = 64;

impl ActionService {
    /// The state of an action. Its requester also gets the result; a caller that may not see
    /// it is told that it does not exist.
    pub async fn get_action_for_caller(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<ActionView, GatewayError> {
        let action = self.get_action(id).await?;
        if caller.principal() == action.principal {
            return self.attach_action_result(action).await;
        }
        match caller.clone().into_reader() {
            Ok(reader) if reader.may_see(action.project) => Ok(action),
            Ok(_) | Err(_) => Err(GatewayError::ActionNotFound(id.to_owned())),
        }
    }

    /// The state of an action.
    pub(crate) async fn get_action(&self, id: &str) -> Result<ActionView, GatewayError> {
        let not_found = || GatewayError::ActionNotFound(id.to_owned());
        let parsed: ActionId = id.parse().map_err(|_| not_found())?;
        self.find_action(parsed).await?.ok_or_else(not_found)
    }

    /// The state of an action, if it was ever requested.
    pub async fn find_action(&self, id: ActionId) -> Result<Option<ActionView>, GatewayError> {
        if let Some(doc) = self.log.store().get_document(ViewKind::Actions, id.uuid()).await? {
            return Ok(doc.into_action());
        }
        // A read is recorded in one event.
        let Some(ViewDocument::Look(read)) =
            self.log.store().get_document(ViewKind::Looks, id.uuid()).await?
        else {
            return Ok(None);
        };
        let Some(event) = self.log.store().read_event_at(read.event).await? else {
            return Ok(None);
        };
        let event = event.decode_event()?;
        let fact = self.log.hydrate_event_fact(&event).await?;
        Ok(fact.and_then(|fact| read_action_view(EventMetadata::from_event(&event), &fact)))
    }

    async fn attach_action_result(&self, action: ActionView) -> Result<ActionView, GatewayError> {
        match (action.status, &action.outcome) {
            (ActionStatus::Denied, _) => {
                let facts = self.read_action_facts(&action, "ACTION_DENIED").await?;
                let fault = facts.into_iter().find_map(|fact| {
                    if let Fact::ActionDenied { fault, .. } = fact { Some(fault) } else { None }
                });
                Ok(ActionView { outcome: fault.map(failed_outcome), ..action })
            }
            (ActionStatus::Finished, Some(outcome)) if action.name == "terminal.runCommand" => {
                let result = self.read_command_output(&action, outcome).await?;
                Ok(ActionView { result: Some(result), ..action })
            }
            (ActionStatus::Finished, outcome) => {
                let failed = outcome.as_ref().is_some_and(|outcome| outcome.fault.is_some());
                let result = self.executor.unclaimed_results.get(action.id);
                let gone = (result.is_none() && !failed).then(result_gone_fault);
                Ok(ActionView { result, gone, ..action })
            }
            (
                ActionStatus::Requested
                | ActionStatus::Waiting
                | ActionStatus::Allowed
                | ActionStatus::Running,
                _,
            ) => Ok(action),
        }
    }

    /// The output of a command and how it ended, in the form of its result.
    async fn read_command_output(
        &self,
        action: &ActionView,
        outcome: &ActionOutcome,
    ) -> Result<Value, GatewayError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        for fact in self.read_action_facts(action, "ACTION_OUTPUT").await? {
            let Fact::ActionOutput { output, .. } = fact else { continue };
            let buffer = match output.stream {
                OutputStream::Stdout => &mut stdout,
                OutputStream::Stderr => &mut stderr,
            };
            let bytes = match output.data {
                OutputData::Bytes(bytes) => bytes.to_vec(),
                OutputData::Blob(blob) => {
                    self.log.store().get_blob(blob.hash).await?.unwrap_or_default()
                }
            };
            if buffer.len() + bytes.len() <= MAX_OUTPUT_BYTES {
                buffer.extend_from_slice(&bytes);
            }
        }
        let mut result = json!({
            "exitCode": outcome.exit_code,
            "signal": outcome.signal,
            "durationMs": outcome.duration_ms,
            "stdout": String::from_utf8_lossy(&stdout),
            "stderr": String::from_utf8_lossy(&stderr),
            "droppedBytes": outcome.summary["droppedBytes"],
        });
        add_sandbox_notes(outcome, &mut result);
        Ok(result)
    }

    /// The events of an action of one kind, the oldest first.
    async fn read_action_facts(
        &self,
        action: &ActionView,
        kind: &str,
    ) -> Result<Vec<Fact>, GatewayError> {
        const REQUESTED: &str = "ACTION_REQUESTED";
        let scope = EventScope::Stream(Stream::Project(action.project));
        let filter = AuditFilter {
            action: Some(action.id),
            kinds: vec![kind.to_owned(), REQUESTED.to_owned()],
            ..AuditFilter::default()
        };
        let (mut facts, mut before) = (Vec::new(), LogCursor::END);
        for _ in 0..MAX_LOG_PAGES {
            let page = self
                .audit
                .search(scope, AuditCursor::Before(before), LOG_PAGE_SIZE, &filter)
                .await?;
            let found_request = page.events.iter().any(|event| event.kind == REQUESTED);
            for event in page.events.iter().filter(|event| event.kind == kind) {
                facts.extend(self.log.hydrate_event_fact(event).await?);
            }
            match page.next.filter(|_| !found_request) {
                Some(next) => before = next,
                None => break,
            }
        }
        facts.reverse();
        Ok(facts)
    }
}

/// The action has ended, but its result is no longer known.
fn result_gone_fault() -> ErrorInfo {
    let message = "the action ended, but its result is not kept: it was returned to the request, \
                   or the daemon has restarted since; request the action again";
    ErrorInfo { code: Code::ResultGone, message: message.to_owned(), details: None }
}

/// How many events are read at once.
const LOG_PAGE_SIZE: usize = 500;
