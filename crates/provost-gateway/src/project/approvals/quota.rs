//! Limits of pending approvals: no duplicates, and a quota.

use std::sync::Arc;

use provost_core::decide::BoundAction;
use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, ApprovalId, Code};

use super::ActionEndReceiver;
use super::pending::PendingApprovals;
use crate::GatewayError;
use crate::project::request_context::RequestContext;

/// How many approvals may be pending in one project. Nobody decides carefully about more, so
/// further requests fail.
const MAX_PENDING_PER_PROJECT: usize = 256;

/// How many of them one principal may have, so that none keeps the others out.
const MAX_PENDING_PER_PRINCIPAL: usize = 32;

/// The result of a request for an approval.
pub(crate) enum ApprovalRequestOutcome {
    /// The approval is pending; the receiver gets the end of the action.
    Created(ApprovalId, ActionEndReceiver),
    /// An approval for the same action is pending. One answer allows one run, so the new
    /// request is not a second action.
    AlreadyPending(Arc<Approval>),
}

impl PendingApprovals {
    /// The pending approval of the same requester for the same action, if there is one.
    pub(super) fn find_duplicate(
        &self,
        context: &RequestContext,
        bound_action: &BoundAction,
    ) -> Option<Arc<Approval>> {
        let repeat_key = bound_action.repeat_key();
        let is_same = |open: &Arc<Approval>| {
            open.project == context.project.id
                && open.principal == context.principal
                && open.role == context.role
                && open.session == context.session
                && (open.action_hash == bound_action.hash()
                    || self
                        .restore_bound_action(open)
                        .is_ok_and(|open| open.repeat_key() == repeat_key))
        };
        self.list().into_iter().find(is_same)
    }

    /// Fails if the project or the principal has the maximum of pending approvals.
    pub(super) fn check_quota(&self, context: &RequestContext) -> Result<(), GatewayError> {
        let all = self.list();
        let here = all.iter().filter(|open| open.project == context.project.id);
        let (mut n_here, mut n_own) = (0, 0);
        for open in here {
            n_here += 1;
            n_own += usize::from(open.principal == context.principal);
        }
        if n_own >= MAX_PENDING_PER_PRINCIPAL {
            return Err(too_many_approvals_error(&format!(
                "{MAX_PENDING_PER_PRINCIPAL} of your approvals are pending"
            )));
        }
        if n_here >= MAX_PENDING_PER_PROJECT {
            return Err(too_many_approvals_error(&format!(
                "{MAX_PENDING_PER_PROJECT} approvals are pending in this project"
            )));
        }
        Ok(())
    }
}

fn too_many_approvals_error(why: &str) -> GatewayError {
    let message = format!("{why}; wait for answers");
    GatewayError::Fault(ErrorInfo { code: Code::TooManyQuestions, message, details: None })
}
