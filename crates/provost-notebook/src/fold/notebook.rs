//! The fold of a notebook's own document.

use provost_proto::notebook::{Notebook, NotebookFact, NotebookFile};
use serde_json::{Map, Value};

use super::FactMetadata;

pub(super) fn new_notebook(metadata: FactMetadata<'_>, fact: &NotebookFact) -> Option<Notebook> {
    let NotebookFact::NotebookCreated(created) = fact else { return None };
    Some(Notebook {
        id: created.notebook,
        project: created.project,
        title: created.title.clone(),
        language: created.language.clone(),
        slots: created.slots.clone(),
        metadata: created.metadata.clone(),
        file: None,
        executions: 0,
        created_at: metadata.at,
        created_by: metadata.principal.to_owned(),
        deleted_at: None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact changes this document")]
pub(super) fn update_notebook(
    notebook: &mut Notebook,
    metadata: FactMetadata<'_>,
    fact: &NotebookFact,
) {
    match fact {
        NotebookFact::NotebookRenamed(renamed) => notebook.title.clone_from(&renamed.title),
        NotebookFact::NotebookMetadataSet(set) => {
            set_metadata(&mut notebook.metadata, &set.key, &set.value);
        }
        NotebookFact::NotebookSlotsSet(set) => notebook.slots.clone_from(&set.slots),
        NotebookFact::NotebookBound(bound) => {
            let file = |path| NotebookFile { path, hash: None, version: 0 };
            notebook.file = bound.path.clone().map(file);
        }
        NotebookFact::NotebookSaved(saved) => {
            notebook.file = Some(NotebookFile {
                path: saved.path.clone(),
                hash: Some(saved.hash),
                version: saved.saved,
            });
        }
        NotebookFact::NotebookDeleted(_) => {
            notebook.deleted_at = notebook.deleted_at.or(Some(metadata.at));
        }
        NotebookFact::ExecutionRequested(requested) => {
            notebook.executions = notebook.executions.max(requested.count);
        }
        NotebookFact::RuntimeSessionStarted(started) => {
            let slot = notebook.slots.iter_mut().find(|slot| slot.name == started.slot);
            if let Some(slot) = slot {
                slot.session = Some(started.session);
                slot.fence = slot.fence.max(started.fence);
            }
        }
        NotebookFact::RuntimeSessionEnded(ended) => {
            for slot in &mut notebook.slots {
                slot.session = slot.session.filter(|active| *active != ended.session);
            }
        }
        _ => {}
    }
}

/// Sets a value; `null` removes it.
pub(super) fn set_metadata(metadata: &mut Map<String, Value>, key: &str, value: &Value) {
    if value.is_null() {
        metadata.remove(key);
    } else {
        metadata.insert(key.to_owned(), value.clone());
    }
}
