//! Pending edits after changes of others, as `rebaseUpdates` of `@codemirror/collab` does.

use provost_proto::CellId;
use provost_proto::notebook::{CellRevision, NotebookCommand, NotebookFact};

use super::pending::Pending;
use crate::state::NotebookState;
use crate::text::{ChangeError, ChangeSet};

/// What somebody else changed in a cell's source, before it is applied.
pub(super) fn foreign_change(
    state: &NotebookState,
    fact: &NotebookFact,
) -> Option<(CellId, ChangeSet)> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes a source")]
    match fact {
        NotebookFact::CellEdited(edited) => {
            Some((edited.cell, ChangeSet::from_json(&edited.changes).ok()?))
        }
        NotebookFact::CellReplaced(replaced) => {
            let cell = state.cell(replaced.cell)?;
            Some((cell.id, ChangeSet::between(&cell.source, &replaced.source)))
        }
        _ => None,
    }
}

/// Moves pending edits of a cell behind one change.
pub(super) fn rebase(pending: &mut [Pending], id: CellId, over: &ChangeSet) {
    map_edits(pending, id, over, |_, base| *base += 1);
}

/// Moves pending edits of a cell behind changes that led to a revision.
pub(super) fn rebase_to(
    pending: &mut [Pending],
    id: CellId,
    over: &ChangeSet,
    revision: CellRevision,
) {
    map_edits(pending, id, over, |index, base| *base = revision + index);
}

fn map_edits(
    pending: &mut [Pending],
    id: CellId,
    over: &ChangeSet,
    set_base: impl Fn(u64, &mut CellRevision),
) {
    let mut over = over.clone();
    let mut index = 0;
    for pending in pending {
        let mut is_changed = false;
        for command in &mut pending.commands {
            let NotebookCommand::EditCell { cell, base, changes } = command else { continue };
            if *cell != id {
                continue;
            }
            // One that cannot be moved stays stale, and is refused.
            if let Ok((mapped, rest)) = map_change(changes, &over) {
                *changes = mapped;
                set_base(index, base);
                over = rest;
                is_changed = true;
            }
            index += 1;
        }
        if is_changed && pending.was_sent {
            pending.attempt += 1;
            pending.was_sent = false;
        }
    }
}

/// An edit behind a change, and that change behind the edit.
fn map_change(
    edit: &serde_json::Value,
    over: &ChangeSet,
) -> Result<(serde_json::Value, ChangeSet), ChangeError> {
    let edit = ChangeSet::from_json(edit)?;
    let mapped = edit.map(over, false)?.to_json()?;
    Ok((mapped, over.map(&edit, true)?))
}
