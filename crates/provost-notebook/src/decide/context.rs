//! Who sends commands, what they may do, and why one is refused.

use provost_proto::notebook::{Fence, NotebookCommand, NotebookFact, RuntimeSession};
use provost_proto::{Code, ExecutionId, RuntimeSessionId, UnixMicros};

/// Who sends commands, and when.
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
    /// A person: edits, requests, and runtimes of their own.
    Edit,
    /// A runtime: its own sessions only.
    Runtime,
    /// The daemon: everything.
    Daemon,
}

/// The runtime session that a command is sent for, with the fence that its sender knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct FencedSession {
    pub(super) session: RuntimeSessionId,
    pub(super) fence: Fence,
}

/// The execution that a command is sent for, with the fence of the session that claimed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExecutionClaim {
    pub(super) execution: ExecutionId,
    pub(super) fence: Fence,
}

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The message for people: what failed, why, and what to do.
    pub error: String,
}

/// What a command becomes.
pub(super) type DecidedFacts = Result<Vec<NotebookFact>, Refusal>;

pub(crate) fn refuse(code: Code, error: impl Into<String>) -> Refusal {
    Refusal { code, error: error.into() }
}

/// Whether the sender may send such commands at all.
pub(super) fn check_rights(
    context: &CommandContext<'_>,
    command: &NotebookCommand,
) -> Result<(), Refusal> {
    let allowed = match command {
        NotebookCommand::RecordSave { .. } => context.rights == CommandRights::Daemon,
        NotebookCommand::RenameNotebook { .. }
        | NotebookCommand::SetNotebookMetadata { .. }
        | NotebookCommand::SetSlots { .. }
        | NotebookCommand::BindFile { .. }
        | NotebookCommand::DeleteNotebook
        | NotebookCommand::CreateCell(_)
        | NotebookCommand::EditCell { .. }
        | NotebookCommand::ReplaceCell { .. }
        | NotebookCommand::MoveCell { .. }
        | NotebookCommand::SetCellKind { .. }
        | NotebookCommand::SetCellMetadata { .. }
        | NotebookCommand::SetCellSlot { .. }
        | NotebookCommand::DeleteCell { .. }
        | NotebookCommand::RestoreCell { .. }
        | NotebookCommand::ClearCellOutputs { .. }
        | NotebookCommand::RequestExecution { .. }
        | NotebookCommand::CancelExecution { .. }
        | NotebookCommand::AnswerInput { .. } => match context.rights {
            CommandRights::Edit | CommandRights::Daemon => true,
            CommandRights::Runtime => false,
        },
        NotebookCommand::StartSession { .. }
        | NotebookCommand::SetSessionStatus { .. }
        | NotebookCommand::EndSession { .. }
        | NotebookCommand::ClaimExecution { .. }
        | NotebookCommand::StartExecution { .. }
        | NotebookCommand::AskInput { .. }
        | NotebookCommand::AddOutput { .. }
        | NotebookCommand::AppendOutput { .. }
        | NotebookCommand::ReplaceDisplay { .. }
        | NotebookCommand::ClearOutputs { .. }
        | NotebookCommand::FinishExecution { .. } => true,
    };
    if allowed {
        return Ok(());
    }
    Err(refuse(
        Code::Forbidden,
        match context.rights {
            CommandRights::Runtime => {
                "a runtime may only report what it executes; edit the notebook as a person"
            }
            CommandRights::Edit | CommandRights::Daemon => "only the daemon records this",
        },
    ))
}

/// Whether a session is one of the sender's.
pub(super) fn check_owner(
    context: &CommandContext<'_>,
    session: &RuntimeSession,
) -> Result<(), Refusal> {
    match context.rights {
        CommandRights::Daemon => Ok(()),
        CommandRights::Edit | CommandRights::Runtime if session.client_id == context.principal => {
            Ok(())
        }
        CommandRights::Edit | CommandRights::Runtime => {
            Err(refuse(Code::Forbidden, "the runtime session belongs to somebody else"))
        }
    }
}
