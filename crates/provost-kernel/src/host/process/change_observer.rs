//! Finds the files that changed while a command ran.

use std::time::Duration;

use provost_core::redact::Redactor;
use provost_proto::kernel::ObservedChanges;
use provost_sandbox::root_dir::RootDir;
use serde_json::Value;
use tokio::time::timeout;

use crate::files::{FileTimestamp, find_changes_since};

/// How long to wait for a disk that does not respond.
const SCAN_TIMEOUT: Duration = Duration::from_secs(1);

/// The start time of a command, and the folder to scan.
#[derive(Debug)]
pub(super) struct ChangeObserver {
    root: RootDir,
    at: FileTimestamp,
}

impl ChangeObserver {
    /// Records the time, directly before a command starts.
    pub(super) fn start(root: &RootDir) -> Self {
        Self { root: root.clone_handle(), at: FileTimestamp::now() }
    }

    /// The changes since the start, redacted; `None` if there are none.
    pub(super) async fn collect_changes(self, redactor: &Redactor) -> Option<Value> {
        let Self { root, at } = self;
        let scan = tokio::task::spawn_blocking(move || find_changes_since(&root, at));
        let found = match timeout(SCAN_TIMEOUT, scan).await {
            Ok(Ok(found)) => found?,
            Ok(Err(_)) | Err(_) => ObservedChanges { more: true, ..ObservedChanges::default() },
        };
        let mut found = serde_json::to_value(found).ok()?;
        redactor.redact_json(&mut found);
        Some(found)
    }
}
