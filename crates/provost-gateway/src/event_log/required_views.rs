//! Repairing damaged views at start.

use provost_core::fold::ViewKind;
use provost_proto::UnixMicros;
use provost_store::{EventStore, StoreError};

use super::open_documents::list_open_documents;
use crate::GatewayError;

/// Views that the daemon reads wholly: they have as many documents as there are projects.
const WHOLE_VIEWS: [ViewKind; 5] =
    [ViewKind::Projects, ViewKind::Kernels, ViewKind::Modes, ViewKind::Trusted, ViewKind::Runtimes];

/// Views of which the daemon reads what is open: the rest is history.
const OPEN_VIEWS: [ViewKind; 4] =
    [ViewKind::Tokens, ViewKind::Approvals, ViewKind::Grants, ViewKind::Sessions];

/// Rebuilds the views if a document cannot be read that the daemon cannot start without. Views
/// are derived from the log, so damage in them must not keep the daemon from starting. Whoever
/// reads another damaged document is told how to repair it.
pub(super) async fn rebuild_if_damaged(
    store: &dyn EventStore,
    now: UnixMicros,
) -> Result<(), GatewayError> {
    match read_required(store, now).await {
        Err(error @ StoreError::UnreadableView { .. }) => {
            tracing::warn!(%error, "a view is damaged; rebuilding all views from the log");
            Ok(store.rebuild_views().await?)
        }
        read => Ok(read?),
    }
}

async fn read_required(store: &dyn EventStore, now: UnixMicros) -> Result<(), StoreError> {
    for view in WHOLE_VIEWS {
        store.list_documents(view).await?;
    }
    for view in OPEN_VIEWS {
        list_open_documents(store, view, now).await?;
    }
    Ok(())
}
