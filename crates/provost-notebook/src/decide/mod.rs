//! What commands do: the facts that they become, or why they are refused.

use provost_proto::notebook::{CreateNotebookRequest, NotebookCommand, NotebookFact, RuntimeEndReason};
use provost_proto::{Code, NotebookId, ProjectId, RuntimeSessionId, UnixMicros};

use crate::document_key::DocumentKey;
use crate::state::NotebookState;

/// Who sends commands, and what for.
#[derive(Debug, Clone, Copy)]
pub struct CommandContext<'a> {
    /// The authenticated principal.
    pub principal: &'a str,
    /// What it may do.
    pub rights: CommandRights,
    /// The time of the facts.
    pub at: UnixMicros,
}

/// What the sender of a command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRights {
    /// A person: edits, requests, and a runtime of their own.
    Edit,
    /// A runtime: its own sessions only.
    Runtime,
    /// The daemon: everything.
    Daemon,
}

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The message for people: what failed and what to do.
    pub error: String,
}

/// The facts of a command; none if it changes nothing.
pub fn decide(state: &NotebookState, context: &CommandContext<'_>, command: &NotebookCommand) -> Result<Vec<NotebookFact>, Refusal> { todo!() }

/// The facts of commands, which are applied: all of them or, with the index of the refused one, none.
pub fn decide_all(state: &mut NotebookState, context: &CommandContext<'_>, commands: &[NotebookCommand]) -> Result<Vec<NotebookFact>, (usize, Refusal)> { todo!() }

/// The documents whose ids a command names: they must be in the state before it is decided.
pub fn mentioned_documents(command: &NotebookCommand) -> Vec<DocumentKey> { todo!() }

/// The facts that end a session and what it had claimed; none if it has ended.
pub fn end_session(state: &NotebookState, session: RuntimeSessionId, reason: RuntimeEndReason, why: Option<&str>) -> Vec<NotebookFact> { todo!() }

/// The fact that creates a notebook.
pub fn create_notebook(id: NotebookId, project: ProjectId, request: &CreateNotebookRequest) -> Result<NotebookFact, Refusal> { todo!() }
