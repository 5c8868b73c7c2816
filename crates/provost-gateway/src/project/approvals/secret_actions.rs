//! Actions that hold a secret, so that the log cannot hold them unchanged.
//!
//! The daemon keeps them in memory, so that their approvals can be answered like any other.
//! After a restart such an approval is withdrawn: the log has the action redacted.

use provost_core::action::Action;
use provost_core::decide::{ActionRequest, BoundAction};
use provost_proto::{ActionId, Approval, ApprovalPrompt};
use provost_store::StoreError;

use super::hash_mismatch_error;
use super::pending::PendingApprovals;
use crate::GatewayError;

impl PendingApprovals {
    pub(super) fn keep_secret_action(&self, id: ActionId, action: Action) {
        self.secret_actions.lock().insert(id, action);
    }

    /// The action of an approval, exactly as it was requested.
    pub(super) fn restore_bound_action(
        &self,
        approval: &Approval,
    ) -> Result<BoundAction, GatewayError> {
        let secret_actions = self.secret_actions.lock();
        let action = secret_actions.get(&approval.action).cloned();
        drop(secret_actions);
        bind_action_from_approval(approval, action)
    }
}

fn bind_action_from_approval(
    approval: &Approval,
    action: Option<Action>,
) -> Result<BoundAction, GatewayError> {
    let ApprovalPrompt { name, params, .. } = &approval.question;
    let action = action.map_or_else(|| Action::parse(name, params.clone()), Ok)?;
    let bound_action = BoundAction::new(ActionRequest {
        id: approval.action,
        project: approval.project,
        principal: approval.principal.clone(),
        class: approval.class,
        session: approval.session,
        action,
    })
    .map_err(StoreError::from)?;
    if bound_action.hash() == approval.action_hash {
        Ok(bound_action)
    } else {
        Err(hash_mismatch_error())
    }
}
