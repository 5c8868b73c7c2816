//! Commands for cells.

use provost_proto::notebook::{
    CellContent, CellCreated, CellDeleted, CellEdited, CellKind, CellKindSet, CellMetadataSet,
    CellMoved, CellOutputsCleared, CellReplaced, CellRestored, CellRevision, CellSlotSet,
    ExecutionStatus, NotebookFact, NotebookView, OutputsCleared,
};
use provost_proto::{CellId, Code, limits};
use serde_json::Value;

use super::context::{DecidedFacts, Refusal, refuse};
use super::execution;
use super::guards;
use crate::document_key::NotebookDocumentKey;
use crate::position::check_position;
use crate::state::NotebookState;
use crate::text::{ChangeSet, normalize_line_breaks};

pub(super) fn create(state: &NotebookState, content: &CellContent) -> DecidedFacts {
    guards::require_unused_id(
        state,
        NotebookDocumentKey::new(NotebookView::Cells, content.cell.uuid()),
    )?;
    check_count(state)?;
    valid_position(&content.position)?;
    guards::check_text_length("the source", &content.source, limits::MAX_CELL_SOURCE_BYTES)?;
    guards::check_metadata_size(content.metadata.iter(), limits::MAX_CELL_METADATA_BYTES)?;
    Ok(vec![NotebookFact::CellCreated(CellCreated {
        notebook: state.id(),
        cell: content.cell,
        cell_kind: content.kind,
        position: content.position.clone(),
        source: normalize_line_breaks(&content.source),
        metadata: content.metadata.clone(),
    })])
}

fn check_count(state: &NotebookState) -> Result<(), Refusal> {
    let limit = limits::MAX_NOTEBOOK_CELLS;
    if state.live_cells() >= limit {
        return Err(refuse(Code::TooLarge, format!("a notebook has at most {limit} cells")));
    }
    Ok(())
}

fn valid_position(position: &str) -> Result<(), Refusal> {
    check_position(position).map_err(|error| refuse(Code::InvalidRequest, error.to_string()))
}

pub(super) fn edit(
    state: &NotebookState,
    id: CellId,
    base: CellRevision,
    changes: &Value,
) -> DecidedFacts {
    let cell = guards::require_cell_at_revision(state, id, base)?;
    let invalid = |error: crate::text::ChangeError| {
        refuse(Code::InvalidRequest, format!("cannot edit the cell: {error}"))
    };
    let parsed = ChangeSet::from_json(changes).map_err(invalid)?;
    let source = parsed.apply(&cell.source).map_err(invalid)?;
    if source.contains('\r') {
        return Err(refuse(Code::InvalidRequest, "lines of a cell end in a line feed"));
    }
    guards::check_text_length("the source", &source, limits::MAX_CELL_SOURCE_BYTES)?;
    if parsed.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![NotebookFact::CellEdited(CellEdited {
        notebook: state.id(),
        cell: id,
        revision: cell.revision.saturating_add(1),
        changes: parsed.to_json().map_err(invalid)?,
    })])
}

pub(super) fn replace(
    state: &NotebookState,
    id: CellId,
    base: CellRevision,
    source: &str,
) -> DecidedFacts {
    let cell = guards::require_cell_at_revision(state, id, base)?;
    guards::check_text_length("the source", source, limits::MAX_CELL_SOURCE_BYTES)?;
    let source = normalize_line_breaks(source);
    if cell.source == source {
        return Ok(Vec::new());
    }
    let (notebook, revision) = (state.id(), cell.revision.saturating_add(1));
    Ok(vec![NotebookFact::CellReplaced(CellReplaced { notebook, cell: id, revision, source })])
}

pub(super) fn move_to(state: &NotebookState, id: CellId, position: &str) -> DecidedFacts {
    valid_position(position)?;
    if guards::require_cell(state, id)?.position == position {
        return Ok(Vec::new());
    }
    let (notebook, position) = (state.id(), position.to_owned());
    Ok(vec![NotebookFact::CellMoved(CellMoved { notebook, cell: id, position })])
}

pub(super) fn set_kind(state: &NotebookState, id: CellId, cell_kind: CellKind) -> DecidedFacts {
    if guards::require_cell(state, id)?.kind == cell_kind {
        return Ok(Vec::new());
    }
    let notebook = state.id();
    Ok(vec![NotebookFact::CellKindSet(CellKindSet { notebook, cell: id, cell_kind })])
}

pub(super) fn set_metadata(
    state: &NotebookState,
    id: CellId,
    key: &String,
    value: &Value,
) -> DecidedFacts {
    let cell = guards::require_cell(state, id)?;
    let limit = limits::MAX_CELL_METADATA_BYTES;
    if !guards::check_metadata_change(&cell.metadata, (key, value), limit)? {
        return Ok(Vec::new());
    }
    let (notebook, key, value) = (state.id(), key.clone(), value.clone());
    Ok(vec![NotebookFact::CellMetadataSet(CellMetadataSet { notebook, cell: id, key, value })])
}

pub(super) fn set_slot(state: &NotebookState, id: CellId, slot: Option<&str>) -> DecidedFacts {
    let cell = guards::require_cell(state, id)?;
    if let Some(name) = slot.filter(|name| state.slot(name).is_none()) {
        let error = format!("the notebook has no slot `{}`", name.escape_debug());
        return Err(refuse(Code::InvalidRequest, error));
    }
    if cell.slot.as_deref() == slot {
        return Ok(Vec::new());
    }
    let (notebook, slot) = (state.id(), slot.map(str::to_owned));
    Ok(vec![NotebookFact::CellSlotSet(CellSlotSet { notebook, cell: id, slot })])
}

/// Deletes a cell. What it executes is cancelled. One that was deleted stays deleted.
pub(super) fn delete(state: &NotebookState, id: CellId) -> DecidedFacts {
    let cell = guards::require_known_cell(state, id)?;
    if cell.deleted_at.is_some() {
        return Ok(Vec::new());
    }
    let last = cell.execution.and_then(|last| state.execution(last));
    let mut facts: Vec<_> = last
        .and_then(|last| execution::cancellation(last, Some("the cell was deleted")))
        .into_iter()
        .collect();
    facts.push(NotebookFact::CellDeleted(CellDeleted { notebook: state.id(), cell: id }));
    Ok(facts)
}

pub(super) fn restore(state: &NotebookState, id: CellId) -> DecidedFacts {
    if guards::require_known_cell(state, id)?.deleted_at.is_none() {
        return Ok(Vec::new());
    }
    check_count(state)?;
    Ok(vec![NotebookFact::CellRestored(CellRestored { notebook: state.id(), cell: id })])
}

/// Clears what is shown of the last execution; one that runs goes on, and shows what comes next.
pub(super) fn clear_outputs(state: &NotebookState, id: CellId) -> DecidedFacts {
    let notebook = state.id();
    let Some(execution) = guards::require_cell(state, id)?.execution else { return Ok(Vec::new()) };
    let status =
        state.execution(execution).map(|last| (last.status, last.outputs, last.first_output));
    Ok(match status {
        Some((ExecutionStatus::Queued | ExecutionStatus::Assigned, ..)) => Vec::new(),
        Some((ExecutionStatus::Running, outputs, first)) if outputs == first => Vec::new(),
        Some((ExecutionStatus::Running, ..)) => {
            let cleared = OutputsCleared { notebook, execution, wait: false };
            vec![NotebookFact::OutputsCleared(cleared)]
        }
        Some((ExecutionStatus::Finished, ..)) | None => {
            vec![NotebookFact::CellOutputsCleared(CellOutputsCleared { notebook, cell: id })]
        }
    })
}
