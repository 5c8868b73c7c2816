//! Answering an approval: the action is evaluated again, and one append records the answer
//! together with what it allows. Only then is there a permit.

use provost_core::action::Action;
use provost_core::decide::{AllowedAction, Approver, Decision, Denial, UnapprovedAction};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer, ApprovalId, Code, Fact,
    TokenClass,
};
use provost_store::{AppendRequest, Durability};

use super::answer_context::{AnswerContext, GrantTerms, validate_answer};
use super::persist_rule::PendingPolicyEdit;
use super::withdraw::approval_withdrawn_fact;
use super::{Approvals, approval_resolved_error, hash_mismatch_error};
use crate::project::decisions::{EvaluatedFiles, Evaluation};
use crate::project::executor::{RecordedAction, build_allowed_append};
use crate::project::governance::{GovernanceGuard, ProjectGovernance};
use crate::project::request_context::{RequestContext, fault_from_denial};
use crate::{GatewayError, OperatorRequest};

/// Why a prompt is stale.
const SCRIPT_CHANGED: &str = "a script it runs has changed";
const FILES_CHANGED: &str = "a file it is about, or where a link leads, has changed";

impl Approvals {
    /// Answers an approval for a person. The first valid answer counts.
    pub async fn answer_approval(
        &self,
        request: OperatorRequest<'_>,
        id: &str,
        answer: AnswerApprovalRequest,
    ) -> Result<Approval, GatewayError> {
        let store = self.log.store();
        if let Some(command) = &request.command
            && store.find_command_events(request.by.principal(), command).await?.is_some()
        {
            return self.get_approval(id).await;
        }
        validate_answer(&answer)?;
        let guard = self.governance.lock().await?;
        let context = self.check_answer(request, id, answer).await?;
        match context.answer.decision {
            ApprovalAnswer::Deny => self.apply_denial(&context).await?,
            ApprovalAnswer::Allow => {
                let governance = self.governance.refresh(context.approval.project, &guard).await?;
                if context.approval.question.trust.is_some() {
                    self.apply_trust(&context, &governance, &guard).await?;
                } else {
                    self.apply_approval(&context, &governance, &guard).await?;
                }
            }
        }
        self.get_approval(id).await
    }

    /// Fails unless the approval is pending, is what the person was shown, and may be answered
    /// by them.
    async fn check_answer(
        &self,
        request: OperatorRequest<'_>,
        id: &str,
        answer: AnswerApprovalRequest,
    ) -> Result<AnswerContext, GatewayError> {
        let parsed: Result<ApprovalId, _> = id.parse();
        let Some(approval) = parsed.ok().and_then(|id| self.pending.get(id)) else {
            // An unknown approval is another error than a resolved one.
            self.get_approval(id).await?;
            return Err(approval_resolved_error());
        };
        let approver = Approver { principal: request.by.principal(), class: TokenClass::Operator };
        approver
            .check_may_answer(&approval)
            .map_err(|denial| GatewayError::Fault(fault_from_denial(&denial)))?;
        if approval.action_hash != answer.action_hash {
            return Err(hash_mismatch_error());
        }
        if approval.expires_at <= self.log.now() {
            return Err(approval_resolved_error());
        }
        let person = RequestContext {
            principal: request.by.principal().to_owned(),
            actor: request.by.actor().clone(),
            command: request.command,
            ..self.context_from_approval(&approval)?
        };
        Ok(AnswerContext { person, approval, answer })
    }

