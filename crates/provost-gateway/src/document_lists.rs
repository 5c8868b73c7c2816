//! Lists of documents in pages, the latest first. A page costs what it holds, however long the
//! list is.

use provost_core::fold::ViewDocument;
use provost_proto::limits;
use provost_store::{EventStore, ListPosition, ListQuery, StoredDocument};

use crate::GatewayError;

/// A page of a list.
#[derive(Debug)]
pub struct DocumentPage {
    /// The documents, the latest first.
    pub documents: Vec<ViewDocument>,
    /// Where the list goes on; `None` at its end.
    pub next: Option<ListPosition>,
}

/// The latest documents of these lists before a position.
pub async fn list_page(
    store: &dyn EventStore,
    queries: impl IntoIterator<Item = ListQuery>,
    before: ListPosition,
) -> Result<DocumentPage, GatewayError> {
    let most = limits::MAX_LISTED_DOCUMENTS;
    // One more than a page has, to see whether the list goes on.
    let limit = most + 1;
    let queries = queries.into_iter().map(|query| {
        let before = before.min(query.before);
        ListQuery { before, limit, ..query }
    });
    let mut found = store.list_latest(queries.collect(), limit).await?;
    let goes_on = found.len() > most;
    found.truncate(most);
    let next = found.last().filter(|_| goes_on).and_then(position_of);
    Ok(DocumentPage { documents: found.into_iter().map(|stored| stored.doc).collect(), next })
}

fn position_of(stored: &StoredDocument) -> Option<ListPosition> {
    Some(ListPosition { at: stored.doc.listing()?.at, key: stored.key })
}
