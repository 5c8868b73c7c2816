//! Finding kernels again after the daemon was away.

use std::collections::HashMap;
use std::sync::Arc;

use provost_core::fold::{ViewDocument, ViewKind};
use provost_kernel::{KernelClient, KernelError};
use provost_proto::{Fact, KernelStatus, KernelView, Project, ProjectId, ProjectStatus};
use provost_store::Durability;

use crate::execute::{failed, lost};
use crate::runtime::see_out;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Finds the kernels again that lived on while no daemon did.
    pub async fn reattach(self: &Arc<Self>) -> Result<(), GatewayError> {
        let kernels = self.store.list_documents(ViewKind::Kernels).await?.into_iter();
        let known: HashMap<ProjectId, KernelView> = kernels
            .filter_map(ViewDocument::into_kernel)
            .map(|kernel| (kernel.project, kernel))
            .collect();
        for project in self.all_projects().await? {
            let was_there = |view: &&KernelView| match view.status {
                KernelStatus::Connected | KernelStatus::Unresponsive => true,
                KernelStatus::Lost | KernelStatus::Stopped => false,
            };
            let view = known.get(&project.id).filter(was_there);
            match view {
                Some(view) => self.reattach_to(&project, view).await?,
                None => self.settle(project.id, &[]).await?,
            }
        }
        self.withdraw_forgotten().await
    }

    async fn reattach_to(
        self: &Arc<Self>,
        project: &Project,
        view: &KernelView,
    ) -> Result<(), GatewayError> {
        let found =
            KernelClient::connect_existing(&self.place(project.id), &self.places.secrets).await;
        let gone = || "it was gone when the daemon came back".to_owned();
        let found = match found {
            Ok(found) if found.0.welcome().boot == view.boot => Ok(found),
            Ok(_) | Err(KernelError::Lost) => Err(gone()),
            Err(error) => Err(error.to_string()),
        };
        let (kernel, reports) = match found {
            Ok(found) => found,
            Err(why) => return self.lost_at_start(project.id, view, why).await,
        };
        // Those that ended meanwhile without a report are asked for by name.
        let unfinished = self.unfinished(project.id).await?;
        let ids: Vec<_> = unfinished.iter().map(|action| action.id).collect();
        let outcomes: HashMap<_, _> =
            kernel.fetch_outcomes(ids).await.unwrap_or_default().into_iter().collect();
        let running = kernel.welcome().running.clone();
        for action in &unfinished {
            let reported = action.name == "terminal.runCommand"
                && (running.contains(&action.id) || outcomes.contains_key(&action.id));
            if !reported && running.contains(&action.id) {
                // Its answer went to a daemon that is gone.
                let work = see_out(Arc::clone(self), kernel.clone(), action.clone());
                drop(tokio::spawn(work));
                continue;
            }
            if reported {
                continue;
            }
            let unknown =
                || failed(lost("the daemon stopped while this ran, and its end is not known"));
            let outcome = outcomes.get(&action.id).cloned().unwrap_or_else(unknown);
            self.finish(action, outcome).await?;
        }
        let reached = view.reached;
        if project.status == ProjectStatus::Closed {
            drop(kernel.shut_down().await);
        }
        if let Err(why) = self.take_up(project.id, kernel, reports, reached).await {
            tracing::warn!(why, "a kernel was lost while it was found again");
        }
        Ok(())
    }

    async fn lost_at_start(
        &self,
        project: ProjectId,
        view: &KernelView,
        why: String,
    ) -> Result<(), GatewayError> {
        self.place(project).remove_stale_scratch();
        let fact = Fact::KernelLost { project, boot: view.boot, why };
        self.record_in(project, vec![fact], Durability::Buffered).await?;
        self.settle(project, &[]).await
    }
}
