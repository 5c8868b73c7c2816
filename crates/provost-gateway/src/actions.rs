//! The road of an action: asked, decided, carried out, recorded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::action::{Action, BadAction, Effect};
use provost_core::fold::{Doc, View};
use provost_core::permit::{Denied, Permit, Request as Asked, decide};
use provost_kernel::KernelError;
use provost_proto::kernel::{Fault, Outcome, OutputStream};
use provost_proto::{
    ActionAnswer, ActionId, ActionStatus, ActionView, Code, Fact, Hash, Project, ProjectStatus,
    RequestAction, Stream, TokenClass, limits,
};
use provost_store::{Append, Durability, Idempotency, NewEvent, StoreError};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::kernels::Finished;
use crate::{Caller, Gateway, GatewayError};

/// A request for an action.
#[derive(Debug)]
pub struct Submit {
    /// What is asked for.
    pub wanted: RequestAction,
    /// The client's idempotency key.
    pub command: Option<Idempotency>,
    /// How long to wait for the end before answering that it goes on.
    pub wait: Duration,
}

/// What a request for an action came to.
#[derive(Debug)]
pub enum Done {
    /// It has ended; this came out.
    Finished(ActionAnswer),
    /// It goes on.
    Running(ActionAnswer),
}

impl Gateway {
    /// Asks for an action on behalf of a caller.
    pub async fn submit(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        submit: Submit,
    ) -> Result<Done, GatewayError> {
        let project = self.project(project).await?;
        caller.may_ask(project.id)?;
        if project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        if caller.class() == TokenClass::Agent
            && let Err(error) = Action::parse(&submit.wanted.action, submit.wanted.params.clone())
        {
            return self.deny_nonsense(caller, &project, &submit.wanted.action, &error).await;
        }
        let action = Action::parse(&submit.wanted.action, submit.wanted.params)?;
        let id = self.clock.id();
        let requested = Fact::ActionRequested {
            action: id,
            project: project.id,
            name: action.name().to_owned(),
            params: action.params(),
            what: action.describe(),
            action_hash: action.hash(caller.principal(), project.id).map_err(StoreError::from)?,
        };
        let effect = action.effect();
        let decision = decide(Asked {
            id,
            project: project.id,
            principal: caller.principal().to_owned(),
            class: caller.class(),
            action,
        });
        match decision {
            Err(denied) => {
                let fault = refusal(&denied);
                let answer = Fact::ActionDenied { action: id, fault: fault.clone() };
                self.write(caller, &project, Durability::Power, vec![requested, answer]).await?;
                Err(GatewayError::Fault(fault))
            }
            Ok(permit) => {
                let allowed = Fact::ActionAllowed { action: id, by: "operator".to_owned() };
                // Nothing that changes the world starts before the disk knows of it.
                let durability = match effect {
                    Effect::Read | Effect::Process => Durability::Process,
                    Effect::Write | Effect::Run => Durability::Power,
                };
                let append = events(caller, &project, durability, vec![requested, allowed]);
                self.write_once(Append { command: submit.command, ..append }).await?;
                self.carry_out(caller, &project, permit, submit.wait).await
            }
        }
    }

    /// An agent asked for what is no action at all: it has no skill for that
    /// either, and the log says that it asked.
    async fn deny_nonsense(
        &self,
        caller: &Caller,
        project: &Project,
        name: &str,
        error: &BadAction,
    ) -> Result<Done, GatewayError> {
        let id = self.clock.id();
        let short: String = name.chars().take(limits::NAME / 4).collect();
        let requested = Fact::ActionRequested {
            action: id,
            project: project.id,
            name: short,
            params: Value::Null,
            what: format!("something that is no action: {error}").chars().take(400).collect(),
            action_hash: Hash::ZERO,
        };
        let message = "this token has no skill for that".to_owned();
        let fault = Fault { code: Code::SkillDenied, message, details: None };
        let denied = Fact::ActionDenied { action: id, fault: fault.clone() };
        self.write(caller, project, Durability::Power, vec![requested, denied]).await?;
        Err(GatewayError::Fault(fault))
    }

    /// Uses a permit up. Goes on when the caller is gone.
    async fn carry_out(
        self: &Arc<Self>,
        caller: &Caller,
        project: &Project,
        permit: Permit,
        wait: Duration,
    ) -> Result<Done, GatewayError> {
        let (id, hash) = (permit.id(), permit.hash());
        let runs = permit.action().effect() == Effect::Run;
        let answer =
            move |status, result| ActionAnswer { action_id: id, action_hash: hash, status, result };
        let (gateway, caller, project) = (Arc::clone(self), caller.clone(), project.clone());
        let work = tokio::spawn(async move {
            if runs {
                gateway.run_command(&caller, &project, permit).await
            } else {
                gateway.on_the_spot(&caller, &project, permit).await
            }
        });
        match timeout(wait, work).await {
            Err(_) => Ok(Done::Running(answer(ActionStatus::Running, None))),
            Ok(Err(_)) => Err(StoreError::Closed.into()),
            Ok(Ok(result)) => match result? {
                Ended::Now(value) => {
                    Ok(Done::Finished(answer(ActionStatus::Finished, Some(value))))
                }
                Ended::GoesOn(value) => {
                    Ok(Done::Running(answer(ActionStatus::Running, Some(value))))
                }
            },
        }
    }

