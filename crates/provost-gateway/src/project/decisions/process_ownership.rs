//! Whose process it is: an agent reaches those that it started, a person all.

use provost_core::action::{Action, ProcessAction};
use provost_core::decide::{ActionRequest, Denial};
use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::{ActionId, Code, TokenClass};
use serde_json::Value;

use crate::{Gateway, GatewayError};

impl Gateway {
    /// Why an agent may not touch the process that it names, if it may not. One
    /// that was never started is the kernel's to say.
    pub(crate) async fn deny_foreign_process(
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
            "process `{id}` was started by somebody else, and an agent reaches only its own; \
             `terminal.list` shows those, and a person reaches the others"
        );
        Ok(Some(Denial::new(Code::Forbidden, why)))
    }

    /// Leaves in a list of processes those that this principal started.
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

    /// On whose authority a process was started: it has the name of its action.
    async fn find_process_starter(&self, id: ActionId) -> Result<Option<String>, GatewayError> {
        let doc = self.store.get_document(ViewKind::Actions, id.uuid()).await?;
        Ok(doc.and_then(ViewDocument::into_action).map(|action| action.principal))
    }
}

/// The process that an action names.
fn target_process_id(action: &ProcessAction) -> Option<&str> {
    match action {
        ProcessAction::RunCommand(_) | ProcessAction::List(_) => None,
        ProcessAction::Read(read) => Some(&read.id),
        ProcessAction::Write(write) => Some(&write.id),
        ProcessAction::Signal(signal) => Some(&signal.id),
        ProcessAction::Stop(stop) => Some(&stop.id),
    }
}