    async fn apply_denial(&self, context: &AnswerContext) -> Result<(), GatewayError> {
        let message =
            context.answer.message.as_deref().filter(|message| !message.trim().is_empty());
        let message = message.map_or_else(
            || "denied by a person".to_owned(),
            |message| format!("denied by a person: {message}"),
        );
        let fault = ErrorInfo { code: Code::ApprovalDenied, message, details: None };
        self.record_denial(context, None, &fault).await?;
        self.decisions.reset_repeat_count(&context.approval.principal);
        self.deliver_end(context.approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    async fn apply_approval(
        &self,
        context: &AnswerContext,
        governance: &ProjectGovernance,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let AnswerContext { person, approval, .. } = context;
        let scope = context.offered_scope()?;
        let requester = self.context_from_approval(approval)?;
        let bound_action = self.pending.restore_bound_action(approval)?;
        let bound_action = self.decisions.resolve_implied_command(governance, bound_action).await?;
        let terms = GrantTerms::from_action(&bound_action)?;
        if let Some(denial) = self.deny_revoked_request(governance, approval).await? {
            return self.deny_after_approval(context, &denial).await;
        }
        let role = approval.role.as_deref();
        let evaluation = self.decisions.evaluate_resolved(governance, role, bound_action).await?;
        let stale = self.detect_stale_prompt(governance, approval, &evaluation).await?;
        let Evaluation { decision, files } = evaluation;
        let allowed = match (decision, stale) {
            (Decision::Deny(denial), _) => return self.deny_after_approval(context, &denial).await,
            (Decision::RequireApproval(unapproved), Some(why)) => {
                return self.reopen_approval(approval, governance, &unapproved, &files, why).await;
            }
            // The person approved what they were shown, whatever the mode allows by now.
            (Decision::Allow(allowed), Some(why)) => {
                let unapproved = allowed.into_unapproved(why);
                return self.reopen_approval(approval, governance, &unapproved, &files, why).await;
            }
            (Decision::RequireApproval(unapproved), None) => {
                let approver =
                    Approver { principal: &person.principal, class: TokenClass::Operator };
                unapproved
                    .approve(approval, approver, &files.pins, self.log.now())
                    .map_err(|denial| GatewayError::Fault(fault_from_denial(&denial)))?
            }
            // It is allowed without the answer by now, which does no harm.
            (Decision::Allow(allowed), None) => allowed,
        };
        let mut facts = vec![context.answered_fact(Some(scope))];
        facts.extend(files.runtime_trusted_fact(governance));
        let policy_edit = self.remember_answer(context, scope, terms, &mut facts).await?;
        self.record_and_run(context, requester, allowed, facts).await?;
        // The rule is written after the answer is in the log: there must be no rule that
        // nobody answered for, while a missing rule only requires another approval.
        match policy_edit {
            Some(edit) => self.persist_user_rule(edit, approval.project, guard).await,
            None => Ok(()),
        }
    }

    /// Adds what an answer allows beyond this once: a grant, or a rule that is written later.
    async fn remember_answer(
        &self,
        context: &AnswerContext,
        scope: AnswerScope,
        terms: GrantTerms,
        facts: &mut Vec<Fact>,
    ) -> Result<Option<PendingPolicyEdit>, GatewayError> {
        match scope {
            AnswerScope::Once => Ok(None),
            AnswerScope::Session | AnswerScope::Until => {
                let until = context.grant_end(scope, self.log.now());
                facts.push(context.grant_created_fact(self.log.clock().new_id(), terms, until));
                Ok(None)
            }
            AnswerScope::Always => {
                let choices = &context.approval.question.choices;
                let offered = choices.iter().find_map(|choice| choice.rule.clone());
                let rule = context.answer.rule.clone().or(offered).unwrap_or_default();
                self.prepare_user_rule(&context.approval, rule).await.map(Some)
            }
        }
    }

    /// The person approved, but something forbids the action by now.
    async fn deny_after_approval(
        &self,
        context: &AnswerContext,
        denial: &Denial,
    ) -> Result<(), GatewayError> {
        let fault = fault_from_denial(denial);
        self.record_denial(context, Some(AnswerScope::Once), &fault).await?;
        self.deliver_end(context.approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    async fn record_denial(
        &self,
        context: &AnswerContext,
        scope: Option<AnswerScope>,
        fault: &ErrorInfo,
    ) -> Result<(), GatewayError> {
        let denied = Fact::ActionDenied { action: context.approval.action, fault: fault.clone() };
        let facts = vec![context.answered_fact(scope), denied];
        let append = context.person.build_keyed_append(Durability::Synced, facts);
        self.resolve_approval(&context.approval, append).await?;
        Ok(())
    }

    /// Records the answer and that the action is allowed, and runs the action.
    async fn record_and_run(
        &self,
        context: &AnswerContext,
        requester: RequestContext,
        allowed: AllowedAction,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        let action = context.approval.action;
        let append = AppendRequest {
            command: context.person.command.clone(),
            durability: Durability::Synced,
            ..build_allowed_append(&context.person, &allowed, facts.clone())
        };
        let recorded = self.resolve_approval(&context.approval, append).await?;
        self.decisions.reset_repeat_count(&requester.principal);
        let run = RecordedAction {
            context: requester,
            allowed,
            governance_facts: &facts,
            recorded: &recorded,
            is_awaited: self.pending.is_awaited(action),
        };
        self.executor.start_recorded(run, self.end_receiver(action)).await
    }

    /// Why the prompt no longer describes what would happen, if so: a script changed, a link
    /// leads elsewhere, or a file that would be replaced is another.
    async fn detect_stale_prompt(
        &self,
        governance: &ProjectGovernance,
        approval: &Approval,
        evaluation: &Evaluation,
    ) -> Result<Option<&'static str>, GatewayError> {
        let bound_action = match &evaluation.decision {
            Decision::Deny(_) => return Ok(None),
            Decision::RequireApproval(unapproved) => unapproved.bound_action(),
            Decision::Allow(allowed) => allowed.bound_action(),
        };
        let shown = &approval.question;
        if shown.pins != evaluation.files.pins {
            return Ok(Some(SCRIPT_CHANGED));
        }
        let Action::File(_) = &bound_action.request().action else { return Ok(None) };
        let now = self.build_base_prompt(governance, bound_action, &evaluation.files).await?;
        let now = self.log.redact_prompt(now)?;
        let changed = now.notes != shown.notes || now.diff != shown.diff;
        Ok(changed.then_some(FILES_CHANGED))
    }

    /// Replaces an approval whose prompt is stale by one with a new prompt.
    async fn reopen_approval(
        &self,
        approval: &Approval,
        governance: &ProjectGovernance,
        unapproved: &UnapprovedAction,
        files: &EvaluatedFiles,
        why: &str,
    ) -> Result<(), GatewayError> {
        let context = self.context_from_approval(approval)?;
        let why = format!("{why} since; it is asked again");
        let role = context.role.as_deref();
        let prompt = self.build_approval_prompt(governance, role, unapproved, files).await?;
        let (id, asked) = self.approval_asked_facts(&context, unapproved.bound_action(), prompt);
        let facts = std::iter::once(approval_withdrawn_fact(approval, why)).chain(asked).collect();
        self.resolve_approval(approval, context.build_append(Durability::Synced, facts)).await?;
        self.cache_approval(id, unapproved.bound_action()).await?;
        Err(hash_mismatch_error())
    }
}
