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
    map_edits(pending, id, over, |_, removed, base| {
        *base = base.saturating_add(1).saturating_sub(removed);
    });
}

/// Moves pending edits of a cell behind changes that led to a revision.
pub(super) fn rebase_to(
    pending: &mut [Pending],
    id: CellId,
    over: &ChangeSet,
    revision: CellRevision,
) {
    map_edits(pending, id, over, |kept, _, base| *base = revision.saturating_add(kept));
}

/// `set_base` gets how many edits of the cell are before, and how many of them were removed.
fn map_edits(
    pending: &mut [Pending],
    id: CellId,
    over: &ChangeSet,
    set_base: impl Fn(u64, u64, &mut CellRevision),
) {
    let mut over = over.clone();
    let (mut kept, mut removed) = (0, 0);
    for pending in pending {
        let mut is_changed = false;
        pending.commands.retain_mut(|command| {
            let NotebookCommand::EditCell { cell, base, changes } = command else { return true };
            if *cell != id {
                return true;
            }
            // One that cannot be moved stays stale, and is refused.
            let Ok(moved) = move_edit(changes, &over) else { return true };
            over = moved.over;
            is_changed = true;
            if moved.is_empty {
                // Somebody else did the same; it would not make a revision.
                removed += u64::from(!moved.was_empty);
                return false;
            }
            *changes = moved.edit;
            set_base(kept, removed, base);
            kept += 1;
            true
        });
        if is_changed && pending.was_sent {
            pending.attempt += 1;
            pending.was_sent = false;
        }
    }
}

struct MovedEdit {
    edit: serde_json::Value,
    was_empty: bool,
    is_empty: bool,
    /// The change, behind the edit.
    over: ChangeSet,
}

fn move_edit(edit: &serde_json::Value, over: &ChangeSet) -> Result<MovedEdit, ChangeError> {
    let edit = ChangeSet::from_json(edit)?;
    let moved = edit.map(over, false)?;
    Ok(MovedEdit {
        edit: moved.to_json()?,
        was_empty: edit.is_empty(),
        is_empty: moved.is_empty(),
        over: over.map(&edit, true)?,
    })
}
