//! The rules for people: what they are, what they would decide, what a change
//! of them would have decided.

use std::fmt::Write as _;
use std::path::Path;

use provost_core::action::Action;
use provost_core::decide::{
    ActingRole, ActionRequest as Asked, BoundAction, Decision, PolicyContext, decide,
    describe_allowed_by,
};
use provost_core::policy::{self, Policy, PolicyRules, PolicyTrust, RuleLayer};
use provost_proto::{
    ActionId, AllowedBy, Approval, BlobRef, DecisionDifference, ExplainPolicyRequest, Fact,
    GovernanceFileKind, PolicyExplanation, PolicyLayer, PolicySimulation, PolicyView, Project,
    ProjectMode, RuleView, SimulatePolicyRequest, Stream, TokenClass, UnixMicros,
};
use provost_store::{EventScope, RecordedEvent, StoreError};
use serde_json::Value;

use crate::evaluate::resolve_acting_role;
use crate::governance::ProjectGovernance;
use crate::governance::files::{POLICY_PATH, PolicyFile, trust_from_flag};
use crate::governance_changes::bad_governance_error;
use crate::symlinks::resolve_command_links;
use crate::{Gateway, GatewayError};

/// How many past requests are looked at, unless someone says.
const DEFAULT_SIMULATION_LIMIT: u32 = 1000;

/// How many at most.
const MAX_SIMULATION_LIMIT: u32 = 100_000;

/// Events read at once.
const LOG_PAGE_SIZE: usize = 500;

impl Gateway {
    /// The rules of a project, of all layers.
    pub async fn get_policy_view(&self, project: &Project) -> Result<PolicyView, GatewayError> {
        let governed = self.load_governance(project.id).await?;
        let builtin =
            Policy::builtin().map_err(|errors| bad_governance_error(errors.to_string()))?;
        let user = self.governance.user_rules();
        let mut layers = vec![
            PolicyLayer {
                layer: "builtin".to_owned(),
                file: None,
                hash: None,
                trusted: true,
                diff: None,
                rules: build_rule_views(&builtin, true),
                errors: Vec::new(),
            },
            PolicyLayer {
                layer: "user".to_owned(),
                file: Some(user.file.display().to_string()),
                hash: user.hash,
                trusted: true,
                diff: None,
                rules: user
                    .policy
                    .as_ref()
                    .map(|policy| build_rule_views(policy, true))
                    .unwrap_or_default(),
                errors: user.errors.clone(),
            },
        ];
        let file = governed.files.as_ref().and_then(|files| files.policy.as_ref());
        layers.extend(file.map(|file| project_layer(&governed, file)));
        Ok(PolicyView { layers })
    }

    /// What would be decided about an action, and why.
    pub async fn explain_decision(
        &self,
        project: &Project,
        wanted: ExplainPolicyRequest,
    ) -> Result<PolicyExplanation, GatewayError> {
        let governed = self.load_governance(project.id).await?;
        let name = wanted.action.as_deref().unwrap_or("terminal.runCommand");
        let action = Action::parse(name, wanted.params)?;
        let mode = wanted.mode.unwrap_or_else(|| governed.mode(self.clock.now()));
        let matter = self
            .resolve_implied_command(&governed, self.bind_hypothetical_action(project, action)?)
            .await?;
        let matter = resolve_command_links(&governed, matter).await?;
        let stands = self.collect_policy_inputs(&governed, &matter, mode).await?;
        let (what, demands) =
            (matter.request().action.describe(), matter.describe_effects(|_| None));
        let anyone = build_all_skills_role();
        let acting = match wanted.role.as_deref() {
            Some(role) => resolve_acting_role(&governed, Some(role)),
            None => ActingRole::Trusted(&anyone),
        };
        let standing = stands.as_policy_context(&governed, &governed.rules);
        let granted = find_covering_grantee(&matter, acting, &standing);
        let name = wanted.role.as_deref().unwrap_or(&anyone.name);
        let asker =
            policy::PolicyRequester { role: Some(name), mode, project: Some(&project.path) };
        let open = list_uncovered_parts(&governed.rules, asker, &matter);
        let (verdict, mut why, rules) = summarize_decision(decide(matter, acting, &standing));
        let allows = |rule: &provost_proto::RuleRef| rule.effect == "allow";
        if verdict == "ask" && !rules.is_empty() && rules.iter().all(allows) && !open.is_empty() {
            why =
                format!("{why}; rules allow a part of it, but none allows {}", open.join(", nor "));
        }
        if verdict == "ask"
            && let Some(grantee) = granted
        {
            // Nobody is named here, and a grant is for one.
            let _ = write!(why, "; what was granted to {grantee} lets them");
        }
        Ok(PolicyExplanation { verdict: verdict.to_owned(), why, what, demands, rules })
    }

