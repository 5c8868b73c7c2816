//! Room for a question: the same is asked once, and nobody asks without end.

use std::sync::Arc;

use provost_core::decide::BoundAction;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, ApprovalId, Code};

use super::{ExecutionResultReceiver, PendingApprovals};
use crate::GatewayError;
use crate::project::actions::RequestContext;

/// Questions that may be open in one project. Beyond, whoever asks is refused:
/// a person who is asked more than this decides nothing any more.
const MAX_OPEN_PER_PROJECT: usize = 256;

/// Of these, how many may come from one asker, so that none keeps the others out.
const MAX_OPEN_PER_PRINCIPAL: usize = 32;

/// What became of a question.
pub(crate) enum ApprovalRequestOutcome {
    /// It is asked; the end comes to whoever waits.
    Created(ApprovalId, ExecutionResultReceiver),
    /// The same is asked already. One answer is one run, so what asks again is
    /// not another action: it is told which one waits.
    AlreadyPending(Arc<Approval>),
}

impl PendingApprovals {
    /// The open question of the same asker about the same, if there is one.
    pub(super) fn find_duplicate(
        &self,
        context: &RequestContext,
        bound_action: &BoundAction,
    ) -> Option<Arc<Approval>> {
        let repeat_key = bound_action.repeat_key();
        let same = |open: &Arc<Approval>| {
            open.project == context.project.id
                && open.principal == context.principal
                && open.role == context.role
                && open.session == context.session
                && (open.action_hash == bound_action.hash()
                    || self
                        .restore_bound_action(open)
                        .is_ok_and(|open| open.repeat_key() == repeat_key))
        };
        self.list().into_iter().find(same)
    }

    /// Fails if as many questions are open as may be.
    pub(super) fn check_quota(&self, context: &RequestContext) -> Result<(), GatewayError> {
        let all = self.list();
        let here = all.iter().filter(|open| open.project == context.project.id);
        let (mut n_here, mut n_own) = (0, 0);
        for open in here {
            n_here += 1;
            n_own += usize::from(open.principal == context.principal);
        }
        if n_own >= MAX_OPEN_PER_PRINCIPAL {
            return Err(too_many_approvals_error(&format!(
                "{MAX_OPEN_PER_PRINCIPAL} of your questions are open"
            )));
        }
        if n_here >= MAX_OPEN_PER_PROJECT {
            return Err(too_many_approvals_error(&format!(
                "{MAX_OPEN_PER_PROJECT} questions are open in this project"
            )));
        }
        Ok(())
    }
}

fn too_many_approvals_error(why: &str) -> GatewayError {
    let message = format!("{why}; wait for answers");
    GatewayError::Fault(ErrorInfo { code: Code::TooManyQuestions, message, details: None })
}
