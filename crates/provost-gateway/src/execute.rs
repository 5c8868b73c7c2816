//! Carrying out what was permitted, and recording what came of it.

use std::sync::Arc;
use std::time::Instant;

use provost_core::action::{Action, ActionKind, RuntimeAction};
use provost_core::decide::BoundAction;
use provost_core::permit::Permit;
use provost_core::policy::PolicyRequester;
use provost_kernel::KernelError;
use provost_proto::kernel::{ActionOutcome, ErrorInfo, OutputStream, VisibilityRule};
use provost_proto::{Actor, Code, Fact, RawJson};
use provost_store::Durability;
use serde_json::{Value, json};

use crate::actions::RequestContext;
use crate::kernels::{FinishedCommand, FinishedCommandReceiver};
use crate::{Gateway, GatewayError};

/// The profile under which a command runs, as its kernel will report it.
pub(crate) fn select_sandbox_profile(matter: &BoundAction) -> Option<&'static str> {
    match matter.request().action.kind() {
        ActionKind::Read | ActionKind::Write | ActionKind::Process => None,
        ActionKind::Run if matter.needs_network() => Some("build+network"),
        ActionKind::Run => Some("build"),
        ActionKind::Start if matter.touches_user_shell() => Some("terminal"),
        ActionKind::Start => Some("serve"),
    }
}

/// Whether an action has ended when it is answered.
#[derive(Debug)]
pub(crate) enum ExecutionResult {
    Finished(RawJson),
    Running(RawJson),
}

impl Gateway {
    /// Uses a permit up, to the end.
    pub(crate) async fn run_permitted_action(
        self: &Arc<Self>,
        behalf: &RequestContext,
        permit: Permit,
        waiting: Option<FinishedCommandReceiver>,
    ) -> Result<ExecutionResult, GatewayError> {
        if permit.action().kind() == ActionKind::Run {
            self.run_command(behalf, permit, waiting).await
        } else {
            self.run_immediate_action(behalf, permit).await
        }
    }

    /// Someone waits for the end of a command and for what it prints.
    pub(crate) fn register_command_waiter(
        &self,
        permit: &Permit,
    ) -> Option<FinishedCommandReceiver> {
        let command = permit.action().kind() == ActionKind::Run && !permit.action().is_background();
        command.then(|| self.kernels.register_waiter(permit.id()))
    }

    /// Hands a permit to the project's kernel.
    pub(crate) async fn execute_in_kernel(
        self: &Arc<Self>,
        behalf: &RequestContext,
        permit: Permit,
    ) -> Result<RawJson, ErrorInfo> {
        let kernel = self.ensure_kernel(&behalf.project).await?;
        let limits = self.visibility_rules(behalf, permit.action());
        let stops = matches!(permit.action(), Action::Runtime(RuntimeAction::Stop(_)));
        match kernel.execute_with_visibility(permit, limits).await {
            // A person who stops what hangs means all of it: nobody else could end it.
            Err(KernelError::Unresponsive) if stops && behalf.role.is_none() => {
                tracing::warn!("a kernel that does not answer is killed to stop what it runs");
                self.kill_kernel(behalf.project.id).await;
                let stopped = json!({ "stopped": true, "byForce": true });
                encode_raw_result(&stopped).map_err(|error| kernel_lost_fault(&error.to_string()))
            }
            done => done.map_err(|error| fault_from_kernel_error(&error)),
        }
    }

    /// What is left out of what an agent looks into. A person sees everything.
    fn visibility_rules(&self, behalf: &RequestContext, action: &Action) -> Vec<VisibilityRule> {
        let (Some(role), Some(governed)) =
            (behalf.role.as_deref(), self.governance.find_by_id(behalf.project.id))
        else {
            return Vec::new();
        };
        let mode = governed.mode(self.clock.now());
        let asker =
            PolicyRequester { role: Some(role), mode, project: Some(&governed.project.path) };
        governed.rules.visibility_rules(asker, action)
    }

