//! The decision: what is allowed, what needs an approval, and what an approval allows.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod approve;
mod found;
mod gates;
mod grant_scope;
mod growth;
mod implied_command;
mod justified;
mod links;
mod loads;
mod needless;
mod opaque;
mod runtime;
mod scripts;
mod sequence;
mod space;

use provost_core::action::Action;
use provost_core::decide::{
    ActingRole, ActionRequest, BoundAction, Decision, PolicyContext, decide,
};
use provost_core::policy::{Policy, PolicyRules, PolicyTrust, RuleLayer};
use provost_core::role::{Role, RoleSource};
use provost_core::skill::SkillSet;
use provost_proto::{
    AllowedBy, Grant, GrantScope, Hash, PinnedFile, ProjectMode, RuleRef, SessionId, TokenClass,
    UnixMicros,
};
use serde_json::{Value, json};
use uuid::Uuid;

const NOW: UnixMicros = 1_000_000;
const AGENT: &str = "token:agent";

/// An id of any kind.
fn id<T: From<Uuid>>(n: u128) -> T {
    Uuid::from_u128(n).into()
}

fn role(skills: &[&str]) -> Role {
    let mut known = SkillSet::default();
    for skill in skills {
        known.add(skill).unwrap();
    }
    Role {
        name: "dev".to_owned(),
        description: String::new(),
        model: None,
        skills: known,
        instructions: String::new(),
        source: RoleSource::Provost,
        file: ".provost/roles/dev.md".to_owned(),
        notes: Vec::new(),
    }
}

/// A role with all skills.
fn able() -> Role {
    role(&["*"])
}

fn action(name: &str, params: Value) -> Action {
    Action::parse(name, params).unwrap()
}

fn run(params: Value) -> Action {
    action("terminal.runCommand", params)
}

fn line(line: &str) -> Action {
    run(json!({ "command": line }))
}

fn request(class: TokenClass, session: Option<SessionId>, action: Action) -> ActionRequest {
    ActionRequest { id: id(1), project: id(2), principal: AGENT.to_owned(), class, session, action }
}

/// A request of an agent, without a session.
fn requested(action: Action) -> BoundAction {
    BoundAction::new(request(TokenClass::Agent, None, action)).unwrap()
}

/// Rules of the user, and optionally of an untrusted project.
fn rules(user: &str, project: Option<&str>) -> PolicyRules {
    let read = |layer, text| Policy::parse(layer, "policy.toml", text).unwrap();
    let project = project.map(|text| (read(RuleLayer::Project, text), PolicyTrust::Untrusted));
    PolicyRules::new(Policy::empty(RuleLayer::Builtin), read(RuleLayer::User, user), project)
}

fn policy_context(rules: &PolicyRules, mode: ProjectMode) -> PolicyContext<'_> {
    PolicyContext {
        rules,
        broken: None,
        folder: None,
        homes: &[],
        grants: &[],
        mode,
        now: NOW,
        pins: &[],
        link_targets: &[],
        set_aside_reason: None,
        unreviewed_runtime: None,
        n_repeats: 0,
    }
}

/// A grant for an agent without a session.
fn grant(covers: GrantScope, pins: &[PinnedFile]) -> Grant {
    Grant {
        id: id(7),
        project: id(2),
        approval: id(8),
        grantee: AGENT.to_owned(),
        role: Some("dev".to_owned()),
        session: None,
        covers,
        pins: pins.to_vec(),
        rules: Vec::new(),
        what: String::new(),
        until: None,
        by: "local:ann".to_owned(),
        at: 1,
        revoked_at: None,
    }
}

fn pin(path: &str, content: &str) -> PinnedFile {
    PinnedFile { path: path.to_owned(), hash: Role::hash(content.as_bytes()) }
}

/// The decision in a word: `allow operator`, `ask`, `deny`.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Deny(_) => "deny",
        Decision::RequireApproval(_) => "ask",
        Decision::Allow(allowed) => match allowed.allowed_by() {
            AllowedBy::Operator => "allow operator",
            AllowedBy::Rules { .. } => "allow rules",
            AllowedBy::Mode { .. } => "allow mode",
            AllowedBy::Grant { .. } => "allow grant",
            AllowedBy::Approval { .. } => "allow approval",
        },
    }
}

/// The decision about an agent's action without rules and grants.
fn in_mode(mode: ProjectMode, action: Action) -> Decision {
    let none = rules("", None);
    decide(requested(action), ActingRole::Trusted(&able()), &policy_context(&none, mode))
}

const ZERO: Hash = Hash::ZERO;
