//! The fold from facts to documents.
//!
//! Each document is folded alone: `fold(document, fact) → document`. A fact about a document that
//! does not exist changes nothing, and a fold never fails.

mod cell;
mod execution;
mod notebook;
mod output;
mod session;

use provost_proto::UnixMicros;
use provost_proto::notebook::{NotebookDocument, NotebookFact, NotebookView};

use crate::document_key::{
    NotebookDocumentKey, artifact_key, display_key, document_notebook, page_key,
};

pub(crate) use output::{content_bytes, display_name, json_bytes};

/// What a fold may use of an event besides its fact.
#[derive(Debug, Clone, Copy)]
pub struct FactMetadata<'a> {
    /// When it was recorded.
    pub at: UnixMicros,
    /// On whose authority it happened.
    pub principal: &'a str,
}

/// The documents that a fact changes.
pub fn affected_documents(fact: &NotebookFact) -> [Option<NotebookDocumentKey>; 4] {
    let notebook = Some(NotebookDocumentKey::new(NotebookView::Notebooks, fact.notebook().uuid()));
    let cell =
        |id: provost_proto::CellId| Some(NotebookDocumentKey::new(NotebookView::Cells, id.uuid()));
    let execution = |id: provost_proto::ExecutionId| {
        Some(NotebookDocumentKey::new(NotebookView::Executions, id.uuid()))
    };
    let session = |id: provost_proto::RuntimeSessionId| {
        Some(NotebookDocumentKey::new(NotebookView::RuntimeSessions, id.uuid()))
    };
    match fact {
        NotebookFact::NotebookCreated(_)
        | NotebookFact::NotebookRenamed(_)
        | NotebookFact::NotebookMetadataSet(_)
        | NotebookFact::NotebookSlotsSet(_)
        | NotebookFact::NotebookBound(_)
        | NotebookFact::NotebookSaved(_)
        | NotebookFact::NotebookDeleted(_) => [notebook, None, None, None],
        NotebookFact::CellCreated(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellEdited(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellReplaced(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellMoved(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellKindSet(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellMetadataSet(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellSlotSet(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellDeleted(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellRestored(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::CellOutputsCleared(fact) => [cell(fact.cell), None, None, None],
        NotebookFact::ExecutionRequested(fact) => {
            [execution(fact.execution), cell(fact.cell), notebook, None]
        }
        NotebookFact::ExecutionAssigned(fact) => {
            [execution(fact.execution), session(fact.session), None, None]
        }
        NotebookFact::ExecutionFinished(fact) => {
            [execution(fact.execution), fact.session.and_then(session), None, None]
        }
        NotebookFact::ExecutionReturned(fact) => [execution(fact.execution), None, None, None],
        NotebookFact::ExecutionStarted(fact) => [execution(fact.execution), None, None, None],
        NotebookFact::ExecutionInputAsked(fact) => [execution(fact.execution), None, None, None],
        NotebookFact::ExecutionInputAnswered(fact) => [execution(fact.execution), None, None, None],
        NotebookFact::ExecutionCancelled(fact) => [execution(fact.execution), None, None, None],
        NotebookFact::OutputsCleared(fact) => [execution(fact.execution), None, None, None],
        NotebookFact::OutputAdded(fact) => {
            let display = display_name(&fact.content);
            let display = display.map(|display| display_key(fact.notebook, display));
            let page = Some(page_key(fact.execution, fact.page));
            [execution(fact.execution), page, display, None]
        }
        NotebookFact::OutputAppended(fact) => {
            [execution(fact.execution), Some(page_key(fact.execution, fact.page)), None, None]
        }
        NotebookFact::OutputReplaced(fact) => {
            [Some(page_key(fact.execution, fact.page)), None, None, None]
        }
        NotebookFact::RuntimeSessionStarted(fact) => [session(fact.session), notebook, None, None],
        NotebookFact::RuntimeSessionStatusSet(fact) => [session(fact.session), None, None, None],
        NotebookFact::RuntimeSessionEnded(fact) => [session(fact.session), notebook, None, None],
        NotebookFact::ArtifactAdded(fact) => {
            [Some(artifact_key(fact.notebook, fact.artifact)), None, None, None]
        }
    }
}

/// Folds a fact into one of the documents that it changes.
///
/// Ids are chosen by clients: a document of another notebook stays as it is.
pub fn fold_document(
    view: NotebookView,
    prior: Option<NotebookDocument>,
    metadata: FactMetadata<'_>,
    fact: &NotebookFact,
) -> Option<NotebookDocument> {
    if prior.as_ref().is_some_and(|prior| document_notebook(prior) != fact.notebook()) {
        return prior;
    }
    match (view, prior) {
        (NotebookView::Notebooks, None) => notebook::new_notebook(metadata, fact)
            .map(|new| NotebookDocument::Notebooks(new.into())),
        (NotebookView::Notebooks, Some(NotebookDocument::Notebooks(mut notebook))) => {
            notebook::update_notebook(&mut notebook, metadata, fact);
            Some(NotebookDocument::Notebooks(notebook))
        }
        (NotebookView::Cells, None) => {
            cell::new_cell(metadata, fact).map(|new| NotebookDocument::Cells(new.into()))
        }
        (NotebookView::Cells, Some(NotebookDocument::Cells(mut cell))) => {
            cell::update_cell(&mut cell, metadata, fact);
            Some(NotebookDocument::Cells(cell))
        }
        (NotebookView::Executions, None) => execution::new_execution(metadata, fact)
            .map(|new| NotebookDocument::Executions(new.into())),
        (NotebookView::Executions, Some(NotebookDocument::Executions(mut execution))) => {
            execution::update_execution(&mut execution, metadata, fact);
            Some(NotebookDocument::Executions(execution))
        }
        (NotebookView::OutputPages, None) => {
            output::new_page(fact).map(|new| NotebookDocument::OutputPages(new.into()))
        }
        (NotebookView::OutputPages, Some(NotebookDocument::OutputPages(mut page))) => {
            output::update_page(&mut page, fact);
            Some(NotebookDocument::OutputPages(page))
        }
        (NotebookView::Displays, None) => {
            output::new_display(fact).map(|new| NotebookDocument::Displays(new.into()))
        }
        (NotebookView::Displays, Some(NotebookDocument::Displays(mut places))) => {
            output::update_display(&mut places, fact);
            Some(NotebookDocument::Displays(places))
        }
        (NotebookView::RuntimeSessions, None) => session::new_session(metadata, fact)
            .map(|new| NotebookDocument::RuntimeSessions(new.into())),
        (NotebookView::RuntimeSessions, Some(NotebookDocument::RuntimeSessions(mut session))) => {
            session::update_session(&mut session, metadata, fact);
            Some(NotebookDocument::RuntimeSessions(session))
        }
        (NotebookView::Artifacts, None) => {
            session::new_artifact(fact).map(|new| NotebookDocument::Artifacts(new.into()))
        }
        (
            NotebookView::Artifacts
            | NotebookView::Notebooks
            | NotebookView::Cells
            | NotebookView::Executions
            | NotebookView::OutputPages
            | NotebookView::Displays
            | NotebookView::RuntimeSessions,
            Some(prior),
        ) => Some(prior),
    }
}
