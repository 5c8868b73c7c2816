//! Resuming actions that waited for a file to be trusted.

use provost_core::decide::{Decision, Denial};
use provost_proto::{AnswerScope, Approval, ApprovalAnswer, Code, Fact, ProjectStatus, TokenClass};
use provost_store::Durability;

use super::Approvals;
use super::withdraw::approval_withdrawn_fact;
use crate::GatewayError;
use crate::project::executor::{RecordedAction, build_allowed_append};
use crate::project::governance::trusted_files::NewlyTrustedFile;
use crate::project::governance::{GovernanceGuard, ProjectGovernance};
use crate::project::request_context::{RequestContext, fault_from_denial};

impl Approvals {
    /// Evaluates the action of a resolved approval again, and continues with the decision.
    pub(super) async fn resume_action(
        &self,
        approval: &Approval,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let context = self.context_from_approval(approval)?;
        let bound_action = self.pending.restore_bound_action(approval)?;
        let governance = self.governance.refresh(approval.project, guard).await?;
        if let Some(denial) = self.deny_revoked_request(&governance, approval).await? {
            return self.deny_resumed_action(&context, approval, &denial).await;
        }
        let role = approval.role.as_deref();
        let evaluation = self.decisions.evaluate(&governance, role, bound_action).await?;
        match evaluation.decision {
            Decision::Deny(denial) => self.deny_resumed_action(&context, approval, &denial).await,
            Decision::RequireApproval(unapproved) => {
                let prompt = self
                    .build_approval_prompt(&governance, role, &unapproved, &evaluation.files)
                    .await?;
                let (id, asked) =
                    self.approval_asked_facts(&context, unapproved.bound_action(), prompt);
                self.log.append(context.build_append(Durability::Synced, asked.into())).await?;
                self.cache_approval(id, unapproved.bound_action()).await
            }
            Decision::Allow(allowed) => {
                let append = build_allowed_append(&context, &allowed, Vec::new());
                let recorded = self.log.append(append).await?;
                let run = RecordedAction {
                    context,
                    allowed,
                    governance_facts: &[],
                    recorded: &recorded,
                    is_awaited: self.pending.is_awaited(approval.action),
                };
                self.executor.start_recorded(run, self.end_receiver(approval.action)).await
            }
        }
    }

    async fn deny_resumed_action(
        &self,
        context: &RequestContext,
        approval: &Approval,
        denial: &Denial,
    ) -> Result<(), GatewayError> {
        let fault = fault_from_denial(denial);
        let denied = Fact::ActionDenied { action: approval.action, fault: fault.clone() };
        self.log.append(context.build_append(Durability::Synced, vec![denied])).await?;
        self.deliver_end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    /// The denial, if the principal of an older request is no longer valid, or the project is
    /// closed.
    pub(super) async fn deny_revoked_request(
        &self,
        governance: &ProjectGovernance,
        approval: &Approval,
    ) -> Result<Option<Denial>, GatewayError> {
        if approval.class == TokenClass::Agent
            && !self.directory.has_valid_token(&approval.principal)
            && !self.sessions.is_session_active(&approval.principal).await?
        {
            let why = "the token that asked does not work any more";
            return Ok(Some(Denial::new(Code::Forbidden, why)));
        }
        if governance.project.status != ProjectStatus::Open {
            let why = "the project was closed since it was asked for";
            return Ok(Some(Denial::new(Code::Cancelled, why)));
        }
        Ok(None)
    }

    /// Resumes every action that waited for a file. An approval about the same version of it
    /// is answered thereby; one about another version is withdrawn.
    pub(crate) async fn resume_trusted_actions(
        &self,
        person: &RequestContext,
        trusted: &NewlyTrustedFile,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let NewlyTrustedFile { file, hash } = trusted;
        for approval in self.pending.list() {
            let trust = approval.question.trust.as_ref().filter(|trust| trust.file == *file);
            let Some(trust) = trust.filter(|_| approval.project == person.project.id) else {
                continue;
            };
            let resolved = if trust.hash == *hash {
                Fact::ApprovalAnswered {
                    approval: approval.id,
                    project: approval.project,
                    action_hash: approval.action_hash,
                    decision: ApprovalAnswer::Allow,
                    scope: Some(AnswerScope::Once),
                    message: Some(format!("{file} was trusted")),
                }
            } else {
                let why = format!("{file} changed since, and is trusted as it is now");
                approval_withdrawn_fact(&approval, why)
            };
            let append = person.build_append(Durability::Synced, vec![resolved]);
            self.resolve_approval(&approval, append).await?;
            self.resume_action(&approval, guard).await?;
        }
        Ok(())
    }
}
