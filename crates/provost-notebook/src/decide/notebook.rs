//! Commands for a notebook as a whole.

use std::collections::BTreeSet;

use provost_proto::notebook::{
    CellKind, CreateNotebookRequest, Fence, Notebook, NotebookBound, NotebookCommand,
    NotebookCreated, NotebookDeleted, NotebookFact, NotebookMetadataSet, NotebookRenamed,
    NotebookSaved, NotebookSlot, NotebookSlotsSet, RuntimeEndReason,
};
use provost_proto::{Code, Hash, NotebookId, ProjectId, StreamVersion, limits};
use serde_json::{Map, Value};

use super::context::{Refusal, refuse};
use super::execution::abandon;
use super::guards;
use super::session::end_session;
use crate::state::NotebookState;

/// The name of the slot that a notebook has unless others are declared.
const DEFAULT_SLOT: &str = "main";
const DEFAULT_LANGUAGE: &str = "python";

/// The fact that creates a notebook.
///
/// # Errors
/// If the title, the language or the slots are not valid.
pub fn create_notebook(
    notebook: NotebookId,
    project: ProjectId,
    request: &CreateNotebookRequest,
    metadata: &Map<String, Value>,
) -> Result<NotebookFact, Refusal> {
    check_title(&request.title)?;
    let language = request.language.as_deref().unwrap_or(DEFAULT_LANGUAGE);
    guards::check_name("the language", language, limits::MAX_NAME_BYTES)?;
    guards::check_metadata_size(metadata.iter(), limits::MAX_NOTEBOOK_METADATA_BYTES)?;
    let slots = match &request.slots {
        Some(slots) => declare_slots(slots, &[])?,
        None => vec![NotebookSlot {
            name: DEFAULT_SLOT.to_owned(),
            kinds: vec![CellKind::Code, CellKind::Sql, CellKind::Ai],
            session: None,
            fence: 0,
        }],
    };
    Ok(NotebookFact::NotebookCreated(NotebookCreated {
        notebook,
        project,
        title: request.title.clone(),
        language: language.to_owned(),
        slots,
        metadata: metadata.clone(),
    }))
}

pub(super) fn decide(
    state: &NotebookState,
    command: &NotebookCommand,
) -> Result<Vec<NotebookFact>, Refusal> {
    let document = guards::require_notebook(state)?;
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are decided elsewhere")]
    match command {
        NotebookCommand::RenameNotebook { title } => rename(document, title),
        NotebookCommand::SetNotebookMetadata { key, value } => set_metadata(document, key, value),
        NotebookCommand::SetSlots { slots } => set_slots(state, document, slots),
        NotebookCommand::BindFile { path } => bind_file(document, path.as_deref()),
        NotebookCommand::RecordSave { path, hash, saved } => {
            record_save(document, path, *hash, *saved)
        }
        NotebookCommand::DeleteNotebook => Ok(delete(state, document)),
        _ => Ok(Vec::new()),
    }
}

fn check_title(title: &str) -> Result<(), Refusal> {
    guards::check_name("the title", title, limits::MAX_NOTEBOOK_TITLE_CHARS * 4)?;
    if title.chars().count() > limits::MAX_NOTEBOOK_TITLE_CHARS {
        let limit = limits::MAX_NOTEBOOK_TITLE_CHARS;
        return Err(refuse(Code::TooLarge, format!("the title is longer than {limit} characters")));
    }
    if title.chars().any(char::is_control) {
        return Err(refuse(Code::InvalidRequest, "the title contains a control character"));
    }
    Ok(())
}

fn rename(document: &Notebook, title: &str) -> Result<Vec<NotebookFact>, Refusal> {
    check_title(title)?;
    if document.title == title {
        return Ok(Vec::new());
    }
    let (notebook, title) = (document.id, title.to_owned());
    Ok(vec![NotebookFact::NotebookRenamed(NotebookRenamed { notebook, title })])
}

fn set_metadata(
    document: &Notebook,
    key: &String,
    value: &Value,
) -> Result<Vec<NotebookFact>, Refusal> {
    let limit = limits::MAX_NOTEBOOK_METADATA_BYTES;
    if !guards::check_metadata_change(&document.metadata, (key, value), limit)? {
        return Ok(Vec::new());
    }
    Ok(vec![NotebookFact::NotebookMetadataSet(NotebookMetadataSet {
        notebook: document.id,
        key: key.clone(),
        value: value.clone(),
    })])
}

