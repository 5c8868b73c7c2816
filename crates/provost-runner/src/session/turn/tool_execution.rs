//! Executes tool calls concurrently, each through the gateway like any other action.

use std::time::Duration;

use futures::future::join_all;
use provost_core::action::{Action, ActionKind};
use provost_core::canonical;
use provost_core::hash_chain;
use provost_core::session::loop_detector::{CallRepetition, LOOP_WARNING, LoopDetector};
use provost_core::session::tools::HANDOFF;
use provost_gateway::{ActionSubmission, Caller, GatewayError, SubmissionOutcome};
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{ItemNumber, SessionView, ToolCallStatus, ToolReturned};
use provost_proto::{ActionId, Code, Fact, SessionId, SubmitActionRequest};
use provost_store::Idempotency;
use serde_json::{Value, json};

use super::Turn;
use super::tool_output;
use crate::session::RunnerError;
use crate::session::error::TurnError;
use crate::session::recovery::resume_sessions::RecoveredOutcome;

/// How long a call is waited for: it ends by its own timeout, or by that of its approval.
const MAX_ACTION_WAIT: Duration = Duration::from_hours(24);

/// A tool call of the model.
#[derive(Debug, Clone)]
pub(crate) struct ToolInvocation {
    pub(crate) item: ItemNumber,
    /// The call id that the model chose.
    pub(crate) id: String,
    /// The action's name, or `handoff`, or an unknown name.
    pub(crate) tool: String,
    pub(crate) arguments: String,
    /// The id that the action has or will have; none if the tool is unknown.
    pub(crate) action: Option<ActionId>,
    pub(crate) child: Option<SessionId>,
}

/// The result of a tool call, as the model gets it.
#[derive(Debug, Clone)]
pub(crate) struct ToolOutcome {
    pub(crate) status: ToolCallStatus,
    pub(crate) output: String,
}

/// A tool's output without the appended warning about repetition.
pub(crate) fn strip_repeat_notice(output: &str) -> &str {
    output.strip_suffix(LOOP_WARNING).map_or(output, |output| output.trim_end_matches("\n\n"))
}

/// Whether a tool only reads.
fn is_read_only(tool: &str) -> bool {
    Action::KINDS.contains(&(tool, ActionKind::Read))
}

pub(crate) fn new_fault(code: Code, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo { code, message: message.into(), details: None }
}

impl Turn {
    /// Executes calls concurrently and appends each result as it arrives.
    pub(crate) async fn execute_calls(
        &self,
        view: &SessionView,
        loop_detector: &LoopDetector,
        calls: &[ToolInvocation],
    ) -> Result<Vec<ToolOutcome>, TurnError> {
        let sessions = &self.runner.gateway.sessions;
        let agent = sessions.create_session_caller(view.id, view.project, &view.role).await?;
        let numbered = calls.iter().enumerate();
        let executions = numbered
            .map(|(position, call)| self.execute_call(&agent, view, loop_detector, position, call));
        join_all(executions).await.into_iter().collect()
    }

    async fn execute_call(
        &self,
        agent: &Caller,
        view: &SessionView,
        loop_detector: &LoopDetector,
        position: usize,
        call: &ToolInvocation,
    ) -> Result<ToolOutcome, TurnError> {
        let mut returned = match self.dispatch_call(agent, view, call).await {
            Ok(returned) => returned,
            Err(RunnerError::Gateway(GatewayError::Fault(fault))) => {
                tool_output::render_failure(&fault)
            }
            Err(RunnerError::Gateway(GatewayError::BadAction(bad))) => {
                tool_output::render_failure(&new_fault(Code::InvalidAction, bad.to_string()))
            }
            Err(error @ RunnerError::Gateway(GatewayError::Store(_) | GatewayError::Stopping)) => {
                return Err(error.into());
            }
            Err(error) => {
                tool_output::render_failure(&new_fault(Code::Internal, error.to_string()))
            }
        };
        let repetition =
            loop_detector.predict_call(position, &call.tool, &call.arguments, &returned.output);
        if repetition == CallRepetition::Repeated {
            returned.output = format!("{}\n\n{LOOP_WARNING}", returned.output);
        }
        let fact = Fact::ToolReturned(ToolReturned {
            session: self.log.session,
            turn: self.id,
            item: call.item,
            call: call.id.clone(),
            status: returned.status,
            output: returned.output.clone(),
        });
        self.log.append_as_agent(&self.by, vec![fact]).await?;
        Ok(returned)
    }

