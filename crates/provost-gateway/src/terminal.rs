//! The way to a project's terminal, for people.
//!
//! A WebSocket cannot carry a token in a header, so a person gets a ticket for
//! one, which is good once and not for long. Whoever comes through is let in by
//! the project's kernel; if it has no terminal, it is opened as everything is:
//! by an action of that person, recorded and permitted.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use provost_kernel::{KernelError, TerminalReader, TerminalWriter, attach_terminal};
use provost_proto::kernel::ErrorInfo;
use provost_proto::terminal::TerminalAttachResponse;
use provost_proto::{
    Code, Hash, ProjectId, ProjectStatus, SubmitActionRequest, TokenClass, UnixMicros, limits,
};
use serde_json::json;

use crate::execute::fault;
use crate::{Caller, Done, Gateway, GatewayError, Operator, Pass, Secret, Submit, secret};

/// How long a terminal may take to open.
const OPEN: Duration = Duration::from_secs(30);

/// The tickets that wait to be used. In memory only: a restart ends them.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<VecDeque<Ticket>>);

#[derive(Debug)]
struct Ticket {
    code: Hash,
    until: UnixMicros,
    seat: Seat,
}

/// The right to sit at a project's terminal, as long as the token behind it works.
#[derive(Debug)]
pub struct Seat {
    /// Who.
    pub by: Operator,
    /// How long.
    pub pass: Pass,
    /// Only in this project, if it came from a ticket.
    project: Option<ProjectId>,
}

/// A client of a terminal.
#[derive(Debug)]
pub struct Terminal {
    /// How it stood when the client came.
    pub attached: TerminalAttachResponse,
    /// What the terminal sends.
    pub look: TerminalReader,
    /// What the client sends.
    pub keys: TerminalWriter,
}

/// From where on, and with how large a window.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// How many bytes of output the client has.
    pub after: Option<u64>,
    /// Its width.
    pub cols: u16,
    /// Its height.
    pub rows: u16,
}

impl Tickets {
    fn add(&self, ticket: Ticket) {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tickets.len() == limits::MAX_TICKETS {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    /// Takes the ticket out, so that it works once.
    fn take(&self, code: &Hash, now: UnixMicros) -> Option<Seat> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|ticket| ticket.until > now);
        let mut taken = None;
        for ticket in std::mem::take(&mut *tickets) {
            if secret::same(&ticket.code, code) {
                taken = Some(ticket.seat);
            } else {
                tickets.push_back(ticket);
            }
        }
        taken
    }
}

impl Seat {
    /// Of a person whose token came with the request itself.
    pub fn of(by: Operator, pass: Pass) -> Self {
        Self { by, pass, project: None }
    }
}

impl Gateway {
    /// A ticket for one connection to the terminal of a project.
    pub async fn terminal_ticket(&self, seat: Seat, name: &str) -> Result<Secret, GatewayError> {
        let project = Some(self.project(name).await?.id);
        let code = Secret::random("")?;
        let until = self.clock().now() + limits::TICKET_SECONDS * 1_000_000;
        self.tickets.add(Ticket { code: code.digest(), until, seat: Seat { project, ..seat } });
        Ok(code)
    }

    /// Uses a ticket up.
    pub fn seat(&self, ticket: &str) -> Result<Seat, GatewayError> {
        let seat = self.tickets.take(&secret::digest(ticket), self.clock().now());
        let seat = seat.filter(|seat| self.still_valid(&seat.pass));
        seat.ok_or(GatewayError::Unauthenticated("this ticket was used already or is too old"))
    }

    /// Brings a person to the terminal of a project. Whoever comes anew has it
    /// opened if it is not; whoever was there before finds it as it is.
    pub async fn terminal(
        self: &Arc<Self>,
        seat: &Seat,
        name: &str,
        view: View,
    ) -> Result<Terminal, GatewayError> {
        let project = self.project(name).await?;
        if seat.project.is_some_and(|only| only != project.id) {
            return Err(GatewayError::Unauthenticated("this ticket is for another project"));
        }
        if project.status != ProjectStatus::Open {
            return Err(GatewayError::ProjectClosed);
        }
        match self.sit_down(project.id, view).await {
            Err(error) if view.after.is_none() && is_closed(&error) => {
                self.open_terminal(&seat.by, name, view).await?;
                self.sit_down(project.id, view).await
            }
            seated => seated,
        }
        .map_err(|error| GatewayError::Fault(fault(&error)))
    }

    async fn sit_down(&self, project: ProjectId, view: View) -> Result<Terminal, KernelError> {
        let View { after, cols, rows } = view;
        let (attached, look, keys) =
            attach_terminal(&self.place(project), after, (cols, rows)).await?;
        Ok(Terminal { attached, look, keys })
    }

    /// Asks for `pty.open` as the person would.
    async fn open_terminal(
        self: &Arc<Self>,
        by: &Operator,
        project: &str,
        view: View,
    ) -> Result<(), GatewayError> {
        let principal = by.principal().to_owned();
        let caller = Caller::new(principal, by.actor().clone(), TokenClass::Operator, None, None);
        let wanted = SubmitActionRequest {
            action: "pty.open".to_owned(),
            params: json!({ "cols": view.cols, "rows": view.rows }),
            role: None,
            session_id: None,
        };
        let submit = Submit { wanted, id: None, command: None, wait: OPEN };
        match self.submit(&caller, project, submit).await? {
            Done::Finished(_) => Ok(()),
            Done::Running(_) => {
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
        | KernelError::ProtocolTooNew { .. }
        | KernelError::ProtocolTooOld { .. } => false,
    }
}
