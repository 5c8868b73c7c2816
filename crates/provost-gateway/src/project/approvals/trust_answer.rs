//! Answering the prompt to trust the file of a role.

use provost_proto::{AnswerScope, Approval, Code};
use provost_store::Durability;

use super::answer_context::AnswerContext;
use super::withdraw::approval_withdrawn_fact;
use super::{Approvals, hash_mismatch_error};
use crate::GatewayError;
use crate::project::governance::trusted_files::{NewlyTrustedFile, file_trusted_fact};
use crate::project::governance::{GovernanceGuard, ProjectGovernance};

impl Approvals {
    /// Trusts the file, then resumes the action and all others that waited for the same file.
    pub(super) async fn apply_trust(
        &self,
        context: &AnswerContext,
        governance: &ProjectGovernance,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let approval = &context.approval;
        let Some(trust) = &approval.question.trust else { return Err(hash_mismatch_error()) };
        let trusted = match file_trusted_fact(governance, trust.what, &trust.file, trust.hash) {
            Err(error) if is_hash_mismatch(&error) => {
                self.reopen_trust_approval(approval, governance, guard).await?;
                return Err(error);
            }
            trusted => trusted?,
        };
        let facts = vec![context.answered_fact(Some(AnswerScope::Once)), trusted];
        let append = context.person.build_keyed_append(Durability::Synced, facts.clone());
        self.resolve_approval(approval, append).await?;
        self.governance.apply_facts(&facts).await?;
        self.governance.recompile_rules(governance.project.id);
        self.resume_action(approval, guard).await?;
        let trusted = NewlyTrustedFile { file: trust.file.clone(), hash: trust.hash };
        self.resume_trusted_actions(&context.person, &trusted, guard).await
    }

    /// The file is not what the person was shown. Replaces the approval by one with a new
    /// prompt, or resumes the action if the file is trusted as it is, or gone.
    async fn reopen_trust_approval(
        &self,
        approval: &Approval,
        governance: &ProjectGovernance,
        guard: &GovernanceGuard<'_>,
    ) -> Result<(), GatewayError> {
        let context = self.context_from_approval(approval)?;
        let withdrawn = approval_withdrawn_fact(approval, "the file has changed since".to_owned());
        let Some(trust) = governance.find_untrusted_role(context.role.as_deref()) else {
            let append = context.build_append(Durability::Synced, vec![withdrawn]);
            self.resolve_approval(approval, append).await?;
            return self.resume_action(approval, guard).await;
        };
        let bound_action = self.pending.restore_bound_action(approval)?;
        let prompt = self.build_trust_approval_prompt(governance, &bound_action, trust).await?;
        let (id, asked) = self.approval_asked_facts(&context, &bound_action, prompt);
        let facts = std::iter::once(withdrawn).chain(asked).collect();
        self.resolve_approval(approval, context.build_append(Durability::Synced, facts)).await?;
        self.cache_approval(id, &bound_action).await
    }
}

fn is_hash_mismatch(error: &GatewayError) -> bool {
    matches!(error, GatewayError::Fault(fault) if fault.code == Code::HashMismatch)
}
