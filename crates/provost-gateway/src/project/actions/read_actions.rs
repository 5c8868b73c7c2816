//! Reads of files: they end at once and change nothing, so one event records the request and
//! its outcome.

use std::sync::Arc;
use std::time::Instant;

use provost_core::action::ActionKind;
use provost_core::decide::{AllowedAction, BoundAction, Decision};
use provost_core::permit::Permit;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{ActionId, ActionStatus, AllowedBy, Code, Fact, Hash, RawJson};
use provost_store::Durability;
use serde_json::Value;

use super::submission::build_action_response;
use super::{ActionService, SubmissionOutcome};
use crate::GatewayError;
use crate::event_log::EventLog;
use crate::project::executor::outcome_from_result;
use crate::project::governance::ProjectGovernance;
use crate::project::request_context::RequestContext;

/// Whether an action is a read of files.
pub(super) fn is_read_action(bound_action: &BoundAction) -> bool {
    matches!(bound_action.request().action.name(), "fs.readFile" | "fs.stat" | "fs.listFiles")
}

impl ActionService {
    /// Reads for an agent, if that is allowed as long as no path contains a link: most paths
    /// contain none, and then no search for links is needed. Returns `None` if it is not
    /// allowed, or if the kernel found a link, which it does not follow. Nothing has happened
    /// then, and the decision must take the links into account.
    pub(super) async fn try_read_fast(
        &self,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
    ) -> Result<Option<SubmissionOutcome>, GatewayError> {
        let Some(role) = context.role.as_deref().filter(|_| is_read_action(bound_action)) else {
            return Ok(None);
        };
        let decision =
            self.decisions.evaluate_without_links(governance, role, bound_action.clone());
        let Decision::Allow(allowed) = decision else { return Ok(None) };
        let repeat_key = allowed.bound_action().repeat_key();
        let (entry, permit) = ReadLogEntry::from_allowed(allowed)?;
        let log_guard = ReadLogGuard { log: &self.log, context, entry: Some(entry) };
        let result = self.executor.execute_in_kernel(context, permit).await;
        let entry = log_guard.disarm()?;
        if result.as_ref().is_err_and(|fault| fault.code == Code::Conflict) {
            return Ok(None);
        }
        self.decisions.record_repeat(&context.principal, repeat_key);
        self.record_read(context, entry, result).await.map(Some)
    }

    /// Reads, and records the request with its outcome.
    pub(super) async fn execute_read(
        &self,
        context: &RequestContext,
        allowed: AllowedAction,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (entry, permit) = ReadLogEntry::from_allowed(allowed)?;
        let log_guard = ReadLogGuard { log: &self.log, context, entry: Some(entry) };
        let result = self.executor.execute_in_kernel(context, permit).await;
        self.record_read(context, log_guard.disarm()?, result).await
    }

    async fn record_read(
        &self,
        context: &RequestContext,
        entry: ReadLogEntry,
        result: Result<RawJson, ErrorInfo>,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (id, hash) = (entry.action, entry.hash);
        append_read_event(&self.log, context, entry, &result).await?;
        let value = result.map_err(GatewayError::Fault)?;
        Ok(SubmissionOutcome::Finished(build_action_response(
            id,
            hash,
            ActionStatus::Finished,
            Some(value),
        )))
    }
}

async fn append_read_event(
    log: &EventLog,
    context: &RequestContext,
    entry: ReadLogEntry,
    result: &Result<RawJson, ErrorInfo>,
) -> Result<(), GatewayError> {
    let fact = entry.into_fact(context, result);
    log.append_once(context.build_keyed_append(Durability::Buffered, vec![fact])).await?;
    Ok(())
}

/// Records a read that was sent to the kernel, also if the client disconnects before the
/// response.
struct ReadLogGuard<'a> {
    log: &'a Arc<EventLog>,
    context: &'a RequestContext,
    entry: Option<ReadLogEntry>,
}

impl ReadLogGuard<'_> {
    fn disarm(mut self) -> Result<ReadLogEntry, GatewayError> {
        self.entry.take().ok_or(GatewayError::Stopping)
    }
}

impl Drop for ReadLogGuard<'_> {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::warn!(action = %entry.action, "a read was aborted while the daemon stopped");
            return;
        };
        let (log, context) = (Arc::clone(self.log), self.context.clone());
        let message = "the client disconnected before the response".to_owned();
        let fault = ErrorInfo { code: Code::Cancelled, message, details: None };
        drop(runtime.spawn(async move {
            if let Err(error) = append_read_event(&log, &context, entry, &Err(fault)).await {
                tracing::warn!(%error, "cannot log a read whose client disconnected");
            }
        }));
    }
}

/// What a read is recorded with.
struct ReadLogEntry {
    action: ActionId,
    name: &'static str,
    params: Value,
    what: String,
    hash: Hash,
    allowed_by: AllowedBy,
    started: Instant,
}

impl ReadLogEntry {
    fn from_allowed(allowed: AllowedAction) -> Result<(Self, Permit), GatewayError> {
        let action = &allowed.bound_action().request().action;
        let (name, params, what) = (action.name(), action.params(), action.describe());
        let (permit, allowed_by) = Permit::for_read(allowed).map_err(|_| GatewayError::Stopping)?;
        let (action, hash) = (permit.id(), permit.hash());
        let started = Instant::now();
        Ok((Self { action, name, params, what, hash, allowed_by, started }, permit))
    }

    fn into_fact(self, context: &RequestContext, result: &Result<RawJson, ErrorInfo>) -> Fact {
        Fact::ActionRead {
            action: self.action,
            project: context.project.id,
            name: self.name.to_owned(),
            params: self.params,
            what: self.what,
            action_hash: self.hash,
            role: context.role.clone(),
            session: context.session,
            why: self.allowed_by,
            outcome: outcome_from_result(ActionKind::Read, result, self.started),
        }
    }
}