fn set_slots(
    state: &NotebookState,
    document: &Notebook,
    slots: &[NotebookSlot],
) -> Result<Vec<NotebookFact>, Refusal> {
    if let Some(active) = document.slots.iter().find(|slot| slot.session.is_some()) {
        let error =
            format!("a runtime session is active in the slot `{}`: end it first", active.name);
        return Err(refuse(Code::RuntimeActive, error));
    }
    let slots = declare_slots(slots, &document.slots)?;
    let is_declared = |name: &str| slots.iter().any(|slot| slot.name == name);
    if let Some(waiting) = state.unfinished().find(|waiting| !is_declared(&waiting.slot)) {
        let error = format!(
            "an execution waits for a runtime in the slot `{}`: cancel it first",
            waiting.slot
        );
        return Err(refuse(Code::ExecutionState, error));
    }
    if document.slots == slots {
        return Ok(Vec::new());
    }
    let notebook = document.id;
    Ok(vec![NotebookFact::NotebookSlotsSet(NotebookSlotsSet { notebook, slots })])
}

/// Checked slots. Fences never fall, also where a slot is removed and declared again later.
fn declare_slots(
    slots: &[NotebookSlot],
    existing: &[NotebookSlot],
) -> Result<Vec<NotebookSlot>, Refusal> {
    if slots.is_empty() || slots.len() > limits::MAX_NOTEBOOK_SLOTS {
        let error = format!("a notebook has 1 to {} slots", limits::MAX_NOTEBOOK_SLOTS);
        return Err(refuse(Code::InvalidRequest, error));
    }
    let highest: Fence = existing.iter().map(|slot| slot.fence).max().unwrap_or(0);
    let mut names = BTreeSet::new();
    let mut declared = Vec::with_capacity(slots.len());
    for slot in slots {
        guards::check_name("the name of a slot", &slot.name, limits::MAX_NAME_BYTES)?;
        if !names.insert(&slot.name) {
            let error = format!("the slot `{}` is declared twice", slot.name);
            return Err(refuse(Code::InvalidRequest, error));
        }
        let mut kinds: Vec<CellKind> = Vec::new();
        for kind in &slot.kinds {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        declared.push(NotebookSlot {
            name: slot.name.clone(),
            kinds,
            session: None,
            fence: highest,
        });
    }
    Ok(declared)
}

fn bind_file(document: &Notebook, path: Option<&str>) -> Result<Vec<NotebookFact>, Refusal> {
    path.map(check_path).transpose()?;
    if document.file.as_ref().map(|file| file.path.as_str()) == path {
        return Ok(Vec::new());
    }
    let (notebook, path) = (document.id, path.map(str::to_owned));
    Ok(vec![NotebookFact::NotebookBound(NotebookBound { notebook, path })])
}

/// A path in the project. Links are the matter of who opens it.
fn check_path(path: &str) -> Result<(), Refusal> {
    guards::check_name("the path", path, limits::MAX_PATH_BYTES)?;
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if path.contains('\0') || !path.split('/').all(is_plain) {
        let error = format!("`{}` is not a path in the project", path.escape_debug());
        return Err(refuse(Code::InvalidRequest, error));
    }
    Ok(())
}

fn record_save(
    document: &Notebook,
    path: &str,
    hash: Hash,
    saved: StreamVersion,
) -> Result<Vec<NotebookFact>, Refusal> {
    check_path(path)?;
    let Some(file) = document.file.as_ref().filter(|file| file.path == path) else {
        return Err(refuse(Code::Conflict, "the notebook is bound to another file by now"));
    };
    if file.hash == Some(hash) && file.version == saved {
        return Ok(Vec::new());
    }
    let (notebook, path) = (document.id, path.to_owned());
    Ok(vec![NotebookFact::NotebookSaved(NotebookSaved { notebook, path, hash, saved })])
}

/// Ends what runs, and what waits, first.
fn delete(state: &NotebookState, document: &Notebook) -> Vec<NotebookFact> {
    let why = "the notebook was deleted";
    let mut facts = Vec::new();
    for session in document.slots.iter().filter_map(|slot| slot.session) {
        facts.extend(end_session(state, session, RuntimeEndReason::Shutdown, Some(why)));
    }
    // What was claimed and has not started goes back to the queue with its session.
    let is_ended = |facts: &[NotebookFact], id| {
        facts.iter().any(
            |fact| matches!(fact, NotebookFact::ExecutionFinished(ended) if ended.execution == id),
        )
    };
    for waiting in state.unfinished() {
        if !is_ended(&facts, waiting.id) {
            facts.push(abandon(waiting, why));
        }
    }
    facts.push(NotebookFact::NotebookDeleted(NotebookDeleted { notebook: document.id }));
    facts
}
