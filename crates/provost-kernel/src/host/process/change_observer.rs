//! What changed while a command ran, for the end of it.

use std::time::Duration;

use provost_core::redact::Redactor;
use provost_proto::kernel::ObservedChanges;
use provost_sandbox::root_dir::RootDir;
use serde_json::Value;
use tokio::time::timeout;

use crate::files::{FileTimestamp, find_changes_since};

/// How long the end of a command waits for a disk that does not answer.
const SCAN_TIMEOUT: Duration = Duration::from_secs(1);

/// When a command was started, and where.
#[derive(Debug)]
pub(super) struct ChangeObserver {
    root: RootDir,
    at: FileTimestamp,
}

impl ChangeObserver {
    /// Now, just before it is.
    pub(super) fn start(root: &RootDir) -> Self {
        Self { root: root.clone_handle(), at: FileTimestamp::now() }
    }

    /// What changed since, without secrets, if anything did or may have.
    pub(super) async fn collect_changes(self, redactor: &Redactor) -> Option<Value> {
        let Self { root, at } = self;
        let look = tokio::task::spawn_blocking(move || find_changes_since(&root, at));
        let found = match timeout(SCAN_TIMEOUT, look).await {
            Ok(Ok(found)) => found?,
            Ok(Err(_)) | Err(_) => ObservedChanges { more: true, ..ObservedChanges::default() },
        };
        let mut found = serde_json::to_value(found).ok()?;
        redactor.redact_json(&mut found);
        Some(found)
    }
}
