//! A notebook in memory: what decisions about commands need of it, and its place in its stream.
//!
//! Output is not among it: a decision takes the counters of an execution, not its pages.

use std::collections::HashSet;

use provost_notebook::{NotebookDocumentKey, NotebookState, document_key};
use provost_proto::notebook::{Notebook, NotebookDocument, NotebookView, ResumePoint};
use provost_proto::{Hash, NotebookId, Stream};

use super::documents::{NotebookDocuments, OpenOrOver};
use crate::GatewayError;
use crate::event_log::EventLog;

/// A notebook in memory.
#[derive(Debug)]
pub(super) struct LoadedNotebook {
    /// Its documents.
    pub(super) state: NotebookState,
    /// Its last event.
    pub(super) at: ResumePoint,
    /// The documents that were looked for and do not exist.
    missing: HashSet<NotebookDocumentKey>,
}

impl LoadedNotebook {
    /// Reads a notebook. Nothing may be appended to it meanwhile.
    pub(super) async fn read(log: &EventLog, id: NotebookId) -> Result<Self, GatewayError> {
        let documents = NotebookDocuments::new(log);
        let notebook = documents.get_notebook(id).await?;
        let at = find_last_event(log, id).await?;
        let mut state = NotebookState::new(id);
        let mut running = HashSet::new();
        for cell in documents.list(NotebookView::Cells, id.uuid(), OpenOrOver::Both).await? {
            if let NotebookDocument::Cells(cell) = &cell {
                running.extend(cell.execution);
            }
            state.insert(cell);
        }
        for view in [NotebookView::Executions, NotebookView::RuntimeSessions] {
            for open in documents.list(view, id.uuid(), OpenOrOver::Open).await? {
                state.insert(open);
            }
        }
        let current = running
            .into_iter()
            .map(|id| NotebookDocumentKey::new(NotebookView::Executions, id.uuid()));
        for document in documents.get(current.collect()).await? {
            state.insert(document);
        }
        state.insert(NotebookDocument::Notebooks(Box::new(notebook)));
        Ok(Self { state, at, missing: HashSet::new() })
    }

    /// The notebook itself.
    pub(super) fn notebook(&self) -> Result<&Notebook, GatewayError> {
        self.state.notebook().ok_or_else(|| super::not_found("it was never created"))
    }

    /// Reads documents that are not in memory yet.
    pub(super) async fn read_further(
        &mut self,
        log: &EventLog,
        keys: impl IntoIterator<Item = NotebookDocumentKey>,
    ) -> Result<(), GatewayError> {
        let wanted: HashSet<_> = keys
            .into_iter()
            .filter(|key| {
                key.view != NotebookView::OutputPages
                    && !self.missing.contains(key)
                    && self.state.document(*key).is_none()
                    && !self.state.is_taken(*key)
            })
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        self.missing.extend(&wanted);
        for document in NotebookDocuments::new(log).get(wanted.into_iter().collect()).await? {
            self.missing.remove(&document_key(&document));
            self.state.insert(document);
        }
        Ok(())
    }

    /// Takes the documents as they are in the log now: with its times, and as it redacted them.
    pub(super) async fn refresh(
        &mut self,
        log: &EventLog,
        keys: HashSet<NotebookDocumentKey>,
    ) -> Result<(), GatewayError> {
        let (pages, others): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|key| key.view == NotebookView::OutputPages);
        for page in pages {
            self.state.remove(page);
        }
        for document in NotebookDocuments::new(log).get(others).await? {
            let key = document_key(&document);
            self.missing.remove(&key);
            self.state.remove(key);
            self.state.insert(document);
        }
        Ok(())
    }
}

/// The last event of a notebook.
async fn find_last_event(log: &EventLog, id: NotebookId) -> Result<ResumePoint, GatewayError> {
    let (store, stream) = (log.store(), Stream::Notebook(id));
    let version = store.stream_version(stream).await?;
    let event = store.find_stream_event(stream, version).await?;
    // One that is archived is known by its version alone.
    Ok(ResumePoint { version, hash: event.map_or(Hash::ZERO, |event| event.hash) })
}