    async fn dispatch_call(
        &self,
        agent: &Caller,
        view: &SessionView,
        call: &ToolInvocation,
    ) -> Result<ToolOutcome, RunnerError> {
        if call.tool == HANDOFF {
            return self.hand_off(view, call).await;
        }
        let Some(action) = call.action else {
            let why = format!("unknown tool `{}`", call.tool);
            return Ok(tool_output::render_failure(&new_fault(Code::SkillDenied, why)));
        };
        if view.only.as_ref().is_some_and(|only| !only.contains(&call.tool)) {
            let why = format!("`{}` is not among the skills this task was given", call.tool);
            return Ok(tool_output::render_failure(&new_fault(Code::SkillDenied, why)));
        }
        // An action that exists already is awaited and never submitted a second time.
        if self.runner.find_action(action).await?.is_some() {
            let work = self.runner.await_action_outcome(view.project, action);
            match self.run_cancellable(agent, action, work).await? {
                RecoveredOutcome::ResultLost(_) if is_read_only(&call.tool) => {}
                RecoveredOutcome::Complete(returned) | RecoveredOutcome::ResultLost(returned) => {
                    return Ok(returned);
                }
            }
            // Repeating a read is harmless, and returns the current state.
            let again = ToolInvocation { action: None, ..call.clone() };
            return self
                .start_action(agent, view, &again, self.runner.gateway.clock().new_id())
                .await;
        }
        self.start_action(agent, view, call, action).await
    }

    async fn start_action(
        &self,
        agent: &Caller,
        view: &SessionView,
        call: &ToolInvocation,
        action: ActionId,
    ) -> Result<ToolOutcome, RunnerError> {
        if self.cancel.is_cancelled() {
            return Ok(tool_output::render_failure(&new_fault(
                Code::Cancelled,
                "the turn was cancelled",
            )));
        }
        let work = Box::pin(self.submit_action(agent, view, call, action));
        self.run_cancellable(agent, action, work).await
    }

    async fn submit_action(
        &self,
        agent: &Caller,
        view: &SessionView,
        call: &ToolInvocation,
        action: ActionId,
    ) -> Result<ToolOutcome, RunnerError> {
        let params: Value = match call.arguments.trim() {
            "" => json!({}),
            text => match serde_json::from_str(text) {
                Ok(params) => params,
                Err(error) => {
                    let why = format!("the arguments are not JSON: {error}");
                    return Ok(tool_output::render_failure(&new_fault(Code::InvalidAction, why)));
                }
            },
        };
        // Numbers without a canonical form are refused as any invalid argument is, by the action.
        let request =
            canonical::to_vec(&params).unwrap_or_else(|_| call.arguments.clone().into_bytes());
        let wanted = SubmitActionRequest {
            action: call.tool.clone(),
            params,
            role: Some(view.role.clone()),
            session_id: Some(view.id),
        };
        // A repeated read gets no idempotency key: it is a new action.
        let command = call.action.map(|_| Idempotency {
            key: format!("{}/{}", self.id.uuid(), call.item),
            request: hash_chain::digest(&request),
        });
        let submit = ActionSubmission { wanted, id: Some(action), command, wait: MAX_ACTION_WAIT };
        let project = view.project.uuid().to_string();
        match self.runner.gateway.actions.submit_action(agent, &project, submit).await? {
            SubmissionOutcome::Finished(answer) => {
                let result = answer.result.map(|raw| raw.to_value()).unwrap_or_default();
                Ok(tool_output::render_success(&call.tool, &result))
            }
            SubmissionOutcome::Running(answer) if answer.result.is_some() => {
                let result = answer.result.map(|raw| raw.to_value()).unwrap_or_default();
                Ok(tool_output::render_success(&call.tool, &result))
            }
            // The same action waits for an approval already: one answer permits one run.
            SubmissionOutcome::Running(answer) => {
                match self.runner.await_action_outcome(view.project, answer.action_id).await? {
                    RecoveredOutcome::Complete(returned)
                    | RecoveredOutcome::ResultLost(returned) => Ok(returned),
                }
            }
        }
    }

    /// Runs `work`; if the turn is cancelled, cancels the action or withdraws its approval and
    /// waits for the end.
    async fn run_cancellable<T>(
        &self,
        agent: &Caller,
        action: ActionId,
        work: impl Future<Output = Result<T, RunnerError>>,
    ) -> Result<T, RunnerError> {
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = self.cancel.cancelled() => {}
        }
        let mut head = self.runner.gateway.store().watch_head();
        loop {
            head.mark_unchanged();
            // The action may not be in the log yet; then this is tried again when the log moves.
            if let Err(error) =
                self.runner.gateway.actions.cancel_action(agent, &action.to_string()).await
            {
                tracing::debug!(%error, "no action to cancel yet");
            }
            tokio::select! {
                done = &mut work => return done,
                moved = head.changed() => moved.map_err(|_| RunnerError::Stopping)?,
            }
        }
    }
}
