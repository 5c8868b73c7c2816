//! The documents that a page is sent, and how they change.
//!
//! A page never reads the log from its first event: it gets the documents that are folded anyway,
//! as of a position, and from there what becomes of them. What a page is sent at first is bounded,
//! whatever the history: what is open, and the latest of the rest.

mod changes;
mod follower;
mod page_document;
mod page_draft;
mod selection;
mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use provost_proto::DocumentCursor;

pub use follower::{DocumentFollower, DocumentMessage};
pub use selection::{DocumentSelection, PageView};

use crate::event_log::EventLog;
use crate::live_drafts::LiveDrafts;
use crate::{AuthorizedReader, GatewayError};

/// Serves documents to pages.
#[derive(Debug)]
pub struct Documents {
    log: Arc<EventLog>,
    drafts: Arc<LiveDrafts>,
}

impl Documents {
    pub(crate) fn new(log: Arc<EventLog>, drafts: Arc<LiveDrafts>) -> Self {
        Self { log, drafts }
    }

    /// Follows the documents that a reader asks for and may see. With a cursor of the same
    /// documents it continues there, if the log still has what the cursor names.
    pub async fn follow(
        &self,
        reader: &AuthorizedReader,
        selection: DocumentSelection,
        after: Option<DocumentCursor>,
    ) -> Result<DocumentFollower, GatewayError> {
        let selection = selection.restrict_to(reader.bound_project())?;
        DocumentFollower::start(Arc::clone(&self.log), &self.drafts, selection, after).await
    }
}
