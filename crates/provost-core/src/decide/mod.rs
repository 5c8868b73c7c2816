//! The decision whether an action may run.
//!
//! ```text
//! role ─ gates ─ rules ─ grants ─ mode ─┬─ Allow ─ recorded ─ Permit
//!                                       ├─ RequireApproval ─ answer ─ Allow
//!                                       └─ Deny
//! ```
//!
//! A mode decides only about actions that could be analyzed as far as rules and gates need it:
//! see `uncertain_commands`.
//!
//! What is not allowed does not run: an error is a denial. The only way from an agent's request
//! to a [`Permit`](crate::permit::Permit) is [`decide`] and, where it requires an approval, a
//! person's answer to exactly this action.

mod bound_action;
mod hard_gates;
mod implied_command;
mod policy_context;
mod resolved_links;
mod scripts;
mod uncertain_commands;

use provost_proto::kernel::Preconditions;
use provost_proto::{
    AllowedBy, Approval, ApprovalStatus, Code, Fact, Hash, PinnedFile, ProjectMode, RuleRef,
    TokenClass, UnixMicros,
};

pub use bound_action::{ActionRequest, BoundAction};
pub use hard_gates::HardGate;
pub use policy_context::{ActingRole, Approver, PolicyContext};
pub use resolved_links::ResolvedLink;

use crate::action::ActionKind;
use crate::policy;
use crate::role::Role;

/// The result of a decision.
#[derive(Debug)]
pub enum Decision {
    /// It may run as soon as that is recorded.
    Allow(AllowedAction),
    /// A person must approve it.
    RequireApproval(UnapprovedAction),
    /// It may not run.
    Deny(Denial),
}

/// An action that may run, but is not recorded as allowed yet.
#[must_use = "what was allowed must be recorded and run, or the log lies"]
#[derive(Debug)]
pub struct AllowedAction {
    bound_action: BoundAction,
    allowed_by: AllowedBy,
}

/// An action that needs a person's approval.
#[derive(Debug)]
pub struct UnapprovedAction {
    bound_action: BoundAction,
    /// Why the approval is required, as text for people.
    pub why: String,
    /// The rules that decided.
    pub rules: Vec<RuleRef>,
    /// The hard gate because of which it is asked every time.
    pub gate: Option<String>,
}

/// Why an action may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The error code.
    pub code: Code,
    /// The reason, for people.
    pub why: String,
    /// The rules that decided.
    pub rules: Vec<RuleRef>,
}

impl Denial {
    /// A denial that is not due to a rule.
    pub fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into(), rules: Vec::new() }
    }
}

