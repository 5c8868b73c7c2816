//! Notebooks without a platform: what commands do, what facts make of documents, and how runtimes
//! and clients follow them.
//!
//! The same code decides in the daemon and in the browser: it opens nothing, reads no clock and
//! makes no random numbers. Ids come from the caller, times from the metadata of events.

pub mod agent;
pub mod client_store;
mod decide;
mod document_key;
mod fold;
pub mod position;
mod state;
pub mod text;

pub use decide::{
    CommandContext, CommandRights, Refusal, create_notebook, decide, decide_all, end_session,
    mentioned_documents,
};
pub use document_key::{
    NotebookDocumentKey, artifact_key, display_key, document_key, hash_bytes, page_key,
};
pub use fold::{FactMetadata, affected_documents, fold_document};
pub use state::NotebookState;
