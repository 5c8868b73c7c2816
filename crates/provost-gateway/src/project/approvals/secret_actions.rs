//! Actions that hold a secret, which the log cannot keep as they are.
//!
//! While the daemon lives it remembers them, so that a question about one can be
//! answered like any other. After a restart the question is taken back: what is
//! in the log is not what was asked for.

use provost_core::action::Action;
use provost_core::decide::{ActionRequest as Asked, BoundAction};
use provost_proto::{ActionId, Approval, ApprovalPrompt, Code};
use provost_store::StoreError;

use super::{PendingApprovals, hash_mismatch_error};
use crate::{Gateway, GatewayError};

impl PendingApprovals {
    pub(super) fn keep_secret_action(&self, action: ActionId, secret_actions: Action) {
        self.secret_actions.lock().insert(action, secret_actions);
    }

    /// The action that a question is about, exactly as it was asked for.
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

impl Gateway {
    /// Takes back the questions whose action held a secret: it was in the memory
    /// of a daemon that is gone, and the log holds only a mark.
    pub(crate) async fn withdraw_unrestorable_approvals(&self) -> Result<(), GatewayError> {
        let _guard = self.lock_governance().await?;
        for approval in self.approvals.list() {
            if self.approvals.restore_bound_action(&approval).is_err() {
                let context = self.daemon_context(&approval)?;
                let why = "it held a secret, which is not kept across a restart; ask again";
                self.withdraw_and_deny(&context, &approval, Code::Cancelled, why).await?;
            }
        }
        Ok(())
    }
}

fn bind_action_from_approval(
    approval: &Approval,
    action: Option<Action>,
) -> Result<BoundAction, GatewayError> {
    let ApprovalPrompt { name, params, .. } = &approval.question;
    let action = action.map_or_else(|| Action::parse(name, params.clone()), Ok)?;
    let bound_action = BoundAction::new(Asked {
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
