//! Finding kernels again after the daemon was away.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_kernel::{KernelClient, KernelError};
use provost_proto::{Fact, KernelStatus, KernelView, Project, ProjectId, ProjectStatus};
use provost_store::Durability;

use crate::project::executor::{failed_outcome, kernel_lost_fault};
use crate::project::runtime::finish_orphaned_action;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Finds the kernels again that lived on while no daemon did.
    pub async fn reattach_kernels(self: &Arc<Self>) -> Result<(), GatewayError> {
        let kernels = self.store.list_documents(ViewKind::Kernels).await?.into_iter();
        let known: HashMap<ProjectId, KernelView> = kernels
            .filter_map(ViewDocument::into_kernel)
            .map(|kernel| (kernel.project, kernel))
            .collect();
        for project in self.list_projects().await? {
            let was_there = |view: &&KernelView| match view.status {
                KernelStatus::Connected | KernelStatus::Unresponsive => true,
                KernelStatus::Lost | KernelStatus::Stopped => false,
            };
            let view = known.get(&project.id).filter(was_there);
            match view {
                Some(view) => self.reattach_kernel(&project, view).await?,
                None => self.fail_orphaned_actions(project.id, &[]).await?,
            }
        }
        self.withdraw_unrestorable_approvals().await
    }

    async fn reattach_kernel(
        self: &Arc<Self>,
        project: &Project,
        view: &KernelView,
    ) -> Result<(), GatewayError> {
        let found =
            KernelClient::connect_existing(&self.kernel_dir(project.id), &self.config.secrets)
                .await;
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
        // Those that ended meanwhile without a report are asked for by name.
        let unfinished = self.list_unfinished_actions(project.id).await?;
        let ids: Vec<_> = unfinished.iter().map(|action| action.id).collect();
        let outcomes: HashMap<_, _> =
            kernel.fetch_outcomes(ids).await.unwrap_or_default().into_iter().collect();
        let running = kernel.welcome().running.clone();
        for action in &unfinished {
            let reported = action.name == "terminal.runCommand"
                && (running.contains(&action.id) || outcomes.contains_key(&action.id));
            if !reported && running.contains(&action.id) {
                // Its answer went to a daemon that is gone.
                let work = finish_orphaned_action(Arc::clone(self), kernel.clone(), action.clone());
                drop(tokio::spawn(work));
                continue;
            }
            if reported {
                continue;
            }
            let unknown = || {
                failed_outcome(kernel_lost_fault(
                    "the daemon stopped while this ran, and its end is not known",
                ))
            };
            let outcome = outcomes.get(&action.id).cloned().unwrap_or_else(unknown);
            self.finish_action(action, outcome).await?;
        }
        let reached = view.reached;
        if project.status == ProjectStatus::Closed {
            drop(kernel.shut_down().await);
        }
        if let Err(why) = self.attach_kernel(project.id, kernel, reports, reached).await {
            tracing::warn!(why, "a kernel was lost while it was found again");
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
        self.record_kernel_facts(project, vec![fact], Durability::Buffered).await?;
        self.fail_orphaned_actions(project, &[]).await
    }
}
