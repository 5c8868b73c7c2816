//! Going on with the session of an earlier process of the same runtime.

use provost_proto::notebook::{
    ExecutionOutcome, ExecutionStatus, Fence, NotebookCommand, RuntimeSessionStatus,
};
use provost_proto::{ExecutionId, limits};

use super::{Current, Phase, RuntimeAgent};
use crate::agent::types::{MonotonicMs, PriorSession};
use crate::state::NotebookState;

impl RuntimeAgent {
    /// The session of an earlier process, as far as the store knows: only the daemon knows whether
    /// its lease is valid.
    pub(super) fn find_prior_session(
        &self,
        state: &NotebookState,
    ) -> Option<(PriorSession, Fence)> {
        let prior = self.prior.as_ref()?;
        let session = state.session(prior.session)?;
        let is_own = session.client_id == prior.principal
            && session.runtime_id == self.options.runtime_id
            && self.options.slot.as_ref().is_none_or(|slot| *slot == session.slot);
        let is_active = session.status != RuntimeSessionStatus::Ended;
        (is_own && is_active).then(|| (prior.clone(), session.fence))
    }

    /// Takes over the session that the daemon confirmed, and what it had claimed.
    pub(super) fn adopt_session(&mut self, state: &NotebookState, now: MonotonicMs) {
        let Phase::Adopting(prior, fence) = &self.phase else { return };
        let fence = *fence;
        self.options.session = prior.session;
        self.phase = Phase::Active(fence);
        self.renew_at = now + limits::LEASE_RENEWAL_MS;
        self.push_status(fence);
        let claimed = state.session(self.options.session).and_then(|session| session.execution);
        let Some(execution) = claimed.and_then(|id| state.execution(id)) else { return };
        self.current = Some(Current {
            id: execution.id,
            count: execution.count,
            is_executing: false,
            is_resumed: execution.status == ExecutionStatus::Running,
            is_interrupted: false,
            appendable: execution.appendable.map(|last| (last.output, last.stream)),
        });
        if execution.status == ExecutionStatus::Assigned && !execution.cancelling {
            let execution = execution.id;
            self.outbox.push_alone(vec![NotebookCommand::StartExecution { execution, fence }]);
        }
    }

    /// Ends what was cancelled between its claim and its start.
    pub(super) fn finish_unstarted(&mut self, execution: ExecutionId) {
        let Phase::Active(fence) = self.phase else { return };
        let outcome = ExecutionOutcome::Cancelled;
        self.outbox.push(NotebookCommand::FinishExecution { execution, fence, outcome, why: None });
    }
}
