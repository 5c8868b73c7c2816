//! The bodies of governance: modes, roles, rules, approvals and grants.

use expect_test::expect_file;
use provost_proto::{
    Actor, AnswerApprovalRequest, AnswerScope, Approval, ApprovalAnswer, ApprovalList,
    ApprovalStatus, ChangeRoleRequest, CommandEffectView, DecisionDifference, ExplainPolicyRequest,
    GovernanceFileKind, Grant, GrantList, PolicyExplanation, PolicyLayer, PolicySimulation,
    PolicyView, ProjectMode, ProjectModeView, RejectedRole, RoleList, RoleView, RuleView,
    SetModeRequest, SimulatePolicyRequest, TokenClass, TrustFileRequest, TrustedFile,
};
use serde_json::Value;

use crate::samples::{
    AT, allowed_by, approval_prompts, choices, covers, demands, hash, id, params, pins, rules,
    text, texts, trust_prompt,
};
use crate::{Golden, decodes_to};

pub(crate) fn approvals() -> Vec<Approval> {
    let [full, bare] = approval_prompts().try_into().unwrap();
    let full = Approval {
        id: id(8),
        project: id(1),
        action: id(4),
        action_hash: hash(0x55),
        principal: text("token:x"),
        actor: Actor::Agent(text("tester")),
        class: TokenClass::Agent,
        role: Some(text("tester")),
        session: Some(id(2)),
        question: full,
        status: ApprovalStatus::Denied,
        asked_at: AT,
        expires_at: AT + 2,
        resolved_at: Some(AT + 1),
        resolved_by: Some(text("local:ann")),
        scope: Some(AnswerScope::Until),
        message: Some(text("not today")),
        resolved_actor: Some(Actor::Cli),
        resolved_command: Some(text("cmd-1")),
    };
    let bare = Approval {
        role: None,
        session: None,
        question: bare,
        resolved_at: None,
        resolved_by: None,
        scope: None,
        message: None,
        resolved_actor: None,
        resolved_command: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn grants() -> Vec<Grant> {
    let full = Grant {
        id: id(9),
        project: id(1),
        approval: id(8),
        grantee: text("token:x"),
        role: Some(text("tester")),
        session: Some(id(2)),
        covers: covers().remove(0),
        pins: pins(),
        rules: rules(),
        what: text("run `cargo test`"),
        until: Some(AT),
        by: text("local:ann"),
        at: AT,
        revoked_at: Some(AT),
    };
    let bare = Grant {
        role: None,
        session: None,
        pins: Vec::new(),
        rules: Vec::new(),
        until: None,
        revoked_at: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn answers() -> Vec<AnswerApprovalRequest> {
    let full = AnswerApprovalRequest {
        decision: ApprovalAnswer::Allow,
        scope: Some(AnswerScope::Always),
        action_hash: hash(0x55),
        message: Some(text("go")),
        minutes: Some(60),
        rule: Some(text("[[allow]]")),
    };
    let bare = AnswerApprovalRequest {
        decision: ApprovalAnswer::Deny,
        scope: None,
        message: None,
        minutes: None,
        rule: None,
        ..full.clone()
    };
    vec![full, bare]
}

fn approval_bodies(golden: &mut Golden) {
    golden.section("command effects", &demands());
    let deletes = CommandEffectView::Write { path: "old.txt".to_owned(), deletes: true };
    golden.section("command effect that deletes", &[deletes]);
    golden.section("answers offered", &choices());
    golden.section("file to trust", &[trust_prompt(Some(hash(1))), trust_prompt(None)]);
    golden.section("approval question", &approval_prompts());
    golden.section("approval", &approvals());
    golden.section(
        "approvals",
        &[ApprovalList { approvals: approvals(), truncated: Vec::new(), next: None }],
    );
    golden.section("answer an approval", &answers());
    golden.section("grant covers", &covers());
    golden.section("grant", &grants());
    golden.section("grants", &[GrantList { grants: grants(), next: None }]);
    golden.section("allowed by", &allowed_by());
}

fn mode_bodies(golden: &mut Golden) {
    let set = |mode, minutes| SetModeRequest { mode, minutes };
    golden
        .section("set mode", &[set(ProjectMode::Full, Some(30)), set(ProjectMode::Sandbox, None)]);
    let view = |mode, until| ProjectModeView {
        project: id(1),
        mode,
        until,
        by: text("local:ann"),
        at: AT,
    };
    golden.section("mode", &[view(ProjectMode::Full, Some(AT)), view(ProjectMode::Auto, None)]);
}

fn role_bodies(golden: &mut Golden) {
    let role = |model, diff| RoleView {
        name: text("tester"),
        description: text("tests"),
        model,
        skills: texts(["fs.readFile"]),
        file: text(".agents/tester.md"),
        imported: false,
        hash: hash(0x66),
        trusted: true,
        diff,
        notes: texts(["`tools` is not known"]),
    };
    let list = RoleList {
        roles: vec![role(Some(text("m")), Some(text("+a\n"))), role(None, None)],
        rejected: vec![RejectedRole { file: text("x.md"), why: text("line 2") }],
    };
    golden.section("roles", &[list]);
    golden.section("change role", &[ChangeRoleRequest { model: text("m") }]);
    let (what, file) = (GovernanceFileKind::Policy, text(".provost/policy.toml"));
    golden.section("trust", &[TrustFileRequest { what, file: file.clone(), hash: hash(0x67) }]);
    golden.section(
        "trusted file",
        &[TrustedFile {
            project: id(1),
            what,
            file,
            hash: hash(0x67),
            text: text("[[allow]]\n"),
            by: text("local:ann"),
            at: AT,
        }],
    );
}

fn policy_bodies(golden: &mut Golden) {
    let rule = |reason| RuleView {
        id: text("npm"),
        effect: text("allow"),
        text: text("command = \"npm test\""),
        reason,
        active: true,
    };
    let layer = |file, hash, diff| PolicyLayer {
        layer: text("project"),
        file,
        hash,
        trusted: false,
        diff,
        rules: vec![rule(Some(text("needed"))), rule(None)],
        errors: texts(["line 1"]),
    };
    let full = layer(Some(text("policy.toml")), Some(hash(0x67)), Some(text("+a\n")));
    golden.section("policy", &[PolicyView { layers: vec![full, layer(None, None, None)] }]);
    let bare = ExplainPolicyRequest { role: None, action: None, params: Value::Null, mode: None };
    decodes_to("{}", &bare);
    let full = ExplainPolicyRequest {
        role: Some(text("tester")),
        action: Some(text("fs.stat")),
        params: params(),
        mode: Some(ProjectMode::Auto),
    };
    golden.section("explain", &[full, bare]);
    golden.section(
        "explanation",
        &[PolicyExplanation {
            verdict: text("ask"),
            why: text("the mode"),
            what: text("run"),
            demands: demands(),
            rules: rules(),
        }],
    );
    let simulate =
        |limit| SimulatePolicyRequest { layer: text("user"), text: text("[[deny]]"), limit };
    golden.section("simulate", &[simulate(Some(10)), simulate(None)]);
    let difference = DecisionDifference {
        action: id(4),
        what: text("run"),
        now: text("allow"),
        then: text("deny"),
        why: text("rule npm"),
    };
    golden
        .section("simulation", &[PolicySimulation { looked_at: 7, differences: vec![difference] }]);
}

#[test]
fn bodies_of_governance_keep_their_fields() {
    let mut golden = Golden::default();
    approval_bodies(&mut golden);
    mode_bodies(&mut golden);
    role_bodies(&mut golden);
    policy_bodies(&mut golden);
    golden.check(&expect_file!["files/governance.txt"]);
}
