//! Rules: parsing, matching, and their combined effect.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod always;
mod builtin;
mod command;
mod path_visibility;
mod paths;
mod refused;
mod trust;

use provost_core::action::Action;
use provost_core::command::{CommandAnalysis, analyze_line};
use provost_core::policy::{
    Policy, PolicyEvaluation, PolicyRequester, PolicyRules, PolicyTrust, RuleEffect, RuleLayer,
};
use provost_proto::ProjectMode;
use serde_json::json;

const FILE: &str = "policy.toml";

/// Parses a valid policy.
fn policy(layer: RuleLayer, text: &str) -> Policy {
    Policy::parse(layer, FILE, text).unwrap()
}

/// These rules of the user, and nothing else.
fn user(text: &str) -> PolicyRules {
    PolicyRules::new(Policy::empty(RuleLayer::Builtin), policy(RuleLayer::User, text), None)
}

/// These rules of the user and these of a project.
fn both(user: &str, project: &str, trust: PolicyTrust) -> PolicyRules {
    let project = policy(RuleLayer::Project, project);
    PolicyRules::new(
        Policy::empty(RuleLayer::Builtin),
        policy(RuleLayer::User, user),
        Some((project, trust)),
    )
}

/// A requester with the role `dev` in mode `auto`.
const DEV: PolicyRequester<'static> =
    PolicyRequester { role: Some("dev"), mode: ProjectMode::Auto, project: None };

/// An action on one path.
fn on_path(name: &str, path: &str) -> Action {
    let params = match name {
        "fs.writeFile" => json!({"path": path, "content": ""}),
        "fs.editFile" => json!({"path": path, "edits": [{"old": "a", "new": "b"}]}),
        "fs.moveFile" => json!({"from": path, "to": "elsewhere"}),
        _ => json!({"path": path}),
    };
    Action::parse(name, params).unwrap()
}

fn run(line: &str) -> (Action, CommandAnalysis) {
    let action = Action::parse("terminal.runCommand", json!({"command": line})).unwrap();
    (action, analyze_line(line).unwrap())
}

/// Evaluates the rules for a line.
fn line(rules: &PolicyRules, line: &str) -> Option<RuleEffect> {
    let (action, analysis) = run(line);
    rules.evaluate(DEV, &action, Some(&analysis)).combined_effect()
}

/// Evaluates the rules for an action on a path.
fn path(rules: &PolicyRules, skill: &str, path: &str) -> Option<RuleEffect> {
    rules.evaluate(DEV, &on_path(skill, path), None).combined_effect()
}

/// The ids of the rules that match, in order.
fn ids(evaluation: &PolicyEvaluation<'_>) -> Vec<String> {
    let hits = evaluation.permissions.iter().flat_map(|evaluated| &evaluated.matched.hits);
    hits.map(|hit| hit.rule.id().to_owned()).collect()
}

const ALLOW: Option<RuleEffect> = Some(RuleEffect::Allow);
const ASK: Option<RuleEffect> = Some(RuleEffect::Ask);
const DENY: Option<RuleEffect> = Some(RuleEffect::Deny);

#[test]
fn the_rules_of_the_documentation_are_read_and_do_what_it_says() {
    let rules = user(
        r#"
        [[rule]]
        id      = "git-read"
        effect  = "allow"
        on      = ["terminal.runCommand"]
        roles   = ["*"]
        argv    = ["git", ["status", "diff", "log", "show"], "**"]
        without = ["-c", "--output*", "--ext-diff"]
        match     = ["git status -sb"]
        not_match = ["git -c core.pager=sh log"]

        [[rule]]
        id = "secrets"
        effect = "deny"
        on = ["fs.*"]
        path = ["**/.env", "**/.env.*"]
        except = ["**/.env.example"]
        "#,
    );
    assert_eq!(line(&rules, "git status -sb"), ALLOW);
    assert_eq!(line(&rules, "git log --output=x"), None);
    assert_eq!(line(&rules, "git status && git diff"), ALLOW);
    assert_eq!(line(&rules, "git status && make"), None);
    assert_eq!(path(&rules, "fs.readFile", "a/.env"), DENY);
    assert_eq!(path(&rules, "fs.readFile", "a/.env.example"), None);
    assert_eq!(path(&rules, "fs.writeFile", ".env.local"), DENY);
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_wherever_they_stand() {
    let rule = |id: &str, effect: &str| {
        format!("[[rule]]\nid = '{id}'\neffect = '{effect}'\non = ['fs.readFile']\n")
    };
    let effects = [("allow", ALLOW), ("ask", ASK), ("deny", DENY)];
    for (first, a) in effects {
        for (second, b) in effects {
            let one_file = user(&(rule("a", first) + &rule("b", second)));
            assert_eq!(path(&one_file, "fs.readFile", "x"), a.max(b), "{first}, {second}");
            let two = both(&rule("a", first), &rule("b", second), PolicyTrust::Trusted);
            assert_eq!(path(&two, "fs.readFile", "x"), a.max(b), "{first}, then {second}");
        }
    }
    assert_eq!(path(&user(""), "fs.readFile", "x"), None);
}

#[test]
fn a_rule_that_asks_and_comes_with_provost_yields_to_a_person_who_allows() {
    let rule =
        |effect: &str| format!("[[rule]]\nid = 'x'\neffect = '{effect}'\non = ['fs.readFile']\n");
    for (builtin, user, expected) in [
        ("ask", "allow", ALLOW),
        ("deny", "allow", DENY),
        ("allow", "ask", ASK),
        ("allow", "deny", DENY),
        ("ask", "deny", DENY),
    ] {
        let builtin = policy(RuleLayer::Builtin, &rule(builtin));
        let rules = PolicyRules::new(builtin, policy(RuleLayer::User, &rule(user)), None);
        assert_eq!(path(&rules, "fs.readFile", "x"), expected);
    }
}

#[test]
fn a_rule_is_for_its_roles_and_modes_only() {
    let rules = user(
        "[[rule]]\nid = 'a'\neffect = 'deny'\non = ['*']\nroles = ['dev*']\nmodes = ['auto']\n",
    );
    let action = on_path("fs.stat", "x");
    for (role, mode, expected) in [
        (Some("dev"), ProjectMode::Auto, DENY),
        (Some("devops"), ProjectMode::Auto, DENY),
        (Some("Dev"), ProjectMode::Auto, None),
        (Some("dev"), ProjectMode::Full, None),
        (Some("dev"), ProjectMode::Sandbox, None),
        (None, ProjectMode::Auto, None),
    ] {
        assert_eq!(
            rules
                .evaluate(PolicyRequester { role, mode, project: None }, &action, None)
                .combined_effect(),
            expected
        );
    }
}

#[test]
fn a_skill_without_a_target_is_matched_by_its_name() {
    let rules = user("[[rule]]\nid = 'a'\neffect = 'allow'\non = ['terminal.list']\n");
    let action = |name: &str| Action::parse(name, json!({})).unwrap();
    assert_eq!(rules.evaluate(DEV, &action("terminal.list"), None).combined_effect(), ALLOW);
    assert_eq!(line(&rules, "ls"), None);
}
