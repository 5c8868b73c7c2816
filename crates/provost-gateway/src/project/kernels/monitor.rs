//! Following a kernel: its reports into the log, its heartbeat, its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_core::fold::{ViewDocument, ViewKind};
use provost_kernel::{KernelClient, ReportReceiver};
use provost_proto::kernel::{ActionOutcome, KernelReport, ReportPayload};
use provost_proto::{ActionId, ActionStatus, ActionView, Actor, Fact, ProjectId, Stream};
use provost_store::{AppendRequest, Durability, NewEvent, StoreError};

use super::{KERNEL_RESPONSE_TIMEOUT, KernelRestartBackoff};
use crate::project::executor::{failed_outcome, kernel_lost_fault};
use crate::{Gateway, GatewayError};

/// Reports written in one append, at most.
const MAX_REPORTS_PER_APPEND: usize = 64;

/// How long to wait before trying again to write to a log that failed.
const WRITE_RETRY_DELAY: Duration = Duration::from_millis(500);

/// How often a kernel is asked whether it is well.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

impl Gateway {
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
            // A log that cannot be written stops the kernel's reports, and so its commands.
            while let Err(error) = self
                .record_kernel_facts(
                    project,
                    facts_from_reports(project, &group),
                    Durability::Buffered,
                )
                .await
            {
                if matches!(error, GatewayError::Store(StoreError::Closed)) {
                    return;
                }
                tracing::error!(%error, "a kernel's reports cannot be written; trying again");
                tokio::time::sleep(WRITE_RETRY_DELAY).await;
            }
            for report in &group {
                self.kernels.notify_waiter(report);
            }
            if let Some(last) = group.last()
                && kernel.acknowledge(last.number).await.is_err()
            {
                break;
            }
        }
        self.handle_kernel_loss(project, &kernel, "its process ended").await;
    }

    pub(super) async fn run_heartbeat(self: Arc<Self>, project: ProjectId, kernel: KernelClient) {
        while kernel.is_connected() {
            tokio::time::sleep(HEARTBEAT_INTERVAL).await;
            let started = Instant::now();
            let beat = tokio::time::timeout(KERNEL_RESPONSE_TIMEOUT, kernel.ping()).await;
            let beat = beat.is_ok_and(|answer| answer.is_ok()).then(|| started.elapsed());
            let changed = {
                let mut connected = self.kernels.connected.lock();
                let boot = kernel.welcome().boot;
                match connected.get_mut(&project) {
                    Some(known) if known.kernel.welcome().boot == boot && kernel.is_connected() => {
                        let before = std::mem::replace(&mut known.beat, beat);
                        before.is_some() != beat.is_some()
                    }
                    Some(_) | None => return,
                }
            };
            if changed {
                self.record_heartbeat_change(project, &kernel, beat.is_some()).await;
            }
        }
    }

    /// Beats are not logged, but that they stop and come back is.
    async fn record_heartbeat_change(
        &self,
        project: ProjectId,
        kernel: &KernelClient,
        beats: bool,
    ) {
        let boot = kernel.welcome().boot;
        tracing::warn!(%project, beats, "the kernel's heart stopped or beats again");
        let fact = if beats {
            Fact::KernelResponsive { project, boot }
        } else {
            Fact::KernelUnresponsive { project, boot }
        };
        if let Err(error) =
            self.record_kernel_facts(project, vec![fact], Durability::Buffered).await
        {
            tracing::error!(%error, "the state of a kernel could not be written");
        }
    }

    /// A kernel is gone, and with it what ran there.
    async fn handle_kernel_loss(&self, project: ProjectId, kernel: &KernelClient, why: &str) {
        let boot = kernel.welcome().boot;
        {
            let mut connected = self.kernels.connected.lock();
            if connected.get(&project).is_some_and(|known| known.kernel.welcome().boot == boot) {
                connected.remove(&project);
            }
        }
        self.kernel_dir(project).remove_stale_scratch();
        let told = self.kernels.ending.lock().remove(&boot);
        let fact = if told {
            Fact::KernelStopped { project, boot }
        } else {
            self.kernels.with_restart_backoff(project, KernelRestartBackoff::record_failure);
            Fact::KernelLost { project, boot, why: why.to_owned() }
        };
        if let Err(error) =
            self.record_kernel_facts(project, vec![fact], Durability::Buffered).await
        {
            tracing::error!(%error, "the loss of a kernel could not be written");
        }
        if let Err(error) = self.fail_orphaned_actions(project, &[]).await {
            tracing::error!(%error, "the actions of a lost kernel could not be settled");
        }
    }

    /// Ends, in the log, the actions of a project that nobody carries out.
    pub(super) async fn fail_orphaned_actions(
        &self,
        project: ProjectId,
        running: &[ActionId],
    ) -> Result<(), GatewayError> {
        for action in self.list_unfinished_actions(project).await? {
            if running.contains(&action.id) {
                continue;
            }
            let outcome =
                failed_outcome(kernel_lost_fault("the project's kernel was lost while this ran"));
            self.finish_action(&action, outcome).await?;
        }
        Ok(())
    }

    pub(crate) async fn finish_action(
        &self,
        action: &ActionView,
        outcome: ActionOutcome,
    ) -> Result<(), GatewayError> {
        let fact = Fact::ActionFinished {
            action: action.id,
            project: action.project,
            report: None,
            outcome: outcome.clone(),
        };
        self.record_kernel_facts(action.project, vec![fact], Durability::Buffered).await?;
        self.kernels.notify_finished(action.id, outcome);
        Ok(())
    }

    pub(super) async fn list_unfinished_actions(
        &self,
        project: ProjectId,
    ) -> Result<Vec<ActionView>, GatewayError> {
        let actions = self.store.list_documents(ViewKind::Actions).await?.into_iter();
        let actions = actions.filter_map(ViewDocument::into_action);
        Ok(actions
            .filter(|action| action.project == project)
            .filter(|action| matches!(action.status, ActionStatus::Allowed | ActionStatus::Running))
            .collect())
    }

    pub(super) async fn record_kernel_facts(
        &self,
        project: ProjectId,
        facts: Vec<Fact>,
        durability: Durability,
    ) -> Result<(), GatewayError> {
        let stream = Stream::Project(project);
        let events = facts.into_iter().map(|fact| NewEvent { stream, fact, cause: None }).collect();
        let append = AppendRequest {
            principal: self.owner.principal.clone(),
            actor: Actor::Kernel,
            command: None,
            expect: Vec::new(),
            unchanged: Vec::new(),
            durability,
            events,
        };
        self.append_redacted(append).await?;
        Ok(())
    }
}

fn facts_from_reports(project: ProjectId, reports: &[KernelReport]) -> Vec<Fact> {
    reports.iter().map(|report| fact_from_report(project, report)).collect()
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