/// Decides about an action.
pub fn decide(bound: BoundAction, acting: ActingRole<'_>, context: &PolicyContext<'_>) -> Decision {
    let role = match acting {
        // A person may do through Provost what they may do in their own shell.
        ActingRole::NoRole if bound.request.class == TokenClass::Operator => {
            return allow(bound, AllowedBy::Operator);
        }
        ActingRole::NoRole | ActingRole::Unusable { .. } => {
            return Decision::Deny(deny_without_role(&bound, acting));
        }
        ActingRole::Trusted(role) => role,
    };
    if let Some(denial) = check_skill(&bound, role) {
        return Decision::Deny(denial);
    }
    let mut gates = hard_gates::find_gates(&bound, context);
    if let Some(HardGate::Deny { code, why }) = gates.first() {
        return Decision::Deny(Denial::new(*code, why.clone()));
    }
    let (rule_effect, rules) = evaluate_rules(&bound, role, context);
    if rule_effect == Some(policy::RuleEffect::Deny) {
        let why = format!("a rule forbids it: {}", format_rule_reasons(&rules));
        return Decision::Deny(Denial { code: Code::PolicyDenied, why, rules });
    }
    if let Some(HardGate::RequireApproval(why)) = gates.pop() {
        return require_approval(bound, why.clone(), rules, Some(why));
    }
    if let Some(why) = context.broken {
        return require_approval(bound, format!("rules cannot be read: {why}"), rules, None);
    }
    // A grant does not cover code that no person has seen; mode `full` does not ask.
    if let (Some(why), ProjectMode::Sandbox | ProjectMode::Auto) =
        (context.unreviewed_runtime, context.mode)
    {
        return require_approval(bound, why.to_owned(), rules, None);
    }
    // A grant answers the rules that its approval named, and no others.
    let asks = rule_effect == Some(policy::RuleEffect::Ask);
    let asking_rules = if asks { rules.as_slice() } else { &[] };
    if let Some(grant) = context.find_grant(&bound, role, asking_rules) {
        if context.n_repeats >= MAX_REPEATS {
            return require_approval(bound, REPEAT_REASON.to_owned(), rules, None);
        }
        return allow(bound, AllowedBy::Grant { grant });
    }
    match rule_effect {
        Some(policy::RuleEffect::Ask) => {
            let possible = rules.iter().any(|rule| rule.effect == "deny");
            let says = if possible { "a rule may forbid it" } else { "a rule asks" };
            let why = format!("{says}: {}", format_rule_reasons(&rules));
            require_approval(bound, why, rules, None)
        }
        // A rule allows what runs; whether it may use the network is up to the mode.
        Some(policy::RuleEffect::Allow) if !bound.needs_network() => {
            allow(bound, AllowedBy::Rules { rules })
        }
        Some(policy::RuleEffect::Allow | policy::RuleEffect::Deny) | None => {
            match uncertain_commands::find_approval_reason(&bound, role, context) {
                Some(why) => require_approval(bound, why, rules, None),
                None => decide_by_mode(bound, context.mode, rules),
            }
        }
    }
}

/// Why this token in this role may not request the action at all, if so.
fn check_skill(bound: &BoundAction, role: &Role) -> Option<Denial> {
    if let TokenClass::Runtime | TokenClass::Viewer = bound.request.class {
        return Some(Denial::new(Code::SkillDenied, "this token may not ask for actions"));
    }
    let skill = bound.request.action.name();
    if role.skills.has(skill) {
        return None;
    }
    let why = format!("the role `{}` has no skill `{skill}`", role.name);
    Some(Denial::new(Code::SkillDenied, why))
}

fn allow(bound_action: BoundAction, allowed_by: AllowedBy) -> Decision {
    Decision::Allow(AllowedAction { bound_action, allowed_by })
}

/// The combined effect of the rules, and those that decided.
fn evaluate_rules(
    bound: &BoundAction,
    role: &Role,
    context: &PolicyContext<'_>,
) -> (Option<policy::RuleEffect>, Vec<RuleRef>) {
    let requester = policy::PolicyRequester {
        role: Some(&role.name),
        mode: context.mode,
        project: context.folder,
    };
    let action = &bound.request.action;
    let own = if bound.implied.is_some() { None } else { bound.analysis() };
    let evaluation = context.rules.evaluate(requester, action, own);
    // The command behind the action is evaluated like any command.
    let implied = bound.implied.as_ref();
    let implied =
        implied.map(|implied| context.rules.evaluate(requester, &implied.action, bound.analysis()));
    // A link does not bypass a rule: a rule that denies or asks about its target applies to the
    // link. A rule that allows the target does not allow the link.
    let linked = context
        .link_targets
        .iter()
        .map(|path| context.rules.match_action_path(requester, action, path));
    let linked: Vec<_> =
        linked.filter(|at| at.combined_effect() > Some(policy::RuleEffect::Allow)).collect();
    let permissions =
        evaluation.permissions.iter().chain(implied.iter().flat_map(|other| &other.permissions));
    let matched = permissions.map(|evaluated| &evaluated.matched).chain(&linked);
    let mut rules: Vec<RuleRef> = Vec::new();
    for hit in matched.flat_map(policy::RuleMatches::deciding_matches) {
        let named = RuleRef {
            layer: layer_name(hit.layer).to_owned(),
            id: hit.rule.id().to_owned(),
            effect: hit.rule.effect().as_str().to_owned(),
            reason: hit.rule.reason().map(str::to_owned),
        };
        if !rules.contains(&named) {
            rules.push(named);
        }
    }
    let rule_effect =
        match (evaluation.combined_effect(), implied.map(|implied| implied.combined_effect())) {
            (rule_effect, None) => rule_effect,
            (rule_effect, Some(other)) => combine_effects(rule_effect, other),
        };
    let rule_effect =
        linked.iter().map(policy::RuleMatches::combined_effect).fold(rule_effect, Ord::max);
    (rule_effect, rules)
}

