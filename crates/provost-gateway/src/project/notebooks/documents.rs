//! The documents of notebooks in the store.

use std::sync::Arc;

use provost_core::fold::{self, ViewDocument, ViewKind};
use provost_notebook::{NotebookDocumentKey, page_key};
use provost_proto::notebook::{
    Cell, Execution, Notebook, NotebookDocument, NotebookView, OutputPage, RuntimeSession,
};
use provost_proto::{NotebookId, ProjectId, RuntimeSessionId};
use provost_store::{EventStore, ListQuery};
use uuid::Uuid;

use super::not_found;
use crate::GatewayError;
use crate::event_log::EventLog;

/// The most artifacts and ended sessions that are shown of a notebook.
const MAX_LISTED: usize = 200;

/// Which documents to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenOrOver {
    /// Those that are still going on.
    Open,
    /// All of them, but of those that are over the latest only.
    Both,
}

/// Reads the documents of notebooks.
#[derive(Debug)]
pub(super) struct NotebookDocuments<'a> {
    store: &'a Arc<dyn EventStore>,
}

impl<'a> NotebookDocuments<'a> {
    pub(super) fn new(log: &'a EventLog) -> Self {
        Self { store: log.store() }
    }

    /// Documents by key; those that do not exist are left out.
    pub(super) async fn get(
        &self,
        keys: Vec<NotebookDocumentKey>,
    ) -> Result<Vec<NotebookDocument>, GatewayError> {
        let keys = keys.into_iter().map(fold::DocumentKey::from).collect();
        let found = self.store.get_documents(keys).await?;
        Ok(found
            .into_iter()
            .filter_map(|(_, stored)| stored.doc.into_notebook_document())
            .collect())
    }

    /// A notebook, deleted or not.
    pub(super) async fn get_notebook(&self, id: NotebookId) -> Result<Notebook, GatewayError> {
        let doc =
            self.store.get_document(ViewKind::Notebook(NotebookView::Notebooks), id.uuid()).await?;
        doc.and_then(ViewDocument::into_notebook).ok_or_else(|| not_found(id))
    }

    /// The documents of a view that belong to a parent.
    pub(super) async fn list(
        &self,
        view: NotebookView,
        parent: Uuid,
        which: OpenOrOver,
    ) -> Result<Vec<NotebookDocument>, GatewayError> {
        let view = ViewKind::from(view);
        let mut queries = vec![ListQuery::open(view, parent)];
        if which == OpenOrOver::Both {
            let limit = if view == ViewKind::Notebook(NotebookView::Cells) {
                usize::MAX
            } else {
                MAX_LISTED
            };
            queries.push(ListQuery::latest(view, parent, limit));
        }
        let listed = self.store.list_under(queries).await?;
        Ok(listed.into_iter().filter_map(|stored| stored.doc.into_notebook_document()).collect())
    }

    /// The notebooks of a project that were not deleted, the newest first.
    pub(super) async fn list_notebooks(
        &self,
        project: ProjectId,
    ) -> Result<Vec<Notebook>, GatewayError> {
        let listed = self.list(NotebookView::Notebooks, project.uuid(), OpenOrOver::Open).await?;
        let mut notebooks: Vec<_> = listed
            .into_iter()
            .filter_map(|document| {
                if let NotebookDocument::Notebooks(notebook) = document {
                    Some(*notebook)
                } else {
                    None
                }
            })
            .collect();
        notebooks.sort_by_key(|notebook| std::cmp::Reverse((notebook.created_at, notebook.id)));
        Ok(notebooks)
    }

    /// Runtime sessions.
    pub(super) async fn get_sessions(
        &self,
        ids: Vec<RuntimeSessionId>,
    ) -> Result<Vec<RuntimeSession>, GatewayError> {
        let key = |id: RuntimeSessionId| {
            NotebookDocumentKey::new(NotebookView::RuntimeSessions, id.uuid())
        };
        let found = self.get(ids.into_iter().map(key).collect()).await?;
        Ok(found
            .into_iter()
            .filter_map(|document| {
                if let NotebookDocument::RuntimeSessions(session) = document {
                    Some(*session)
                } else {
                    None
                }
            })
            .collect())
    }

