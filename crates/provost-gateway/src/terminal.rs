//! The way to a project's terminal, for people.
//!
//! A WebSocket cannot carry a token in a header, so a person gets a ticket for
//! one, which is good once and not for long. Whoever comes through is let in by
//! the project's kernel; if it has no terminal, it is opened as everything is:
//! by an action of that person, recorded and permitted.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use provost_kernel::{KernelError, TerminalReader, TerminalWriter, attach_terminal};
use provost_proto::kernel::ErrorInfo;
use provost_proto::terminal::TerminalAttachResponse;
use provost_proto::{
    Code, Hash, ProjectId, ProjectStatus, SubmitActionRequest, TokenClass, UnixMicros, limits,
};
use serde_json::json;

use crate::execute::fault_from_kernel_error;
use crate::{
    ActionSubmission, Caller, Gateway, GatewayError, Operator, Secret, SubmissionOutcome,
    TokenLease, secret,
};

/// How long a terminal may take to open.
const TERMINAL_OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The tickets that wait to be used. In memory only: a restart ends them.
#[derive(Debug, Default)]
pub(crate) struct TerminalTickets(Mutex<VecDeque<PendingTerminalTicket>>);

#[derive(Debug)]
struct PendingTerminalTicket {
    code: Hash,
    until: UnixMicros,
    seat: TerminalAccess,
}

/// The right to sit at a project's terminal, as long as the token behind it works.
#[derive(Debug)]
pub struct TerminalAccess {
    /// Who.
    pub by: Operator,
    /// How long.
    pub pass: TokenLease,
    /// Only in this project, if it came from a ticket.
    project: Option<ProjectId>,
}

/// A client of a terminal.
#[derive(Debug)]
pub struct TerminalAttachment {
    /// How it stood when the client came.
    pub attached: TerminalAttachResponse,
    /// What the terminal sends.
    pub look: TerminalReader,
    /// What the client sends.
    pub keys: TerminalWriter,
}

/// From where on, and with how large a window.
#[derive(Debug, Clone, Copy)]
pub struct TerminalAttachOptions {
    /// How many bytes of output the client has.
    pub after: Option<u64>,
    /// Its width.
    pub cols: u16,
    /// Its height.
    pub rows: u16,
}

impl TerminalTickets {
    fn add(&self, ticket: PendingTerminalTicket) {
        let mut tickets = self.0.lock();
        if tickets.len() == limits::MAX_TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    /// Takes the ticket out, so that it works once.
    fn take(&self, code: &Hash, now: UnixMicros) -> Option<TerminalAccess> {
        let mut tickets = self.0.lock();
        tickets.retain(|ticket| ticket.until > now);
        let mut taken = None;
        for ticket in std::mem::take(&mut *tickets) {
            if secret::constant_time_eq(&ticket.code, code) {
                taken = Some(ticket.seat);
            } else {
                tickets.push_back(ticket);
            }
        }
        taken
    }
}

impl TerminalAccess {
    /// Of a person whose token came with the request itself.
    pub fn from_operator(by: Operator, pass: TokenLease) -> Self {
        Self { by, pass, project: None }
    }
}

impl Gateway {
    /// A ticket for one connection to the terminal of a project.
    pub async fn create_terminal_ticket(
        &self,
        seat: TerminalAccess,
        name: &str,
    ) -> Result<Secret, GatewayError> {
        let project = Some(self.get_project(name).await?.id);
        let code = Secret::random("")?;
        let until = self.clock().now() + limits::TICKET_SECONDS * 1_000_000;
        self.tickets.add(PendingTerminalTicket {
            code: code.digest(),
            until,
            seat: TerminalAccess { project, ..seat },
        });
        Ok(code)
    }

    /// Uses a ticket up.
    pub fn redeem_terminal_ticket(&self, ticket: &str) -> Result<TerminalAccess, GatewayError> {
        let seat = self.tickets.take(&secret::digest(ticket), self.clock().now());
        let seat = seat.filter(|seat| self.is_lease_valid(&seat.pass));
        seat.ok_or(GatewayError::Unauthenticated("this ticket was used already or is too old"))
    }

    /// Brings a person to the terminal of a project. Whoever comes anew has it
    /// opened if it is not; whoever was there before finds it as it is.
    pub async fn connect_terminal(
        self: &Arc<Self>,
        seat: &TerminalAccess,
        name: &str,
        view: TerminalAttachOptions,
    ) -> Result<TerminalAttachment, GatewayError> {
        let project = self.get_project(name).await?;
        if seat.project.is_some_and(|only| only != project.id) {
            return Err(GatewayError::Unauthenticated("this ticket is for another project"));
        }
        if project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        match self.attach_terminal(project.id, view).await {
            Err(error) if view.after.is_none() && is_closed(&error) => {
                self.open_terminal(&seat.by, name, view).await?;
                self.attach_terminal(project.id, view).await
            }
            seated => seated,
        }
        .map_err(|error| GatewayError::Fault(fault_from_kernel_error(&error)))
    }

    async fn attach_terminal(
        &self,
        project: ProjectId,
        view: TerminalAttachOptions,
    ) -> Result<TerminalAttachment, KernelError> {
        let TerminalAttachOptions { after, cols, rows } = view;
        let (attached, look, keys) =
            attach_terminal(&self.kernel_dir(project), after, (cols, rows)).await?;
        Ok(TerminalAttachment { attached, look, keys })
    }

    /// Asks for `pty.open` as the person would.
    async fn open_terminal(
        self: &Arc<Self>,
        by: &Operator,
        project: &str,
        view: TerminalAttachOptions,
    ) -> Result<(), GatewayError> {
        let principal = by.principal().to_owned();
        let caller = Caller::new(principal, by.actor().clone(), TokenClass::Operator, None, None);
        let wanted = SubmitActionRequest {
            action: "pty.open".to_owned(),
            params: json!({ "cols": view.cols, "rows": view.rows }),
            role: None,
            session_id: None,
        };
        let submit =
            ActionSubmission { wanted, id: None, command: None, wait: TERMINAL_OPEN_TIMEOUT };
        match self.submit_action(&caller, project, submit).await? {
            SubmissionOutcome::Finished(_) => Ok(()),
            SubmissionOutcome::Running(_) => {
                let message = "the terminal takes long to open; try again".to_owned();
                let code = Code::Unavailable;
                Err(GatewayError::Fault(ErrorInfo { code, message, details: None }))
            }
        }
    }
}

/// Whether there is no terminal that lives, or no kernel that could have one.
fn is_closed(error: &KernelError) -> bool {
    match error {
        KernelError::Lost => true,
        KernelError::Fault(fault) => fault.code == Code::PtyDead,
        KernelError::StartFailed(_)
        | KernelError::Unresponsive
        | KernelError::ProtocolMismatch { .. } => false,
    }
}