/// Combines the effects for an action and for the command behind it: allowed only if both are.
fn combine_effects(
    one: Option<policy::RuleEffect>,
    other: Option<policy::RuleEffect>,
) -> Option<policy::RuleEffect> {
    match one.max(other) {
        Some(policy::RuleEffect::Allow) if one != other => None,
        rule_effect => rule_effect,
    }
}

/// The name of a layer on the wire.
pub fn layer_name(layer: policy::RuleLayer) -> &'static str {
    match layer {
        policy::RuleLayer::Builtin => "builtin",
        policy::RuleLayer::User => "user",
        policy::RuleLayer::Project => "project",
    }
}

fn format_rule_reasons(rules: &[RuleRef]) -> String {
    let one = |rule: &RuleRef| {
        let why = rule.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("{} rule `{}`{why}", rule.layer, rule.id)
    };
    rules.iter().filter(|rule| rule.effect != "allow").map(one).collect::<Vec<_>>().join(", ")
}

/// After this many identical actions in a row, a grant no longer suffices and a person is asked.
const MAX_REPEATS: u32 = 2;

const REPEAT_REASON: &str = "it is the third time in a row for exactly this action";

fn require_approval(
    bound: BoundAction,
    why: String,
    rules: Vec<RuleRef>,
    gate: Option<String>,
) -> Decision {
    Decision::RequireApproval(UnapprovedAction { bound_action: bound, why, rules, gate })
}

fn deny_without_role(bound: &BoundAction, acting: ActingRole<'_>) -> Denial {
    let skill = bound.request.action.name();
    let why = match acting {
        ActingRole::Unusable { role, why } => {
            format!("the role `{role}` {why}, so it has no skills")
        }
        ActingRole::NoRole | ActingRole::Trusted(_) => format!("this token has no skill `{skill}`"),
    };
    Denial::new(Code::SkillDenied, why)
}

/// Actions that only read the state of what runs.
const READ_ONLY_ACTIONS: &[&str] =
    &["terminal.list", "terminal.read", "runtime.status", "runtime.logs", "preview.fetch"];

fn decide_by_mode(bound: BoundAction, mode: ProjectMode, rules: Vec<RuleRef>) -> Decision {
    let only_reads = match bound.request.action.kind() {
        ActionKind::Read => true,
        ActionKind::Process => {
            let name = bound.request.action.name();
            READ_ONLY_ACTIONS.contains(&name)
        }
        ActionKind::Write | ActionKind::Run | ActionKind::Start => false,
    };
    let why = match mode {
        // The person's shell shows more than the project, so mode `full` asks once; the grant
        // then holds.
        ProjectMode::Full if bound.touches_user_shell() => {
            Some("your own shell is outside the sandbox, and shows what you type")
        }
        ProjectMode::Full => None,
        _ if only_reads => None,
        ProjectMode::Auto if bound.needs_network() => {
            Some("the mode is auto, and this crosses the sandbox: it reaches the network")
        }
        ProjectMode::Auto if bound.touches_user_shell() => {
            Some("the mode is auto, and your own shell is outside the sandbox")
        }
        ProjectMode::Auto => None,
        ProjectMode::Sandbox => {
            Some("the mode is sandbox, which asks before everything but reading")
        }
    };
    match why {
        None => allow(bound, AllowedBy::Mode { mode }),
        Some(why) => require_approval(bound, why.to_owned(), rules, None),
    }
}

impl UnapprovedAction {
    /// The action that needs the approval.
    pub fn bound_action(&self) -> &BoundAction {
        &self.bound_action
    }

