//! The decision: may this run?
//!
//! ```text
//! role ─ gates ─ rules ─ grants ─ mode ─┬─ Allow ─ recorded ─ Permit
//!                                       ├─ Ask ─ a person's answer ─ Allow
//!                                       └─ Deny
//! ```
//!
//! A mode decides only about what can be read as far as rules and gates need
//! it: see [`uncertain`].
//!
//! Whatever is not allowed is not run: an error is a denial, and there is no
//! way from an agent's request to a [`Permit`](crate::permit::Permit) but
//! through [`decide`] and, where it asks, through a person's answer to exactly
//! this action.

mod gate;
mod led;
mod matter;
mod means;
mod scripts;
mod standing;
mod uncertain;

use provost_proto::kernel::Preconditions;
use provost_proto::{
    AllowedBy, Approval, ApprovalStatus, Code, Fact, Hash, PinnedFile, ProjectMode, RuleRef,
    TokenClass, UnixMicros,
};

pub use gate::Gate;
pub use led::Lead;
pub use matter::{Matter, Request};
pub use standing::{Acting, Answerer, Standing};

use crate::action::Effect;
use crate::policy;
use crate::role::Role;

/// What is decided.
#[derive(Debug)]
pub enum Verdict {
    /// It may run, once it is recorded.
    Allow(Allowed),
    /// A person must say so.
    Ask(Asking),
    /// It may not run.
    Deny(Denied),
}

/// An action that may run, but has not been recorded as such.
#[must_use = "what was allowed must be recorded and run, or the log lies"]
#[derive(Debug)]
pub struct Allowed {
    matter: Matter,
    by: AllowedBy,
}

/// An action that waits for a person.
#[derive(Debug)]
pub struct Asking {
    matter: Matter,
    /// Why it is asked, in plain words.
    pub why: String,
    /// The rules that had a say.
    pub rules: Vec<RuleRef>,
    /// What makes it so dangerous that it is asked each time.
    pub gate: Option<String>,
}

/// Why an action may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// For programs.
    pub code: Code,
    /// For people.
    pub why: String,
    /// The rules that had a say.
    pub rules: Vec<RuleRef>,
}

impl Denied {
    /// A denial in which no rule had a say.
    pub fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into(), rules: Vec::new() }
    }
}

/// Decides.
pub fn decide(matter: Matter, acting: Acting<'_>, standing: &Standing<'_>) -> Verdict {
    let role = match acting {
        // A person may do in Provost what they may do in their own shell.
        Acting::Oneself if matter.request.class == TokenClass::Operator => {
            return Verdict::Allow(Allowed { matter, by: AllowedBy::Operator });
        }
        Acting::Oneself | Acting::Nobody { .. } => {
            return Verdict::Deny(no_role(&matter, acting));
        }
        Acting::In(role) => role,
    };
    if let TokenClass::Runtime | TokenClass::Viewer = matter.request.class {
        return Verdict::Deny(Denied::new(Code::SkillDenied, "this token may not ask for actions"));
    }
    let skill = matter.request.action.name();
    if !role.skills.has(skill) {
        let why = format!("the role `{}` has no skill `{skill}`", role.name);
        return Verdict::Deny(Denied::new(Code::SkillDenied, why));
    }
    let mut gates = gate::gates(&matter, standing);
    if let Some(Gate::Closed { code, why }) = gates.first() {
        return Verdict::Deny(Denied::new(*code, why.clone()));
    }
    let (said, rules) = weigh(&matter, role, standing);
    if said == Some(policy::Verdict::Deny) {
        let why = format!("a rule forbids it: {}", reasons(&rules));
        return Verdict::Deny(Denied { code: Code::PolicyDenied, why, rules });
    }
    if let Some(Gate::Asks(why)) = gates.pop() {
        return ask(matter, why.clone(), rules, Some(why));
    }
    if let Some(why) = standing.broken {
        return ask(matter, format!("rules cannot be read: {why}"), rules, None);
    }
    // Not even a grant is for what a person has not seen; `full` does not ask.
    if let (Some(why), ProjectMode::Sandbox | ProjectMode::Auto) = (standing.unseen, standing.mode)
    {
        return ask(matter, why.to_owned(), rules, None);
    }
    // A grant answers the question that was asked, so not a rule that it did not name.
    let asking = if said == Some(policy::Verdict::Ask) { rules.as_slice() } else { &[] };
    if let Some(grant) = standing.grant(&matter, role, asking) {
        if standing.again >= AGAIN {
            return ask(matter, TIRED.to_owned(), rules, None);
        }
        return Verdict::Allow(Allowed { matter, by: AllowedBy::Grant { grant } });
    }
    match said {
        Some(policy::Verdict::Ask) => {
            let possible = rules.iter().any(|rule| rule.effect == "deny");
            let says = if possible { "a rule may forbid it" } else { "a rule asks" };
            let why = format!("{says}: {}", reasons(&rules));
            ask(matter, why, rules, None)
        }
        // A rule is about what runs; that it may also reach the network is the mode's to say.
        Some(policy::Verdict::Allow) if !matter.network() => {
            Verdict::Allow(Allowed { matter, by: AllowedBy::Rules { rules } })
        }
        Some(policy::Verdict::Allow | policy::Verdict::Deny) | None => {
            match uncertain::asks(&matter, role, standing) {
                Some(why) => ask(matter, why, rules, None),
                None => by_mode(matter, standing.mode, rules),
            }
        }
    }
}

