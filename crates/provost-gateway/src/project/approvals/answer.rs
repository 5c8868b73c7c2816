//! Answering a question: re-verified and used up in one append with what it
//! allows; only then is there a permit.

use std::sync::Arc;

use provost_core::action::Action;
use provost_core::decide::{AllowedAction, Approver, Decision, Denial, UnapprovedAction};
use provost_proto::kernel::ErrorInfo;
use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer, ApprovalId, Code, Fact, GrantId,
    PinnedFile, TokenClass, UnixMicros,
};
use provost_store::{AppendRequest, Durability};

use super::resume::approval_withdrawn_fact;
use super::{approval_resolved_error, hash_mismatch_error};
use crate::project::actions::{
    RequestContext, build_allowed_append, build_append, fault_from_denial, issue_permit,
};
use crate::project::approvals::prompt::describe_grant_scope;
use crate::project::decisions::pin_scripts;
use crate::project::governance::ProjectGovernance;
use crate::project::governance::changes::file_trusted_fact;
use crate::{Gateway, GatewayError, OperatorRequest};

/// What has changed since a question was asked.
const SCRIPT_CHANGED: &str = "a script it runs has changed";
const FILES_CHANGED: &str = "a file it is about, or where a link leads, has changed";

/// The longest that "until a time" may be, in minutes.
const MAX_GRANT_MINUTES: u32 = 8 * 60;

/// The longest message with a denial, in characters.
const MAX_DENIAL_MESSAGE_CHARS: usize = 2000;

impl Gateway {
    /// Answers a question for a person. The first valid answer counts.
    pub async fn answer_approval(
        self: &Arc<Self>,
        request: OperatorRequest<'_>,
        id: &str,
        answer: AnswerApprovalRequest,
    ) -> Result<Approval, GatewayError> {
        if let Some(command) = &request.command
            && self.store.find_command_events(request.by.principal(), command).await?.is_some()
        {
            return self.get_approval(id).await;
        }
        validate_answer(&answer)?;
        let guard = self.lock_governance().await?;
        let parsed: Result<ApprovalId, _> = id.parse();
        let Some(approval) = parsed.ok().and_then(|id| self.approvals.get(id)) else {
            // One that is not there at all is another matter.
            self.get_approval(id).await?;
            return Err(approval_resolved_error());
        };
        let answerer = Approver { principal: request.by.principal(), class: TokenClass::Operator };
        answerer
            .check_may_answer(&approval)
            .map_err(|denied| GatewayError::Fault(fault_from_denial(&denied)))?;
        if approval.action_hash != answer.action_hash {
            return Err(hash_mismatch_error());
        }
        if approval.expires_at <= self.clock.now() {
            return Err(approval_resolved_error());
        }
        let person = RequestContext {
            principal: request.by.principal().to_owned(),
            actor: request.by.actor().clone(),
            command: request.command,
            ..self.context_from_approval(&approval)?
        };
        let answer_context = AnswerContext { person, approval, answer };
        match answer_context.answer.decision {
            ApprovalAnswer::Deny => self.apply_denial(&answer_context).await?,
            ApprovalAnswer::Allow => {
                let governance =
                    self.refresh_governance(answer_context.approval.project, &guard).await?;
                if answer_context.approval.question.trust.is_some() {
                    self.apply_trust(&answer_context, &governance, &guard).await?;
                } else {
                    self.apply_approval(&answer_context, &governance, &guard).await?;
                }
            }
        }
        self.get_approval(id).await
    }

