//! Executing allowed actions: record that the action is allowed, issue its permit, run it in
//! the kernel, record how it ended.

mod cancelled_starts;
mod results;
pub(crate) mod unclaimed_results;

use std::sync::Arc;
use std::time::Instant;

use provost_core::action::{Action, ActionKind, ProcessAction, RuntimeAction};
use provost_core::decide::{AllowedAction, BoundAction};
use provost_core::fold::{ViewDocument, ViewKind};
use provost_core::permit::Permit;
use provost_core::policy::PolicyRequester;
use provost_kernel::{ExecuteLimits, KernelError};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{ActionId, ActionStatus, ActionView, Actor, Fact, RawJson};
use provost_store::{AppendOutcome, AppendRequest, Durability};
use serde_json::json;

pub use results::add_sandbox_notes;
pub(crate) use results::outcome_from_result;

use crate::GatewayError;
use crate::event_log::EventLog;
use crate::project::decisions::Decisions;
use crate::project::governance::Governance;
use crate::project::kernels::faults::{failed_outcome, fault_from_kernel_error, kernel_lost_fault};
use crate::project::kernels::{FinishedCommandReceiver, KernelPool};
use crate::project::request_context::RequestContext;
use cancelled_starts::{CancelledStarts, cancelled_fault};
use results::{build_command_result, encode_raw_result};
use unclaimed_results::UnclaimedResults;

/// Executes allowed actions.
#[derive(Debug)]
pub(crate) struct ActionExecutor {
    log: Arc<EventLog>,
    governance: Arc<Governance>,
    decisions: Arc<Decisions>,
    kernels: Arc<KernelPool>,
    cancelled_starts: CancelledStarts,
    pub(crate) unclaimed_results: UnclaimedResults,
}

/// What a request is answered with.
#[derive(Debug)]
pub(crate) enum ExecutionResult {
    /// The action has ended.
    Finished(RawJson),
    /// The action goes on.
    Running(RawJson),
}

/// An action that is allowed according to the log.
pub(crate) struct RecordedAction<'a> {
    /// Who requested the action.
    pub(crate) context: RequestContext,
    pub(crate) allowed: AllowedAction,
    /// Facts of the same append that change what governs the project.
    pub(crate) governance_facts: &'a [Fact],
    /// The append, which ends with the fact that the action is allowed.
    pub(crate) recorded: &'a AppendOutcome,
    /// Whether a request waits for the end of the action.
    pub(crate) is_awaited: bool,
}

impl ActionExecutor {
    pub(crate) fn new(
        log: Arc<EventLog>,
        governance: Arc<Governance>,
        decisions: Arc<Decisions>,
        kernels: Arc<KernelPool>,
    ) -> Self {
        Self {
            log,
            governance,
            decisions,
            kernels,
            cancelled_starts: CancelledStarts::default(),
            unclaimed_results: UnclaimedResults::default(),
        }
    }

    /// Starts an action whose permission is in the log. It continues when the client
    /// disconnects; `on_end` receives the result.
    pub(crate) async fn start_recorded(
        self: &Arc<Self>,
        action: RecordedAction<'_>,
        on_end: impl FnOnce(Result<ExecutionResult, GatewayError>) + Send + 'static,
    ) -> Result<(), GatewayError> {
        let RecordedAction { context, allowed, governance_facts, recorded, is_awaited } = action;
        self.governance.apply_facts(governance_facts).await?;
        self.decisions.record_repeat(&context.principal, allowed.bound_action().repeat_key());
        let permit = issue_permit(allowed, recorded)?;
        let executor = Arc::clone(self);
        let waiter = is_awaited.then(|| self.register_command_waiter(&permit)).flatten();
        tokio::spawn(async move {
            on_end(executor.run_permitted(&context, permit, waiter).await);
        });
        Ok(())
    }

    /// Stops collecting the output of a command in memory: its request was answered.
    pub(crate) fn release_waiter(&self, action: ActionId) {
        self.kernels.remove_command_waiter(action);
    }

