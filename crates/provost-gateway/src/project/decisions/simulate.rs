//! Simulating a change of the rules on past requests.

use std::collections::VecDeque;

use provost_core::action::Action;
use provost_core::decide::{ActingRole, PolicyContext, decide};
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_proto::{
    ActionId, DecisionDifference, Fact, LogCursor, PolicySimulation, Project, ProjectMode,
    SimulatePolicyRequest, Stream, UnixMicros,
};
use provost_store::EventScope;
use serde_json::Value;

use super::Decisions;
use super::explain::{build_all_skills_role, summarize_decision};
use super::symlinks::resolve_command_links;
use crate::GatewayError;
use crate::project::governance::ProjectGovernance;
use crate::project::governance::files::trust_from_flag;
use crate::project::governance::policy_view::{builtin_policy, find_project_rules};
use crate::project::governance::trusted_files::bad_governance_error;

/// How many past requests are simulated by default.
const DEFAULT_SIMULATION_LIMIT: u32 = 1000;

/// How many past requests are simulated at most.
const MAX_SIMULATION_LIMIT: u32 = 100_000;

/// How many events are read at once.
const LOG_PAGE_SIZE: usize = 500;

impl Decisions {
    /// The past requests about which a changed policy file would have decided differently.
    pub async fn simulate_policy(
        &self,
        project: &Project,
        wanted: SimulatePolicyRequest,
    ) -> Result<PolicySimulation, GatewayError> {
        let governance = self.governance.load_current(project.id).await?;
        let changed = self.build_changed_rules(&governance, &wanted)?;
        let limit = wanted.limit.unwrap_or(DEFAULT_SIMULATION_LIMIT).min(MAX_SIMULATION_LIMIT);
        let past = self.list_past_requests(project, limit).await?;
        let mut differences = Vec::new();
        let anyone = build_all_skills_role();
        for past in &past {
            let Ok(action) = Action::parse(&past.name, past.params.clone()) else { continue };
            let mode = past.mode;
            let acting_role =
                match past.role.as_deref().map(|role| governance.resolve_acting_role(Some(role))) {
                    Some(ActingRole::Trusted(role)) => ActingRole::Trusted(role),
                    Some(ActingRole::NoRole | ActingRole::Unusable { .. }) | None => {
                        ActingRole::Trusted(&anyone)
                    }
                };
            let bound_action =
                resolve_command_links(&governance, self.bind_hypothetical_action(project, action)?)
                    .await?;
            let inputs = self.collect_policy_inputs(&governance, &bound_action, mode).await?;
            let current = inputs.as_policy_context(&governance, &governance.rules);
            let simulated =
                PolicyContext { broken: None, ..inputs.as_policy_context(&governance, &changed) };
            let (now, _, _) =
                summarize_decision(decide(bound_action.clone(), acting_role, &current));
            let (then, why, _) = summarize_decision(decide(bound_action, acting_role, &simulated));
            if now != then {
                differences.push(DecisionDifference {
                    action: past.id,
                    what: past.what.clone(),
                    now: now.to_owned(),
                    then: then.to_owned(),
                    why,
                });
            }
        }
        let looked_at = u32::try_from(past.len()).unwrap_or(u32::MAX);
        Ok(PolicySimulation { looked_at, differences })
    }

    /// The rules of all layers, with one of them changed.
    fn build_changed_rules(
        &self,
        governance: &ProjectGovernance,
        wanted: &SimulatePolicyRequest,
    ) -> Result<PolicyRules, GatewayError> {
        let layer = match wanted.layer.as_str() {
            "user" => RuleLayer::User,
            "project" => RuleLayer::Project,
            other => {
                let why = format!("is `user` or `project`, not `{other}`");
                return Err(GatewayError::InvalidField { field: "layer", why });
            }
        };
        let changed = Policy::parse(layer, "policy.toml", &wanted.text)
            .map_err(|errors| bad_governance_error(errors.to_string()))?;
        let user = self.governance.user_rules().policy.clone();
        let own = find_project_rules(governance);
        let builtin = builtin_policy()?;
        let empty = || Policy::empty(RuleLayer::User);
        Ok(match layer {
            RuleLayer::Project => {
                // As if it were trusted: the simulation shows what it would do then.
                PolicyRules::new(
                    builtin,
                    user.unwrap_or_else(empty),
                    Some((changed, trust_from_flag(true))),
                )
            }
            RuleLayer::Builtin | RuleLayer::User => PolicyRules::new(builtin, changed, own),
        })
    }

    /// The latest requests of agents in a project, the oldest first.
    async fn list_past_requests(
        &self,
        project: &Project,
        limit: u32,
    ) -> Result<Vec<PastRequest>, GatewayError> {
        let mut past = VecDeque::new();
        let mut after = LogCursor::START;
        // The mode that was set last, and when it expires.
        let mut set_mode = (ProjectMode::default(), None::<UnixMicros>);
        loop {
            let scope = EventScope::Stream(Stream::Project(project.id));
            let page = self.log.store().read_events(scope, after, LOG_PAGE_SIZE).await?;
            let Some(last) = page.events.last() else { break };
            after = last.cursor();
            for event in &page.events {
                let at = event.decode_event()?.at;
                match self.log.hydrate_recorded_fact(event).await? {
                    Some(Fact::ModeChanged { mode, until, .. }) => set_mode = (mode, until),
                    Some(
                        Fact::ActionRequested { action, name, params, what, role, .. }
                        | Fact::ActionRead { action, name, params, what, role, .. },
                    ) if role.is_some() => {
                        let expired = set_mode.1.is_some_and(|until| at >= until);
                        let mode = if expired { ProjectMode::default() } else { set_mode.0 };
                        past.push_back(PastRequest { id: action, name, params, what, role, mode });
                        if past.len() > limit as usize {
                            past.pop_front();
                        }
                    }
                    Some(_) | None => {}
                }
            }
        }
        Ok(past.into())
    }
}

/// A past request of an agent.
struct PastRequest {
    id: ActionId,
    name: String,
    params: Value,
    what: String,
    role: Option<String>,
    mode: ProjectMode,
}
