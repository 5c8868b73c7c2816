//! What commands do: the facts that they become, or why they are refused.
//!
//! A command that would change nothing has no facts.

mod cell;
mod context;
mod execution;
mod guards;
mod notebook;
mod output;
mod session;

use provost_proto::notebook::{NotebookCommand, NotebookFact, NotebookView};
use provost_proto::{CellId, ExecutionId, NotebookId, RuntimeSessionId};
use uuid::Uuid;

use crate::document_key::{NotebookDocumentKey, display_key};
use crate::fold::FactMetadata;
use crate::state::{NotebookState, UndoLog};

use context::{ExecutionClaim, FencedSession};

pub use context::{CommandContext, CommandRights, Refusal};
pub use notebook::create_notebook;
pub use session::end_session;

pub(crate) use context::refuse;
pub(crate) use execution::{can_execute, next_execution};

/// The facts of a command; none if it changes nothing.
///
/// # Errors
/// If it is not allowed in this state, or for this sender.
#[expect(clippy::too_many_lines, reason = "a table with every command")]
pub fn decide(
    state: &NotebookState,
    context: &CommandContext<'_>,
    command: &NotebookCommand,
) -> Result<Vec<NotebookFact>, Refusal> {
    guards::require_notebook(state)?;
    context::check_rights(context, command)?;
    match command {
        NotebookCommand::RenameNotebook { .. }
        | NotebookCommand::SetNotebookMetadata { .. }
        | NotebookCommand::SetSlots { .. }
        | NotebookCommand::BindFile { .. }
        | NotebookCommand::RecordSave { .. }
        | NotebookCommand::DeleteNotebook => notebook::decide(state, command),
        NotebookCommand::CreateCell(new) => cell::create(state, new),
        NotebookCommand::EditCell { cell, base, changes } => {
            cell::edit(state, *cell, *base, changes)
        }
        NotebookCommand::ReplaceCell { cell, base, source } => {
            cell::replace(state, *cell, *base, source)
        }
        NotebookCommand::MoveCell { cell, position } => cell::move_to(state, *cell, position),
        NotebookCommand::SetCellKind { cell, kind } => cell::set_kind(state, *cell, *kind),
        NotebookCommand::SetCellMetadata { cell, key, value } => {
            cell::set_metadata(state, *cell, key, value)
        }
        NotebookCommand::SetCellSlot { cell, slot } => {
            cell::set_slot(state, *cell, slot.as_deref())
        }
        NotebookCommand::DeleteCell { cell } => cell::delete(state, *cell),
        NotebookCommand::RestoreCell { cell } => cell::restore(state, *cell),
        NotebookCommand::ClearCellOutputs { cell } => cell::clear_outputs(state, *cell),
        NotebookCommand::RequestExecution { execution, cell, revision } => {
            execution::request(state, *execution, *cell, *revision)
        }
        NotebookCommand::CancelExecution { execution, why } => {
            execution::cancel(state, *execution, why.as_deref())
        }
        NotebookCommand::AnswerInput { execution, text } => {
            execution::answer_input(state, *execution, text)
        }
        NotebookCommand::StartSession { .. } => session::start(state, context, command),
        NotebookCommand::SetSessionStatus { session, fence, status } => session::set_status(
            state,
            context,
            FencedSession { session: *session, fence: *fence },
            *status,
        ),
        NotebookCommand::EndSession { session, fence, reason, why } => session::end(
            state,
            context,
            FencedSession { session: *session, fence: *fence },
            *reason,
            why.as_deref(),
        ),
        NotebookCommand::ClaimExecution { execution, session, fence } => execution::claim(
            state,
            context,
            *execution,
            FencedSession { session: *session, fence: *fence },
        ),
        NotebookCommand::StartExecution { execution, fence } => execution::start(
            state,
            context,
            ExecutionClaim { execution: *execution, fence: *fence },
        ),
        NotebookCommand::AskInput { execution, fence, input } => execution::ask_input(
            state,
            context,
            ExecutionClaim { execution: *execution, fence: *fence },
            input,
        ),
        NotebookCommand::AddOutput { execution, fence, output, content: added } => output::add(
            state,
            context,
            ExecutionClaim { execution: *execution, fence: *fence },
            *output,
            added,
        ),
        NotebookCommand::AppendOutput { execution, fence, output, text } => output::append(
            state,
            context,
            ExecutionClaim { execution: *execution, fence: *fence },
            *output,
            text,
        ),
        NotebookCommand::ReplaceDisplay { session, fence, display, data, metadata } => {
            let shown = output::DisplayContent { display, data, metadata };
            output::replace_display(
                state,
                context,
                FencedSession { session: *session, fence: *fence },
                &shown,
            )
        }
        NotebookCommand::ClearOutputs { execution, fence, wait } => output::clear(
            state,
            context,
            ExecutionClaim { execution: *execution, fence: *fence },
            *wait,
        ),
        NotebookCommand::FinishExecution { execution, fence, outcome, why } => execution::finish(
            state,
            context,
            ExecutionClaim { execution: *execution, fence: *fence },
            *outcome,
            why.as_deref(),
        ),
    }
}

