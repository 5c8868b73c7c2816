//! Simulating a change of the rules on past requests.

use provost_core::action::Action;
use provost_core::decide::{ActingRole, PolicyContext, decide};
use provost_core::policy::{Policy, PolicyRules, RuleLayer};
use provost_proto::{
    ActionId, DecisionDifference, Fact, LogCursor, PolicySimulation, Project, ProjectMode,
    SimulatePolicyRequest, Stream, UnixMicros,
};
use provost_store::{EventFilter, EventQuery, EventScope, SearchFrom, SearchPage};
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

    /// The latest requests of agents in a project, the oldest first. The log is read backwards, as
    /// far as that takes.
    async fn list_past_requests(
        &self,
        project: &Project,
        limit: u32,
    ) -> Result<Vec<PastRequest>, GatewayError> {
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        // With their times, the newest first; the mode is known once its event is found.
        let mut past: Vec<(UnixMicros, PastRequest)> = Vec::new();
        let mut n_known = 0;
        let mut kinds = vec!["ACTION_REQUESTED", "ACTION_READ", "MODE_CHANGED"];
        let mut before = LogCursor::END;
        loop {
            let page = self.search_kinds(project, &kinds, before).await?;
            for event in &page.events {
                let at = event.decode_event()?.at;
                match self.log.hydrate_recorded_fact(event).await? {
                    Some(Fact::ModeChanged { mode, until, .. }) => {
                        for (requested_at, request) in past.iter_mut().skip(n_known) {
                            let expired = until.is_some_and(|until| *requested_at >= until);
                            request.mode = if expired { ProjectMode::default() } else { mode };
                        }
                        n_known = past.len();
                    }
                    Some(
                        Fact::ActionRequested { action, name, params, what, role, .. }
                        | Fact::ActionRead { action, name, params, what, role, .. },
                    ) if role.is_some() && past.len() < most => {
                        let mode = ProjectMode::default();
                        let request = PastRequest { id: action, name, params, what, role, mode };
                        past.push((at, request));
                    }
                    Some(_) | None => {}
                }
            }
            // Only the mode at the time of the oldest one is missing.
            if past.len() >= most {
                kinds = vec!["MODE_CHANGED"];
            }
            match page.next.filter(|_| past.len() < most || n_known < past.len()) {
                Some(next) => before = next,
                None => break,
            }
        }
        Ok(past.into_iter().rev().map(|(_, request)| request).collect())
    }

    /// A page of the events of these kinds in the stream of a project, the newest first.
    async fn search_kinds(
        &self,
        project: &Project,
        kinds: &[&str],
        before: LogCursor,
    ) -> Result<SearchPage, GatewayError> {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let query = EventQuery {
            scope: EventScope::Stream(Stream::Project(project.id)),
            from: SearchFrom::Before(before),
            limit: LOG_PAGE_SIZE,
            filter: EventFilter { kinds, ..EventFilter::default() },
        };
        Ok(self.log.store().search_events(query).await?)
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
