//! Explaining what would be decided about an action.

use std::fmt::Write as _;

use provost_core::action::Action;
use provost_core::decide::{
    ActingRole, ActionRequest, BoundAction, Decision, PolicyContext, decide, describe_allowed_by,
};
use provost_core::policy::{PolicyRequester, PolicyRules};
use provost_core::role::{Role, RoleSource};
use provost_core::skill::{SkillSet, known_skills};
use provost_proto::{
    AllowedBy, ExplainPolicyRequest, PolicyExplanation, Principal, Project, RuleRef,
};

use super::Decisions;
use super::symlinks::resolve_command_links;
use crate::GatewayError;

impl Decisions {
    /// The decision about an action that nobody requested, and its reasons.
    pub async fn explain_decision(
        &self,
        project: &Project,
        wanted: ExplainPolicyRequest,
    ) -> Result<PolicyExplanation, GatewayError> {
        let governance = self.governance.load_current(project.id).await?;
        let name = wanted.action.as_deref().unwrap_or("terminal.runCommand");
        let action = Action::parse(name, wanted.params)?;
        let mode = wanted.mode.unwrap_or_else(|| governance.mode(self.log.now()));
        let bound_action = self
            .resolve_implied_command(&governance, self.bind_hypothetical_action(project, action)?)
            .await?;
        let bound_action = resolve_command_links(&governance, bound_action).await?;
        let inputs = self.collect_policy_inputs(&governance, &bound_action, mode).await?;
        let (what, demands) =
            (bound_action.request().action.describe(), bound_action.describe_effects(|_| None));
        let anyone = build_all_skills_role();
        let acting_role = match wanted.role.as_deref() {
            Some(role) => governance.resolve_acting_role(Some(role)),
            None => ActingRole::Trusted(&anyone),
        };
        let policy_context = inputs.as_policy_context(&governance, &governance.rules);
        let granted = find_covering_grantee(&bound_action, acting_role, &policy_context);
        let name = wanted.role.as_deref().unwrap_or(&anyone.name);
        let requester = PolicyRequester { role: Some(name), mode, project: Some(&project.path) };
        let uncovered = list_uncovered_parts(&governance.rules, requester, &bound_action);
        let (decision, mut why, rules) =
            summarize_decision(decide(bound_action, acting_role, &policy_context));
        let allows = |rule: &RuleRef| rule.effect == "allow";
        if decision == "ask"
            && !rules.is_empty()
            && rules.iter().all(allows)
            && !uncovered.is_empty()
        {
            why = format!(
                "{why}; rules allow a part of it, but none allows {}",
                uncovered.join(", nor ")
            );
        }
        if decision == "ask"
            && let Some(grantee) = granted
        {
            // The request names no principal, and a grant is for one.
            let _ = write!(why, "; what was granted to {grantee} lets them");
        }
        Ok(PolicyExplanation { verdict: decision.to_owned(), why, what, demands, rules })
    }
}

/// The principal whose grant allows this, if there is one.
fn find_covering_grantee(
    bound_action: &BoundAction,
    acting_role: ActingRole<'_>,
    policy_context: &PolicyContext<'_>,
) -> Option<String> {
    let mut grantees: Vec<_> = policy_context.grants.iter().map(|grant| &grant.grantee).collect();
    grantees.sort();
    grantees.dedup();
    let is_allowed = |grantee: &&&Principal| {
        let request =
            ActionRequest { principal: (**grantee).clone(), ..bound_action.request().clone() };
        let Ok(bound_action) = BoundAction::new(request) else { return false };
        let decision = decide(bound_action, acting_role, policy_context);
        matches!(&decision, Decision::Allow(allowed) if matches!(allowed.allowed_by(), AllowedBy::Grant { .. }))
    };
    grantees.iter().find(is_allowed).map(|grantee| (*grantee).clone())
}

/// Descriptions of the command effects that no rule covers.
fn list_uncovered_parts(
    rules: &PolicyRules,
    requester: PolicyRequester<'_>,
    bound_action: &BoundAction,
) -> Vec<String> {
    let action = &bound_action.request().action;
    let evaluation = rules.evaluate(requester, action, bound_action.analysis());
    let uncovered = evaluation
        .permissions
        .iter()
        .filter(|permission| permission.matched.combined_effect().is_none());
    uncovered.map(|permission| permission.permission.to_string()).collect()
}

/// A decision as a word, its reason, and the rules that it rests on.
pub(super) fn summarize_decision(decision: Decision) -> (&'static str, String, Vec<RuleRef>) {
    match decision {
        Decision::Allow(allowed) => {
            let by = allowed.allowed_by().clone();
            let rules =
                if let AllowedBy::Rules { rules } = &by { rules.clone() } else { Vec::new() };
            ("allow", format!("allowed by {}", describe_allowed_by(&by)), rules)
        }
        Decision::RequireApproval(unapproved) => ("ask", unapproved.why.clone(), unapproved.rules),
        Decision::Deny(denial) => ("deny", denial.why, denial.rules),
    }
}

/// A role with every skill, so that only the rules decide.
pub(super) fn build_all_skills_role() -> Role {
    let mut skills = SkillSet::default();
    for skill in known_skills() {
        // Cannot fail: the skills are known.
        drop(skills.add(skill));
    }
    Role {
        name: "anyone".to_owned(),
        description: String::new(),
        model: None,
        skills,
        instructions: String::new(),
        source: RoleSource::Provost,
        file: String::new(),
        notes: Vec::new(),
    }
}
