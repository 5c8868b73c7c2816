//! Looking at files: what is over at once and changes nothing is recorded in one
//! event, with what came of it.

use std::sync::Arc;
use std::time::Instant;

use provost_core::action::ActionKind;
use provost_core::decide::{AllowedAction, BoundAction, Decision};
use provost_core::permit::Permit;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{ActionId, ActionStatus, AllowedBy, Code, Fact, Hash, RawJson};
use provost_store::{AppendRequest, Durability};
use serde_json::Value;

use crate::project::actions::{
    RequestContext, SubmissionOutcome, build_action_response, build_append,
};
use crate::project::executor::outcome_from_result;
use crate::project::governance::ProjectGovernance;
use crate::{Gateway, GatewayError};

/// Whether an action is one of those.
pub(crate) fn is_read_action(bound_action: &BoundAction) -> bool {
    matches!(bound_action.request().action.name(), "fs.readFile" | "fs.stat" | "fs.listFiles")
}

impl Gateway {
    /// Looks for an agent, if it may as long as there is no link on the way: most paths
    /// hold none, and then nobody has to search for them. `None` if it may not, or if the
    /// kernel came upon one, which it does not follow: nothing has happened then, and what
    /// the links lead to is to be decided about.
    pub(crate) async fn try_read_fast(
        self: &Arc<Self>,
        governance: &ProjectGovernance,
        context: &RequestContext,
        bound_action: &BoundAction,
    ) -> Result<Option<SubmissionOutcome>, GatewayError> {
        let Some(role) = context.role.as_deref().filter(|_| is_read_action(bound_action)) else {
            return Ok(None);
        };
        let Decision::Allow(allowed) =
            self.evaluate_without_links(governance, role, bound_action.clone())
        else {
            return Ok(None);
        };
        let repeat_key = allowed.bound_action().repeat_key();
        let (entry, permit) = ReadLogEntry::from_allowed(allowed)?;
        let log_guard = ReadLogGuard { gateway: self, context, entry: Some(entry) };
        let result = self.execute_in_kernel(context, permit).await;
        let entry = log_guard.disarm()?;
        if result.as_ref().is_err_and(|fault| fault.code == Code::Conflict) {
            return Ok(None);
        }
        self.count_repeat(&context.principal, repeat_key);
        self.record_read(context, entry, result).await.map(Some)
    }

    /// Looks, and records that with what came of it.
    pub(crate) async fn execute_read(
        self: &Arc<Self>,
        context: &RequestContext,
        allowed: AllowedAction,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (entry, permit) = ReadLogEntry::from_allowed(allowed)?;
        let log_guard = ReadLogGuard { gateway: self, context, entry: Some(entry) };
        let result = self.execute_in_kernel(context, permit).await;
        self.record_read(context, log_guard.disarm()?, result).await
    }

    async fn record_read(
        &self,
        context: &RequestContext,
        entry: ReadLogEntry,
        result: Result<RawJson, ErrorInfo>,
    ) -> Result<SubmissionOutcome, GatewayError> {
        let (id, hash) = (entry.action, entry.hash);
        self.append_read_event(context, entry, &result).await?;
        let value = result.map_err(GatewayError::Fault)?;
        Ok(SubmissionOutcome::Finished(build_action_response(
            id,
            hash,
            ActionStatus::Finished,
            Some(value),
        )))
    }

    async fn append_read_event(
        &self,
        context: &RequestContext,
        entry: ReadLogEntry,
        result: &Result<RawJson, ErrorInfo>,
    ) -> Result<(), GatewayError> {
        let fact = entry.into_fact(context, result);
        let append = build_append(context, Durability::Buffered, vec![fact]);
        self.append_once(AppendRequest { command: context.command.clone(), ..append }).await?;
        Ok(())
    }
}

/// A look that the kernel was sent. If whoever asked hangs up before it is answered, that
/// they looked is recorded all the same.
struct ReadLogGuard<'a> {
    gateway: &'a Arc<Gateway>,
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
            tracing::warn!(action = %entry.action, "a look was given up while the daemon ended");
            return;
        };
        let (gateway, context) = (Arc::clone(self.gateway), self.context.clone());
        let message = "whoever asked hung up before it was answered".to_owned();
        let fault = ErrorInfo { code: Code::Cancelled, message, details: None };
        drop(runtime.spawn(async move {
            if let Err(error) = gateway.append_read_event(&context, entry, &Err(fault)).await {
                tracing::warn!(%error, "that somebody looked could not be recorded");
            }
        }));
    }
}

/// What a look will be recorded with.
struct ReadLogEntry {
    action: ActionId,
    name: &'static str,
    params: Value,
    what: String,
    hash: Hash,
    by: AllowedBy,
    started: Instant,
}

impl ReadLogEntry {
    fn from_allowed(allowed: AllowedAction) -> Result<(Self, Permit), GatewayError> {
        let action = &allowed.bound_action().request().action;
        let (name, params, what) = (action.name(), action.params(), action.describe());
        let (permit, by) = Permit::for_read(allowed).map_err(|_| GatewayError::Stopping)?;
        let (action, hash) = (permit.id(), permit.hash());
        let started = Instant::now();
        Ok((Self { action, name, params, what, hash, by, started }, permit))
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
            why: self.by,
            outcome: outcome_from_result(ActionKind::Read, result, self.started),
        }
    }
}
