//! Checking that a new rule allows the action that it is written for.

use std::path::Path;

use provost_core::action::Action;
use provost_core::decide::{Decision, PolicyContext, decide};
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_proto::{AllowedBy, Approval};

use super::Decisions;
use super::symlinks::resolve_command_links;
use crate::GatewayError;
use crate::project::governance::policy_view::{builtin_policy, find_project_rules};
use crate::project::governance::trusted_files::bad_governance_error;

impl Decisions {
    /// Fails unless the action of an approval would be allowed by these rules of the owner.
    pub(crate) async fn check_rules_allow(
        &self,
        approval: &Approval,
        file: &Path,
        text: &str,
    ) -> Result<(), GatewayError> {
        let policy = Policy::parse(RuleLayer::User, &file.display().to_string(), text)
            .map_err(|errors| bad_governance_error(errors.to_string()))?;
        let governance = self.governance.get_by_id(approval.project)?;
        let rules = PolicyRules::new(builtin_policy()?, policy, find_project_rules(&governance));
        let mode = governance.mode(self.log.now());
        let action = Action::parse(&approval.question.name, approval.question.params.clone())?;
        let bound_action = resolve_command_links(
            &governance,
            self.bind_hypothetical_action(&governance.project, action)?,
        )
        .await?;
        let inputs = self.collect_policy_inputs(&governance, &bound_action, mode).await?;
        // Only the rules count: no grant, and no repetition.
        let policy_context = PolicyContext {
            broken: None,
            grants: &[],
            n_repeats: 0,
            ..inputs.as_policy_context(&governance, &rules)
        };
        let acting_role = governance.resolve_acting_role(approval.role.as_deref());
        match decide(bound_action, acting_role, &policy_context) {
            // The mode may allow it now, but that is not what the rule is for.
            Decision::Allow(allowed) if matches!(allowed.allowed_by(), AllowedBy::Rules { .. }) => {
                Ok(())
            }
            Decision::Allow(_) | Decision::RequireApproval(_) | Decision::Deny(_) => {
                Err(bad_governance_error(
                    "with this rule the action would still need approval; widen it, or answer once"
                        .to_owned(),
                ))
            }
        }
    }
}