    /// Stops an action that runs, or is about to. Returns whether there was anything to stop.
    pub(crate) async fn cancel(&self, action: &ActionView) -> Result<bool, GatewayError> {
        let (id, is_starting) = (action.id, action.status == ActionStatus::Allowed);
        if is_starting {
            self.cancelled_starts.insert(id);
        }
        let stopped = match self.kernels.connected(action.project) {
            Some(kernel) => kernel
                .cancel(id)
                .await
                .map_err(|error| GatewayError::Fault(fault_from_kernel_error(&error)))?,
            None => false,
        };
        if stopped || !is_starting {
            self.cancelled_starts.take(id);
            return Ok(stopped);
        }
        // The kernel does not know it yet, or any more.
        let found = self.log.store().get_document(ViewKind::Actions, id.uuid()).await?;
        let now = found.and_then(ViewDocument::into_action).map(|action| action.status);
        let has_ended = now.is_none_or(|status| status == ActionStatus::Finished);
        if has_ended {
            self.cancelled_starts.take(id);
        }
        Ok(!has_ended)
    }

    /// Registers a waiter for the end and the output of a command; other actions need none.
    fn register_command_waiter(&self, permit: &Permit) -> Option<FinishedCommandReceiver> {
        let is_command =
            permit.action().kind() == ActionKind::Run && !permit.action().is_background();
        is_command.then(|| self.kernels.register_command_waiter(permit.id()))
    }

    async fn run_permitted(
        &self,
        context: &RequestContext,
        permit: Permit,
        waiter: Option<FinishedCommandReceiver>,
    ) -> Result<ExecutionResult, GatewayError> {
        if permit.action().kind() == ActionKind::Run {
            self.run_command(context, permit, waiter).await
        } else {
            self.run_immediate(context, permit).await
        }
    }

    /// Sends a permit to the project's kernel.
    pub(crate) async fn execute_in_kernel(
        &self,
        context: &RequestContext,
        permit: Permit,
    ) -> Result<RawJson, ErrorInfo> {
        let kernel = self.kernels.ensure_kernel(&context.project).await?;
        let limits = self.execute_limits(context, permit.action());
        let stops = matches!(permit.action(), Action::Runtime(RuntimeAction::Stop(_)));
        match kernel.execute_with_limits(permit, limits).await {
            // A person stops a runtime that hangs: nothing but killing the kernel ends it.
            Err(KernelError::Unresponsive) if stops && context.role.is_none() => {
                tracing::warn!("killing an unresponsive kernel to stop what it runs");
                self.kernels.kill_kernel(context.project.id).await;
                let stopped = json!({ "stopped": true, "byForce": true });
                encode_raw_result(&stopped).map_err(|error| kernel_lost_fault(&error.to_string()))
            }
            done => done.map_err(|error| fault_from_kernel_error(&error)),
        }
    }

    /// The same, unless the action was cancelled since it was allowed.
    async fn execute_uncancelled(
        &self,
        context: &RequestContext,
        permit: Permit,
    ) -> Result<RawJson, ErrorInfo> {
        let id = permit.id();
        // It takes a while to start a kernel.
        let started = self.kernels.ensure_kernel(&context.project).await;
        if self.cancelled_starts.take(id) {
            return Err(cancelled_fault());
        }
        let kernel = started?;
        let result = self.execute_in_kernel(context, permit).await;
        // The cancellation may have been faster than the action.
        if self.cancelled_starts.take(id)
            && result.is_ok()
            && let Err(error) = kernel.cancel(id).await
        {
            tracing::warn!(%error, "cannot cancel an action that was just started");
        }
        result
    }

    /// The paths that an agent does not see in results, and that its commands cannot write;
    /// and what commands of the project can read besides. A person sees everything.
    fn execute_limits(&self, context: &RequestContext, action: &Action) -> ExecuteLimits {
        let Some(governance) = self.governance.find_by_id(context.project.id) else {
            return ExecuteLimits::default();
        };
        let is_file = matches!(action, Action::File(_));
        let readable = if is_file { Vec::new() } else { governance.rules.sandbox_read().to_vec() };
        let Some(role) = context.role.as_deref() else {
            return ExecuteLimits { visibility_rules: Vec::new(), readable };
        };
        let mode = governance.mode(self.log.now());
        let requester =
            PolicyRequester { role: Some(role), mode, project: Some(&governance.project.path) };
        let visibility_rules = if starts_processes(action) {
            governance.rules.write_denials(requester)
        } else {
            governance.rules.visibility_rules(requester, action)
        };
        ExecuteLimits { visibility_rules, readable }
    }

