//! The documents of notebooks, which their own crate folds.

use provost_notebook::{FactMetadata, fold_document};
use provost_proto::Fact;
use provost_proto::notebook::{NotebookFact, NotebookView};

use super::{DocumentKey, EventMetadata, PriorDocument, ViewDocument};

/// The documents that a fact of a notebook changes; none for any other fact.
pub(super) fn affected_notebook_documents(
    fact: &Fact,
) -> [Option<(DocumentKey, PriorDocument)>; 4] {
    let Some(fact) = NotebookFact::from_fact(fact) else { return [None; 4] };
    provost_notebook::affected_documents(&fact)
        .map(|key| key.map(|key| (DocumentKey::from(key), PriorDocument::Required)))
}

impl From<provost_notebook::NotebookDocumentKey> for DocumentKey {
    fn from(key: provost_notebook::NotebookDocumentKey) -> Self {
        Self { view: key.view.into(), key: key.key }
    }
}

pub(super) fn fold_notebook(
    view: NotebookView,
    doc: Option<ViewDocument>,
    metadata: EventMetadata<'_>,
    fact: &Fact,
) -> Option<ViewDocument> {
    let Some(fact) = NotebookFact::from_fact(fact) else { return doc };
    let prior = doc.and_then(ViewDocument::into_notebook_document);
    let metadata = FactMetadata { at: metadata.at, principal: metadata.principal };
    fold_document(view, prior, metadata, &fact).map(ViewDocument::Notebook)
}
