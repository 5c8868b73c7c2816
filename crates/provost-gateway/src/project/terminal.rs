//! Access of people to the terminal of a project.
//!
//! A WebSocket cannot carry a token in a header, so a client gets a ticket that works once
//! and for a short time. The project's kernel serves the connection; a terminal that is not
//! open is opened by an action of the person, recorded and permitted like any other.

use std::sync::Arc;
use std::time::Duration;

use provost_kernel::{KernelError, TerminalAttachOptions, TerminalAttachment, attach_terminal};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    Code, Project, ProjectId, ProjectStatus, SubmitActionRequest, TokenClass, limits,
};
use serde_json::json;

use crate::event_log::EventLog;
use crate::one_time_codes::{OneTimeCodes, RedeemedCode};
use crate::project::actions::{ActionService, ActionSubmission, SubmissionOutcome};
use crate::project::kernels::KernelPool;
use crate::project::kernels::faults::fault_from_kernel_error;
use crate::project::principal_directory::PrincipalDirectory;
use crate::token_lease::TokenLease;
use crate::{Caller, GatewayError, Operator, Secret};

/// How long a terminal may take to open.
const TERMINAL_OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The terminals of all projects.
#[derive(Debug)]
pub struct TerminalService {
    log: Arc<EventLog>,
    directory: Arc<dyn PrincipalDirectory>,
    kernels: Arc<KernelPool>,
    actions: Arc<ActionService>,
    tickets: OneTimeCodes<TerminalAccess>,
}

/// A person's access to a terminal, as long as their token is valid.
#[derive(Debug)]
pub struct TerminalAccess {
    /// The person.
    pub by: Operator,
    /// The lease of their token.
    pub lease: TokenLease,
    /// The only project, if the access came from a ticket.
    project: Option<ProjectId>,
}

impl TerminalAccess {
    /// The access of a person whose token came with the request itself.
    pub fn from_operator(by: Operator, lease: TokenLease) -> Self {
        Self { by, lease, project: None }
    }

    /// Fails unless the access is for this project.
    pub fn check_project(&self, project: ProjectId) -> Result<(), GatewayError> {
        if self.project.is_some_and(|only| only != project) {
            return Err(GatewayError::Unauthenticated("this ticket is for another project"));
        }
        Ok(())
    }
}

impl TerminalService {
    pub(crate) fn new(
        log: Arc<EventLog>,
        directory: Arc<dyn PrincipalDirectory>,
        kernels: Arc<KernelPool>,
        actions: Arc<ActionService>,
    ) -> Self {
        let tickets = OneTimeCodes::new(limits::MAX_TICKETS);
        Self { log, directory, kernels, actions, tickets }
    }

    /// A ticket for one connection to the terminal of a project.
    pub fn create_terminal_ticket(
        &self,
        access: TerminalAccess,
        project: &Project,
    ) -> Result<Secret, GatewayError> {
        let expires_at = self.log.now() + limits::TICKET_SECONDS * 1_000_000;
        self.tickets.issue(TerminalAccess { project: Some(project.id), ..access }, expires_at)
    }

    /// Exchanges a ticket for the access that it was issued for.
    pub fn redeem_terminal_ticket(&self, ticket: &str) -> Result<TerminalAccess, GatewayError> {
        let access = self.tickets.redeem(ticket, self.log.now()).map(RedeemedCode::into_value);
        let access = access.filter(|access| self.directory.is_lease_valid(&access.lease));
        access.ok_or(GatewayError::Unauthenticated("this ticket was used already or is too old"))
    }

    /// Connects to the terminal of a project. Opens the terminal for a new client; a client
    /// that reconnects finds it as it is.
    pub async fn connect_terminal(
        &self,
        access: &TerminalAccess,
        project: &Project,
        options: TerminalAttachOptions,
    ) -> Result<TerminalAttachment, GatewayError> {
        access.check_project(project.id)?;
        if project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        match self.attach_terminal(project.id, options).await {
            Err(error) if options.after.is_none() && is_closed(&error) => {
                self.open_terminal(&access.by, project.id, options).await?;
                self.attach_terminal(project.id, options).await
            }
            attached => attached,
        }
        .map_err(|error| GatewayError::Fault(fault_from_kernel_error(&error)))
    }

    async fn attach_terminal(
        &self,
        project: ProjectId,
        options: TerminalAttachOptions,
    ) -> Result<TerminalAttachment, KernelError> {
        attach_terminal(&self.kernels.kernel_dir(project), options).await
    }

    /// Submits `pty.open` for the person.
    async fn open_terminal(
        &self,
        by: &Operator,
        project: ProjectId,
        options: TerminalAttachOptions,
    ) -> Result<(), GatewayError> {
        let principal = by.principal().to_owned();
        let caller = Caller::new(principal, by.actor().clone(), TokenClass::Operator, None, None);
        let wanted = SubmitActionRequest {
            action: "pty.open".to_owned(),
            params: json!({ "cols": options.cols, "rows": options.rows }),
            role: None,
            session_id: None,
        };
        let submission =
            ActionSubmission { wanted, id: None, command: None, wait: TERMINAL_OPEN_TIMEOUT };
        let project = project.uuid().to_string();
        match self.actions.submit_action(&caller, &project, submission).await? {
            SubmissionOutcome::Finished(_) => Ok(()),
            SubmissionOutcome::Running(_) => {
                let message = "the terminal takes long to open; try again".to_owned();
                let code = Code::Unavailable;
                Err(GatewayError::Fault(ErrorInfo { code, message, details: None }))
            }
        }
    }
}

/// Whether there is no open terminal, or no kernel that could have one.
fn is_closed(error: &KernelError) -> bool {
    match error {
        KernelError::Lost => true,
        KernelError::Fault(fault) => fault.code == Code::PtyDead,
        KernelError::StartFailed(_)
        | KernelError::Unresponsive
        | KernelError::ProtocolMismatch { .. } => false,
    }
}

#[cfg(test)]
mod tests;
