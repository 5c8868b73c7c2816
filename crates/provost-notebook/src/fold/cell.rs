//! The fold of cells.

use provost_proto::notebook::{Cell, NotebookFact};

use super::FactMetadata;
use super::notebook::set_metadata;
use crate::text::ChangeSet;

pub(super) fn new_cell(metadata: FactMetadata<'_>, fact: &NotebookFact) -> Option<Cell> {
    let NotebookFact::CellCreated(created) = fact else { return None };
    Some(Cell {
        id: created.cell,
        notebook: created.notebook,
        kind: created.cell_kind,
        position: created.position.clone(),
        source: created.source.clone(),
        revision: 0,
        metadata: created.metadata.clone(),
        slot: None,
        execution: None,
        created_at: metadata.at,
        created_by: metadata.principal.to_owned(),
        deleted_at: None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a cell")]
pub(super) fn update_cell(cell: &mut Cell, metadata: FactMetadata<'_>, fact: &NotebookFact) {
    match fact {
        NotebookFact::CellEdited(edited) => {
            // Only a change that fits is recorded.
            let changes = ChangeSet::from_json(&edited.changes);
            if let Ok(source) = changes.and_then(|changes| changes.apply(&cell.source)) {
                cell.source = source;
            }
            cell.revision = edited.revision;
        }
        NotebookFact::CellReplaced(replaced) => {
            cell.source.clone_from(&replaced.source);
            cell.revision = replaced.revision;
        }
        NotebookFact::CellMoved(moved) => cell.position.clone_from(&moved.position),
        NotebookFact::CellKindSet(set) => cell.kind = set.cell_kind,
        NotebookFact::CellMetadataSet(set) => {
            set_metadata(&mut cell.metadata, &set.key, &set.value);
        }
        NotebookFact::CellSlotSet(set) => cell.slot.clone_from(&set.slot),
        NotebookFact::CellDeleted(_) => cell.deleted_at = cell.deleted_at.or(Some(metadata.at)),
        NotebookFact::CellRestored(_) => cell.deleted_at = None,
        NotebookFact::CellOutputsCleared(_) => cell.execution = None,
        NotebookFact::ExecutionRequested(requested) => cell.execution = Some(requested.execution),
        _ => {}
    }
}
