//! Guards that commands share: what must exist, be claimed or fit, or the command is refused.

use provost_proto::notebook::{
    Cell, CellRevision, Execution, Notebook, RuntimeSession, RuntimeSessionStatus,
};
use provost_proto::{CellId, Code, ExecutionId, limits};
use serde_json::{Map, Value};

use super::context::{CommandContext, ExecutionClaim, FencedSession, Refusal, check_owner, refuse};
use crate::document_key::NotebookDocumentKey;
use crate::fold::json_bytes;
use crate::state::NotebookState;

/// The notebook, unless it was deleted.
pub(super) fn require_notebook(state: &NotebookState) -> Result<&Notebook, Refusal> {
    let notebook = state.notebook().filter(|notebook| notebook.deleted_at.is_none());
    notebook.ok_or_else(|| {
        refuse(Code::NotebookNotFound, format!("there is no notebook {}", state.id()))
    })
}

/// A cell, also one that was deleted.
pub(super) fn require_known_cell(state: &NotebookState, id: CellId) -> Result<&Cell, Refusal> {
    state.cell(id).ok_or_else(|| {
        refuse(Code::CellNotFound, format!("the notebook has no cell {id}; reload it"))
    })
}

/// A cell that was not deleted.
pub(super) fn require_cell(state: &NotebookState, id: CellId) -> Result<&Cell, Refusal> {
    let cell = require_known_cell(state, id)?;
    if cell.deleted_at.is_some() {
        return Err(refuse(Code::CellDeleted, "the cell was deleted; restore it first"));
    }
    Ok(cell)
}

/// A cell at a revision.
pub(super) fn require_cell_at_revision(
    state: &NotebookState,
    id: CellId,
    revision: CellRevision,
) -> Result<&Cell, Refusal> {
    let cell = require_cell(state, id)?;
    if cell.revision != revision {
        return Err(refuse(
            Code::StaleRevision,
            format!(
                "the cell is at revision {}, not {revision}: take in its changes first",
                cell.revision
            ),
        ));
    }
    Ok(cell)
}

/// An execution.
pub(super) fn require_execution(
    state: &NotebookState,
    id: ExecutionId,
) -> Result<&Execution, Refusal> {
    state.execution(id).ok_or_else(|| {
        refuse(Code::ExecutionNotFound, format!("the notebook has no execution {id}"))
    })
}

/// An active session of the sender with this fence.
pub(super) fn require_active_session<'a>(
    state: &'a NotebookState,
    context: &CommandContext<'_>,
    fenced: FencedSession,
) -> Result<&'a RuntimeSession, Refusal> {
    let session = state.session(fenced.session).ok_or_else(|| {
        refuse(Code::StaleFence, format!("the notebook has no runtime session {}", fenced.session))
    })?;
    check_owner(context, session)?;
    if session.status == RuntimeSessionStatus::Ended || session.fence != fenced.fence {
        let slot = &session.slot;
        let why = format!("the runtime session is not the active one of the slot `{slot}`: stop");
        return Err(refuse(Code::StaleFence, why));
    }
    Ok(session)
}

/// An execution that an active session of the sender has claimed, with the fence of the session.
pub(super) fn require_claimed_execution<'a>(
    state: &'a NotebookState,
    context: &CommandContext<'_>,
    claim: ExecutionClaim,
) -> Result<(&'a Execution, &'a RuntimeSession), Refusal> {
    let execution = require_execution(state, claim.execution)?;
    let claimant = execution
        .session
        .ok_or_else(|| refuse(Code::StaleFence, "no runtime session has claimed the execution"))?;
    if execution.fence != claim.fence {
        return Err(refuse(Code::StaleFence, "another runtime session claimed the execution"));
    }
    let fenced = FencedSession { session: claimant, fence: claim.fence };
    Ok((execution, require_active_session(state, context, fenced)?))
}

/// A new id must be unused, also in other notebooks.
pub(super) fn require_unused_id(
    state: &NotebookState,
    key: NotebookDocumentKey,
) -> Result<(), Refusal> {
    if state.document(key).is_some() || state.is_taken(key) {
        return Err(refuse(Code::Exists, "the id is in use; choose another one"));
    }
    Ok(())
}

/// A text of limited length.
pub(super) fn check_text_length(what: &str, text: &str, limit: usize) -> Result<(), Refusal> {
    if text.len() > limit {
        return Err(refuse(Code::TooLarge, format!("{what} is longer than {limit} bytes")));
    }
    Ok(())
}

/// A name of limited length, which is not empty.
pub(super) fn check_name(what: &str, text: &str, limit: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(refuse(Code::InvalidRequest, format!("{what} is empty")));
    }
    check_text_length(what, text, limit)
}

/// A reason, as text for people.
pub(super) fn check_reason(why: Option<&str>) -> Result<(), Refusal> {
    check_text_length("the reason", why.unwrap_or_default(), limits::MAX_REASON_BYTES)
}

/// Metadata of limited size.
pub(super) fn check_metadata_size<'a>(
    values: impl Iterator<Item = (&'a String, &'a Value)>,
    limit: usize,
) -> Result<(), Refusal> {
    let bytes: usize = values.map(|(key, value)| key.len() + json_bytes(value)).sum();
    if bytes > limit {
        return Err(refuse(Code::TooLarge, format!("the metadata is larger than {limit} bytes")));
    }
    Ok(())
}

/// Whether setting a value changes metadata; its size is checked.
pub(super) fn check_metadata_change(
    metadata: &Map<String, Value>,
    (key, value): (&String, &Value),
    limit: usize,
) -> Result<bool, Refusal> {
    check_name("the name of the value", key, limits::MAX_NAME_BYTES)?;
    if metadata.get(key).unwrap_or(&Value::Null) == value {
        return Ok(false);
    }
    let others = metadata.iter().filter(|(other, _)| *other != key);
    check_metadata_size(others.chain([(key, value)]), limit)?;
    Ok(true)
}