    /// All that is shown of a notebook. Nothing may be appended to it meanwhile.
    pub(super) async fn read_contents(
        &self,
        id: NotebookId,
    ) -> Result<NotebookContents, GatewayError> {
        let notebook = self.get_notebook(id).await?;
        let mut contents = NotebookContents::new(notebook);
        for view in [NotebookView::Cells, NotebookView::RuntimeSessions, NotebookView::Artifacts] {
            contents.extend(self.list(view, id.uuid(), OpenOrOver::Both).await?);
        }
        contents.extend(self.list(NotebookView::Executions, id.uuid(), OpenOrOver::Open).await?);
        let current = contents.cells.iter().filter_map(|cell| cell.execution);
        let known: std::collections::HashSet<_> =
            contents.executions.iter().map(|execution| execution.id).collect();
        let further = current
            .filter(|id| !known.contains(id))
            .map(|id| NotebookDocumentKey::new(NotebookView::Executions, id.uuid()))
            .collect();
        let further = self.get(further).await?;
        contents.extend(further);
        let pages = contents
            .executions
            .iter()
            .filter(|execution| execution.first_output < execution.outputs);
        let pages = pages
            .flat_map(|execution| {
                (0..=execution.last_page).map(|page| page_key(execution.id, page))
            })
            .collect();
        let pages = self.get(pages).await?;
        contents.extend(pages);
        contents.sort();
        Ok(contents)
    }
}

/// All that is shown of a notebook.
#[derive(Debug)]
pub(super) struct NotebookContents {
    pub(super) notebook: Notebook,
    pub(super) cells: Vec<Cell>,
    pub(super) executions: Vec<Execution>,
    pub(super) outputs: Vec<OutputPage>,
    pub(super) sessions: Vec<RuntimeSession>,
    others: Vec<NotebookDocument>,
}

impl NotebookContents {
    fn new(notebook: Notebook) -> Self {
        let (cells, executions, outputs) = (Vec::new(), Vec::new(), Vec::new());
        Self { notebook, cells, executions, outputs, sessions: Vec::new(), others: Vec::new() }
    }

    fn extend(&mut self, documents: Vec<NotebookDocument>) {
        for document in documents {
            match document {
                NotebookDocument::Notebooks(notebook) => self.notebook = *notebook,
                NotebookDocument::Cells(cell) => self.cells.push(*cell),
                NotebookDocument::Executions(execution) => self.executions.push(*execution),
                NotebookDocument::OutputPages(page) => self.outputs.push(*page),
                NotebookDocument::RuntimeSessions(session) => self.sessions.push(*session),
                other @ (NotebookDocument::Displays(_) | NotebookDocument::Artifacts(_)) => {
                    self.others.push(other);
                }
            }
        }
    }

    fn sort(&mut self) {
        self.cells.sort_by(|a, b| (&a.position, a.id).cmp(&(&b.position, b.id)));
        self.executions.sort_by_key(|execution| (execution.count, execution.id));
        self.outputs.sort_by_key(|page| (page.execution, page.page));
        self.sessions.sort_by_key(|session| (session.started_at, session.id));
    }

    /// As documents.
    pub(super) fn into_documents(self) -> Vec<NotebookDocument> {
        let Self { notebook, cells, executions, outputs, sessions, others } = self;
        let mut documents = vec![NotebookDocument::Notebooks(Box::new(notebook))];
        documents.extend(cells.into_iter().map(|it| NotebookDocument::Cells(Box::new(it))));
        documents
            .extend(executions.into_iter().map(|it| NotebookDocument::Executions(Box::new(it))));
        documents
            .extend(sessions.into_iter().map(|it| NotebookDocument::RuntimeSessions(Box::new(it))));
        documents.extend(others);
        documents.extend(outputs.into_iter().map(|it| NotebookDocument::OutputPages(Box::new(it))));
        documents
    }
}
