//! Withdrawing approvals that nobody needs to answer any more.

use provost_proto::kernel::ErrorInfo;
use provost_proto::{Approval, ApprovalId, Code, Fact, ProjectId};
use provost_store::Durability;

use super::Approvals;
use crate::project::request_context::RequestContext;
use crate::{Caller, GatewayError};

impl Approvals {
    /// Withdraws an approval because its action is cancelled. Returns whether it was pending.
    pub(crate) async fn withdraw_approval(
        &self,
        caller: &Caller,
        id: ApprovalId,
    ) -> Result<bool, GatewayError> {
        let _guard = self.governance.lock().await?;
        let Some(approval) = self.pending.get(id) else { return Ok(false) };
        let context = RequestContext {
            principal: caller.principal().to_owned(),
            actor: caller.actor().clone(),
            ..self.context_from_approval(&approval)?
        };
        let why = "it was cancelled before anyone answered";
        self.withdraw_and_deny(&context, &approval, Code::Cancelled, why).await?;
        Ok(true)
    }

    /// Withdraws the pending approvals of a project that was closed.
    pub(crate) async fn withdraw_project_approvals(
        &self,
        project: ProjectId,
    ) -> Result<(), GatewayError> {
        let _guard = self.governance.lock().await?;
        for approval in self.pending.list() {
            if approval.project == project {
                let context = self.daemon_context(&approval)?;
                let why = "the project was closed";
                self.withdraw_and_deny(&context, &approval, Code::Cancelled, why).await?;
            }
        }
        Ok(())
    }

    /// Withdraws the approvals whose action held a secret: the action was in the memory of a
    /// former daemon, and the log has it redacted.
    pub(crate) async fn withdraw_unrestorable_approvals(&self) -> Result<(), GatewayError> {
        let _guard = self.governance.lock().await?;
        for approval in self.pending.list() {
            if self.pending.restore_bound_action(&approval).is_err() {
                let context = self.daemon_context(&approval)?;
                let why = "it held a secret, which is not kept across a restart; ask again";
                self.withdraw_and_deny(&context, &approval, Code::Cancelled, why).await?;
            }
        }
        Ok(())
    }

    async fn withdraw_and_deny(
        &self,
        context: &RequestContext,
        approval: &Approval,
        code: Code,
        why: &str,
    ) -> Result<(), GatewayError> {
        let fault = ErrorInfo { code, message: why.to_owned(), details: None };
        let facts = vec![
            approval_withdrawn_fact(approval, why.to_owned()),
            Fact::ActionDenied { action: approval.action, fault: fault.clone() },
        ];
        self.resolve_approval(approval, context.build_append(Durability::Synced, facts)).await?;
        self.deliver_end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }
}

/// The fact that an approval is withdrawn.
pub(super) fn approval_withdrawn_fact(approval: &Approval, why: String) -> Fact {
    Fact::ApprovalWithdrawn { approval: approval.id, project: approval.project, why }
}
