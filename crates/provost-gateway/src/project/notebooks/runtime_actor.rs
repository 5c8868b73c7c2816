//! Which runtime acts with commands: the log names it, and not the token that it came with.

use provost_notebook::NotebookState;
use provost_proto::notebook::NotebookCommand;
use provost_proto::{Actor, RuntimeSessionId};

/// The runtime that acts, if all commands are those of one.
pub(super) fn find_actor(state: &NotebookState, commands: &[NotebookCommand]) -> Option<Actor> {
    let mut acting = None;
    for command in commands {
        match (find_runtime(state, command), &acting) {
            (Runtime::NoneActs, _) => return None,
            (Runtime::Known(runtime), None) => acting = Some(runtime),
            (Runtime::Known(runtime), Some(first)) if runtime != *first => return None,
            // It claims the execution with an earlier command.
            (Runtime::Known(_) | Runtime::Unknown, _) => {}
        }
    }
    acting.map(Actor::Runtime)
}

/// The runtime that sends a command.
enum Runtime {
    /// It is not a command of runtimes.
    NoneActs,
    /// No session is known that it could be from.
    Unknown,
    /// The runtime with this id.
    Known(String),
}

fn find_runtime(state: &NotebookState, command: &NotebookCommand) -> Runtime {
    let of_session = |session: Option<RuntimeSessionId>| {
        let session = session.and_then(|session| state.session(session));
        session.map_or(Runtime::Unknown, |session| Runtime::Known(session.runtime_id.clone()))
    };
    let of_execution = |execution| of_session(state.execution(execution).and_then(|it| it.session));
    match command {
        NotebookCommand::StartSession { runtime_id, .. } => Runtime::Known(runtime_id.clone()),
        NotebookCommand::SetSessionStatus { session, .. }
        | NotebookCommand::EndSession { session, .. }
        | NotebookCommand::ClaimExecution { session, .. }
        | NotebookCommand::ReplaceDisplay { session, .. } => of_session(Some(*session)),
        NotebookCommand::StartExecution { execution, .. }
        | NotebookCommand::AskInput { execution, .. }
        | NotebookCommand::AddOutput { execution, .. }
        | NotebookCommand::AppendOutput { execution, .. }
        | NotebookCommand::ClearOutputs { execution, .. }
        | NotebookCommand::FinishExecution { execution, .. } => of_execution(*execution),
        NotebookCommand::RenameNotebook { .. }
        | NotebookCommand::SetNotebookMetadata { .. }
        | NotebookCommand::SetSlots { .. }
        | NotebookCommand::BindFile { .. }
        | NotebookCommand::RecordSave { .. }
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
        | NotebookCommand::AnswerInput { .. } => Runtime::NoneActs,
    }
}
