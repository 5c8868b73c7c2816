//! What an agent may do with the project's terminal, dev server and preview.

use super::*;

fn describe_decision(name: &str, params: Value, mode: ProjectMode) -> &'static str {
    word(&decided(action(name, params), mode))
}

fn decided(action: Action, mode: ProjectMode) -> Decision {
    let none = rules("", None);
    decide(requested(action), ActingRole::Trusted(&able()), &policy_context(&none, mode))
}

#[test]
fn what_the_project_runs_is_decided_like_a_command_and_its_shell_is_not() {
    let modes = [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full];
    let (ask, allow) = ("ask", "allow mode");
    for (name, expected) in [
        ("runtime.status", [allow, allow, allow]),
        ("runtime.logs", [allow, allow, allow]),
        ("preview.fetch", [allow, allow, allow]),
        ("runtime.run", [ask, allow, allow]),
        ("runtime.restart", [ask, allow, allow]),
        ("runtime.build", [ask, allow, allow]),
        ("runtime.stop", [ask, allow, allow]),
        // The person's own shell is outside the sandbox, and so is what it shows.
        ("pty.open", [ask, ask, ask]),
        ("pty.read", [ask, ask, ask]),
    ] {
        assert_eq!(modes.map(|mode| describe_decision(name, json!({}), mode)), expected, "{name}");
    }
    let typed = modes.map(|mode| describe_decision("pty.write", json!({ "text": "ls" }), mode));
    assert_eq!(typed, [ask, ask, ask], "pty.write");
}

#[test]
fn who_may_look_at_a_persons_shell_is_asked_about_once() {
    let none = rules("", None);
    let read = |params: Value| requested(action("pty.read", params));
    let granted = [grant(read(json!({})).grant_scope().unwrap(), &[])];
    for mode in [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full] {
        let policy_context = PolicyContext { grants: &granted, ..policy_context(&none, mode) };
        let decision =
            decide(read(json!({ "limit": 5 })), ActingRole::Trusted(&able()), &policy_context);
        assert_eq!(word(&decision), "allow grant", "{mode:?}");
    }
}

#[test]
fn no_mode_rule_or_grant_types_into_a_persons_shell() {
    let write = || action("pty.write", json!({ "text": "provost approvals allow 1\r" }));
    let allow = rules("[[rule]]\nid = 'all'\neffect = 'allow'\non = ['*']\n", None);
    let granted = [grant(requested(write()).grant_scope().unwrap(), &[])];
    for mode in [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full] {
        let policy_context = PolicyContext { grants: &granted, ..policy_context(&allow, mode) };
        let decision = decide(requested(write()), ActingRole::Trusted(&able()), &policy_context);
        let Decision::RequireApproval(asking) = decision else {
            panic!("{mode:?}: {}", word(&decision))
        };
        assert!(asking.gate.is_some(), "{mode:?}");
    }
}

#[test]
fn a_person_types_into_their_own_shell() {
    let none = rules("", None);
    let write = action("pty.write", json!({ "text": "ls" }));
    let bound = BoundAction::new(request(TokenClass::Operator, None, write)).unwrap();
    let decision = decide(bound, ActingRole::NoRole, &policy_context(&none, ProjectMode::Sandbox));
    assert_eq!(word(&decision), "allow operator");
}

#[test]
fn the_files_that_say_what_to_run_are_pinned() {
    for name in ["runtime.run", "runtime.restart", "runtime.build"] {
        let files = requested(action(name, json!({}))).script_paths("/src/app");
        for file in ["provost.toml", "package.json", "Makefile"] {
            assert!(files.iter().any(|path| path.as_str() == file), "{name} {file}");
        }
    }
    assert!(requested(action("pty.open", json!({}))).script_paths("/src/app").is_empty());
    assert!(requested(action("runtime.stop", json!({}))).script_paths("/src/app").is_empty());
}
