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

use super::resume::withdrawn;
use super::{mismatch, resolved};
use crate::actions::{Behalf, allowing, events, permit, refusal};
use crate::governance::Governed;
use crate::question::again;
use crate::trust::trusting;
use crate::weigh::pins;
use crate::{Gateway, GatewayError, Request};

/// What has changed since a question was asked.
const SCRIPT: &str = "a script it runs has changed";
const FILES: &str = "a file it is about, or where a link leads, has changed";

/// The longest that "until a time" may be, in minutes.
const LONGEST: u32 = 8 * 60;

/// The longest message with a denial, in characters.
const MESSAGE: usize = 2000;

impl Gateway {
    /// Answers a question for a person. The first valid answer counts.
    pub async fn answer(
        self: &Arc<Self>,
        request: Request<'_>,
        id: &str,
        answer: AnswerApprovalRequest,
    ) -> Result<Approval, GatewayError> {
        if let Some(command) = &request.command
            && self.store.find_command_events(request.by.principal(), command).await?.is_some()
        {
            return self.approval(id).await;
        }
        check(&answer)?;
        let turn = self.turn().await?;
        let parsed: Result<ApprovalId, _> = id.parse();
        let Some(approval) = parsed.ok().and_then(|id| self.approvals.get(id)) else {
            // One that is not there at all is another matter.
            self.approval(id).await?;
            return Err(resolved());
        };
        let answerer = Approver { principal: request.by.principal(), class: TokenClass::Operator };
        answerer
            .check_may_answer(&approval)
            .map_err(|denied| GatewayError::Fault(refusal(&denied)))?;
        if approval.action_hash != answer.action_hash {
            return Err(mismatch());
        }
        if approval.expires_at <= self.clock.now() {
            return Err(resolved());
        }
        let person = Behalf {
            principal: request.by.principal().to_owned(),
            actor: request.by.actor().clone(),
            command: request.command,
            ..self.behalf_of(&approval)?
        };
        let answering = Answering { person, approval, answer };
        match answering.answer.decision {
            ApprovalAnswer::Deny => self.say_no(&answering).await?,
            ApprovalAnswer::Allow => {
                let governed = self.refresh(answering.approval.project, &turn).await?;
                if answering.approval.question.trust.is_some() {
                    self.say_trusted(&answering, &governed, &turn).await?;
                } else {
                    self.say_yes(&answering, &governed, &turn).await?;
                }
            }
        }
        self.approval(id).await
    }

