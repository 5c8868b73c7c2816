//! Carrying out what a model calls: down the road of all actions, all at once.

use std::time::Duration;

use futures::future::join_all;
use provost_core::action::{Action, ActionKind};
use provost_core::canonical;
use provost_core::hash_chain;
use provost_core::session::loop_detector::{CallRepetition, LOOP_WARNING, LoopDetector};
use provost_core::session::tools::HANDOFF;
use provost_gateway::{Caller, Done, GatewayError, Submit};
use provost_proto::kernel::ErrorInfo;
use provost_proto::session::{ItemNumber, SessionView, ToolCallStatus, ToolReturned};
use provost_proto::{ActionId, Code, Fact, SessionId, SubmitActionRequest};
use provost_store::{Idempotency, StoreError};
use serde_json::{Value, json};

use super::error::Broken;
use super::recover::Followed;
use super::turn::Turn;
use super::{RunnerError, render};

/// How long a call is waited for without looking into the log: it ends by its own
/// limits, or by those of the question it waits for.
const PATIENCE: Duration = Duration::from_hours(24);

/// A call of the model.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) item: ItemNumber,
    /// The model's name for it.
    pub(super) id: String,
    /// The action, or `handoff`, or what the model made up.
    pub(super) tool: String,
    pub(super) arguments: String,
    /// The name that the action has or will have.
    pub(super) action: Option<ActionId>,
    pub(super) child: Option<SessionId>,
}

/// What came of a call.
#[derive(Debug, Clone)]
pub(super) struct Returned {
    pub(super) status: ToolCallStatus,
    pub(super) output: String,
}

/// What a tool returned, without what was said about it.
pub(super) fn bare(output: &str) -> &str {
    output.strip_suffix(LOOP_WARNING).map_or(output, |output| output.trim_end_matches("\n\n"))
}

/// Whether a tool looks at files and does nothing else.
fn reads(tool: &str) -> bool {
    Action::KINDS.contains(&(tool, ActionKind::Read))
}

pub(super) fn fault(code: Code, message: impl Into<String>) -> ErrorInfo {
    ErrorInfo { code, message: message.into(), details: None }
}

impl Turn {
    /// Carries calls out at once, and writes down what comes of each as it comes.
    pub(super) async fn carry_out(
        &self,
        view: &SessionView,
        guard: &LoopDetector,
        calls: &[Call],
    ) -> Result<Vec<Returned>, Broken> {
        let agent = self.runner.gateway.agent(view.id, view.project, &view.role)?;
        let numbered = calls.iter().enumerate();
        let works = numbered.map(|(ahead, call)| self.call(&agent, view, (guard, ahead), call));
        join_all(works).await.into_iter().collect()
    }

    async fn call(
        &self,
        agent: &Caller,
        view: &SessionView,
        (guard, ahead): (&LoopDetector, usize),
        call: &Call,
    ) -> Result<Returned, Broken> {
        let mut returned = match self.perform(agent, view, call).await {
            Ok(returned) => returned,
            Err(RunnerError::Gateway(GatewayError::Fault(fault))) => render::failed(&fault),
            Err(RunnerError::Gateway(GatewayError::BadAction(bad))) => {
                render::failed(&fault(Code::InvalidAction, bad.to_string()))
            }
            Err(error @ RunnerError::Gateway(GatewayError::Store(_) | GatewayError::Stopping)) => {
                return Err(error.into());
            }
            Err(error) => render::failed(&fault(Code::Internal, error.to_string())),
        };
        let same = (&*call.tool, &*call.arguments);
        if guard.predict_call(ahead, same, &returned.output) == CallRepetition::Repeated {
            returned.output = format!("{}\n\n{LOOP_WARNING}", returned.output);
        }
        let fact = Fact::ToolReturned(ToolReturned {
            session: self.journal.session,
            turn: self.id,
            item: call.item,
            call: call.id.clone(),
            status: returned.status,
            output: returned.output.clone(),
        });
        self.journal.model(&self.by, vec![fact]).await?;
        Ok(returned)
    }

