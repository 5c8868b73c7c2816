//! Handing a task to another role.

use provost_core::session::handoff::hand_over;
use provost_proto::session::{HandedOff, SessionStatus, SessionView};
use provost_proto::{Code, Fact, SessionId};
use serde_json::Value;

use super::tools::{Call, Returned, fault};
use super::turn::Turn;
use super::{RunnerError, ask, render};

impl Turn {
    /// Gives a task to another role, in a session of its own, and waits for it.
    pub(super) async fn hand_off(
        &self,
        view: &SessionView,
        call: &Call,
    ) -> Result<Returned, RunnerError> {
        let child = match call.child {
            Some(child) => child,
            None => match self.open_handoff(view, call).await? {
                Ok(child) => child,
                Err(why) => return Ok(render::failed(&fault(Code::SkillDenied, why))),
            },
        };
        let mut head = self.runner.gateway.store().head();
        loop {
            head.mark_unchanged();
            let now = self.runner.view(child).await?;
            match now.status {
                SessionStatus::Running => {}
                SessionStatus::Idle if now.turn.is_none() => {}
                SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Closed => {
                    return self.runner.said_last(&now).await;
                }
            }
            tokio::select! {
                moved = head.changed() => moved.map_err(|_| RunnerError::Stopping)?,
                () = self.cancel.cancelled() => {
                    self.runner.cancel(child).await?;
                    return Ok(render::failed(&fault(Code::Cancelled, "the turn was cancelled")));
                }
            }
        }
    }

    /// Opens the other session, or says why not.
    async fn open_handoff(
        &self,
        view: &SessionView,
        call: &Call,
    ) -> Result<Result<SessionId, String>, RunnerError> {
        let wanted: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let (Some(name), Some(task)) = (wanted["role"].as_str(), wanted["task"].as_str()) else {
            return Ok(Err("say to which `role` and what the `task` is".to_owned()));
        };
        let gateway = &self.runner.gateway;
        let project = gateway.project(&view.project.uuid().to_string()).await?;
        let parts = gateway.parts(&project).await?;
        let role = gateway.part(&project, &view.role).await?;
        let own = ask::skills(view, &role);
        let roles = parts.iter().map(|part| (part.name.as_str(), &part.skills));
        let only = match hand_over((&view.role, view.depth, &own), name, roles) {
            Ok(only) => only,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let by = self.by.clone();
        let opened = self.runner.open_child(by.clone(), view, (&project, name), only).await?;
        let fact = Fact::HandedOff(HandedOff {
            session: self.journal.session,
            turn: self.id,
            item: call.item,
            to: opened.id,
            role: name.to_owned(),
        });
        self.journal.model(&self.by, vec![fact]).await?;
        let sent = Box::pin(self.runner.send_as(by, opened.id, task.to_owned().into())).await;
        if let Err(error) = sent {
            return Ok(Err(error.to_string()));
        }
        Ok(Ok(opened.id))
    }
}
