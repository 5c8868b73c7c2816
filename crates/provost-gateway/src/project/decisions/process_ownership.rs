//! Which processes an agent may reach: those that it started. A person reaches all.

use provost_core::action::{Action, ProcessAction};
use provost_core::decide::{ActionRequest, Denial};
use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{ActionId, Code, TokenClass};
use serde_json::Value;

use super::Decisions;
use crate::GatewayError;

impl Decisions {
    /// The denial, if an agent names a process that another principal started. The kernel
    /// refuses a process that was never started.
    pub(super) async fn deny_foreign_process(
        &self,
        request: &ActionRequest,
    ) -> Result<Option<Denial>, GatewayError> {
        let id = match (&request.action, request.class) {
            (
                Action::Process(action),
                TokenClass::Agent | TokenClass::Runtime | TokenClass::Viewer,
            ) => match target_process_id(action) {
                Some(id) => id,
                None => return Ok(None),
            },
            (Action::File(_) | Action::Runtime(_), _) | (_, TokenClass::Operator) => {
                return Ok(None);
            }
        };
        let Ok(parsed) = id.parse() else { return Ok(None) };
        if self
            .find_process_starter(parsed)
            .await?
            .is_none_or(|starter| starter == request.principal)
        {
            return Ok(None);
        }
        let why = format!(
            "process `{id}` was started by another principal, and an agent reaches only its own; \
             `terminal.list` shows them"
        );
        Ok(Some(Denial::new(Code::Forbidden, why)))
    }

    /// Removes the processes of other principals from a list.
    pub(crate) async fn retain_own_processes(
        &self,
        principal: &str,
        mut listed: Value,
    ) -> Result<Value, GatewayError> {
        let Some(processes) = listed.get_mut("processes").and_then(Value::as_array_mut) else {
            return Ok(listed);
        };
        let mut own = Vec::new();
        for process in processes.drain(..) {
            let id = process["id"].as_str().and_then(|id| id.parse().ok());
            let starter = match id {
                Some(id) => self.find_process_starter(id).await?,
                None => None,
            };
            if starter.as_deref() == Some(principal) {
                own.push(process);
            }
        }
        *processes = own;
        Ok(listed)
    }

    /// The principal that started a process, which has the id of its action.
    async fn find_process_starter(&self, id: ActionId) -> Result<Option<String>, GatewayError> {
        let doc = self.log.store().get_document(ViewKind::Actions, id.uuid()).await?;
        Ok(doc.and_then(ViewDocument::into_action).map(|action| action.principal))
    }
}

/// The id of the process that an action names.
fn target_process_id(action: &ProcessAction) -> Option<&str> {
    match action {
        ProcessAction::RunCommand(_) | ProcessAction::List(_) => None,
        ProcessAction::Read(read) => Some(&read.id),
        ProcessAction::Write(write) => Some(&write.id),
        ProcessAction::Signal(signal) => Some(&signal.id),
        ProcessAction::Stop(stop) => Some(&stop.id),
    }
}
