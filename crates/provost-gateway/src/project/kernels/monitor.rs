//! Following a kernel: its reports into the log, its heartbeat, its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_kernel::{KernelClient, ReportReceiver};
use provost_proto::kernel::{KernelReport, ReportPayload};
use provost_proto::{Actor, Fact, ProjectId};
use provost_store::StoreError;

use super::{KERNEL_RESPONSE_TIMEOUT, KernelPool, KernelRestartBackoff};
use crate::GatewayError;

/// How many reports are written in one append, at most.
const MAX_REPORTS_PER_APPEND: usize = 64;

/// How long to wait before writing to a failed log again.
const WRITE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

impl KernelPool {
    /// Writes a kernel's reports to the log until the kernel is lost.
    pub(super) async fn run_report_loop(
        self: Arc<Self>,
        project: ProjectId,
        kernel: KernelClient,
        mut reports: ReportReceiver,
    ) {
        while let Some(first) = reports.next().await {
            let mut group = vec![first];
            while group.len() < MAX_REPORTS_PER_APPEND
                && let Some(next) = reports.try_next()
            {
                group.push(next);
            }
            // While the log cannot be written, the kernel's reports stop, and so its commands.
            while let Err(error) = self.record_reports(project, &group).await {
                if matches!(error, GatewayError::Store(StoreError::Closed)) {
                    return;
                }
                tracing::error!(%error, "cannot write a kernel's reports; trying again");
                tokio::time::sleep(WRITE_RETRY_DELAY).await;
            }
            for report in &group {
                self.notify_waiter(report);
            }
            if let Some(last) = group.last() {
                self.publish_logged_report(project, &kernel, last.number);
                if kernel.acknowledge(last.number).await.is_err() {
                    break;
                }
            }
        }
        self.handle_kernel_loss(project, &kernel, "its process ended").await;
    }

    async fn record_reports(
        &self,
        project: ProjectId,
        reports: &[KernelReport],
    ) -> Result<(), GatewayError> {
        let facts = reports.iter().map(|report| fact_from_report(project, report)).collect();
        self.log.record_project_events(project, Actor::Kernel, facts).await
    }

    fn publish_logged_report(&self, project: ProjectId, kernel: &KernelClient, number: u64) {
        let connected = self.connected.lock();
        if let Some(known) = connected.get(&project)
            && known.kernel.welcome().boot == kernel.welcome().boot
        {
            known.logged_reports.send_replace(number);
        }
    }

    pub(super) async fn run_heartbeat(self: Arc<Self>, project: ProjectId, kernel: KernelClient) {
        while kernel.is_connected() {
            tokio::time::sleep(HEARTBEAT_INTERVAL).await;
            let started = Instant::now();
            let pong = tokio::time::timeout(KERNEL_RESPONSE_TIMEOUT, kernel.ping()).await;
            let heartbeat = pong.is_ok_and(|pong| pong.is_ok()).then(|| started.elapsed());
            let changed = {
                let mut connected = self.connected.lock();
                let boot = kernel.welcome().boot;
                match connected.get_mut(&project) {
                    Some(known) if known.kernel.welcome().boot == boot && kernel.is_connected() => {
                        let before = std::mem::replace(&mut known.heartbeat, heartbeat);
                        before.is_some() != heartbeat.is_some()
                    }
                    Some(_) | None => return,
                }
            };
            if changed {
                self.record_heartbeat_change(project, &kernel, heartbeat.is_some()).await;
            }
        }
    }

    /// Heartbeats are not logged, but that they stop or resume is.
    async fn record_heartbeat_change(
        &self,
        project: ProjectId,
        kernel: &KernelClient,
        responsive: bool,
    ) {
        let boot = kernel.welcome().boot;
        tracing::warn!(%project, responsive, "the heartbeat of a kernel stopped or resumed");
        let fact = if responsive {
            Fact::KernelResponsive { project, boot }
        } else {
            Fact::KernelUnresponsive { project, boot }
        };
        let recorded = self.log.record_project_events(project, Actor::Kernel, vec![fact]).await;
        if let Err(error) = recorded {
            tracing::error!(%error, "cannot log the state of a kernel");
        }
    }

    /// Records that a kernel is gone, and with it what ran in it.
    async fn handle_kernel_loss(&self, project: ProjectId, kernel: &KernelClient, why: &str) {
        let boot = kernel.welcome().boot;
        {
            let mut connected = self.connected.lock();
            if connected.get(&project).is_some_and(|known| known.kernel.welcome().boot == boot) {
                connected.remove(&project);
            }
        }
        self.kernel_dir(project).remove_stale_scratch();
        let intended = self.stopping.lock().remove(&boot);
        let fact = if intended {
            Fact::KernelStopped { project, boot }
        } else {
            self.with_backoff(project, KernelRestartBackoff::record_failure);
            Fact::KernelLost { project, boot, why: why.to_owned() }
        };
        let recorded = self.log.record_project_events(project, Actor::Kernel, vec![fact]).await;
        if let Err(error) = recorded {
            tracing::error!(%error, "cannot log the loss of a kernel");
        }
        if let Err(error) = self.fail_orphaned_actions(project).await {
            tracing::error!(%error, "cannot log the end of a lost kernel's actions");
        }
    }
}

fn fact_from_report(project: ProjectId, report: &KernelReport) -> Fact {
    let (action, number) = (report.action, report.number);
    match report.what.clone() {
        ReportPayload::Started { pid, profile, layers } => {
            Fact::ActionStarted { action, project, report: number, pid, profile, layers }
        }
        ReportPayload::Output(output) => {
            Fact::ActionOutput { action, project, report: number, output }
        }
        ReportPayload::Finished(outcome) => {
            Fact::ActionFinished { action, project, report: Some(number), outcome }
        }
        ReportPayload::Runtime(change) => change.into_fact(project, action, number),
    }
}