    async fn apply_denial(&self, answer_context: &AnswerContext) -> Result<(), GatewayError> {
        let AnswerContext { person, approval, answer } = answer_context;
        let said = answer.message.as_deref().filter(|message| !message.trim().is_empty());
        let message = said.map_or_else(
            || "a person said no".to_owned(),
            |message| format!("a person said no: {message}"),
        );
        let fault = ErrorInfo { code: Code::ApprovalDenied, message, details: None };
        let facts = vec![
            answer_context.answered_fact(None),
            Fact::ActionDenied { action: approval.action, fault: fault.clone() },
        ];
        let command = person.command.clone();
        let append = AppendRequest { command, ..build_append(person, Durability::Synced, facts) };
        self.resolve_approval(approval, append).await?;
        self.reset_repeat_count(&approval.principal);
        self.approvals.deliver_result(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    async fn apply_approval(
        self: &Arc<Self>,
        answer_context: &AnswerContext,
        governance: &ProjectGovernance,
        guard: &crate::project::governance::GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let AnswerContext { person, approval, answer } = answer_context;
        let scope = answer.scope.unwrap_or(AnswerScope::Once);
        if !approval.question.choices.iter().any(|choice| choice.scope == scope) {
            return Err(GatewayError::InvalidField {
                field: "scope",
                why: "this question can be answered once and no further".to_owned(),
            });
        }
        let context = self.context_from_approval(approval)?;
        let bound_action = self
            .resolve_implied_command(governance, self.approvals.restore_bound_action(approval)?)
            .await?;
        let seen = self.runtime_trusted_fact(governance, &bound_action).await?;
        let covers = bound_action.grant_scope().map_err(provost_store::StoreError::from)?;
        let words = describe_grant_scope(&bound_action);
        let now = pin_scripts(&governance.project.path, &bound_action).await?;
        let decision = self.reevaluate(governance, approval, bound_action).await?;
        let changed = self.detect_stale_prompt(governance, approval, &decision, &now).await?;
        let allowed = match (decision, changed) {
            (Decision::Deny(denied), _) => {
                return self.deny_after_approval(answer_context, &denied).await;
            }
            (Decision::RequireApproval(unapproved), Some(why)) => {
                return self
                    .reopen_approval(answer_context, governance, &context, (unapproved, why))
                    .await;
            }
            (Decision::RequireApproval(unapproved), None) => {
                let answerer =
                    Approver { principal: &person.principal, class: TokenClass::Operator };
                let done = unapproved.approve(approval, answerer, &now, self.clock.now());
                done.map_err(|denied| GatewayError::Fault(fault_from_denial(&denied)))?
            }
            // The person said yes to what they were shown, whatever the mode says by now.
            (Decision::Allow(allowed), Some(why)) => {
                let unapproved = allowed.into_unapproved(why);
                return self
                    .reopen_approval(answer_context, governance, &context, (unapproved, why))
                    .await;
            }
            // Something allows it by now; that it was also answered does no harm.
            (Decision::Allow(allowed), None) => allowed,
        };
        let mut added = None;
        let mut facts = vec![answer_context.answered_fact(Some(scope))];
        facts.extend(seen);
        match scope {
            AnswerScope::Once => {}
            AnswerScope::Session | AnswerScope::Until => {
                let minutes = u64::from(answer.minutes.unwrap_or(MAX_GRANT_MINUTES));
                let until = self.clock.now() + minutes * 60_000_000;
                let until = (scope == AnswerScope::Until).then_some(until);
                facts.push(self.grant_created_fact(approval, covers, words, until));
            }
            AnswerScope::Always => {
                let shown = approval.question.choices.iter().find_map(|choice| choice.rule.clone());
                let rule = answer.rule.clone().or(shown).unwrap_or_default();
                added = Some(self.prepare_user_rule(approval, rule).await?);
            }
        }
        self.record_and_run(answer_context, context, allowed, facts).await?;
        // Not before the answer is in the log: a rule that nobody answered for must
        // not be there, while one that is missing only asks again.
        match added {
            Some(added) => self.persist_user_rule(added, approval.project, guard).await,
            None => Ok(()),
        }
    }

    /// The person said yes, but by now something forbids it.
    async fn deny_after_approval(
        &self,
        answer_context: &AnswerContext,
        denied: &Denial,
    ) -> Result<(), GatewayError> {
        let AnswerContext { person, approval, .. } = answer_context;
        let fault = fault_from_denial(denied);
        let denied = Fact::ActionDenied { action: approval.action, fault: fault.clone() };
        let facts = vec![answer_context.answered_fact(Some(AnswerScope::Once)), denied];
        let command = person.command.clone();
        let append = AppendRequest { command, ..build_append(person, Durability::Synced, facts) };
        self.resolve_approval(approval, append).await?;
        self.approvals.deliver_result(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    /// Records that it may run, and runs it.
    async fn record_and_run(
        self: &Arc<Self>,
        answer_context: &AnswerContext,
        context: RequestContext,
        allowed: AllowedAction,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        let (action, same) = (answer_context.approval.action, allowed.bound_action().repeat_key());
        let governance_facts = facts.clone();
        let append = AppendRequest {
            command: answer_context.person.command.clone(),
            durability: Durability::Synced,
            ..build_allowed_append(&answer_context.person, &allowed, facts)
        };
        let recorded = self.resolve_approval(&answer_context.approval, append).await?;
        self.apply_governance_facts(&governance_facts).await?;
        self.reset_repeat_count(&context.principal);
        self.count_repeat(&context.principal, same);
        let permit = issue_permit(allowed, &recorded)?;
        let gateway = Arc::clone(self);
        let waiting = self.register_waiter_if_awaited(&permit);
        tokio::spawn(async move {
            let ended = gateway.run_permitted_action(&context, permit, waiting).await;
            gateway.approvals.deliver_result(action, ended);
        });
        Ok(())
    }

    /// Why what a person was shown is not so any more, if it is not: a script is another, a
    /// link leads elsewhere, or what would be replaced is something else.
    async fn detect_stale_prompt(
        &self,
        governance: &ProjectGovernance,
        approval: &Approval,
        decision: &Decision,
        pins: &[PinnedFile],
    ) -> Result<Option<&'static str>, GatewayError> {
        let bound_action = match decision {
            Decision::Deny(_) => return Ok(None),
            Decision::RequireApproval(unapproved) => unapproved.bound_action(),
            Decision::Allow(allowed) => allowed.bound_action(),
        };
        if approval.question.pins != pins {
            return Ok(Some(SCRIPT_CHANGED));
        }
        let Action::File(_) = &bound_action.request().action else { return Ok(None) };
        let now = self.redact_prompt(self.build_base_prompt(governance, bound_action).await?)?;
        let shown = &approval.question;
        Ok(if now.notes != shown.notes || now.diff != shown.diff {
            Some(FILES_CHANGED)
        } else {
            None
        })
    }

    /// What was shown changed since the question: that is another question.
    async fn reopen_approval(
        &self,
        answer_context: &AnswerContext,
        governance: &ProjectGovernance,
        context: &RequestContext,
        (unapproved, why): (UnapprovedAction, &str),
    ) -> Result<(), GatewayError> {
        let AnswerContext { approval, .. } = answer_context;
        let why = format!("{why} since; it is asked again");
        let prompt =
            self.build_approval_prompt(governance, context.role.as_deref(), &unapproved).await?;
        let (id, asked) = self.approval_asked_facts(context, unapproved.bound_action(), prompt);
        let facts = std::iter::once(approval_withdrawn_fact(approval, why)).chain(asked).collect();
        self.resolve_approval(approval, build_append(context, Durability::Synced, facts)).await?;
        self.cache_approval(id, unapproved.bound_action()).await?;
        Err(hash_mismatch_error())
    }

    /// Trusts the file, then goes on with the action, and with the others that
    /// waited for the same.
    async fn apply_trust(
        self: &Arc<Self>,
        answer_context: &AnswerContext,
        governance: &ProjectGovernance,
        guard: &crate::project::governance::GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let Some(trust) = &answer_context.approval.question.trust else {
            return Err(hash_mismatch_error());
        };
        let trusted = match file_trusted_fact(governance, trust.what, &trust.file, trust.hash) {
            Err(error) if matches!(&error, GatewayError::Fault(fault) if fault.code == Code::HashMismatch) =>
            {
                self.reopen_trust_approval(&answer_context.approval, governance, guard).await?;
                return Err(error);
            }
            trusted => trusted?,
        };
        let facts = vec![answer_context.answered_fact(Some(AnswerScope::Once)), trusted];
        let governance_facts = facts.clone();
        let command = answer_context.person.command.clone();
        let append = AppendRequest {
            command,
            ..build_append(&answer_context.person, Durability::Synced, facts)
        };
        self.resolve_approval(&answer_context.approval, append).await?;
        self.apply_governance_facts(&governance_facts).await?;
        self.recompile_rules(governance.project.id);
        self.resume_action(&answer_context.approval, guard).await?;
        self.resume_trusted_actions(&answer_context.person, trust.hash, &trust.file, guard).await
    }

    fn grant_created_fact(
        &self,
        approval: &Approval,
        covers: provost_proto::GrantScope,
        what: String,
        until: Option<UnixMicros>,
    ) -> Fact {
        let grant: GrantId = self.clock.new_id();
        Fact::GrantCreated {
            grant,
            project: approval.project,
            approval: approval.id,
            grantee: approval.principal.clone(),
            role: approval.role.clone(),
            session: approval.session,
            covers,
            pins: approval.question.pins.clone(),
            rules: approval.question.rules.clone(),
            what,
            until,
        }
    }
}

/// A person's answer to a question.
pub(super) struct AnswerContext {
    pub(super) person: RequestContext,
    pub(super) approval: Arc<Approval>,
    pub(super) answer: AnswerApprovalRequest,
}

impl AnswerContext {
    fn answered_fact(&self, scope: Option<AnswerScope>) -> Fact {
        Fact::ApprovalAnswered {
            approval: self.approval.id,
            project: self.approval.project,
            action_hash: self.approval.action_hash,
            decision: self.answer.decision,
            scope,
            message: self.answer.message.clone(),
        }
    }
}

fn validate_answer(answer: &AnswerApprovalRequest) -> Result<(), GatewayError> {
    let invalid = |field, why: String| Err(GatewayError::InvalidField { field, why });
    if answer
        .message
        .as_ref()
        .is_some_and(|message| message.chars().count() > MAX_DENIAL_MESSAGE_CHARS)
    {
        return invalid("message", format!("has at most {MAX_DENIAL_MESSAGE_CHARS} characters"));
    }
    if answer.rule.is_some() && answer.scope != Some(AnswerScope::Always) {
        return invalid("rule", "goes with the scope `always` only".to_owned());
    }
    match (answer.scope, answer.minutes) {
        (Some(AnswerScope::Until), Some(minutes)) if (1..=MAX_GRANT_MINUTES).contains(&minutes) => {
            Ok(())
        }
        (Some(AnswerScope::Until), _) => {
            invalid("minutes", format!("is needed with `until`: 1 to {MAX_GRANT_MINUTES}"))
        }
        (_, Some(_)) => invalid("minutes", "goes with the scope `until` only".to_owned()),
        (_, None) => Ok(()),
    }
}
