//! A link does not bypass a gate or a rule.

use super::*;
use provost_core::action::RelPath;
use provost_core::decide::ResolvedLink;

fn decided(action: Action, link_targets: &str, user: &str, mode: ProjectMode) -> &'static str {
    let rules = rules(user, None);
    let link_targets = [RelPath::new(link_targets).unwrap()];
    let policy_context =
        PolicyContext { link_targets: &link_targets, ..policy_context(&rules, mode) };
    word(&decide(requested(action), ActingRole::Trusted(&able()), &policy_context))
}

#[test]
fn a_link_to_a_protected_place_is_closed_and_one_to_a_denied_file_denied() {
    let write = || action("fs.writeFile", json!({ "path": "docs/x", "content": "" }));
    let read = || action("fs.readFile", json!({ "path": "notes.md" }));
    let rule = |effect: &str, path: &str| {
        format!("[[rule]]\nid = 'r'\neffect = '{effect}'\non = ['fs.*']\npath = ['{path}']\n")
    };
    assert_eq!(decided(write(), ".git/hooks/x", "", ProjectMode::Full), "deny");
    assert_eq!(decided(write(), "src/x", "", ProjectMode::Full), "allow mode");
    assert_eq!(decided(read(), ".git/config", "", ProjectMode::Sandbox), "allow mode");
    assert_eq!(decided(read(), ".env", &rule("deny", "**/.env"), ProjectMode::Full), "deny");
    assert_eq!(decided(read(), ".env", &rule("ask", "**/.env"), ProjectMode::Sandbox), "ask");
    // That the target may be written does not mean that the link may.
    assert_eq!(decided(write(), "tmp/x", &rule("allow", "tmp/**"), ProjectMode::Sandbox), "ask");
    assert_eq!(
        decided(write(), "tmp/x", &rule("allow", "docs/**"), ProjectMode::Sandbox),
        "allow rules"
    );
}

/// The decision about a command in mode `full`, where one name is a link.
fn of_command(params: Value, (path, place): (&str, &str), user: &str) -> &'static str {
    let rules = rules(user, None);
    let lead = ResolvedLink { path: path.to_owned(), place: place.to_owned() };
    let bound = requested(run(params)).with_resolved_links(&[lead]);
    let policy_context =
        PolicyContext { folder: Some("/data/app"), ..policy_context(&rules, ProjectMode::Full) };
    word(&decide(bound, ActingRole::Trusted(&able()), &policy_context))
}

#[test]
fn a_command_does_to_the_place_of_a_link_what_it_does_to_its_name() {
    let rule =
        "[[rule]]\nid = 'r'\neffect = 'deny'\non = ['fs.*']\npath = ['**/.env', 'conf/**']\n";
    let write = "[[rule]]\nid = 'r'\neffect = 'deny'\non = ['fs.write']\npath = ['**/.env']\n";
    for (command, lead, user, expected) in [
        ("cat lnk", ("lnk", ".env"), rule, "deny"),
        ("cat ./lnk", ("./lnk", ".env"), rule, "deny"),
        ("cat < lnk", ("lnk", ".env"), rule, "deny"),
        ("echo x > lnk", ("lnk", ".env"), rule, "deny"),
        ("cp a lnk", ("lnk", ".env"), rule, "deny"),
        ("cd web && cat lnk", ("web/lnk", ".env"), rule, "deny"),
        ("cat lnk/prod.yml", ("lnk/prod.yml", "conf/prod.yml"), rule, "deny"),
        ("mytool lnk", ("lnk", ".env"), rule, "ask"),
        ("cat lnk/*", ("lnk", "conf"), rule, "ask"),
        ("find lnk/ -exec cat {} +", ("lnk", "conf"), rule, "ask"),
        ("find lnk/ -delete", ("lnk", "conf"), rule, "ask"),
        ("cat lnk", ("lnk", "/data/other/.env"), rule, "deny"),
        ("cat lnk", ("lnk", ".env"), write, "allow mode"),
        ("cat lnk", ("lnk", "a.txt"), rule, "allow mode"),
        ("cat other", ("lnk", ".env"), rule, "allow mode"),
        // The gates.
        ("echo x > lnk", ("lnk", ".git/config"), "", "deny"),
        ("cat lnk", ("lnk", ".git/config"), "", "allow mode"),
        ("find dd/ -delete", ("dd", "."), "", "ask"),
        ("rm -rf dd/", ("dd", "."), "", "ask"),
        ("rm -rf dd/*", ("dd", "."), "", "ask"),
        ("rm -rf dd/src/..", ("dd/src/..", "."), "", "ask"),
        ("rm -rf up/", ("up", "/data"), "", "ask"),
        ("rm -rf dd/target", ("dd/target", "target"), "", "allow mode"),
    ] {
        assert_eq!(of_command(json!({ "command": command }), lead, user), expected, "{command}");
    }
    let inside = json!({ "command": "cat lnk", "cwd": "web/src" });
    assert_eq!(of_command(inside, ("lnk", ".env"), rule), "deny");
    let inside = json!({ "command": "find dd/ -delete", "cwd": "web/src" });
    assert_eq!(of_command(inside, ("dd", "."), ""), "ask");
}

#[test]
fn of_more_paths_than_are_followed_any_may_be_a_link() {
    let rule = "[[rule]]\nid = 'r'\neffect = 'deny'\non = ['fs.*']\npath = ['**/.env']\n";
    let many = |n: usize| {
        let files: Vec<String> = (0..n).map(|n| format!("f{n}")).collect();
        json!({ "command": format!("cat {}", files.join(" ")) })
    };
    assert_eq!(of_command(many(512), ("x", "y"), rule), "allow mode");
    assert_eq!(of_command(many(513), ("x", "y"), rule), "ask");
    assert_eq!(of_command(many(513), ("x", "y"), ""), "allow mode");
}
