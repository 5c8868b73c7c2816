//! The keys of a notebook's documents.

use provost_proto::notebook::{NotebookDocument, NotebookView};
use provost_proto::{ExecutionId, Hash, NotebookId};
use uuid::Uuid;

/// The key of one document of a notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotebookDocumentKey {
    /// The view.
    pub view: NotebookView,
    /// The document in the view.
    pub key: Uuid,
}

impl NotebookDocumentKey {
    /// The key of a document in a view.
    pub const fn new(view: NotebookView, key: Uuid) -> Self {
        Self { view, key }
    }
}

/// The hash that names bytes as an artifact.
pub fn hash_bytes(bytes: &[u8]) -> Hash {
    Hash::new(*blake3::hash(bytes).as_bytes())
}

/// The key of a page of outputs.
pub fn page_key(execution: ExecutionId, page: u32) -> NotebookDocumentKey {
    let key = derive_key(&[b"page", execution.uuid().as_bytes(), &page.to_be_bytes()]);
    NotebookDocumentKey::new(NotebookView::OutputPages, key)
}

/// The key of the outputs with a display name.
pub fn display_key(notebook: NotebookId, display: &str) -> NotebookDocumentKey {
    let key = derive_key(&[b"disp", notebook.uuid().as_bytes(), display.as_bytes()]);
    NotebookDocumentKey::new(NotebookView::Displays, key)
}

/// The key of an artifact.
pub fn artifact_key(notebook: NotebookId, hash: Hash) -> NotebookDocumentKey {
    let key = derive_key(&[b"artf", notebook.uuid().as_bytes(), hash.as_bytes()]);
    NotebookDocumentKey::new(NotebookView::Artifacts, key)
}

/// The key of a document.
pub fn document_key(document: &NotebookDocument) -> NotebookDocumentKey {
    match document {
        NotebookDocument::Notebooks(notebook) => {
            NotebookDocumentKey::new(NotebookView::Notebooks, notebook.id.uuid())
        }
        NotebookDocument::Cells(cell) => {
            NotebookDocumentKey::new(NotebookView::Cells, cell.id.uuid())
        }
        NotebookDocument::Executions(execution) => {
            NotebookDocumentKey::new(NotebookView::Executions, execution.id.uuid())
        }
        NotebookDocument::OutputPages(page) => page_key(page.execution, page.page),
        NotebookDocument::Displays(places) => display_key(places.notebook, &places.display),
        NotebookDocument::RuntimeSessions(session) => {
            NotebookDocumentKey::new(NotebookView::RuntimeSessions, session.id.uuid())
        }
        NotebookDocument::Artifacts(artifact) => artifact_key(artifact.notebook, artifact.hash),
    }
}

/// The notebook that a document belongs to.
pub(crate) fn document_notebook(document: &NotebookDocument) -> NotebookId {
    match document {
        NotebookDocument::Notebooks(notebook) => notebook.id,
        NotebookDocument::Cells(cell) => cell.notebook,
        NotebookDocument::Executions(execution) => execution.notebook,
        NotebookDocument::OutputPages(page) => page.notebook,
        NotebookDocument::Displays(places) => places.notebook,
        NotebookDocument::RuntimeSessions(session) => session.notebook,
        NotebookDocument::Artifacts(artifact) => artifact.notebook,
    }
}

/// Parts of fixed length, but the last, have one key.
fn derive_key(parts: &[&[u8]]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Uuid::from_bytes(key)
}