/// What the rules say, and those that decided it.
fn weigh(
    matter: &Matter,
    role: &Role,
    standing: &Standing<'_>,
) -> (Option<policy::Verdict>, Vec<RuleRef>) {
    let asker =
        policy::Asker { role: Some(&role.name), mode: standing.mode, project: standing.folder };
    let action = &matter.request.action;
    let own = if matter.means.is_some() { None } else { matter.analysis() };
    let evaluation = standing.rules.evaluate(asker, action, own);
    // What it comes to is weighed like the command that it is.
    let means = matter.means.as_ref();
    let means = means.map(|means| standing.rules.evaluate(asker, &means.action, matter.analysis()));
    // A link is no way around a rule: what denies or asks for the place it leads
    // to does so for the link. What allows that place does not allow the link.
    let linked = standing.leads_to.iter().map(|path| standing.rules.at(asker, action, path));
    let linked: Vec<_> = linked.filter(|at| at.verdict() > Some(policy::Verdict::Allow)).collect();
    let demands = evaluation.demands.iter().chain(means.iter().flat_map(|means| &means.demands));
    let matched = demands.map(|judged| &judged.matched).chain(&linked);
    let mut rules: Vec<RuleRef> = Vec::new();
    for hit in matched.flat_map(policy::Matched::deciding) {
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
    let said = match (evaluation.verdict(), means.map(|means| means.verdict())) {
        (said, None) => said,
        (said, Some(other)) => both(said, other),
    };
    let said = linked.iter().map(policy::Matched::verdict).fold(said, Ord::max);
    (said, rules)
}

/// What is said of an action and of the command that it comes to: only if both are
/// allowed, it is.
fn both(one: Option<policy::Verdict>, other: Option<policy::Verdict>) -> Option<policy::Verdict> {
    match one.max(other) {
        Some(policy::Verdict::Allow) if one != other => None,
        said => said,
    }
}

/// A layer as it stands on the wire.
pub fn layer_name(layer: policy::Layer) -> &'static str {
    match layer {
        policy::Layer::Builtin => "builtin",
        policy::Layer::User => "user",
        policy::Layer::Project => "project",
    }
}

fn reasons(rules: &[RuleRef]) -> String {
    let one = |rule: &RuleRef| {
        let why = rule.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("{} rule `{}`{why}", rule.layer, rule.id)
    };
    rules.iter().filter(|rule| rule.effect != "allow").map(one).collect::<Vec<_>>().join(", ")
}

/// The same in a row, granted: from this one on it is asked.
const AGAIN: u32 = 2;

const TIRED: &str = "it is the third time in a row for exactly this action";

fn ask(matter: Matter, why: String, rules: Vec<RuleRef>, gate: Option<String>) -> Verdict {
    Verdict::Ask(Asking { matter, why, rules, gate })
}

fn no_role(matter: &Matter, acting: Acting<'_>) -> Denied {
    let skill = matter.request.action.name();
    let why = match acting {
        Acting::Nobody { role, why } => format!("the role `{role}` {why}, so it has no skills"),
        Acting::Oneself | Acting::In(_) => format!("this token has no skill `{skill}`"),
    };
    Denied::new(Code::SkillDenied, why)
}

/// What looks at what runs, and changes nothing.
const LOOKS: &[&str] =
    &["terminal.list", "terminal.read", "runtime.status", "runtime.logs", "preview.fetch"];

