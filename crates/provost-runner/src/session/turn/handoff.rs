//! Handoff: a task given to another role in a session of its own.
//!
//! Opening the session and sending its task are two appends. If the daemon stops in between,
//! the next one sends the task, under an idempotency key so that it is sent once.

use provost_core::hash_chain;
use provost_core::session::handoff::{HandoffGiver, check_handoff};
use provost_proto::session::{HandedOff, SessionStatus, SessionView};
use provost_proto::{Code, Fact, SessionId};
use provost_store::Idempotency;
use serde_json::Value;

use super::Turn;
use super::tool_execution::{ToolInvocation, ToolOutcome, new_fault};
use super::{request_completion, tool_output};
use crate::session::RunnerError;
use crate::session::actor::TurnPrompt;

/// The arguments of a handoff call.
struct HandoffArguments {
    role: String,
    task: String,
}

impl HandoffArguments {
    fn from_call(call: &ToolInvocation) -> Option<Self> {
        let wanted: Value = serde_json::from_str(&call.arguments).ok()?;
        let text = |name: &str| wanted[name].as_str().map(str::to_owned);
        Some(Self { role: text("role")?, task: text("task")? })
    }
}

impl Turn {
    /// Opens a session for another role, sends it the task and waits for its turn to end.
    pub(crate) async fn hand_off(
        &self,
        view: &SessionView,
        call: &ToolInvocation,
    ) -> Result<ToolOutcome, RunnerError> {
        let Some(wanted) = HandoffArguments::from_call(call) else {
            let why = "a handoff needs the arguments `role` and `task`";
            return Ok(tool_output::render_failure(&new_fault(Code::SkillDenied, why)));
        };
        let child = match call.child {
            Some(child) => child,
            None => match self.open_handoff_session(view, call, &wanted.role).await? {
                Ok(child) => child,
                Err(why) => {
                    return Ok(tool_output::render_failure(&new_fault(Code::SkillDenied, why)));
                }
            },
        };
        if let Err(error) = self.send_task(child, wanted.task).await {
            return Ok(tool_output::render_failure(&new_fault(
                Code::SkillDenied,
                error.to_string(),
            )));
        }
        let mut head = self.runner.gateway.store().watch_head();
        loop {
            head.mark_unchanged();
            let now = self.runner.load_session(child).await?;
            match now.status {
                SessionStatus::Running => {}
                SessionStatus::Idle if now.turn.is_none() => {}
                SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Closed => {
                    return self.runner.load_handoff_outcome(&now).await;
                }
            }
            tokio::select! {
                moved = head.changed() => moved.map_err(|_| RunnerError::Stopping)?,
                () = self.cancel.cancelled() => {
                    self.runner.cancel_turn(child).await?;
                    return Ok(tool_output::render_failure(&new_fault(Code::Cancelled, "the turn was cancelled")));
                }
            }
        }
    }

    /// Opens the child session; the inner error is for the model.
    async fn open_handoff_session(
        &self,
        view: &SessionView,
        call: &ToolInvocation,
        name: &str,
    ) -> Result<Result<SessionId, String>, RunnerError> {
        let gateway = &self.runner.gateway;
        let project = gateway.projects.get_project(&view.project.uuid().to_string()).await?;
        let parts = gateway.sessions.list_session_roles(&project).await?;
        let role = gateway.sessions.find_session_role(&project, &view.role).await?;
        let own = request_completion::session_skills(view, &role);
        let roles = parts.iter().map(|part| (part.name.as_str(), &part.skills));
        let giver = HandoffGiver { role: &view.role, depth: view.depth, skills: &own };
        let only = match check_handoff(giver, name, roles) {
            Ok(only) => only,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let by = self.by.clone();
        let opened = self.runner.open_child_session(by, view, &project, name, only).await?;
        let fact = Fact::HandedOff(HandedOff {
            session: self.log.session,
            turn: self.id,
            item: call.item,
            to: opened.id,
            role: name.to_owned(),
        });
        self.log.append_as_agent(&self.by, vec![fact]).await?;
        Ok(Ok(opened.id))
    }

    /// Sends the task to the child session unless it has it already.
    async fn send_task(&self, child: SessionId, task: String) -> Result<(), RunnerError> {
        let now = self.runner.load_session(child).await?;
        if now.turn.is_some() || now.status == SessionStatus::Closed {
            return Ok(());
        }
        let request = hash_chain::digest(task.as_bytes());
        let command = Some(Idempotency { key: format!("task/{}", child.uuid()), request });
        let prompt = TurnPrompt { text: task, command, max_output_tokens: None };
        Box::pin(self.runner.send_message_as(self.by.clone(), child, prompt)).await.map(drop)
    }
}
