//! Repairing damaged views at start.

use provost_core::fold::ViewKind;
use provost_store::{EventStore, StoreError};

use crate::GatewayError;

/// The views that the daemon cannot start without. The others are too large to be read at
/// each start; whoever reads a damaged one is told how to repair it.
const REQUIRED_VIEWS: [ViewKind; 10] = [
    ViewKind::Projects,
    ViewKind::Tokens,
    ViewKind::Kernels,
    ViewKind::Modes,
    ViewKind::Approvals,
    ViewKind::Grants,
    ViewKind::Trusted,
    ViewKind::Runtimes,
    ViewKind::Sessions,
    ViewKind::Usage,
];

/// Rebuilds the views if a required one cannot be read. Views are derived from the log, so
/// damage in them must not keep the daemon from starting.
pub(super) async fn rebuild_if_damaged(store: &dyn EventStore) -> Result<(), GatewayError> {
    for view in REQUIRED_VIEWS {
        if let Err(error) = store.list_documents(view).await {
            if !matches!(error, StoreError::UnreadableView { .. }) {
                return Err(error.into());
            }
            tracing::warn!(%error, "a view is damaged; rebuilding all views from the log");
            return Ok(store.rebuild_views().await?);
        }
    }
    Ok(())
}