    /// An action whose answer comes at once.
    async fn run_immediate_action(
        self: &Arc<Self>,
        behalf: &RequestContext,
        permit: Permit,
    ) -> Result<ExecutionResult, GatewayError> {
        let (id, effect, began) = (permit.id(), permit.action().kind(), Instant::now());
        let lists = permit.action().name() == "terminal.list";
        let changes = matches!(permit.action(), Action::Runtime(_));
        let mut result = self.execute_in_kernel(behalf, permit).await;
        if let (true, Actor::Agent(_), Ok(listed)) = (lists, &behalf.actor, &mut result) {
            *listed = encode_raw_result(
                &self.retain_own_processes(&behalf.principal, listed.to_value()).await?,
            )?;
        }
        let outcome = outcome_from_result(effect, &result, began);
        let project = behalf.project.id;
        if changes {
            self.wait_for_kernel_reports(project).await?;
        }
        let finished = Fact::ActionFinished { action: id, project, report: None, outcome };
        self.append_facts(behalf, Durability::Buffered, vec![finished]).await?;
        result.map(ExecutionResult::Finished).map_err(GatewayError::Fault)
    }

    /// A command: its output and its end come as reports.
    async fn run_command(
        self: &Arc<Self>,
        behalf: &RequestContext,
        permit: Permit,
        waiting: Option<FinishedCommandReceiver>,
    ) -> Result<ExecutionResult, GatewayError> {
        let id = permit.id();
        match self.execute_in_kernel(behalf, permit).await {
            Err(fault) => {
                let (project, outcome) = (behalf.project.id, failed_outcome(fault.clone()));
                let finished = Fact::ActionFinished { action: id, project, report: None, outcome };
                self.append_facts(behalf, Durability::Buffered, vec![finished]).await?;
                Err(GatewayError::Fault(fault))
            }
            Ok(process) => match waiting {
                // What it prints is in the log, and need not be in memory.
                None => Ok(ExecutionResult::Running(process)),
                Some(waiting) => {
                    let finished =
                        waiting.receive_finished().await.ok_or(GatewayError::Stopping)?;
                    let result = build_command_result(finished)?;
                    encode_raw_result(&result).map(ExecutionResult::Finished)
                }
            },
        }
    }
}

/// How an action that was answered at once ended.
pub(crate) fn outcome_from_result(
    effect: ActionKind,
    result: &Result<RawJson, ErrorInfo>,
    began: Instant,
) -> ActionOutcome {
    // Only what writes changes anything, and says so.
    let writes = result.as_ref().ok().filter(|_| effect == ActionKind::Write);
    let changed = writes.and_then(|result| result.to_value().get_mut("changed").map(Value::take));
    ActionOutcome {
        exit_code: None,
        signal: None,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        fault: result.as_ref().err().cloned(),
        summary: json!({ "changed": changed }),
    }
}

/// A result as it is sent.
pub(crate) fn encode_raw_result(result: &Value) -> Result<RawJson, GatewayError> {
    RawJson::new(result).map_err(|error| {
        let message = format!("the result cannot be written: {error}");
        GatewayError::Fault(ErrorInfo { code: Code::Internal, message, details: None })
    })
}

/// What a command's caller is told: what it printed and how it ended.
fn build_command_result(finished: FinishedCommand) -> Result<Value, GatewayError> {
    let FinishedCommand { outcome, output } = finished;
    let text = |stream| output.stream_text(stream);
    if let Some(mut fault) = outcome.fault.clone() {
        fault.details = Some(json!({
            "stdout": text(OutputStream::Stdout),
            "stderr": text(OutputStream::Stderr),
            "outcome": outcome,
        }));
        return Err(GatewayError::Fault(fault));
    }
    Ok(json!({
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "durationMs": outcome.duration_ms,
        "stdout": text(OutputStream::Stdout),
        "stderr": text(OutputStream::Stderr),
        "droppedBytes": outcome.summary["droppedBytes"],
    }))
}

/// The outcome of an action that never began.
pub(crate) fn failed_outcome(fault: ErrorInfo) -> ActionOutcome {
    ActionOutcome {
        exit_code: None,
        signal: None,
        duration_ms: 0,
        fault: Some(fault),
        summary: Value::Null,
    }
}

pub(crate) fn fault_from_kernel_error(error: &KernelError) -> ErrorInfo {
    match error {
        KernelError::Fault(fault) => fault.clone(),
        KernelError::Lost | KernelError::Unresponsive => kernel_lost_fault(&error.to_string()),
        KernelError::StartFailed(_) => {
            ErrorInfo { code: Code::Unavailable, message: error.to_string(), details: None }
        }
        KernelError::ProtocolMismatch { .. } => {
            ErrorInfo { code: Code::KernelTooOld, message: error.to_string(), details: None }
        }
    }
}

pub(crate) fn kernel_lost_fault(why: &str) -> ErrorInfo {
    ErrorInfo { code: Code::KernelLost, message: why.to_owned(), details: None }
}
