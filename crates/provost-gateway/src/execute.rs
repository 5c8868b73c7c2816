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

use crate::actions::Behalf;
use crate::kernels::{Finished, Waiting};
use crate::{Gateway, GatewayError};

/// The profile under which a command runs, as its kernel will report it.
pub(crate) fn profile(matter: &BoundAction) -> Option<&'static str> {
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
pub(crate) enum Ended {
    Now(RawJson),
    GoesOn(RawJson),
}

impl Gateway {
    /// Uses a permit up, to the end.
    pub(crate) async fn run(
        self: &Arc<Self>,
        behalf: &Behalf,
        permit: Permit,
        waiting: Option<Waiting>,
    ) -> Result<Ended, GatewayError> {
        if permit.action().kind() == ActionKind::Run {
            self.run_command(behalf, permit, waiting).await
        } else {
            self.on_the_spot(behalf, permit).await
        }
    }

    /// Someone waits for the end of a command and for what it prints.
    pub(crate) fn wait_for(&self, permit: &Permit) -> Option<Waiting> {
        let command = permit.action().kind() == ActionKind::Run && !permit.action().is_background();
        command.then(|| self.kernels.expect(permit.id()))
    }

    /// Hands a permit to the project's kernel.
    pub(crate) async fn execute(
        self: &Arc<Self>,
        behalf: &Behalf,
        permit: Permit,
    ) -> Result<RawJson, ErrorInfo> {
        let kernel = self.kernel(&behalf.project).await?;
        let limits = self.limits(behalf, permit.action());
        let stops = matches!(permit.action(), Action::Runtime(RuntimeAction::Stop(_)));
        match kernel.execute_with_visibility(permit, limits).await {
            // A person who stops what hangs means all of it: nobody else could end it.
            Err(KernelError::Unresponsive) if stops && behalf.role.is_none() => {
                tracing::warn!("a kernel that does not answer is killed to stop what it runs");
                self.kill_kernel(behalf.project.id).await;
                let stopped = json!({ "stopped": true, "byForce": true });
                raw(&stopped).map_err(|error| lost(&error.to_string()))
            }
            done => done.map_err(|error| fault(&error)),
        }
    }

    /// What is left out of what an agent looks into. A person sees everything.
    fn limits(&self, behalf: &Behalf, action: &Action) -> Vec<VisibilityRule> {
        let (Some(role), Some(governed)) =
            (behalf.role.as_deref(), self.governance.of(behalf.project.id))
        else {
            return Vec::new();
        };
        let mode = governed.mode(self.clock.now());
        let asker =
            PolicyRequester { role: Some(role), mode, project: Some(&governed.project.path) };
        governed.rules.visibility_rules(asker, action)
    }

    /// An action whose answer comes at once.
    async fn on_the_spot(
        self: &Arc<Self>,
        behalf: &Behalf,
        permit: Permit,
    ) -> Result<Ended, GatewayError> {
        let (id, effect, began) = (permit.id(), permit.action().kind(), Instant::now());
        let lists = permit.action().name() == "terminal.list";
        let changes = matches!(permit.action(), Action::Runtime(_));
        let mut result = self.execute(behalf, permit).await;
        if let (true, Actor::Agent(_), Ok(listed)) = (lists, &behalf.actor, &mut result) {
            *listed = raw(&self.only_own(&behalf.principal, listed.to_value()).await?)?;
        }
        let outcome = outcome_of(effect, &result, began);
        let project = behalf.project.id;
        if changes {
            self.catch_up(project).await?;
        }
        let finished = Fact::ActionFinished { action: id, project, report: None, outcome };
        self.write(behalf, Durability::Buffered, vec![finished]).await?;
        result.map(Ended::Now).map_err(GatewayError::Fault)
    }

    /// A command: its output and its end come as reports.
    async fn run_command(
        self: &Arc<Self>,
        behalf: &Behalf,
        permit: Permit,
        waiting: Option<Waiting>,
    ) -> Result<Ended, GatewayError> {
        let id = permit.id();
        match self.execute(behalf, permit).await {
            Err(fault) => {
                let (project, outcome) = (behalf.project.id, failed(fault.clone()));
                let finished = Fact::ActionFinished { action: id, project, report: None, outcome };
                self.write(behalf, Durability::Buffered, vec![finished]).await?;
                Err(GatewayError::Fault(fault))
            }
            Ok(process) => match waiting {
                // What it prints is in the log, and need not be in memory.
                None => Ok(Ended::GoesOn(process)),
                Some(waiting) => {
                    let finished = waiting.end().await.ok_or(GatewayError::Stopping)?;
                    let result = result_of(finished)?;
                    raw(&result).map(Ended::Now)
                }
            },
        }
    }
}

/// How an action that was answered at once ended.
pub(crate) fn outcome_of(
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
pub(crate) fn raw(result: &Value) -> Result<RawJson, GatewayError> {
    RawJson::new(result).map_err(|error| {
        let message = format!("the result cannot be written: {error}");
        GatewayError::Fault(ErrorInfo { code: Code::Internal, message, details: None })
    })
}

/// What a command's caller is told: what it printed and how it ended.
fn result_of(finished: Finished) -> Result<Value, GatewayError> {
    let Finished { outcome, output } = finished;
    let text = |stream| output.of(stream);
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
pub(crate) fn failed(fault: ErrorInfo) -> ActionOutcome {
    ActionOutcome {
        exit_code: None,
        signal: None,
        duration_ms: 0,
        fault: Some(fault),
        summary: Value::Null,
    }
}

pub(crate) fn fault(error: &KernelError) -> ErrorInfo {
    match error {
        KernelError::Fault(fault) => fault.clone(),
        KernelError::Lost | KernelError::Unresponsive => lost(&error.to_string()),
        KernelError::StartFailed(_)
        | KernelError::ProtocolTooNew { .. }
        | KernelError::ProtocolTooOld { .. } => {
            ErrorInfo { code: Code::Unavailable, message: error.to_string(), details: None }
        }
    }
}

pub(crate) fn lost(why: &str) -> ErrorInfo {
    ErrorInfo { code: Code::KernelLost, message: why.to_owned(), details: None }
}
