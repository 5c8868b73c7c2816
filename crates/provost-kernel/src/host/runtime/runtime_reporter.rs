//! The state of the runtime, as it was reported.
//!
//! All changes go through here, in one order: each becomes a numbered report, and is
//! folded with the same function that folds the log.

use parking_lot::Mutex;
use std::io;
use std::path::Path;
use std::sync::Arc;

use provost_core::fold::runtime;
use provost_proto::kernel::ReportPayload;
use provost_proto::runtime::{RuntimeChange, RuntimeSnapshot, RuntimeView};
use provost_proto::{ActionId, ProjectId, UnixMicros};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::host::rpc::report_spool::ReportSpool;

/// The current state, and the only way to change it.
#[derive(Debug)]
pub(in crate::host) struct RuntimeReporter {
    spool: Arc<ReportSpool>,
    clock: fn() -> UnixMicros,
    /// Serializes reports, so that the fold has the order of the numbers.
    report_order: Semaphore,
    snapshot: Mutex<RuntimeSnapshot>,
}

impl RuntimeReporter {
    /// The state before anything has run. The kernel directory is named after the project.
    pub(in crate::host) fn new(
        spool: Arc<ReportSpool>,
        kernel_dir: &Path,
        clock: fn() -> UnixMicros,
    ) -> Self {
        let name = kernel_dir.file_name().and_then(|name| name.to_str());
        let project = name.and_then(|name| Uuid::try_parse(name).ok()).unwrap_or_default();
        let runtime = RuntimeView::new(ProjectId::from(project));
        let snapshot = Mutex::new(RuntimeSnapshot { reached: 0, runtime });
        Self { spool, clock, report_order: Semaphore::new(1), snapshot }
    }

    /// The time of the kernel's clock.
    pub(in crate::host) fn current_time(&self) -> UnixMicros {
        (self.clock)()
    }

    /// Reports a change; when it returns, the change is spooled and folded.
    pub(in crate::host) async fn report_change(
        &self,
        action: ActionId,
        change: RuntimeChange,
    ) -> io::Result<()> {
        let _permit = self.report_order.acquire().await.map_err(io::Error::other)?;
        let number = self.spool.push(action, ReportPayload::Runtime(change.clone())).await?;
        let mut snapshot = self.snapshot.lock();
        snapshot.reached = number;
        runtime::apply_runtime_change(&mut snapshot.runtime, (self.clock)(), action, change);
        Ok(())
    }

    /// The current state.
    pub(in crate::host) fn snapshot(&self) -> RuntimeSnapshot {
        self.snapshot.lock().clone()
    }
}