    async fn say_no(&self, answering: &Answering) -> Result<(), GatewayError> {
        let Answering { person, approval, answer } = answering;
        let said = answer.message.as_deref().filter(|message| !message.trim().is_empty());
        let message = said.map_or_else(
            || "a person said no".to_owned(),
            |message| format!("a person said no: {message}"),
        );
        let fault = ErrorInfo { code: Code::ApprovalDenied, message, details: None };
        let facts = vec![
            answering.fact(None),
            Fact::ActionDenied { action: approval.action, fault: fault.clone() },
        ];
        let command = person.command.clone();
        let append = AppendRequest { command, ..events(person, Durability::Synced, facts) };
        self.resolve(approval, append).await?;
        self.forget_row(&approval.principal);
        self.approvals.end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    async fn say_yes(
        self: &Arc<Self>,
        answering: &Answering,
        governed: &Governed,
        turn: &crate::governance::Turn<'_>,
    ) -> Result<(), GatewayError> {
        let Answering { person, approval, answer } = answering;
        let scope = answer.scope.unwrap_or(AnswerScope::Once);
        if !approval.question.choices.iter().any(|choice| choice.scope == scope) {
            return Err(GatewayError::Invalid {
                field: "scope",
                why: "this question can be answered once and no further".to_owned(),
            });
        }
        let behalf = self.behalf_of(approval)?;
        let matter = self.meant(governed, self.approvals.matter_of(approval)?).await?;
        let seen = self.seen_by_person(governed, &matter).await?;
        let covers = matter.grant_scope().map_err(provost_store::StoreError::from)?;
        let words = again(&matter);
        let now = pins(&governed.project.path, &matter).await?;
        let weighed = self.weigh_again(governed, approval, matter).await?;
        let changed = self.changed(governed, approval, &weighed, &now).await?;
        let allowed = match (weighed, changed) {
            (Decision::Deny(denied), _) => return self.deny_after_all(answering, &denied).await,
            (Decision::RequireApproval(asking), Some(why)) => {
                return self.ask_again(answering, governed, &behalf, (asking, why)).await;
            }
            (Decision::RequireApproval(asking), None) => {
                let answerer =
                    Approver { principal: &person.principal, class: TokenClass::Operator };
                let done = asking.approve(approval, answerer, &now, self.clock.now());
                done.map_err(|denied| GatewayError::Fault(refusal(&denied)))?
            }
            // The person said yes to what they were shown, whatever the mode says by now.
            (Decision::Allow(allowed), Some(why)) => {
                let asking = allowed.into_unapproved(why);
                return self.ask_again(answering, governed, &behalf, (asking, why)).await;
            }
            // Something allows it by now; that it was also answered does no harm.
            (Decision::Allow(allowed), None) => allowed,
        };
        let mut added = None;
        let mut facts = vec![answering.fact(Some(scope))];
        facts.extend(seen);
        match scope {
            AnswerScope::Once => {}
            AnswerScope::Session | AnswerScope::Until => {
                let minutes = u64::from(answer.minutes.unwrap_or(LONGEST));
                let until = self.clock.now() + minutes * 60_000_000;
                let until = (scope == AnswerScope::Until).then_some(until);
                facts.push(self.grant_for(approval, covers, words, until));
            }
            AnswerScope::Always => {
                let shown = approval.question.choices.iter().find_map(|choice| choice.rule.clone());
                let rule = answer.rule.clone().or(shown).unwrap_or_default();
                added = Some(self.with_rule(approval, rule).await?);
            }
        }
        self.allow(answering, behalf, allowed, facts).await?;
        // Not before the answer is in the log: a rule that nobody answered for must
        // not be there, while one that is missing only asks again.
        match added {
            Some(added) => self.keep_rule(added, approval.project, turn).await,
            None => Ok(()),
        }
    }

    /// The person said yes, but by now something forbids it.
    async fn deny_after_all(
        &self,
        answering: &Answering,
        denied: &Denial,
    ) -> Result<(), GatewayError> {
        let Answering { person, approval, .. } = answering;
        let fault = refusal(denied);
        let denied = Fact::ActionDenied { action: approval.action, fault: fault.clone() };
        let facts = vec![answering.fact(Some(AnswerScope::Once)), denied];
        let command = person.command.clone();
        let append = AppendRequest { command, ..events(person, Durability::Synced, facts) };
        self.resolve(approval, append).await?;
        self.approvals.end(approval.action, Err(GatewayError::Fault(fault)));
        Ok(())
    }

    /// Records that it may run, and runs it.
    async fn allow(
        self: &Arc<Self>,
        answering: &Answering,
        behalf: Behalf,
        allowed: AllowedAction,
        facts: Vec<Fact>,
    ) -> Result<(), GatewayError> {
        let (action, same) = (answering.approval.action, allowed.bound_action().repeat_key());
        let learned = facts.clone();
        let append = AppendRequest {
            command: answering.person.command.clone(),
            durability: Durability::Synced,
            ..allowing(&answering.person, &allowed, facts)
        };
        let recorded = self.resolve(&answering.approval, append).await?;
        self.learn(&learned).await?;
        self.forget_row(&behalf.principal);
        self.remember(&behalf.principal, same);
        let permit = permit(allowed, &recorded)?;
        let gateway = Arc::clone(self);
        let waiting = self.wait_for_asker(&permit);
        tokio::spawn(async move {
            let ended = gateway.run(&behalf, permit, waiting).await;
            gateway.approvals.end(action, ended);
        });
        Ok(())
    }

    /// Why what a person was shown is not so any more, if it is not: a script is another, a
    /// link leads elsewhere, or what would be replaced is something else.
    async fn changed(
        &self,
        governed: &Governed,
        approval: &Approval,
        weighed: &Decision,
        pins: &[PinnedFile],
    ) -> Result<Option<&'static str>, GatewayError> {
        let matter = match weighed {
            Decision::Deny(_) => return Ok(None),
            Decision::RequireApproval(asking) => asking.bound_action(),
            Decision::Allow(allowed) => allowed.bound_action(),
        };
        if approval.question.pins != pins {
            return Ok(Some(SCRIPT));
        }
        let Action::File(_) = &matter.request().action else { return Ok(None) };
        let now = self.as_kept(self.about(governed, matter).await?)?;
        let shown = &approval.question;
        Ok(if now.notes != shown.notes || now.diff != shown.diff { Some(FILES) } else { None })
    }

