//! Finding kernels again after a restart of the daemon.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_kernel::{KernelClient, KernelError};
use provost_proto::{Actor, Fact, KernelStatus, KernelView, Project, ProjectId, ProjectStatus};

use super::KernelPool;
use super::orphaned_actions::unknown_outcome;
use crate::GatewayError;

impl KernelPool {
    /// Reconnects to the kernels that kept running while no daemon ran.
    pub(crate) async fn reattach_kernels(
        self: &Arc<Self>,
        projects: &[Project],
    ) -> Result<(), GatewayError> {
        let kernels = self.log.store().list_documents(ViewKind::Kernels).await?.into_iter();
        let known: HashMap<ProjectId, KernelView> = kernels
            .filter_map(ViewDocument::into_kernel)
            .map(|kernel| (kernel.project, kernel))
            .collect();
        for project in projects {
            let was_running = |view: &&KernelView| match view.status {
                KernelStatus::Connected | KernelStatus::Unresponsive => true,
                KernelStatus::Lost | KernelStatus::Stopped => false,
            };
            match known.get(&project.id).filter(was_running) {
                Some(view) => self.reattach_kernel(project, view).await?,
                None => self.fail_orphaned_actions(project.id).await?,
            }
        }
        Ok(())
    }

    async fn reattach_kernel(
        self: &Arc<Self>,
        project: &Project,
        view: &KernelView,
    ) -> Result<(), GatewayError> {
        let dir = self.kernel_dir(project.id);
        let found = KernelClient::connect_existing(&dir, self.config.daemon_settings()).await;
        let gone = || "it was gone when the daemon came back".to_owned();
        let found = match found {
            Ok(found) if found.0.welcome().boot == view.boot => Ok(found),
            Ok(_) | Err(KernelError::Lost) => Err(gone()),
            Err(error) => Err(error.to_string()),
        };
        let (kernel, reports) = match found {
            Ok(found) => found,
            Err(why) => return self.record_lost_kernel(project.id, view, why).await,
        };
        let kernel = kernel.with_cached_reader(self.cached_reader(project));
        self.settle_unfinished_actions(project.id, &kernel).await?;
        if project.status == ProjectStatus::Closed {
            drop(kernel.shut_down().await);
        }
        if let Err(error) = self.attach_kernel(project.id, kernel, reports, view.reached).await {
            tracing::warn!(%error, "a kernel was lost while the daemon reconnected to it");
        }
        Ok(())
    }

    /// Records the end of the actions that ended without a report while no daemon ran.
    async fn settle_unfinished_actions(
        self: &Arc<Self>,
        project: ProjectId,
        kernel: &KernelClient,
    ) -> Result<(), GatewayError> {
        let unfinished = self.list_unfinished_actions(project).await?;
        let ids: Vec<_> = unfinished.iter().map(|action| action.id).collect();
        let outcomes: HashMap<_, _> =
            kernel.fetch_outcomes(ids).await.unwrap_or_default().into_iter().collect();
        let running = kernel.welcome().running.clone();
        for action in &unfinished {
            let is_running = running.contains(&action.id);
            let is_reported = action.name == "terminal.runCommand"
                && (is_running || outcomes.contains_key(&action.id));
            if is_reported {
                continue;
            }
            if is_running {
                // Its response went to the former daemon.
                let pool = Arc::clone(self);
                drop(tokio::spawn(pool.finish_orphaned_action(kernel.clone(), action.clone())));
                continue;
            }
            let outcome = outcomes.get(&action.id).cloned().unwrap_or_else(unknown_outcome);
            self.finish_action(action, outcome).await?;
        }
        Ok(())
    }

    async fn record_lost_kernel(
        &self,
        project: ProjectId,
        view: &KernelView,
        why: String,
    ) -> Result<(), GatewayError> {
        self.kernel_dir(project).remove_stale_scratch();
        let fact = Fact::KernelLost { project, boot: view.boot, why };
        self.log.record_project_events(project, Actor::Kernel, vec![fact]).await?;
        self.fail_orphaned_actions(project).await
    }
}
