//! How the runtime stands, as it was reported.
//!
//! Whatever changes is told here, in one order: it becomes a numbered report, and
//! it is folded with the very function that the log is folded with.

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

/// The present, and the one road by which it changes.
#[derive(Debug)]
pub(in crate::host) struct RuntimeReporter {
    spool: Arc<ReportSpool>,
    clock: fn() -> UnixMicros,
    /// One reports at a time, so that the fold has the order of the numbers.
    turn: Semaphore,
    seen: Mutex<RuntimeSnapshot>,
}

impl RuntimeReporter {
    /// Of a kernel in which nothing has run. Its folder is named after the project.
    pub(in crate::host) fn new(
        spool: Arc<ReportSpool>,
        place: &Path,
        clock: fn() -> UnixMicros,
    ) -> Self {
        let name = place.file_name().and_then(|name| name.to_str());
        let project = name.and_then(|name| Uuid::try_parse(name).ok()).unwrap_or_default();
        let runtime = RuntimeView::new(ProjectId::from(project));
        let seen = Mutex::new(RuntimeSnapshot { reached: 0, runtime });
        Self { spool, clock, turn: Semaphore::new(1), seen }
    }

    /// The time, by the kernel's clock.
    pub(in crate::host) fn current_time(&self) -> UnixMicros {
        (self.clock)()
    }

    /// Reports a change; when it returns, the change is in the spool and here.
    pub(in crate::host) async fn report_change(
        &self,
        action: ActionId,
        change: RuntimeChange,
    ) -> io::Result<()> {
        let _turn = self.turn.acquire().await.map_err(io::Error::other)?;
        let number = self.spool.push(action, ReportPayload::Runtime(change.clone())).await?;
        let mut seen = self.seen.lock();
        seen.reached = number;
        runtime::apply_runtime_change(&mut seen.runtime, (self.clock)(), action, change);
        Ok(())
    }

    /// How it stands.
    pub(in crate::host) fn snapshot(&self) -> RuntimeSnapshot {
        self.seen.lock().clone()
    }
}