    /// Applies a person's approval, which must be for exactly this action, still pending, and
    /// theirs to answer. `pins` are the scripts with their current hashes.
    pub fn approve(
        self,
        approval: &Approval,
        approver: Approver<'_>,
        pins: &[PinnedFile],
        now: UnixMicros,
    ) -> Result<AllowedAction, Denial> {
        approver.check_may_answer(approval)?;
        if approval.status != ApprovalStatus::Pending {
            return Err(Denial::new(Code::ApprovalResolved, "the approval was resolved already"));
        }
        if approval.expires_at <= now {
            return Err(Denial::new(
                Code::ApprovalExpired,
                "the approval expired before it was answered",
            ));
        }
        let BoundAction { request, hash, .. } = &self.bound_action;
        if approval.action != request.id || approval.action_hash != *hash {
            return Err(Denial::new(Code::HashMismatch, "the approval is for another action"));
        }
        if approval.question.trust.is_some() {
            return Err(Denial::new(
                Code::HashMismatch,
                "the approval is for trusting a file, not for this action",
            ));
        }
        if approval.question.pins != pins {
            let why = "a script that it runs has changed since the approval was requested";
            return Err(Denial::new(Code::HashMismatch, why));
        }
        let by = AllowedBy::Approval { approval: approval.id };
        let mut bound = self.bound_action;
        if let Some(preconditions) = &mut bound.preconditions {
            preconditions.pins = pins.to_vec();
        }
        Ok(AllowedAction { bound_action: bound, allowed_by: by })
    }
}

impl AllowedAction {
    /// The action that is allowed.
    pub fn bound_action(&self) -> &BoundAction {
        &self.bound_action
    }

    /// What allowed it.
    pub fn allowed_by(&self) -> &AllowedBy {
        &self.allowed_by
    }

    /// Requires an approval after all, because something changed since the person was asked.
    pub fn into_unapproved(self, why: &str) -> UnapprovedAction {
        UnapprovedAction {
            bound_action: self.bound_action,
            why: why.to_owned(),
            rules: Vec::new(),
            gate: None,
        }
    }

    pub(crate) fn into_parts(self) -> (ActionRequest, Hash, AllowedBy, Option<Preconditions>) {
        let runs_project = self.bound_action.runs_project();
        let mut preconditions = self.bound_action.preconditions;
        match &self.allowed_by {
            // The person saw the scripts as they were pinned.
            AllowedBy::Approval { .. } | AllowedBy::Grant { .. } => {}
            // The command of the project was read from them.
            AllowedBy::Mode { .. } | AllowedBy::Rules { .. } if runs_project => {}
            // Their content had no part in the decision.
            AllowedBy::Operator | AllowedBy::Mode { .. } | AllowedBy::Rules { .. } => {
                if let Some(preconditions) = &mut preconditions {
                    preconditions.pins.clear();
                    preconditions.programs.clear();
                }
            }
        }
        (self.bound_action.request, self.bound_action.hash, self.allowed_by, preconditions)
    }

    /// The event that must be recorded before there is a permit.
    pub fn fact(&self, profile: Option<&str>) -> Fact {
        Fact::ActionAllowed {
            action: self.bound_action.request.id,
            by: describe_allowed_by(&self.allowed_by),
            why: Some(self.allowed_by.clone()),
            profile: profile.map(str::to_owned),
        }
    }
}

/// What allowed an action, as it follows "allowed by".
pub fn describe_allowed_by(by: &AllowedBy) -> String {
    match by {
        AllowedBy::Operator => "operator".to_owned(),
        AllowedBy::Mode { mode: ProjectMode::Sandbox } => {
            "mode sandbox, which lets reads pass".to_owned()
        }
        AllowedBy::Mode { mode: ProjectMode::Auto } => "mode auto, inside the sandbox".to_owned(),
        AllowedBy::Mode { mode: ProjectMode::Full } => "mode full".to_owned(),
        AllowedBy::Grant { grant } => format!("grant {grant}"),
        AllowedBy::Approval { approval } => format!("the answer to {approval}"),
        AllowedBy::Rules { rules } => {
            let names: Vec<_> =
                rules.iter().map(|rule| format!("{} rule {}", rule.layer, rule.id)).collect();
            names.join(", ")
        }
    }
}
