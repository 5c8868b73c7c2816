//! The documents of one notebook in memory.

use std::collections::{BTreeMap, BTreeSet};

use provost_proto::notebook::{
    Artifact, Cell, DisplayLocations, Execution, ExecutionStatus, Notebook, NotebookDocument,
    NotebookFact, NotebookSlot, NotebookView, OutputPage, OutputPart, RuntimeSession,
};
use provost_proto::{CellId, ExecutionId, Hash, NotebookId, RuntimeSessionId};
use uuid::Uuid;

use crate::document_key::{
    NotebookDocumentKey, artifact_key, display_key, document_key, document_notebook, page_key,
};
use crate::fold::{FactMetadata, affected_documents, fold_document};

/// The documents of one notebook, all of them or those that are needed.
#[derive(Debug, Clone, PartialEq)]
pub struct NotebookState {
    id: NotebookId,
    documents: BTreeMap<NotebookDocumentKey, NotebookDocument>,
    /// The executions that have not ended, by their number in the notebook.
    unfinished: BTreeSet<(u32, ExecutionId)>,
    /// How many cells were not deleted.
    live_cells: usize,
    /// Ids that documents of other notebooks have.
    taken: BTreeSet<NotebookDocumentKey>,
}

/// What is found without visiting all documents.
enum IndexEntry {
    Unfinished(u32, ExecutionId),
    LiveCell,
}

impl IndexEntry {
    fn new(document: &NotebookDocument) -> Option<Self> {
        match document {
            NotebookDocument::Executions(execution) => (execution.status
                != ExecutionStatus::Finished)
                .then_some(Self::Unfinished(execution.count, execution.id)),
            NotebookDocument::Cells(cell) => cell.deleted_at.is_none().then_some(Self::LiveCell),
            NotebookDocument::Notebooks(_)
            | NotebookDocument::OutputPages(_)
            | NotebookDocument::Displays(_)
            | NotebookDocument::RuntimeSessions(_)
            | NotebookDocument::Artifacts(_) => None,
        }
    }
}

/// The documents as they were before facts were applied.
#[derive(Debug, Default)]
pub(crate) struct UndoLog {
    /// What was changed.
    seen: BTreeSet<NotebookDocumentKey>,
    documents: Vec<(NotebookDocumentKey, Option<NotebookDocument>)>,
}

impl UndoLog {
    /// The documents that were changed.
    pub(crate) fn seen(&self) -> &BTreeSet<NotebookDocumentKey> {
        &self.seen
    }

    /// The documents as they were.
    pub(crate) fn documents(
        &self,
    ) -> impl Iterator<Item = (NotebookDocumentKey, Option<&NotebookDocument>)> {
        self.documents.iter().map(|(key, document)| (*key, document.as_ref()))
    }
}

impl NotebookState {
    /// A notebook without documents.
    pub const fn new(id: NotebookId) -> Self {
        Self {
            id,
            documents: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            live_cells: 0,
            taken: BTreeSet::new(),
        }
    }

    /// The notebook.
    pub const fn id(&self) -> NotebookId {
        self.id
    }

    /// Adds a document, or replaces it. Of one of another notebook only the id is kept: it can
    /// not be used here.
    pub fn insert(&mut self, document: NotebookDocument) {
        let key = document_key(&document);
        if document_notebook(&document) == self.id {
            self.set(key, Some(document));
        } else {
            self.taken.insert(key);
        }
    }

    /// Forgets a document that is not needed any more.
    pub fn remove(&mut self, key: NotebookDocumentKey) -> Option<NotebookDocument> {
        self.set(key, None)
    }

    /// Applies a fact. One of another notebook changes nothing.
    pub fn apply(&mut self, metadata: FactMetadata<'_>, fact: &NotebookFact) {
        for key in affected_documents(fact).into_iter().flatten() {
            self.fold(key, metadata, fact);
        }
    }

