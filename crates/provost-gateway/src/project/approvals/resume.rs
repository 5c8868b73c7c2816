//! Going on with actions that waited for a file to be trusted.

use std::sync::Arc;

use provost_core::decide::{BoundAction, Decision, Denial};
use provost_proto::{
    AnswerScope, Approval, ApprovalAnswer, Code, Fact, Hash, ProjectStatus, TokenClass,
};
use provost_store::Durability;

use crate::project::actions::{
    RequestContext, build_allowed_append, build_append, fault_from_denial, issue_permit,
};
use crate::project::decisions::find_untrusted_role;
use crate::project::governance::{GovernanceGuard, ProjectGovernance};
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Goes on with an action whose question is resolved: it is decided anew.
    pub(super) async fn resume_action(
        self: &Arc<Self>,
        approval: &Approval,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let context = self.context_from_approval(approval)?;
        let bound_action = self.approvals.restore_bound_action(approval)?;
        let governance = self.refresh_governance(approval.project, guard).await?;
        let action = approval.action;
        match self.reevaluate(&governance, approval, bound_action).await? {
            Decision::Deny(denied) => {
                let fault = fault_from_denial(&denied);
                let denied = Fact::ActionDenied { action, fault: fault.clone() };
                self.append_facts(&context, Durability::Synced, vec![denied]).await?;
                self.approvals.deliver_result(action, Err(GatewayError::Fault(fault)));
            }
            Decision::RequireApproval(unapproved) => {
                let prompt = self
                    .build_approval_prompt(&governance, context.role.as_deref(), &unapproved)
                    .await?;
                let (id, asked) =
                    self.approval_asked_facts(&context, unapproved.bound_action(), prompt);
                self.append_facts(&context, Durability::Synced, asked.into()).await?;
                self.cache_approval(id, unapproved.bound_action()).await?;
            }
            Decision::Allow(allowed) => {
                self.count_repeat(&context.principal, allowed.bound_action().repeat_key());
                let recorded =
                    self.append_redacted(build_allowed_append(&context, &allowed, Vec::new()));
                let permit = issue_permit(allowed, &recorded.await?)?;
                let gateway = Arc::clone(self);
                let waiting = self.register_waiter_if_awaited(&permit);
                tokio::spawn(async move {
                    let ended = gateway.run_permitted_action(&context, permit, waiting).await;
                    gateway.approvals.deliver_result(action, ended);
                });
            }
        }
        Ok(())
    }

    /// Decides about what was asked for a while ago: who asked must still be
    /// there, and the project still open.
    pub(super) async fn reevaluate(
        &self,
        governance: &ProjectGovernance,
        approval: &Approval,
        bound_action: BoundAction,
    ) -> Result<Decision, GatewayError> {
        let agent = approval.class == TokenClass::Agent;
        let speaks = self.registry.has_valid_token(&approval.principal, self.clock.now())
            || self.is_session_active(&approval.principal).await?;
        if agent && !speaks {
            let why = "the token that asked does not work any more";
            return Ok(Decision::Deny(Denial::new(Code::Forbidden, why)));
        }
        if governance.project.status != ProjectStatus::Open {
            let why = "the project was closed since it was asked for";
            return Ok(Decision::Deny(Denial::new(Code::Cancelled, why)));
        }
        self.evaluate(governance, approval.role.as_deref(), bound_action).await
    }

    /// Goes on with every action that waited for this file. Those that were asked about
    /// when it was another are not answered by that, but have nothing to ask any more.
    pub(crate) async fn resume_trusted_actions(
        self: &Arc<Self>,
        person: &RequestContext,
        hash: Hash,
        file: &str,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        for approval in self.approvals.list() {
            let trust = approval.question.trust.as_ref().filter(|trust| trust.file == file);
            let Some(trust) = trust.filter(|_| approval.project == person.project.id) else {
                continue;
            };
            let resolved = if trust.hash == hash {
                Fact::ApprovalAnswered {
                    approval: approval.id,
                    project: approval.project,
                    action_hash: approval.action_hash,
                    decision: ApprovalAnswer::Allow,
                    scope: Some(AnswerScope::Once),
                    message: Some(format!("{file} was trusted")),
                }
            } else {
                approval_withdrawn_fact(
                    &approval,
                    format!("{file} changed since, and is trusted as it is now"),
                )
            };
            self.resolve_approval(
                &approval,
                build_append(person, Durability::Synced, vec![resolved]),
            )
            .await?;
            self.resume_action(&approval, guard).await?;
        }
        Ok(())
    }

    /// The file is not what the person was shown: that is another question, or none if it
    /// is trusted as it is, or gone.
    pub(super) async fn reopen_trust_approval(
        self: &Arc<Self>,
        approval: &Approval,
        governance: &ProjectGovernance,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let context = self.context_from_approval(approval)?;
        let why = approval_withdrawn_fact(approval, "the file has changed since".to_owned());
        let Some(trust) = find_untrusted_role(governance, context.role.as_deref()) else {
            self.resolve_approval(approval, build_append(&context, Durability::Synced, vec![why]))
                .await?;
            return self.resume_action(approval, guard).await;
        };
        let bound_action = self.approvals.restore_bound_action(approval)?;
        let prompt = self.build_trust_approval_prompt(governance, &bound_action, trust).await?;
        let (id, asked) = self.approval_asked_facts(&context, &bound_action, prompt);
        let facts = std::iter::once(why).chain(asked).collect();
        self.resolve_approval(approval, build_append(&context, Durability::Synced, facts)).await?;
        self.cache_approval(id, &bound_action).await
    }
}

/// A question that nobody needs to answer any more.
pub(super) fn approval_withdrawn_fact(approval: &Approval, why: String) -> Fact {
    Fact::ApprovalWithdrawn { approval: approval.id, project: approval.project, why }
}
