//! Reads the commands of people: a page sends those of runtimes through its agents only.

use provost_notebook::client_store::{JournalBatch, StoreJournal};
use provost_proto::notebook::{CellContent, NotebookCommand};
use serde::de::Error as _;
use serde_json::{Error, Value};

use super::fields::{DecodeJson, JsonFields};
use super::output::read_metadata;

/// A command of a person. Not [`DecodeJson`] for all commands: those of runtimes are not read.
struct PersonCommand(NotebookCommand);

impl DecodeJson for PersonCommand {
    fn read(value: Value) -> Result<Self, Error> {
        read_command(value).map(Self)
    }
}

pub(crate) fn read_commands(list: Value) -> Result<Vec<NotebookCommand>, Error> {
    let commands = Vec::<PersonCommand>::read(list)?;
    Ok(commands.into_iter().map(|PersonCommand(command)| command).collect())
}

pub(super) fn read_command(value: Value) -> Result<NotebookCommand, Error> {
    let mut command = JsonFields::new(value)?;
    let name: String = command.read("name")?;
    if name == "deleteNotebook" {
        return Ok(NotebookCommand::DeleteNotebook);
    }
    let mut args = JsonFields::new(command.take("args"))?;
    Ok(match name.as_str() {
        "renameNotebook" => NotebookCommand::RenameNotebook { title: args.read("title")? },
        "setNotebookMetadata" => NotebookCommand::SetNotebookMetadata {
            key: args.read("key")?,
            value: args.take("value"),
        },
        "setSlots" => NotebookCommand::SetSlots { slots: args.read("slots")? },
        "bindFile" => NotebookCommand::BindFile { path: args.read("path")? },
        "createCell" => NotebookCommand::CreateCell(CellContent {
            cell: args.read("cell")?,
            kind: args.read("kind")?,
            position: args.read("position")?,
            source: args.read("source")?,
            metadata: read_metadata(&mut args)?,
        }),
        "clearCellOutputs" => NotebookCommand::ClearCellOutputs { cell: args.read("cell")? },
        "requestExecution" => NotebookCommand::RequestExecution {
            execution: args.read("execution")?,
            cell: args.read("cell")?,
            revision: args.read("revision")?,
        },
        "cancelExecution" => NotebookCommand::CancelExecution {
            execution: args.read("execution")?,
            why: args.read("why")?,
        },
        "answerInput" => NotebookCommand::AnswerInput {
            execution: args.read("execution")?,
            text: args.read("text")?,
        },
        name if CELL_EDITS.contains(&name) => return read_cell_edit(name, args),
        _ => return Err(Error::custom(format_args!("a page does not send `{name}`"))),
    })
}

/// What is done to one cell that exists.
const CELL_EDITS: [&str; 8] = [
    "editCell",
    "replaceCell",
    "moveCell",
    "setCellKind",
    "setCellMetadata",
    "setCellSlot",
    "deleteCell",
    "restoreCell",
];

fn read_cell_edit(name: &str, mut args: JsonFields) -> Result<NotebookCommand, Error> {
    let cell = args.read("cell")?;
    Ok(match name {
        "editCell" => NotebookCommand::EditCell {
            cell,
            base: args.read("base")?,
            changes: args.take("changes"),
        },
        "replaceCell" => NotebookCommand::ReplaceCell {
            cell,
            base: args.read("base")?,
            source: args.read("source")?,
        },
        "moveCell" => NotebookCommand::MoveCell { cell, position: args.read("position")? },
        "setCellKind" => NotebookCommand::SetCellKind { cell, kind: args.read("kind")? },
        "setCellMetadata" => NotebookCommand::SetCellMetadata {
            cell,
            key: args.read("key")?,
            value: args.take("value"),
        },
        "setCellSlot" => NotebookCommand::SetCellSlot { cell, slot: args.read("slot")? },
        "deleteCell" => NotebookCommand::DeleteCell { cell },
        _ => NotebookCommand::RestoreCell { cell },
    })
}

/// Reads what an earlier client left, if it left something.
pub(crate) fn read_journal(value: Value) -> Result<Option<StoreJournal>, Error> {
    if value.is_null() {
        return Ok(None);
    }
    let mut fields = JsonFields::new(value)?;
    Ok(Some(StoreJournal {
        documents: fields.read("documents")?,
        pending: fields.read("pending")?,
    }))
}

impl DecodeJson for JournalBatch {
    fn read(value: Value) -> Result<Self, Error> {
        let mut batch = JsonFields::new(value)?;
        Ok(Self {
            id: batch.read("id")?,
            attempt: batch.read("attempt")?,
            was_sent: batch.read("was_sent")?,
            commands: read_commands(batch.take("commands"))?,
        })
    }
}
