//! A person's answer, and the facts that record it.

use std::sync::Arc;

use provost_core::decide::BoundAction;
use provost_proto::{
    AnswerApprovalRequest, AnswerScope, Approval, Fact, GrantId, GrantScope, UnixMicros,
};
use provost_store::StoreError;

use super::prompt::describe_grant_scope;
use crate::GatewayError;
use crate::project::request_context::RequestContext;

/// The longest duration of a grant "until a time", in minutes.
pub(super) const MAX_GRANT_MINUTES: u32 = 8 * 60;

/// The longest message with a denial, in characters.
const MAX_DENIAL_MESSAGE_CHARS: usize = 2000;

/// A person's answer to an approval.
pub(super) struct AnswerContext {
    /// The person, with the idempotency key of the answer.
    pub(super) person: RequestContext,
    pub(super) approval: Arc<Approval>,
    pub(super) answer: AnswerApprovalRequest,
}

/// What a grant would cover, and how people are told of it.
pub(super) struct GrantTerms {
    scope: GrantScope,
    description: String,
}

impl GrantTerms {
    pub(super) fn from_action(bound_action: &BoundAction) -> Result<Self, GatewayError> {
        let scope = bound_action.grant_scope().map_err(StoreError::from)?;
        Ok(Self { scope, description: describe_grant_scope(bound_action) })
    }
}

impl AnswerContext {
    /// The scope of an answer that allows; fails if the prompt does not offer it.
    pub(super) fn offered_scope(&self) -> Result<AnswerScope, GatewayError> {
        let scope = self.answer.scope.unwrap_or(AnswerScope::Once);
        if self.approval.question.choices.iter().any(|choice| choice.scope == scope) {
            return Ok(scope);
        }
        let why = "this approval can only be given once".to_owned();
        Err(GatewayError::InvalidField { field: "scope", why })
    }

    pub(super) fn answered_fact(&self, scope: Option<AnswerScope>) -> Fact {
        Fact::ApprovalAnswered {
            approval: self.approval.id,
            project: self.approval.project,
            action_hash: self.approval.action_hash,
            decision: self.answer.decision,
            scope,
            message: self.answer.message.clone(),
        }
    }

    /// When a grant with this scope ends; `None` if it ends with the session.
    pub(super) fn grant_end(&self, scope: AnswerScope, now: UnixMicros) -> Option<UnixMicros> {
        let minutes = u64::from(self.answer.minutes.unwrap_or(MAX_GRANT_MINUTES));
        (scope == AnswerScope::Until).then_some(now + minutes * 60_000_000)
    }

    pub(super) fn grant_created_fact(
        &self,
        grant: GrantId,
        terms: GrantTerms,
        until: Option<UnixMicros>,
    ) -> Fact {
        let approval = &self.approval;
        Fact::GrantCreated {
            grant,
            project: approval.project,
            approval: approval.id,
            grantee: approval.principal.clone(),
            role: approval.role.clone(),
            session: approval.session,
            covers: terms.scope,
            pins: approval.question.pins.clone(),
            rules: approval.question.rules.clone(),
            what: terms.description,
            until,
        }
    }
}

pub(super) fn validate_answer(answer: &AnswerApprovalRequest) -> Result<(), GatewayError> {
    let invalid = |field, why: String| Err(GatewayError::InvalidField { field, why });
    let length = answer.message.as_ref().map_or(0, |message| message.chars().count());
    if length > MAX_DENIAL_MESSAGE_CHARS {
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