fn by_mode(matter: Matter, mode: ProjectMode, rules: Vec<RuleRef>) -> Verdict {
    let looks = match matter.request.action.effect() {
        Effect::Read => true,
        Effect::Process => {
            let name = matter.request.action.name();
            LOOKS.contains(&name)
        }
        Effect::Write | Effect::Run | Effect::Start => false,
    };
    let why = match mode {
        // What a person types there is not the project's alone; once said, it holds.
        ProjectMode::Full if matter.own_shell() => {
            Some("your own shell is outside the sandbox, and shows what you type")
        }
        ProjectMode::Full => None,
        _ if looks => None,
        ProjectMode::Auto if matter.network() => {
            Some("the mode is auto, and this crosses the sandbox: it reaches the network")
        }
        ProjectMode::Auto if matter.own_shell() => {
            Some("the mode is auto, and your own shell is outside the sandbox")
        }
        ProjectMode::Auto => None,
        ProjectMode::Sandbox => Some("the mode is sandbox, and this is more than looking"),
    };
    match why {
        None => Verdict::Allow(Allowed { matter, by: AllowedBy::Mode { mode } }),
        Some(why) => ask(matter, why.to_owned(), rules, None),
    }
}

impl Asking {
    /// What is asked about.
    pub fn matter(&self) -> &Matter {
        &self.matter
    }

    /// A person said yes to `approval`, which must be about exactly this action,
    /// still open, and theirs to answer. `pins` are the scripts as they are now.
    pub fn approve(
        self,
        approval: &Approval,
        answerer: Answerer<'_>,
        pins: &[PinnedFile],
        now: UnixMicros,
    ) -> Result<Allowed, Denied> {
        answerer.may_answer(approval)?;
        if approval.status != ApprovalStatus::Pending {
            return Err(Denied::new(Code::ApprovalResolved, "the question was resolved before"));
        }
        if approval.expires_at <= now {
            return Err(Denied::new(Code::ApprovalExpired, "the question expired unanswered"));
        }
        let Matter { request, hash, .. } = &self.matter;
        if approval.action != request.id || approval.action_hash != *hash {
            return Err(Denied::new(Code::HashMismatch, "the question is about another action"));
        }
        if approval.question.trust.is_some() {
            return Err(Denied::new(Code::HashMismatch, "the question is about trust, not this"));
        }
        if approval.question.pins != pins {
            let why = "a script it runs has changed since the question was asked";
            return Err(Denied::new(Code::HashMismatch, why));
        }
        let by = AllowedBy::Approval { approval: approval.id };
        let mut matter = self.matter;
        if let Some(terms) = &mut matter.terms {
            terms.pins = pins.to_vec();
        }
        Ok(Allowed { matter, by })
    }
}

impl Allowed {
    /// What is allowed.
    pub fn matter(&self) -> &Matter {
        &self.matter
    }

    /// What allowed it.
    pub fn by(&self) -> &AllowedBy {
        &self.by
    }

    /// A person must say so after all, because of what changed since they were asked.
    pub fn ask_after_all(self, why: &str) -> Asking {
        Asking { matter: self.matter, why: why.to_owned(), rules: Vec::new(), gate: None }
    }

    pub(crate) fn into_parts(self) -> (Request, Hash, AllowedBy, Option<Preconditions>) {
        let runs_project = self.matter.runs_project();
        let mut terms = self.matter.terms;
        match &self.by {
            // A person saw the scripts as they were pinned.
            AllowedBy::Approval { .. } | AllowedBy::Grant { .. } => {}
            // What the project runs was read in them.
            AllowedBy::Mode { .. } | AllowedBy::Rules { .. } if runs_project => {}
            // What they hold had no part in the decision.
            AllowedBy::Operator | AllowedBy::Mode { .. } | AllowedBy::Rules { .. } => {
                if let Some(terms) = &mut terms {
                    terms.pins.clear();
                    terms.programs.clear();
                }
            }
        }
        (self.matter.request, self.matter.hash, self.by, terms)
    }

    /// What the log must say before there is a permit.
    pub fn fact(&self, profile: Option<&str>) -> Fact {
        Fact::ActionAllowed {
            action: self.matter.request.id,
            by: in_words(&self.by),
            why: Some(self.by.clone()),
            profile: profile.map(str::to_owned),
        }
    }
}

/// What allowed an action, after "allowed by".
pub fn in_words(by: &AllowedBy) -> String {
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