/// The facts of commands, which are applied: all of them or, with the index of the refused one,
/// none.
///
/// # Errors
/// If one of the commands is refused; the state is then what it was.
pub fn decide_all(
    state: &mut NotebookState,
    context: &CommandContext<'_>,
    commands: &[NotebookCommand],
) -> Result<Vec<NotebookFact>, (usize, Refusal)> {
    if let [command] = commands {
        let facts = decide(state, context, command).map_err(|refusal| (0, refusal))?;
        for fact in &facts {
            state.apply(FactMetadata { at: context.at, principal: context.principal }, fact);
        }
        return Ok(facts);
    }
    let mut undo = UndoLog::default();
    let decided = decide_undoable(state, context, commands, &mut undo);
    if decided.is_err() {
        state.undo(undo);
    }
    decided
}

/// The same, with what undoes it: also where a command was refused.
pub(crate) fn decide_undoable(
    state: &mut NotebookState,
    context: &CommandContext<'_>,
    commands: &[NotebookCommand],
    undo: &mut UndoLog,
) -> Result<Vec<NotebookFact>, (usize, Refusal)> {
    let metadata = FactMetadata { at: context.at, principal: context.principal };
    let mut all = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let facts = decide(state, context, command).map_err(|refusal| (index, refusal))?;
        for fact in &facts {
            state.apply_undoable(metadata, fact, undo);
        }
        all.extend(facts);
    }
    Ok(all)
}

/// The documents whose ids a command names: they must be in the state before it is decided, also
/// those that it creates, whose ids could be taken.
pub fn mentioned_documents(
    notebook: NotebookId,
    command: &NotebookCommand,
) -> Vec<NotebookDocumentKey> {
    let key = |view, id: Uuid| vec![NotebookDocumentKey::new(view, id)];
    let cell = |id: &CellId| key(NotebookView::Cells, id.uuid());
    let execution = |id: &ExecutionId| key(NotebookView::Executions, id.uuid());
    let session = |id: &RuntimeSessionId| key(NotebookView::RuntimeSessions, id.uuid());
    match command {
        NotebookCommand::RenameNotebook { .. }
        | NotebookCommand::SetNotebookMetadata { .. }
        | NotebookCommand::SetSlots { .. }
        | NotebookCommand::BindFile { .. }
        | NotebookCommand::RecordSave { .. }
        | NotebookCommand::DeleteNotebook => Vec::new(),
        NotebookCommand::CreateCell(new) => cell(&new.cell),
        NotebookCommand::EditCell { cell: id, .. }
        | NotebookCommand::ReplaceCell { cell: id, .. }
        | NotebookCommand::MoveCell { cell: id, .. }
        | NotebookCommand::SetCellKind { cell: id, .. }
        | NotebookCommand::SetCellMetadata { cell: id, .. }
        | NotebookCommand::SetCellSlot { cell: id, .. }
        | NotebookCommand::DeleteCell { cell: id }
        | NotebookCommand::RestoreCell { cell: id }
        | NotebookCommand::ClearCellOutputs { cell: id } => cell(id),
        NotebookCommand::RequestExecution { execution: id, cell: of, .. } => {
            [execution(id), cell(of)].concat()
        }
        NotebookCommand::CancelExecution { execution: id, .. }
        | NotebookCommand::AnswerInput { execution: id, .. }
        | NotebookCommand::StartExecution { execution: id, .. }
        | NotebookCommand::AskInput { execution: id, .. }
        | NotebookCommand::AppendOutput { execution: id, .. }
        | NotebookCommand::ClearOutputs { execution: id, .. }
        | NotebookCommand::FinishExecution { execution: id, .. } => execution(id),
        NotebookCommand::AddOutput { execution: id, content, .. } => {
            let mut keys = execution(id);
            let display = crate::fold::display_name(content);
            keys.extend(display.map(|display| display_key(notebook, display)));
            keys
        }
        NotebookCommand::StartSession { session: id, .. }
        | NotebookCommand::SetSessionStatus { session: id, .. }
        | NotebookCommand::EndSession { session: id, .. } => session(id),
        NotebookCommand::ClaimExecution { execution: id, session: by, .. } => {
            [execution(id), session(by)].concat()
        }
        NotebookCommand::ReplaceDisplay { session: by, display, .. } => {
            let mut keys = session(by);
            keys.push(display_key(notebook, display));
            keys
        }
    }
}