    async fn perform(
        &self,
        agent: &Caller,
        view: &SessionView,
        call: &Call,
    ) -> Result<Returned, RunnerError> {
        if call.tool == HANDOFF {
            return self.hand_off(view, call).await;
        }
        let Some(action) = call.action else {
            let why = format!("there is no tool `{}`", call.tool);
            return Ok(render::failed(&fault(Code::SkillDenied, why)));
        };
        if view.only.as_ref().is_some_and(|only| !only.contains(&call.tool)) {
            let why = format!("`{}` is not among the skills this task was given", call.tool);
            return Ok(render::failed(&fault(Code::SkillDenied, why)));
        }
        // What is there already is followed, and never asked for a second time.
        if self.runner.action(action).await?.is_some() {
            let work = self.runner.followed(view.project, action);
            match self.stoppable(agent, action, work).await? {
                Followed::Lost(_) if reads(&call.tool) => {}
                Followed::Told(returned) | Followed::Lost(returned) => return Ok(returned),
            }
            // Looking again changes nothing, and tells how it is now.
            let again = Call { action: None, ..call.clone() };
            return self.begin(agent, view, &again, self.runner.gateway.clock().new_id()).await;
        }
        self.begin(agent, view, call, action).await
    }

    async fn begin(
        &self,
        agent: &Caller,
        view: &SessionView,
        call: &Call,
        action: ActionId,
    ) -> Result<Returned, RunnerError> {
        if self.cancel.is_cancelled() {
            return Ok(render::failed(&fault(Code::Cancelled, "the turn was cancelled")));
        }
        let work = Box::pin(self.submit(agent, view, call, action));
        self.stoppable(agent, action, work).await
    }

    async fn submit(
        &self,
        agent: &Caller,
        view: &SessionView,
        call: &Call,
        action: ActionId,
    ) -> Result<Returned, RunnerError> {
        let params: Value = match call.arguments.trim() {
            "" => json!({}),
            text => match serde_json::from_str(text) {
                Ok(params) => params,
                Err(error) => {
                    let why = format!("the arguments are not JSON: {error}");
                    return Ok(render::failed(&fault(Code::InvalidAction, why)));
                }
            },
        };
        let request = canonical::to_vec(&params).map_err(StoreError::from)?;
        let wanted = SubmitActionRequest {
            action: call.tool.clone(),
            params,
            role: Some(view.role.clone()),
            session_id: Some(view.id),
        };
        // A second look at what a call read has no name in the log, and is no repetition.
        let command = call.action.map(|_| Idempotency {
            key: format!("{}/{}", self.id.uuid(), call.item),
            request: hash_chain::digest(&request),
        });
        let submit = Submit { wanted, id: Some(action), command, wait: PATIENCE };
        let project = view.project.uuid().to_string();
        match self.runner.gateway.submit(agent, &project, submit).await? {
            Done::Finished(answer) => {
                let result = answer.result.map(|raw| raw.to_value()).unwrap_or_default();
                Ok(render::done(&call.tool, &result))
            }
            Done::Running(answer) if answer.result.is_some() => {
                let result = answer.result.map(|raw| raw.to_value()).unwrap_or_default();
                Ok(render::done(&call.tool, &result))
            }
            // The same is asked already: one answer is one run.
            Done::Running(answer) => {
                match self.runner.followed(view.project, answer.action_id).await? {
                    Followed::Told(returned) | Followed::Lost(returned) => Ok(returned),
                }
            }
        }
    }

    /// Work that ends when the turn is cancelled: its action is stopped, or the
    /// question about it withdrawn, and its end is waited for.
    async fn stoppable<T>(
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
            // It may not have got so far that there is something to stop.
            if let Err(error) = self.runner.gateway.cancel(agent, &action.to_string()).await {
                tracing::debug!(%error, "nothing to stop yet");
            }
            tokio::select! {
                done = &mut work => return done,
                moved = head.changed() => moved.map_err(|_| RunnerError::Stopping)?,
            }
        }
    }
}
