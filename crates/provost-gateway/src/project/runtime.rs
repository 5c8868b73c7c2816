//! The runtime of a project: its state, its output, and where it can be previewed.
//!
//! The kernel is the source of truth, and clients follow the log, as events or as the documents
//! that the daemon folds. The state waits until the log has what the kernel reported, so that
//! both agree.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::runtime::{
    RuntimeKernelStatus, RuntimeLogPage, RuntimeStatusResponse, RuntimeView,
};
use provost_proto::{KernelStatus, LogCursor, Project, ProjectId};

use crate::GatewayError;
use crate::event_log::EventLog;
use crate::project::governance::Governance;
use crate::project::kernels::faults::fault_from_kernel_error;
use crate::project::kernels::{KernelPool, KernelState};

/// How often to read again when the log grew between two reads.
const MAX_READ_RETRIES: usize = 16;

/// The runtimes of all projects.
#[derive(Debug)]
pub struct RuntimeService {
    log: Arc<EventLog>,
    governance: Arc<Governance>,
    kernels: Arc<KernelPool>,
    views: RuntimeViewCache,
}

/// The views that were read last, each with the head of the log at that time.
#[derive(Debug, Default)]
struct RuntimeViewCache(Mutex<HashMap<ProjectId, (LogCursor, Arc<RuntimeView>)>>);

impl RuntimeViewCache {
    fn get_at(&self, project: ProjectId, head: LogCursor) -> Option<Arc<RuntimeView>> {
        let views = self.0.lock();
        views.get(&project).filter(|(at, _)| *at == head).map(|(_, view)| Arc::clone(view))
    }

    fn insert(&self, project: ProjectId, head: LogCursor, view: &Arc<RuntimeView>) {
        let mut views = self.0.lock();
        views.insert(project, (head, Arc::clone(view)));
    }
}

impl RuntimeService {
    pub(crate) fn new(
        log: Arc<EventLog>,
        governance: Arc<Governance>,
        kernels: Arc<KernelPool>,
    ) -> Self {
        Self { log, governance, kernels, views: RuntimeViewCache::default() }
    }

    /// The state of a project's runtime, and the position in the log that it includes.
    pub async fn runtime_state(
        &self,
        project: &Project,
    ) -> Result<RuntimeStatusResponse, GatewayError> {
        let snapshot = self.kernels.query_runtime(project.id).await;
        if let Some(snapshot) = &snapshot {
            self.kernels.wait_for_report(project.id, snapshot.reached).await;
        }
        let (view, cursor) = self.runtime_view(project.id).await?;
        let mut view = RuntimeView::clone(&view);
        // Only the kernel knows how much its terminal has printed.
        view.terminal.offset = snapshot.and_then(|snapshot| snapshot.runtime.terminal.offset);
        let governance = self.governance.find_by_id(project.id);
        let mode =
            governance.map_or_else(Default::default, |governance| governance.mode(self.log.now()));
        let kernel = self.kernel_status(project.id).await?;
        let RuntimeView { status, terminal, dev_server, build, preview, .. } = view;
        Ok(RuntimeStatusResponse {
            project: project.id,
            status,
            mode,
            kernel,
            terminal,
            dev_server,
            build,
            preview,
            cursor,
        })
    }

    async fn kernel_status(&self, project: ProjectId) -> Result<RuntimeKernelStatus, GatewayError> {
        let (status, pid, heartbeat) = match self.kernels.kernel_state(project) {
            KernelState::Connected { pid, heartbeat } => {
                (KernelStatus::Connected, Some(pid), Some(heartbeat))
            }
            KernelState::Unresponsive { pid } => (KernelStatus::Unresponsive, Some(pid), None),
            KernelState::NotRunning => {
                let doc = self.log.store().get_document(ViewKind::Kernels, project.uuid()).await?;
                let last = doc.and_then(ViewDocument::into_kernel).map(|kernel| kernel.status);
                let status = match last {
                    None | Some(KernelStatus::Stopped) => KernelStatus::Stopped,
                    // A kernel that the log has as connected was lost a moment ago.
                    Some(
                        KernelStatus::Lost | KernelStatus::Connected | KernelStatus::Unresponsive,
                    ) => KernelStatus::Lost,
                };
                (status, None, None)
            }
        };
        let heartbeat_ms =
            heartbeat.map(|beat| u64::try_from(beat.as_millis()).unwrap_or(u64::MAX));
        Ok(RuntimeKernelStatus { status, pid, heartbeat_ms })
    }

    /// The runtime according to the log, and the head of the log at that time. Cached until
    /// the log grows, since every request of a preview needs it.
    pub async fn runtime_view(
        &self,
        project: ProjectId,
    ) -> Result<(Arc<RuntimeView>, LogCursor), GatewayError> {
        let mut head = self.head();
        if let Some(view) = self.views.get_at(project, head) {
            return Ok((view, head));
        }
        for _ in 0..MAX_READ_RETRIES {
            let view = self.read_runtime_view(project).await?;
            let after = self.head();
            if after == head {
                self.views.insert(project, head, &view);
                return Ok((view, head));
            }
            head = after;
        }
        // The view may include events after this position. A client that follows the log from
        // here gets them again, with the same result.
        Ok((self.read_runtime_view(project).await?, head))
    }

    fn head(&self) -> LogCursor {
        *self.log.store().watch_head().borrow()
    }

    async fn read_runtime_view(
        &self,
        project: ProjectId,
    ) -> Result<Arc<RuntimeView>, GatewayError> {
        let doc = self.log.store().get_document(ViewKind::Runtimes, project.uuid()).await?;
        let view = doc.and_then(ViewDocument::into_runtime);
        Ok(Arc::new(view.unwrap_or_else(|| RuntimeView::new(project))))
    }

    /// A page of the output of builds and dev servers. The kernel keeps it, so a project
    /// without a kernel has none.
    pub async fn runtime_logs(
        &self,
        project: ProjectId,
        after: u64,
        limit: u64,
    ) -> Result<RuntimeLogPage, GatewayError> {
        let Some(kernel) = self.kernels.connected(project) else {
            let data = Vec::new().into();
            return Ok(RuntimeLogPage { oldest: 0, offset: 0, next: 0, end: 0, data });
        };
        let page = kernel.fetch_logs(after, limit).await;
        page.map_err(|error| GatewayError::Fault(fault_from_kernel_error(&error)))
    }
}

#[cfg(test)]
mod tests;