    /// Applies a fact so that it can be undone.
    pub(crate) fn apply_undoable(
        &mut self,
        metadata: FactMetadata<'_>,
        fact: &NotebookFact,
        undo: &mut UndoLog,
    ) {
        for key in affected_documents(fact).into_iter().flatten() {
            if undo.seen.insert(key) {
                undo.documents.push((key, self.documents.get(&key).cloned()));
            }
            self.fold(key, metadata, fact);
        }
    }

    /// Makes the documents what they were.
    pub(crate) fn undo(&mut self, undo: UndoLog) {
        for (key, document) in undo.documents {
            self.set(key, document);
        }
    }

    fn fold(&mut self, key: NotebookDocumentKey, metadata: FactMetadata<'_>, fact: &NotebookFact) {
        if fact.notebook() != self.id || self.taken.contains(&key) {
            return;
        }
        let prior = self.set(key, None);
        let document = fold_document(key.view, prior, metadata, fact);
        self.set(key, document);
    }

    fn set(
        &mut self,
        key: NotebookDocumentKey,
        document: Option<NotebookDocument>,
    ) -> Option<NotebookDocument> {
        let entry = document.as_ref().and_then(IndexEntry::new);
        let prior = match document {
            Some(document) => self.documents.insert(key, document),
            None => self.documents.remove(&key),
        };
        match prior.as_ref().and_then(IndexEntry::new) {
            Some(IndexEntry::Unfinished(count, id)) => drop(self.unfinished.remove(&(count, id))),
            Some(IndexEntry::LiveCell) => self.live_cells = self.live_cells.saturating_sub(1),
            None => {}
        }
        match entry {
            Some(IndexEntry::Unfinished(count, id)) => drop(self.unfinished.insert((count, id))),
            Some(IndexEntry::LiveCell) => self.live_cells += 1,
            None => {}
        }
        prior
    }

    /// A document.
    pub fn document(&self, key: NotebookDocumentKey) -> Option<&NotebookDocument> {
        self.documents.get(&key)
    }

    /// All documents, by view and key.
    pub fn documents(&self) -> impl Iterator<Item = (&NotebookDocumentKey, &NotebookDocument)> {
        self.documents.iter()
    }

    /// Whether a document of another notebook has this key.
    pub fn is_taken(&self, key: NotebookDocumentKey) -> bool {
        self.taken.contains(&key)
    }

    fn view(&self, view: NotebookView) -> impl Iterator<Item = &NotebookDocument> {
        let keys = NotebookDocumentKey::new(view, Uuid::nil())
            ..=NotebookDocumentKey::new(view, Uuid::max());
        self.documents.range(keys).map(|(_, document)| document)
    }

    /// The notebook's own document, also of one that was deleted.
    pub fn notebook(&self) -> Option<&Notebook> {
        let document = self.documents.get(&self.notebook_key());
        let Some(NotebookDocument::Notebooks(notebook)) = document else { return None };
        Some(notebook)
    }

    /// The key of the notebook's own document.
    pub(crate) const fn notebook_key(&self) -> NotebookDocumentKey {
        NotebookDocumentKey::new(NotebookView::Notebooks, self.id.uuid())
    }

    /// A slot.
    pub fn slot(&self, name: &str) -> Option<&NotebookSlot> {
        self.notebook()?.slots.iter().find(|slot| slot.name == name)
    }

    /// A cell, also one that was deleted.
    pub fn cell(&self, id: CellId) -> Option<&Cell> {
        let key = NotebookDocumentKey::new(NotebookView::Cells, id.uuid());
        let Some(NotebookDocument::Cells(cell)) = self.documents.get(&key) else { return None };
        Some(cell)
    }

