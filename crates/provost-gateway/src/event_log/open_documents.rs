//! The documents that are still going on, in all projects: what a start of the daemon reads, so
//! that it does not cost more the longer the log is.

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::UnixMicros;
use provost_store::{EventStore, ListQuery, StoreError};
use uuid::Uuid;

/// The open documents of a view, by project and then the latest first. Tokens and grants that
/// have expired `now` are not open.
pub(super) async fn list_open_documents(
    store: &dyn EventStore,
    view: ViewKind,
    now: UnixMicros,
) -> Result<Vec<ViewDocument>, StoreError> {
    let after = if let ViewKind::Tokens | ViewKind::Grants = view { now } else { 0 };
    let groups = if view == ViewKind::Tokens {
        vec![Uuid::nil()]
    } else {
        let projects = store.list_stored_documents(ViewKind::Projects).await?;
        projects.into_iter().map(|stored| stored.key).collect()
    };
    let query = |group| ListQuery { after, ..ListQuery::open(view, group) };
    let queries = groups.into_iter().map(query).collect();
    Ok(store.list_under(queries).await?.into_iter().map(|stored| stored.doc).collect())
}
