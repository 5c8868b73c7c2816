//! The fold from facts to documents.

use provost_proto::UnixMicros;
use provost_proto::notebook::{NotebookDocument, NotebookFact, NotebookView};

use crate::document_key::DocumentKey;

/// What a fold may use of an event besides its fact.
#[derive(Debug, Clone, Copy)]
pub struct FactMetadata<'a> {
    /// When it was recorded.
    pub at: UnixMicros,
    /// On whose authority it happened.
    pub principal: &'a str,
}

/// The documents that a fact changes.
pub fn affected_documents(fact: &NotebookFact) -> [Option<DocumentKey>; 4] { todo!() }

/// Folds a fact into one of the documents that it changes. A document of another notebook stays.
pub fn fold_document(view: NotebookView, prior: Option<NotebookDocument>, metadata: FactMetadata<'_>, fact: &NotebookFact) -> Option<NotebookDocument> { todo!() }
