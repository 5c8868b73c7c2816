//! What was submitted and is not confirmed.

use provost_proto::notebook::NotebookCommand;
use provost_proto::{CellId, IdempotencyKey, StreamVersion};

#[derive(Debug)]
pub(super) struct Pending {
    /// The key with which it was submitted.
    pub(super) id: IdempotencyKey,
    pub(super) commands: Vec<NotebookCommand>,
    /// It waits for an answer.
    pub(super) is_sent: bool,
    /// It was sent as it is now, and not refused.
    pub(super) was_sent: bool,
    /// How often it was rebased after it was sent. Other content needs another key.
    pub(super) attempt: u32,
    /// It is sent when the state has this version.
    pub(super) not_before: StreamVersion,
    /// The version at which it was applied.
    pub(super) accepted_at: Option<StreamVersion>,
}

impl Pending {
    pub(super) const fn new(id: IdempotencyKey, commands: Vec<NotebookCommand>) -> Self {
        Self {
            id,
            commands,
            is_sent: false,
            was_sent: false,
            attempt: 0,
            not_before: 0,
            accepted_at: None,
        }
    }

    /// The key to send it with.
    pub(super) fn key(&self) -> IdempotencyKey {
        if self.attempt == 0 { self.id.clone() } else { format!("{}~{}", self.id, self.attempt) }
    }

    /// The cells whose sources it changes.
    pub(super) fn edited_cells(&self) -> impl Iterator<Item = CellId> {
        self.commands.iter().filter_map(|command| {
            let NotebookCommand::EditCell { cell, .. } = command else { return None };
            Some(*cell)
        })
    }

    /// Whether it can be sent again after other changes of the same cells.
    pub(super) fn is_rebasable(&self) -> bool {
        self.edited_cells().next().is_some()
            && !self
                .commands
                .iter()
                .any(|command| matches!(command, NotebookCommand::ReplaceCell { .. }))
    }
}

/// Whether a command only edits. Nothing else is shown before it happened.
pub(super) const fn is_edit(command: &NotebookCommand) -> bool {
    match command {
        NotebookCommand::RenameNotebook { .. }
        | NotebookCommand::SetNotebookMetadata { .. }
        | NotebookCommand::CreateCell(_)
        | NotebookCommand::EditCell { .. }
        | NotebookCommand::ReplaceCell { .. }
        | NotebookCommand::MoveCell { .. }
        | NotebookCommand::SetCellKind { .. }
        | NotebookCommand::SetCellMetadata { .. }
        | NotebookCommand::SetCellSlot { .. }
        | NotebookCommand::RestoreCell { .. }
        | NotebookCommand::DeleteCell { .. } => true,
        NotebookCommand::SetSlots { .. }
        | NotebookCommand::BindFile { .. }
        | NotebookCommand::RecordSave { .. }
        | NotebookCommand::DeleteNotebook
        | NotebookCommand::ClearCellOutputs { .. }
        | NotebookCommand::RequestExecution { .. }
        | NotebookCommand::CancelExecution { .. }
        | NotebookCommand::AnswerInput { .. }
        | NotebookCommand::StartSession { .. }
        | NotebookCommand::SetSessionStatus { .. }
        | NotebookCommand::EndSession { .. }
        | NotebookCommand::ClaimExecution { .. }
        | NotebookCommand::StartExecution { .. }
        | NotebookCommand::AskInput { .. }
        | NotebookCommand::AddOutput { .. }
        | NotebookCommand::AppendOutput { .. }
        | NotebookCommand::ReplaceDisplay { .. }
        | NotebookCommand::ClearOutputs { .. }
        | NotebookCommand::FinishExecution { .. } => false,
    }
}