    /// Runs an action whose result is the kernel's response.
    async fn run_immediate(
        &self,
        context: &RequestContext,
        permit: Permit,
    ) -> Result<ExecutionResult, GatewayError> {
        let (id, kind, started) = (permit.id(), permit.action().kind(), Instant::now());
        let is_list = permit.action().name() == "terminal.list";
        let changes_runtime = matches!(permit.action(), Action::Runtime(_));
        let mut result = self.execute_uncancelled(context, permit).await;
        if let (true, Actor::Agent(_), Ok(listed)) = (is_list, &context.actor, &mut result) {
            let own = self.decisions.retain_own_processes(&context.principal, listed.to_value());
            *listed = encode_raw_result(&own.await?)?;
        }
        let outcome = outcome_from_result(kind, &result, started);
        let project = context.project.id;
        if changes_runtime {
            self.kernels.wait_for_reports(project).await;
        }
        let finished = Fact::ActionFinished { action: id, project, report: None, outcome };
        let append = context.build_append(Durability::Buffered, vec![finished]);
        self.log.append_end(id, append).await?;
        result.map(ExecutionResult::Finished).map_err(GatewayError::Fault)
    }

    /// Runs a command, whose output and end come as reports.
    async fn run_command(
        &self,
        context: &RequestContext,
        permit: Permit,
        waiter: Option<FinishedCommandReceiver>,
    ) -> Result<ExecutionResult, GatewayError> {
        let id = permit.id();
        match self.execute_uncancelled(context, permit).await {
            Err(fault) => {
                let (project, outcome) = (context.project.id, failed_outcome(fault.clone()));
                let finished = Fact::ActionFinished { action: id, project, report: None, outcome };
                let append = context.build_append(Durability::Buffered, vec![finished]);
                self.log.append_end(id, append).await?;
                Err(GatewayError::Fault(fault))
            }
            Ok(process) => match waiter {
                None => Ok(ExecutionResult::Running(process)),
                Some(waiter) => {
                    let finished = waiter.receive_finished().await.ok_or(GatewayError::Stopping)?;
                    let result = build_command_result(finished)?;
                    encode_raw_result(&result).map(ExecutionResult::Finished)
                }
            },
        }
    }
}

/// Whether an action starts processes of the project, which must not write what rules deny.
fn starts_processes(action: &Action) -> bool {
    matches!(
        action,
        Action::Process(ProcessAction::RunCommand(_))
            | Action::Runtime(
                RuntimeAction::Run(_) | RuntimeAction::Restart(_) | RuntimeAction::Build(_)
            )
    )
}

/// The append after which an action may run: the given facts, then that it is allowed.
pub(crate) fn build_allowed_append(
    context: &RequestContext,
    allowed: &AllowedAction,
    mut facts: Vec<Fact>,
) -> AppendRequest {
    let kind = allowed.bound_action().request().action.kind();
    facts.push(allowed.fact(select_sandbox_profile(allowed.bound_action())));
    // An effect on the machine is not reported before the disk has its record.
    let durability = match kind {
        ActionKind::Read | ActionKind::Process => Durability::Buffered,
        ActionKind::Write | ActionKind::Run | ActionKind::Start => Durability::Synced,
    };
    context.build_append(durability, facts)
}

/// The permit of an action that the log allows.
fn issue_permit(allowed: AllowedAction, recorded: &AppendOutcome) -> Result<Permit, GatewayError> {
    let last = recorded.events().last().ok_or(GatewayError::Stopping)?;
    Permit::from_recorded(allowed, &last.decode_event()?).map_err(|_| GatewayError::Stopping)
}

/// The sandbox profile of a command, as its kernel will report it.
pub(crate) fn select_sandbox_profile(bound_action: &BoundAction) -> Option<&'static str> {
    match bound_action.request().action.kind() {
        ActionKind::Read | ActionKind::Write | ActionKind::Process => None,
        ActionKind::Run if bound_action.needs_network() => Some("build+network"),
        ActionKind::Run => Some("build"),
        ActionKind::Start if bound_action.touches_user_shell() => Some("terminal"),
        ActionKind::Start => Some("serve"),
    }
}