    /// What a changed file of rules would have decided about past requests.
    pub async fn simulate_policy(
        &self,
        project: &Project,
        wanted: SimulatePolicyRequest,
    ) -> Result<PolicySimulation, GatewayError> {
        let governed = self.load_governance(project.id).await?;
        let changed = self.changed_rules(&governed, &wanted)?;
        let limit = wanted.limit.unwrap_or(DEFAULT_SIMULATION_LIMIT).min(MAX_SIMULATION_LIMIT);
        let past = self.past_requests(project, limit).await?;
        let mut differences = Vec::new();
        let anyone = build_all_skills_role();
        for past in &past {
            let Ok(action) = Action::parse(&past.name, past.params.clone()) else { continue };
            let mode = past.mode;
            let acting =
                match past.role.as_deref().map(|role| resolve_acting_role(&governed, Some(role))) {
                    Some(ActingRole::Trusted(role)) => ActingRole::Trusted(role),
                    Some(ActingRole::NoRole | ActingRole::Unusable { .. }) | None => {
                        ActingRole::Trusted(&anyone)
                    }
                };
            let matter =
                resolve_command_links(&governed, self.bind_hypothetical_action(project, action)?)
                    .await?;
            let stands = self.collect_policy_inputs(&governed, &matter, mode).await?;
            let now = stands.as_policy_context(&governed, &governed.rules);
            let then =
                PolicyContext { broken: None, ..stands.as_policy_context(&governed, &changed) };
            let (now, _, _) = summarize_decision(decide(matter.clone(), acting, &now));
            let (then, why, _) = summarize_decision(decide(matter, acting, &then));
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

    fn changed_rules(
        &self,
        governed: &ProjectGovernance,
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
        let own = find_project_rules(governed);
        let builtin =
            Policy::builtin().map_err(|errors| bad_governance_error(errors.to_string()))?;
        let empty = || Policy::empty(RuleLayer::User);
        Ok(match layer {
            RuleLayer::Project => {
                // Whoever tries it out wants to know what it does once it is trusted.
                PolicyRules::new(
                    builtin,
                    user.unwrap_or_else(empty),
                    Some((changed, trust_from_flag(true))),
                )
            }
            RuleLayer::Builtin | RuleLayer::User => PolicyRules::new(builtin, changed, own),
        })
    }

    fn bind_hypothetical_action(
        &self,
        project: &Project,
        action: Action,
    ) -> Result<BoundAction, GatewayError> {
        let asked = Asked {
            id: self.clock.new_id(),
            project: project.id,
            principal: self.owner.principal.clone(),
            class: TokenClass::Agent,
            session: None,
            action,
        };
        Ok(BoundAction::new(asked).map_err(StoreError::from)?)
    }

    /// Whether these rules allow what is asked. Fails if they are no rules.
    pub(crate) async fn check_rules_allow(
        &self,
        approval: &Approval,
        file: &Path,
        text: &str,
    ) -> Result<(), GatewayError> {
        let policy = Policy::parse(RuleLayer::User, &file.display().to_string(), text)
            .map_err(|errors| bad_governance_error(errors.to_string()))?;
        let missing = || GatewayError::ProjectNotFound(approval.project.to_string());
        let governed = self.governance.find_by_id(approval.project).ok_or_else(missing)?;
        let builtin =
            Policy::builtin().map_err(|errors| bad_governance_error(errors.to_string()))?;
        let rules = PolicyRules::new(builtin, policy, find_project_rules(&governed));
        let mode = governed.mode(self.clock.now());
        let action = Action::parse(&approval.question.name, approval.question.params.clone())?;
        let matter = resolve_command_links(
            &governed,
            self.bind_hypothetical_action(&governed.project, action)?,
        )
        .await?;
        let stands = self.collect_policy_inputs(&governed, &matter, mode).await?;
        // Neither a grant nor a row of the same makes this a rule that allows it.
        let standing = PolicyContext {
            broken: None,
            grants: &[],
            again: 0,
            ..stands.as_policy_context(&governed, &rules)
        };
        match decide(matter, resolve_acting_role(&governed, approval.role.as_deref()), &standing) {
            // That the mode allows it just now does not make this a rule that does.
            Decision::Allow(allowed) if matches!(allowed.allowed_by(), AllowedBy::Rules { .. }) => {
                Ok(())
            }
            Decision::Allow(_) | Decision::RequireApproval(_) | Decision::Deny(_) => {
                Err(bad_governance_error(
                    "with this rule the action would still be asked for; widen it, or answer once"
                        .to_owned(),
                ))
            }
        }
    }

    /// The fact of an event, its body fetched if it is kept beside the log.
    pub(crate) async fn hydrate_recorded_fact(
        &self,
        event: &RecordedEvent,
    ) -> Result<Option<Fact>, GatewayError> {
        self.hydrate_event_fact(&event.decode_event()?).await
    }

    /// What an event says, also if its body is kept beside the log.
    pub(crate) async fn hydrate_event_fact(
        &self,
        event: &provost_proto::Event,
    ) -> Result<Option<Fact>, GatewayError> {
        let Ok(BlobRef { hash, .. }) = serde_json::from_value(event.body.clone()) else {
            return Ok(event.fact());
        };
        let bytes = self.store.get_blob(hash).await?.unwrap_or_default();
        let body: Option<Value> = serde_json::from_slice(&bytes).ok();
        Ok(body.and_then(|body| Fact::from_kind_and_body(&event.kind, &body)))
    }

    /// The latest requests of agents in a project, the oldest first.
    async fn past_requests(
        &self,
        project: &Project,
        limit: u32,
    ) -> Result<Vec<PastRequest>, GatewayError> {
        let mut past = std::collections::VecDeque::new();
        let mut after = 0;
        // Mode `full` ends by itself.
        let mut set = (ProjectMode::default(), None::<UnixMicros>);
        loop {
            let scope = EventScope::Stream(Stream::Project(project.id));
            let page = self.store.read_events(scope, after, LOG_PAGE_SIZE).await?;
            let Some(last) = page.events.last() else { break };
            after = last.seq;
            for event in &page.events {
                let at = event.decode_event()?.at;
                match self.hydrate_recorded_fact(event).await? {
                    Some(Fact::ModeChanged { mode, until, .. }) => set = (mode, until),
                    Some(
                        Fact::ActionRequested { action, name, params, what, role, .. }
                        | Fact::ActionRead { action, name, params, what, role, .. },
                    ) if role.is_some() => {
                        let over = set.1.is_some_and(|until| at >= until);
                        let mode = if over { ProjectMode::default() } else { set.0 };
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

/// A request that was made.
struct PastRequest {
    id: ActionId,
    name: String,
    params: Value,
    what: String,
    role: Option<String>,
    mode: ProjectMode,
}

/// The project's rules as they are now, if they can be read.
fn find_project_rules(governed: &ProjectGovernance) -> Option<(Policy, PolicyTrust)> {
    let file = governed.files.as_ref()?.policy.as_ref()?;
    let trusted = governed
        .find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH)
        .map(|trusted| trusted.hash);
    Some((file.parsed.as_ref().ok()?.clone(), trust_from_flag(trusted == Some(file.hash))))
}

fn project_layer(governed: &ProjectGovernance, file: &PolicyFile) -> PolicyLayer {
    let before = governed.find_trusted_file(GovernanceFileKind::Policy, POLICY_PATH);
    let trusted = before.is_some_and(|before| before.hash == file.hash);
    let old = before.map_or("", |before| &before.text);
    PolicyLayer {
        layer: "project".to_owned(),
        file: Some(POLICY_PATH.to_owned()),
        hash: Some(file.hash),
        trusted,
        diff: (!trusted).then(|| provost_core::diff::unified_diff(old, &file.text, POLICY_PATH)),
        rules: file
            .parsed
            .as_ref()
            .map(|policy| build_rule_views(policy, trusted))
            .unwrap_or_default(),
        errors: file.parsed.as_ref().err().cloned().unwrap_or_default(),
    }
}

fn build_rule_views(policy: &Policy, trusted: bool) -> Vec<RuleView> {
    let view = |rule: &provost_core::policy::PolicyRule| RuleView {
        id: rule.id().to_owned(),
        effect: rule.effect().as_str().to_owned(),
        text: rule.to_toml(),
        reason: rule.reason().map(str::to_owned),
        active: trusted || rule.effect() != provost_core::policy::RuleEffect::Allow,
    };
    policy.rules().iter().map(view).collect()
}

/// Who was granted this, if whoever else asks is asked.
fn find_covering_grantee(
    matter: &BoundAction,
    acting: ActingRole<'_>,
    standing: &PolicyContext<'_>,
) -> Option<String> {
    let mut grantees: Vec<_> = standing.grants.iter().map(|grant| &grant.grantee).collect();
    grantees.sort();
    grantees.dedup();
    let lets = |grantee: &&&provost_proto::Principal| {
        let asked = Asked { principal: (**grantee).clone(), ..matter.request().clone() };
        let Ok(matter) = BoundAction::new(asked) else { return false };
        let verdict = decide(matter, acting, standing);
        matches!(&verdict, Decision::Allow(allowed) if matches!(allowed.allowed_by(), AllowedBy::Grant { .. }))
    };
    grantees.iter().find(lets).map(|grantee| (*grantee).clone())
}

/// The parts of an action that no rule is about, in words.
fn list_uncovered_parts(
    rules: &PolicyRules,
    asker: policy::PolicyRequester<'_>,
    matter: &BoundAction,
) -> Vec<String> {
    let action = &matter.request().action;
    let evaluation = rules.evaluate(asker, action, matter.analysis());
    let open =
        evaluation.permissions.iter().filter(|evaluated| evaluated.matched.combined_effect().is_none());
    open.map(|evaluated| evaluated.permission.to_string()).collect()
}

/// A verdict as a word, why, and the rules that had a say.
fn summarize_decision(verdict: Decision) -> (&'static str, String, Vec<provost_proto::RuleRef>) {
    match verdict {
        Decision::Allow(allowed) => {
            let by = allowed.allowed_by().clone();
            let rules =
                if let AllowedBy::Rules { rules } = &by { rules.clone() } else { Vec::new() };
            ("allow", format!("allowed by {}", describe_allowed_by(&by)), rules)
        }
        Decision::RequireApproval(asking) => ("ask", asking.why.clone(), asking.rules),
        Decision::Deny(denied) => ("deny", denied.why, denied.rules),
    }
}

/// A role with every skill, for asking what the rules alone say.
fn build_all_skills_role() -> provost_core::role::Role {
    let mut skills = provost_core::skill::SkillSet::default();
    for skill in provost_core::skill::known_skills() {
        // Every one of them is known.
        drop(skills.add(skill));
    }
    provost_core::role::Role {
        name: "anyone".to_owned(),
        description: String::new(),
        model: None,
        skills,
        instructions: String::new(),
        source: provost_core::role::RoleSource::Provost,
        file: String::new(),
        notes: Vec::new(),
    }
}