    /// The cells by id, also those that were deleted.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.view(NotebookView::Cells).filter_map(|document| {
            let NotebookDocument::Cells(cell) = document else { return None };
            Some(&**cell)
        })
    }

    /// How many cells were not deleted.
    pub const fn live_cells(&self) -> usize {
        self.live_cells
    }

    /// The cells that were not deleted, in their order.
    pub fn cells_in_order(&self) -> Vec<&Cell> {
        let mut cells: Vec<_> = self.cells().filter(|cell| cell.deleted_at.is_none()).collect();
        cells.sort_unstable_by(|a, b| (&a.position, a.id).cmp(&(&b.position, b.id)));
        cells
    }

    /// An execution.
    pub fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        let key = NotebookDocumentKey::new(NotebookView::Executions, id.uuid());
        let Some(NotebookDocument::Executions(execution)) = self.documents.get(&key) else {
            return None;
        };
        Some(execution)
    }

    /// The executions that have not ended, in the order of their requests.
    pub fn unfinished(&self) -> impl Iterator<Item = &Execution> {
        self.unfinished.iter().filter_map(|(_, id)| self.execution(*id))
    }

    /// The executions that wait for a runtime in a slot, in the order of their requests.
    pub fn queued(&self, slot: &str) -> impl Iterator<Item = &Execution> {
        self.unfinished().filter(move |execution| {
            execution.status == ExecutionStatus::Queued && execution.slot == slot
        })
    }

    /// A page of outputs, also one that was cleared.
    pub fn output_page(&self, execution: ExecutionId, page: u32) -> Option<&OutputPage> {
        let Some(NotebookDocument::OutputPages(page)) =
            self.documents.get(&page_key(execution, page))
        else {
            return None;
        };
        Some(page)
    }

    /// The pages of an execution's outputs that are shown.
    pub fn output_pages(&self, execution: ExecutionId) -> Vec<&OutputPage> {
        let shown = self.execution(execution).filter(|shown| shown.first_output < shown.outputs);
        let pages = shown.map_or(0..0, |shown| 0..shown.last_page.saturating_add(1));
        pages.filter_map(|page| self.output_page(execution, page)).collect()
    }

    /// The outputs of an execution that are shown.
    pub fn outputs(&self, execution: ExecutionId) -> Vec<&OutputPart> {
        let first = self.execution(execution).map_or(0, |execution| execution.first_output);
        let pages = self.output_pages(execution).into_iter();
        pages.flat_map(|page| &page.parts).filter(|part| part.ordinal >= first).collect()
    }

    /// The outputs with a display name.
    pub fn display(&self, display: &str) -> Option<&DisplayLocations> {
        let Some(NotebookDocument::Displays(places)) =
            self.documents.get(&display_key(self.id, display))
        else {
            return None;
        };
        Some(places)
    }

    /// A runtime session, also one that has ended.
    pub fn session(&self, id: RuntimeSessionId) -> Option<&RuntimeSession> {
        let key = NotebookDocumentKey::new(NotebookView::RuntimeSessions, id.uuid());
        let Some(NotebookDocument::RuntimeSessions(session)) = self.documents.get(&key) else {
            return None;
        };
        Some(session)
    }

    /// The runtime sessions by id, also those that have ended.
    pub fn sessions(&self) -> impl Iterator<Item = &RuntimeSession> {
        self.view(NotebookView::RuntimeSessions).filter_map(|document| {
            let NotebookDocument::RuntimeSessions(session) = document else { return None };
            Some(&**session)
        })
    }

    /// The active runtime session of a slot.
    pub fn active_session(&self, slot: &str) -> Option<&RuntimeSession> {
        self.session(self.slot(slot)?.session?)
    }

    /// An artifact.
    pub fn artifact(&self, hash: Hash) -> Option<&Artifact> {
        let Some(NotebookDocument::Artifacts(artifact)) =
            self.documents.get(&artifact_key(self.id, hash))
        else {
            return None;
        };
        Some(artifact)
    }

    /// The hash of all documents: equal states have equal hashes, natively and in WebAssembly.
    ///
    /// # Errors
    /// If a document cannot be written as JSON, which none of a log is.
    pub fn hash(&self) -> Result<Hash, serde_json::Error> {
        let mut hasher = blake3::Hasher::new();
        for (key, document) in &self.documents {
            let text = serde_json::to_vec(document)?;
            hasher.update(key.key.as_bytes());
            // The length keeps two lists from being one text.
            hasher.update(&(text.len() as u64).to_be_bytes());
            hasher.update(&text);
        }
        Ok(Hash::new(*hasher.finalize().as_bytes()))
    }
}
