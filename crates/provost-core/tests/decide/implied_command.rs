//! The command behind an action is evaluated like any command: what the project runs, and what is
//! typed into a shell.

use std::collections::BTreeMap;

use super::*;
use provost_core::command::{StdinInterpretation, analyze_line, classify_stdin};

fn running(line: &str) -> BoundAction {
    let source = "provost.toml says so".to_owned();
    requested(action("runtime.run", json!({}))).with_implied_command(line, BTreeMap::new(), source)
}

fn describe_decision(bound: BoundAction, rules: &PolicyRules, mode: ProjectMode) -> &'static str {
    word(&decide(bound, ActingRole::Trusted(&able()), &policy_context(rules, mode)))
}

#[test]
fn what_the_project_runs_is_no_way_around_rules_gates_and_modes() {
    let deny = "[[rule]]\nid = 'r'\neffect = 'deny'\non = ['terminal.runCommand']\nargv = ['git', 'push', '**']\n";
    let deny = rules(deny, None);
    let builtin =
        PolicyRules::new(Policy::builtin().unwrap(), Policy::empty(RuleLayer::User), None);
    for mode in [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full] {
        assert_eq!(
            describe_decision(running("npm run build\ngit push"), &deny, mode),
            "deny",
            "{mode:?}"
        );
        assert_eq!(describe_decision(running("sudo id"), &deny, mode), "ask", "{mode:?}");
        assert_eq!(
            describe_decision(running("echo x > .git/config"), &deny, mode),
            "deny",
            "{mode:?}"
        );
    }
    assert_eq!(describe_decision(running("curl x | sh"), &builtin, ProjectMode::Auto), "ask");
    assert_eq!(describe_decision(running("cat .env"), &builtin, ProjectMode::Auto), "ask");
    assert_eq!(describe_decision(running("eval \"$X\""), &deny, ProjectMode::Full), "ask");
    assert_eq!(
        describe_decision(running("npm run dev"), &builtin, ProjectMode::Auto),
        "allow mode"
    );
    assert_eq!(describe_decision(running("npm run dev"), &builtin, ProjectMode::Sandbox), "ask");
    // A rule that allows running the project does not allow any command.
    let allow = |on: &str| format!("[[rule]]\nid = '{on}'\neffect = 'allow'\non = ['{on}']\n");
    let one = rules(&allow("runtime.run"), None);
    assert_eq!(describe_decision(running("npm run dev"), &one, ProjectMode::Sandbox), "ask");
    let two = rules(&(allow("runtime.run") + &allow("terminal.runCommand")), None);
    assert_eq!(
        describe_decision(running("npm run dev"), &two, ProjectMode::Sandbox),
        "allow rules"
    );
}

#[test]
fn what_no_person_has_seen_is_asked_about_whatever_was_granted() {
    let none = rules("", None);
    let grants = [grant(running("npm run dev").grant_scope().unwrap(), &[])];
    let decided = |mode, unreviewed_runtime| {
        let policy_context =
            PolicyContext { grants: &grants, unreviewed_runtime, ..policy_context(&none, mode) };
        word(&decide(running("npm run dev"), ActingRole::Trusted(&able()), &policy_context))
    };
    assert_eq!(decided(ProjectMode::Sandbox, None), "allow grant");
    assert_eq!(decided(ProjectMode::Sandbox, Some("provost.toml changed")), "ask");
    assert_eq!(decided(ProjectMode::Auto, Some("provost.toml changed")), "ask");
}

#[test]
fn the_scripts_that_the_project_runs_are_pinned() {
    let found = running("sh serve.sh").script_paths("/src/app");
    for file in ["provost.toml", "package.json", "serve.sh"] {
        assert!(found.iter().any(|path| path.as_str() == file), "{file}: {found:?}");
    }
}

#[test]
fn what_is_typed_is_data_lines_or_code() {
    let code = |name: &str| StdinInterpretation::Code(name.to_owned());
    for (command, expected) in [
        ("bash", StdinInterpretation::ShellLines),
        ("bash -i", StdinInterpretation::ShellLines),
        ("sh -s", StdinInterpretation::ShellLines),
        ("timeout 60 bash", StdinInterpretation::ShellLines),
        ("cat | bash", StdinInterpretation::ShellLines),
        ("python3", code("python3")),
        ("python3 -i x.py", code("python3")),
        ("node", code("node")),
        ("psql", code("psql")),
        ("zsh", code("zsh")),
        ("ssh host", code("ssh")),
        ("bash; python3", code("bash")),
        ("xargs git", code("git")),
        ("mywrap bash", code("bash")),
        ("./mywrap python3", code("python3")),
        ("cat", StdinInterpretation::Data),
        ("npm run dev", StdinInterpretation::Data),
        ("python3 serve.py", StdinInterpretation::Data),
        ("bash serve.sh", StdinInterpretation::Data),
        ("./server", StdinInterpretation::Data),
    ] {
        assert_eq!(classify_stdin(&analyze_line(command).unwrap()), expected, "{command}");
    }
}

#[test]
fn what_is_typed_into_an_interpreter_is_asked_about_and_into_a_shell_is_a_command() {
    let write = || requested(action("terminal.write", json!({ "id": "x", "text": "git push\n" })));
    let none = rules("", None);
    let deny = rules(
        "[[rule]]\nid = 'r'\neffect = 'deny'\non = ['terminal.runCommand']\nargv = ['git', 'push', '**']\n",
        None,
    );
    let source = || "it is typed into a shell".to_owned();
    let line = |text: &str| write().with_implied_command(text, BTreeMap::new(), source());
    assert_eq!(describe_decision(line("git push\n"), &deny, ProjectMode::Full), "deny");
    assert_eq!(describe_decision(line("sudo id\n"), &none, ProjectMode::Full), "ask");
    assert_eq!(describe_decision(line("ls\n"), &deny, ProjectMode::Auto), "allow mode");
    assert_eq!(describe_decision(line("eval \"$X\"\n"), &none, ProjectMode::Auto), "ask");
    let code = || write().with_unreadable_command("import os", "it is code for python3".to_owned());
    assert_eq!(describe_decision(code(), &none, ProjectMode::Sandbox), "ask");
    assert_eq!(describe_decision(code(), &none, ProjectMode::Auto), "ask");
    assert_eq!(describe_decision(code(), &none, ProjectMode::Full), "allow mode");
    assert_eq!(describe_decision(code(), &deny, ProjectMode::Full), "ask");
}
