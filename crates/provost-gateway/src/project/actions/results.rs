//! What became of an action, for whoever asked for it and did not wait.
//!
//! The log says how it ended, what a command printed and why it was denied. What
//! else came out is kept in memory only, for a while: what a file holds has no
//! place in the log.

use parking_lot::Mutex;
use std::collections::VecDeque;

use provost_core::fold::{EventMetadata, ViewDocument, ViewKind, read_action_view};
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputData, OutputStream};
use provost_proto::{ActionId, ActionStatus, ActionView, Code, Fact, RawJson, Seq, Stream};
use provost_store::EventScope;
use serde_json::{Value, json};

use crate::audit_log::{AuditCursor, AuditFilter};
use crate::project::executor::{ExecutionResult, failed_outcome};
use crate::{Caller, Gateway, GatewayError};

/// Results that are kept, and the longest of them, in bytes: 32 MiB at most.
const MAX_KEPT_RESULTS: usize = 32;
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// How much of what a command printed is put together, in bytes for each stream.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;

/// How many pages of the log are looked through: what was asked for longer ago is
/// in the log, where a person finds it.
const MAX_LOG_PAGES: usize = 64;

/// Results that nobody waited for.
#[derive(Debug, Default)]
pub(crate) struct UnclaimedResults(Mutex<VecDeque<(ActionId, RawJson)>>);

impl UnclaimedResults {
    /// Keeps what came out, unless it is too long.
    pub(crate) fn store_result(
        &self,
        action: ActionId,
        ended: &Result<ExecutionResult, GatewayError>,
    ) {
        let Ok(ExecutionResult::Finished(result)) = ended else { return };
        if result.byte_len() > MAX_RESULT_BYTES {
            return;
        }
        let mut kept = self.0.lock();
        kept.truncate(MAX_KEPT_RESULTS - 1);
        kept.push_front((action, result.clone()));
    }

    fn get(&self, action: ActionId) -> Option<Value> {
        let kept = self.0.lock();
        kept.iter().find(|(id, _)| *id == action).map(|(_, result)| result.to_value())
    }
}

impl Gateway {
    /// An action, as far as it has come. Whoever asked for it is also told what came
    /// out; for whoever may not see it, it is not there.
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

    /// An action, as far as it has come.
    pub(crate) async fn get_action(&self, id: &str) -> Result<ActionView, GatewayError> {
        let not_found = || GatewayError::ActionNotFound(id.to_owned());
        let parsed: ActionId = id.parse().map_err(|_| not_found())?;
        self.find_action(parsed).await?.ok_or_else(not_found)
    }

    /// An action, if it ever arrived.
    pub async fn find_action(&self, id: ActionId) -> Result<Option<ActionView>, GatewayError> {
        if let Some(doc) = self.store.get_document(ViewKind::Actions, id.uuid()).await? {
            return Ok(doc.into_action());
        }
        // All that is known of a look stands in one event.
        let Some(ViewDocument::Look(look)) =
            self.store.get_document(ViewKind::Looks, id.uuid()).await?
        else {
            return Ok(None);
        };
        let page = self.store.read_events(EventScope::All, look.event.saturating_sub(1), 1).await?;
        let Some(event) = page.events.first() else { return Ok(None) };
        let event = event.decode_event()?;
        let fact = self.hydrate_event_fact(&event).await?;
        Ok(fact.and_then(|fact| read_action_view(EventMetadata::from_event(&event), &fact)))
    }

    async fn attach_action_result(&self, action: ActionView) -> Result<ActionView, GatewayError> {
        match (action.status, &action.outcome) {
            (ActionStatus::Denied, _) => {
                let told = self.read_action_facts(&action, "ACTION_DENIED").await?;
                let fault = told.into_iter().find_map(|fact| {
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
                let result = self.approvals.results.get(action.id);
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

    /// What a command printed and how it ended, as its asker would have been told.
    async fn read_command_output(
        &self,
        action: &ActionView,
        outcome: &ActionOutcome,
    ) -> Result<Value, GatewayError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        for fact in self.read_action_facts(action, "ACTION_OUTPUT").await? {
            let Fact::ActionOutput { output, .. } = fact else { continue };
            let to = match output.stream {
                OutputStream::Stdout => &mut stdout,
                OutputStream::Stderr => &mut stderr,
            };
            let bytes = match output.data {
                OutputData::Bytes(bytes) => bytes.to_vec(),
                OutputData::Blob(kept) => self.store.get_blob(kept.hash).await?.unwrap_or_default(),
            };
            if to.len() + bytes.len() <= MAX_OUTPUT_BYTES {
                to.extend_from_slice(&bytes);
            }
        }
        Ok(json!({
            "exitCode": outcome.exit_code,
            "signal": outcome.signal,
            "durationMs": outcome.duration_ms,
            "stdout": String::from_utf8_lossy(&stdout),
            "stderr": String::from_utf8_lossy(&stderr),
            "droppedBytes": outcome.summary["droppedBytes"],
        }))
    }

    /// What the log tells of an action in events of this kind, the oldest first.
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
        let (mut facts, mut before) = (Vec::new(), Seq::MAX);
        for _ in 0..MAX_LOG_PAGES {
            let page = self
                .search_audit_log(scope, AuditCursor::Before(before), LOG_PAGE_SIZE, &filter)
                .await?;
            let begun = page.events.iter().any(|event| event.kind == REQUESTED);
            for event in page.events.iter().filter(|event| event.kind == kind) {
                facts.extend(self.hydrate_event_fact(event).await?);
            }
            match page.next.filter(|_| !begun) {
                Some(next) => before = next,
                None => break,
            }
        }
        facts.reverse();
        Ok(facts)
    }
}

/// That an action was done and what came of it is known to nobody any more. It is not
/// done again, since nobody asked for that.
fn result_gone_fault() -> ErrorInfo {
    let message = "it was done, but what came of it is not kept: it was told when it was asked \
                   for, or the daemon has restarted since; ask for the action anew";
    ErrorInfo { code: Code::ResultGone, message: message.to_owned(), details: None }
}

/// How many events are taken at once.
const LOG_PAGE_SIZE: usize = 500;