    /// An action whose answer comes at once.
    async fn on_the_spot(
        self: &Arc<Self>,
        caller: &Caller,
        project: &Project,
        permit: Permit,
    ) -> Result<Ended, GatewayError> {
        let (id, began) = (permit.id(), Instant::now());
        let result = match self.kernel(project).await {
            Ok(kernel) => kernel.execute(permit).await.map_err(|error| fault(&error)),
            Err(error) => Err(error),
        };
        let changed = result.as_ref().ok().and_then(|value| value.get("changed")).cloned();
        let outcome = Outcome {
            exit_code: None,
            signal: None,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            fault: result.as_ref().err().cloned(),
            summary: json!({ "changed": changed }),
        };
        let finished =
            Fact::ActionFinished { action: id, project: project.id, report: None, outcome };
        self.write(caller, project, Durability::Process, vec![finished]).await?;
        result.map(Ended::Now).map_err(GatewayError::Fault)
    }

    /// A command: its output and its end come as reports.
    async fn run_command(
        self: &Arc<Self>,
        caller: &Caller,
        project: &Project,
        permit: Permit,
    ) -> Result<Ended, GatewayError> {
        let id = permit.id();
        let background = permit.action().params()["background"] == true;
        let waiting = self.kernels.expect(id);
        let started = match self.kernel(project).await {
            Ok(kernel) => kernel.execute(permit).await.map_err(|error| fault(&error)),
            Err(error) => Err(error),
        };
        match started {
            Err(fault) => {
                let outcome = failed(fault.clone());
                let finished =
                    Fact::ActionFinished { action: id, project: project.id, report: None, outcome };
                self.write(caller, project, Durability::Process, vec![finished]).await?;
                Err(GatewayError::Fault(fault))
            }
            Ok(process) if background => Ok(Ended::GoesOn(process)),
            Ok(_) => {
                let finished = waiting.end().await.ok_or(StoreError::Closed)?;
                result_of(finished).map(Ended::Now)
            }
        }
    }

    async fn write(
        &self,
        caller: &Caller,
        project: &Project,
        sure: Durability,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        self.store.append(events(caller, project, sure, facts)).await?;
        Ok(())
    }

    /// Writes what was decided, unless the same request was carried out before.
    async fn write_once(&self, append: Append) -> Result<(), GatewayError> {
        match self.store.append(append).await? {
            provost_store::Appended::Fresh(_) => Ok(()),
            provost_store::Appended::Repeated(_) => Err(GatewayError::Fault(Fault {
                code: Code::Conflict,
                message: "this request was carried out before; see its action in the log"
                    .to_owned(),
                details: None,
            })),
        }
    }

    /// An action, as far as it has come.
    pub async fn action(&self, id: &str) -> Result<ActionView, GatewayError> {
        let not_found = || GatewayError::ActionNotFound(id.to_owned());
        let parsed: ActionId = id.parse().map_err(|_| not_found())?;
        let doc = self.store.doc(View::Actions, parsed.uuid()).await?;
        doc.and_then(Doc::into_action).ok_or_else(not_found)
    }

    /// Stops an action. Tells whether there was anything to stop.
    pub async fn cancel(&self, caller: &Caller, id: &str) -> Result<bool, GatewayError> {
        let action = self.action(id).await?;
        caller.may_ask(action.project)?;
        if caller.principal() != action.principal && caller.class() != TokenClass::Operator {
            return Err(GatewayError::ActionNotFound(id.to_owned()));
        }
        match self.kernels.connected(action.project) {
            Some(kernel) => {
                kernel.cancel(action.id).await.map_err(|error| GatewayError::Fault(fault(&error)))
            }
            None => Ok(false),
        }
    }
}

fn events(caller: &Caller, project: &Project, durability: Durability, facts: Vec<Fact>) -> Append {
    let stream = Stream::Project(project.id);
    Append {
        principal: caller.principal().to_owned(),
        actor: caller.actor().clone(),
        command: None,
        expect: Vec::new(),
        durability,
        events: facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect(),
    }
}

/// Whether an action has ended when it is answered.
enum Ended {
    Now(Value),
    GoesOn(Value),
}

/// What a command's caller is told: what it printed and how it ended.
fn result_of(finished: Finished) -> Result<Value, GatewayError> {
    let Finished { outcome, output } = finished;
    if let Some(mut fault) = outcome.fault.clone() {
        let text = |stream| String::from_utf8_lossy(&output.of(stream)).into_owned();
        fault.details = Some(json!({
            "stdout": text(OutputStream::Stdout),
            "stderr": text(OutputStream::Stderr),
            "outcome": outcome,
        }));
        return Err(GatewayError::Fault(fault));
    }
    let text = |stream| String::from_utf8_lossy(&output.of(stream)).into_owned();
    Ok(json!({
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "durationMs": outcome.duration_ms,
        "stdout": text(OutputStream::Stdout),
        "stderr": text(OutputStream::Stderr),
        "droppedBytes": outcome.summary["droppedBytes"],
    }))
}

fn refusal(denied: &Denied) -> Fault {
    let code = match denied {
        Denied::Skill { .. } => Code::SkillDenied,
        Denied::NotCanonical(_) => Code::InvalidAction,
    };
    Fault { code, message: denied.to_string(), details: None }
}

/// The outcome of an action that never began.
pub(crate) fn failed(fault: Fault) -> Outcome {
    Outcome {
        exit_code: None,
        signal: None,
        duration_ms: 0,
        fault: Some(fault),
        summary: Value::Null,
    }
}

pub(crate) fn fault(error: &KernelError) -> Fault {
    match error {
        KernelError::Fault(fault) => fault.clone(),
        KernelError::Lost | KernelError::Unresponsive => lost(&error.to_string()),
        KernelError::Start(_) => {
            Fault { code: Code::Unavailable, message: error.to_string(), details: None }
        }
    }
}

pub(crate) fn lost(why: &str) -> Fault {
    Fault { code: Code::KernelLost, message: why.to_owned(), details: None }
}
