//! What a project runs: how it stands, what it printed, and where it can be seen.
//!
//! The kernel is the truth; the log is what everybody folds. The status waits
//! until the log has what the kernel told, so that both say the same.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_proto::kernel::ReportNumber;
use provost_proto::runtime::{
    RuntimeKernelStatus, RuntimeLogPage, RuntimeSnapshot, RuntimeStatusResponse, RuntimeView,
};
use provost_proto::{KernelStatus, Project, ProjectId, Seq};
use tokio::time::{Instant, sleep, timeout};

use crate::kernels::KernelState;
use crate::{Gateway, GatewayError};

/// How long the log may take to have what the kernel told.
const LOG_CATCH_UP_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a kernel may take to say how it stands.
const KERNEL_STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// How often to look whether the log has it.
const LOG_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// How often to read anew when something was written between two reads.
const MAX_READ_RETRIES: usize = 16;

/// The runtimes as they were read last, each with how far the log had come.
#[derive(Debug, Default)]
pub(crate) struct RuntimeViewCache(Mutex<HashMap<ProjectId, (Seq, Arc<RuntimeView>)>>);

impl RuntimeViewCache {
    fn get_at_seq(&self, project: ProjectId, seq: Seq) -> Option<Arc<RuntimeView>> {
        let kept = self.0.lock();
        kept.get(&project).filter(|(at, _)| *at == seq).map(|(_, view)| Arc::clone(view))
    }

    fn insert(&self, project: ProjectId, seq: Seq, view: &Arc<RuntimeView>) {
        let mut kept = self.0.lock();
        kept.insert(project, (seq, Arc::clone(view)));
    }
}

impl Gateway {
    /// How it stands with a project's runtime, and the last event that is in it.
    pub async fn runtime_state(
        &self,
        project: &Project,
    ) -> Result<RuntimeStatusResponse, GatewayError> {
        let now = self.query_runtime(project.id).await;
        if let Some(now) = &now {
            self.wait_for_report(project.id, now.reached).await?;
        }
        let (view, seq) = self.runtime_view(project.id).await?;
        let mut view = RuntimeView::clone(&view);
        // Only the kernel knows how much its terminal has printed.
        view.terminal.offset = now.and_then(|now| now.runtime.terminal.offset);
        let standing = self.governance.find_by_id(project.id);
        let mode = standing.map_or_else(Default::default, |known| known.mode(self.clock.now()));
        let kernel = self.runtime_kernel(project.id).await?;
        let RuntimeView { status: whole, terminal, dev_server, build, preview, .. } = view;
        Ok(RuntimeStatusResponse {
            project: project.id,
            status: whole,
            mode,
            kernel,
            terminal,
            dev_server,
            build,
            preview,
            seq,
        })
    }

    /// How the project's kernel is.
    async fn runtime_kernel(
        &self,
        project: ProjectId,
    ) -> Result<RuntimeKernelStatus, GatewayError> {
        let (status, pid, heartbeat) = match self.kernel_state(project) {
            KernelState::Connected { pid, heartbeat } => {
                (KernelStatus::Connected, Some(pid), Some(heartbeat))
            }
            KernelState::Unresponsive { pid } => (KernelStatus::Unresponsive, Some(pid), None),
            KernelState::NotRunning => {
                let doc = self.store.get_document(ViewKind::Kernels, project.uuid()).await?;
                let ended = doc.and_then(ViewDocument::into_kernel).map(|kernel| kernel.status);
                // One that the log has as connected was lost a moment ago.
                let status = match ended {
                    None | Some(KernelStatus::Stopped) => KernelStatus::Stopped,
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

    /// Waits until the log has all that the kernel told so far: whoever is answered
    /// that something runs, or does not any more, reads it there too.
    pub(crate) async fn wait_for_kernel_reports(
        &self,
        project: ProjectId,
    ) -> Result<(), GatewayError> {
        match self.query_runtime(project).await {
            Some(now) => self.wait_for_report(project, now.reached).await,
            None => Ok(()),
        }
    }

    /// What the kernel says, if there is one that answers and has a runtime.
    async fn query_runtime(&self, project: ProjectId) -> Option<RuntimeSnapshot> {
        let kernel = self.kernels.connected(project)?;
        timeout(KERNEL_STATUS_TIMEOUT, kernel.fetch_runtime()).await.ok()?.ok()
    }

    /// Waits until a report is in the log, but not for ever: a log that cannot be
    /// written has what it has.
    async fn wait_for_report(
        &self,
        project: ProjectId,
        report: ReportNumber,
    ) -> Result<(), GatewayError> {
        let until = Instant::now() + LOG_CATCH_UP_TIMEOUT;
        while Instant::now() < until {
            let doc = self.store.get_document(ViewKind::Kernels, project.uuid()).await?;
            let reached =
                doc.and_then(ViewDocument::into_kernel).map_or(0, |kernel| kernel.reached);
            if reached >= report {
                return Ok(());
            }
            sleep(LOG_POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// The runtime as the log has it, and how far the log had come then. Read from
    /// the log only when it has grown: every request of a preview asks for it.
    pub async fn runtime_view(
        &self,
        project: ProjectId,
    ) -> Result<(Arc<RuntimeView>, Seq), GatewayError> {
        let mut seq = *self.store.watch_head().borrow();
        if let Some(view) = self.runtimes.get_at_seq(project, seq) {
            return Ok((view, seq));
        }
        for _ in 0..MAX_READ_RETRIES {
            let view = self.read_runtime_view(project).await?;
            let after = *self.store.watch_head().borrow();
            if after == seq {
                self.runtimes.insert(project, seq, &view);
                return Ok((view, seq));
            }
            seq = after;
        }
        // What is written meanwhile is of others, or is folded once more: it says the same.
        Ok((self.read_runtime_view(project).await?, seq))
    }

    async fn read_runtime_view(
        &self,
        project: ProjectId,
    ) -> Result<Arc<RuntimeView>, GatewayError> {
        let doc = self.store.get_document(ViewKind::Runtimes, project.uuid()).await?;
        let view = doc.and_then(ViewDocument::into_runtime);
        Ok(Arc::new(view.unwrap_or_else(|| RuntimeView::new(project))))
    }

    /// A piece of what builds and dev servers printed. A project whose kernel does
    /// not run has nothing to show: what was printed is kept by the kernel.
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
        let failed = |error| GatewayError::Fault(crate::execute::fault_from_kernel_error(&error));
        kernel.fetch_logs(after, limit).await.map_err(failed)
    }
}

/// Sees to the end of the actions that went on while no daemon was there: their
/// answer went to nobody, but the kernel remembers what became of them.
pub(crate) async fn finish_orphaned_action(
    gateway: Arc<Gateway>,
    kernel: provost_kernel::KernelClient,
    action: provost_proto::ActionView,
) {
    while kernel.is_connected() {
        match kernel.fetch_outcomes(vec![action.id]).await {
            Ok(known) => {
                if let Some((_, outcome)) = known.into_iter().next() {
                    if let Err(error) = gateway.finish_action(&action, outcome).await {
                        tracing::error!(%error, "the end of an action could not be written");
                    }
                    return;
                }
            }
            // A kernel that is lost settles all that ran in it.
            Err(_) => return,
        }
        sleep(Duration::from_millis(200)).await;
    }
}
