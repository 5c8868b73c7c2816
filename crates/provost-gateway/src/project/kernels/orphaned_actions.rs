//! The end of actions whose kernel or daemon is gone.

use std::sync::Arc;

use provost_core::fold::ViewKind;
use provost_kernel::{KernelClient, KernelError};
use provost_proto::kernel::ActionOutcome;
use provost_proto::{ActionStatus, ActionView, Actor, Fact, ProjectId};
use provost_store::ListQuery;

use super::KernelPool;
use super::faults::{failed_outcome, kernel_lost_fault};
use crate::GatewayError;

impl KernelPool {
    /// Records the failure of the unfinished actions of a project that has no kernel.
    pub(super) async fn fail_orphaned_actions(
        &self,
        project: ProjectId,
    ) -> Result<(), GatewayError> {
        for action in self.list_unfinished_actions(project).await? {
            let outcome =
                failed_outcome(kernel_lost_fault("the project's kernel was lost while this ran"));
            self.finish_action(&action, outcome).await?;
        }
        Ok(())
    }

    /// Waits for the outcome of an action that kept running while no daemon ran, and records
    /// it. The kernel does not report the end of such an action by itself.
    pub(super) async fn finish_orphaned_action(
        self: Arc<Self>,
        kernel: KernelClient,
        action: ActionView,
    ) {
        let outcome = loop {
            match kernel.wait_for_outcome(action.id).await {
                Ok(outcome) => break outcome.unwrap_or_else(unknown_outcome),
                // It was waited for as long as a response may take.
                Err(KernelError::Unresponsive) if kernel.is_connected() => {}
                // The loss of the kernel ends all that ran in it.
                Err(_) => return,
            }
        };
        if let Err(error) = self.finish_action(&action, outcome).await {
            tracing::error!(%error, "cannot log the end of an action");
        }
    }

    /// Records the end of an action if it has none, and notifies the request that waits for it.
    pub(super) async fn finish_action(
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
        let append = self.log.build_project_append(action.project, Actor::Kernel, vec![fact]);
        if self.log.append_end(action.id, append).await? {
            self.notify_finished(action.id, outcome);
        }
        Ok(())
    }

    pub(super) async fn list_unfinished_actions(
        &self,
        project: ProjectId,
    ) -> Result<Vec<ActionView>, GatewayError> {
        let open = vec![ListQuery::open(ViewKind::Actions, project.uuid())];
        let actions = self.log.store().list_under(open).await?.into_iter();
        let actions = actions.filter_map(|stored| stored.doc.into_action());
        Ok(actions
            .filter(|action| matches!(action.status, ActionStatus::Allowed | ActionStatus::Running))
            .collect())
    }
}

/// The outcome of an action of which nothing is known but that it has ended.
pub(super) fn unknown_outcome() -> ActionOutcome {
    let message = "the daemon stopped while this ran, and its end is not known";
    failed_outcome(kernel_lost_fault(message))
}