    /// What was shown changed since the question: that is another question.
    async fn ask_again(
        &self,
        answering: &Answering,
        governed: &Governed,
        behalf: &Behalf,
        (asking, why): (UnapprovedAction, &str),
    ) -> Result<(), GatewayError> {
        let Answering { approval, .. } = answering;
        let why = format!("{why} since; it is asked again");
        let question = self.question(governed, behalf.role.as_deref(), &asking).await?;
        let (id, asked) = self.asked(behalf, asking.bound_action(), question);
        let facts = std::iter::once(withdrawn(approval, why)).chain(asked).collect();
        self.resolve(approval, events(behalf, Durability::Synced, facts)).await?;
        self.adopt_question(id, asking.bound_action()).await?;
        Err(mismatch())
    }

    /// Trusts the file, then goes on with the action, and with the others that
    /// waited for the same.
    async fn say_trusted(
        self: &Arc<Self>,
        answering: &Answering,
        governed: &Governed,
        turn: &crate::governance::Turn<'_>,
    ) -> Result<(), GatewayError> {
        let Some(trust) = &answering.approval.question.trust else { return Err(mismatch()) };
        let trusted = match trusting(governed, trust.what, &trust.file, trust.hash) {
            Err(error) if matches!(&error, GatewayError::Fault(fault) if fault.code == Code::HashMismatch) =>
            {
                self.ask_for_trust_again(&answering.approval, governed, turn).await?;
                return Err(error);
            }
            trusted => trusted?,
        };
        let facts = vec![answering.fact(Some(AnswerScope::Once)), trusted];
        let learned = facts.clone();
        let command = answering.person.command.clone();
        let append =
            AppendRequest { command, ..events(&answering.person, Durability::Synced, facts) };
        self.resolve(&answering.approval, append).await?;
        self.learn(&learned).await?;
        self.recompile(governed.project.id);
        self.resume(&answering.approval, turn).await?;
        self.release(&answering.person, trust.hash, &trust.file, turn).await
    }

    fn grant_for(
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
pub(super) struct Answering {
    pub(super) person: Behalf,
    pub(super) approval: Arc<Approval>,
    pub(super) answer: AnswerApprovalRequest,
}

impl Answering {
    fn fact(&self, scope: Option<AnswerScope>) -> Fact {
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

fn check(answer: &AnswerApprovalRequest) -> Result<(), GatewayError> {
    let invalid = |field, why: String| Err(GatewayError::Invalid { field, why });
    if answer.message.as_ref().is_some_and(|message| message.chars().count() > MESSAGE) {
        return invalid("message", format!("has at most {MESSAGE} characters"));
    }
    if answer.rule.is_some() && answer.scope != Some(AnswerScope::Always) {
        return invalid("rule", "goes with the scope `always` only".to_owned());
    }
    match (answer.scope, answer.minutes) {
        (Some(AnswerScope::Until), Some(minutes)) if (1..=LONGEST).contains(&minutes) => Ok(()),
        (Some(AnswerScope::Until), _) => {
            invalid("minutes", format!("is needed with `until`: 1 to {LONGEST}"))
        }
        (_, Some(_)) => invalid("minutes", "goes with the scope `until` only".to_owned()),
        (_, None) => Ok(()),
    }
}
