//! Going on with actions that waited for a file to be trusted.

use std::sync::Arc;

use provost_core::decide::{BoundAction, Decision, Denial};
use provost_proto::{
    AnswerScope, Approval, ApprovalAnswer, Code, Fact, Hash, ProjectStatus, TokenClass,
};
use provost_store::Durability;

use crate::actions::{Behalf, allowing, events, permit, refusal};
use crate::governance::{Governed, Turn};
use crate::weigh::distrusted;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// Goes on with an action whose question is resolved: it is decided anew.
    pub(super) async fn resume(
        self: &Arc<Self>,
        approval: &Approval,
        turn: &Turn<'_>,
    ) -> Result<(), GatewayError> {
        let behalf = self.behalf_of(approval)?;
        let matter = self.approvals.matter_of(approval)?;
        let governed = self.refresh(approval.project, turn).await?;
        let action = approval.action;
        match self.weigh_again(&governed, approval, matter).await? {
            Decision::Deny(denied) => {
                let fault = refusal(&denied);
                let denied = Fact::ActionDenied { action, fault: fault.clone() };
                self.write(&behalf, Durability::Synced, vec![denied]).await?;
                self.approvals.end(action, Err(GatewayError::Fault(fault)));
            }
            Decision::RequireApproval(asking) => {
                let question = self.question(&governed, behalf.role.as_deref(), &asking).await?;
                let (id, asked) = self.asked(&behalf, asking.bound_action(), question);
                self.write(&behalf, Durability::Synced, asked.into()).await?;
                self.adopt_question(id, asking.bound_action()).await?;
            }
            Decision::Allow(allowed) => {
                self.remember(&behalf.principal, allowed.bound_action().repeat_key());
                let recorded = self.append(allowing(&behalf, &allowed, Vec::new()));
                let permit = permit(allowed, &recorded.await?)?;
                let gateway = Arc::clone(self);
                let waiting = self.wait_for_asker(&permit);
                tokio::spawn(async move {
                    let ended = gateway.run(&behalf, permit, waiting).await;
                    gateway.approvals.end(action, ended);
                });
            }
        }
        Ok(())
    }

    /// Decides about what was asked for a while ago: who asked must still be
    /// there, and the project still open.
    pub(super) async fn weigh_again(
        &self,
        governed: &Governed,
        approval: &Approval,
        matter: BoundAction,
    ) -> Result<Decision, GatewayError> {
        let agent = approval.class == TokenClass::Agent;
        let speaks = self.keyring.speaks_for(&approval.principal, self.clock.now())
            || self.session_speaks(&approval.principal).await?;
        if agent && !speaks {
            let why = "the token that asked does not work any more";
            return Ok(Decision::Deny(Denial::new(Code::Forbidden, why)));
        }
        if governed.project.status != ProjectStatus::Open {
            let why = "the project was closed since it was asked for";
            return Ok(Decision::Deny(Denial::new(Code::Cancelled, why)));
        }
        self.weigh(governed, approval.role.as_deref(), matter).await
    }

    /// Goes on with every action that waited for this file. Those that were asked about
    /// when it was another are not answered by that, but have nothing to ask any more.
    pub(crate) async fn release(
        self: &Arc<Self>,
        person: &Behalf,
        hash: Hash,
        file: &str,
        turn: &Turn<'_>,
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
                withdrawn(&approval, format!("{file} changed since, and is trusted as it is now"))
            };
            self.resolve(&approval, events(person, Durability::Synced, vec![resolved])).await?;
            self.resume(&approval, turn).await?;
        }
        Ok(())
    }

    /// The file is not what the person was shown: that is another question, or none if it
    /// is trusted as it is, or gone.
    pub(super) async fn ask_for_trust_again(
        self: &Arc<Self>,
        approval: &Approval,
        governed: &Governed,
        turn: &Turn<'_>,
    ) -> Result<(), GatewayError> {
        let behalf = self.behalf_of(approval)?;
        let why = withdrawn(approval, "the file has changed since".to_owned());
        let Some(trust) = distrusted(governed, behalf.role.as_deref()) else {
            self.resolve(approval, events(&behalf, Durability::Synced, vec![why])).await?;
            return self.resume(approval, turn).await;
        };
        let matter = self.approvals.matter_of(approval)?;
        let question = self.question_of_trust(governed, &matter, trust).await?;
        let (id, asked) = self.asked(&behalf, &matter, question);
        let facts = std::iter::once(why).chain(asked).collect();
        self.resolve(approval, events(&behalf, Durability::Synced, facts)).await?;
        self.adopt_question(id, &matter).await
    }
}

/// A question that nobody needs to answer any more.
pub(super) fn withdrawn(approval: &Approval, why: String) -> Fact {
    Fact::ApprovalWithdrawn { approval: approval.id, project: approval.project, why }
}
