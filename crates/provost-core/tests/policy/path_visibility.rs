//! Which paths of a folder are hidden from whom.

use provost_core::action::Action;
use provost_core::policy::{
    PathVisibility, Policy, PolicyRequester, PolicyRules, PolicyTrust, RuleEffect, RuleLayer,
};
use provost_proto::ProjectMode;
use serde_json::json;

const USER: &str = r#"
[[rule]]
id = "no"
effect = "deny"
on = ["fs.*"]
path = ["private/**", "**/*.pem"]
except = ["private/readme.md"]

[[rule]]
id = "ask"
effect = "ask"
on = ["fs.readFile"]
roles = ["dev"]
modes = ["sandbox"]
path = ["drafts/**"]

[[rule]]
id = "mine"
effect = "allow"
on = ["fs.readFile"]
path = ["test/.env"]

[[rule]]
id = "unsearched"
effect = "deny"
on = ["fs.searchFiles"]
path = ["vendor/**"]
"#;

const PROJECT: &str = "[[rule]]\nid = 'p'\neffect = 'allow'\non = ['fs.*']\npath = ['web/.env']\n";

fn rules(trust: PolicyTrust) -> PolicyRules {
    let user = Policy::parse(RuleLayer::User, "u", USER).unwrap();
    let project = Policy::parse(RuleLayer::Project, "p", PROJECT).unwrap();
    PolicyRules::new(Policy::builtin().unwrap(), user, Some((project, trust)))
}

type Break = fn(&mut provost_proto::kernel::VisibilityRule);

fn read_action(skill: &str, path: &str) -> Action {
    let mut params = json!({ "path": path });
    if skill == "fs.searchFiles" {
        params["pattern"] = json!("x");
    }
    Action::parse(skill, params).unwrap()
}

#[test]
fn what_could_not_be_read_by_its_name_is_left_out() {
    let deny = Some(RuleEffect::Deny);
    let ask = Some(RuleEffect::Ask);
    for (role, mode, skill, path, expected) in [
        ("dev", ProjectMode::Sandbox, "fs.searchFiles", "private/a.txt", deny),
        ("dev", ProjectMode::Full, "fs.searchFiles", "private/a.txt", deny),
        ("dev", ProjectMode::Sandbox, "fs.searchFiles", "private", deny),
        ("dev", ProjectMode::Sandbox, "fs.searchFiles", "private/readme.md", None),
        ("dev", ProjectMode::Sandbox, "fs.searchFiles", "drafts/x/y", ask),
        ("dev", ProjectMode::Auto, "fs.searchFiles", "drafts/x/y", None),
        ("ops", ProjectMode::Sandbox, "fs.searchFiles", "drafts/x/y", None),
        // A built-in rule asks, unless a person or a trusted project allows.
        ("dev", ProjectMode::Auto, "fs.searchFiles", ".env", ask),
        ("dev", ProjectMode::Full, "fs.searchFiles", ".env", None),
        ("dev", ProjectMode::Auto, "fs.searchFiles", "test/.env", Some(RuleEffect::Allow)),
        ("dev", ProjectMode::Auto, "fs.searchFiles", "web/.env", Some(RuleEffect::Allow)),
        ("dev", ProjectMode::Auto, "fs.searchFiles", "vendor/a.js", deny),
        ("dev", ProjectMode::Auto, "fs.listFiles", "vendor/a.js", None),
        ("dev", ProjectMode::Auto, "fs.listFiles", "x/b.pem", deny),
    ] {
        let requester = PolicyRequester { role: Some(role), mode, project: None };
        let visibility = PathVisibility::new(
            &rules(PolicyTrust::Trusted).visibility_rules(requester, &read_action(skill, ".")),
        )
        .unwrap();
        assert_eq!(
            visibility.match_path(path).combined_effect(),
            expected,
            "{role} {mode:?} {skill} {path}"
        );
    }
    let requester = PolicyRequester { role: Some("dev"), mode: ProjectMode::Auto, project: None };
    let visibility = PathVisibility::new(
        &rules(PolicyTrust::Untrusted)
            .visibility_rules(requester, &read_action("fs.searchFiles", ".")),
    )
    .unwrap();
    assert_eq!(
        visibility.match_path("web/.env").combined_effect(),
        ask,
        "an untrusted project opens nothing"
    );
}

#[test]
fn a_rule_that_cannot_be_read_is_not_passed_over() {
    let requester =
        PolicyRequester { role: Some("dev"), mode: ProjectMode::Sandbox, project: None };
    let good = rules(PolicyTrust::Trusted)
        .visibility_rules(requester, &read_action("fs.searchFiles", "."));
    let breaks: [Break; 3] =
        [|it| it.effect = "x".into(), |it| it.layer = "x".into(), |it| it.path = vec!["[".into()]];
    for spoil in breaks {
        let mut limits = good.clone();
        spoil(&mut limits[0]);
        assert!(PathVisibility::new(&limits).is_err(), "{:?}", limits[0]);
    }
}

#[test]
fn who_was_asked_about_a_folder_may_look_into_it() {
    let requester =
        PolicyRequester { role: Some("dev"), mode: ProjectMode::Sandbox, project: None };
    for (path, expected) in [("drafts", None), (".", Some(RuleEffect::Ask))] {
        let limits = rules(PolicyTrust::Trusted)
            .visibility_rules(requester, &read_action("fs.searchFiles", path));
        let visibility = PathVisibility::new(&limits).unwrap();
        assert_eq!(visibility.match_path("drafts/x").combined_effect(), expected, "{path}");
        assert_eq!(
            visibility.match_path("private/x").combined_effect(),
            Some(RuleEffect::Deny),
            "{path}"
        );
    }
    let stat = Action::parse("fs.stat", json!({ "path": "." })).unwrap();
    assert!(rules(PolicyTrust::Trusted).visibility_rules(requester, &stat).is_empty());
}

#[test]
fn a_rule_of_another_project_neither_limits_nor_allows() {
    let text = "
[[rule]]
id = 'theirs'
effect = 'deny'
on = ['fs.*']
path = ['src/**']
project = ['/home/ann/other']

[[rule]]
id = 'loose'
effect = 'allow'
on = ['fs.*']
path = ['**/.env']
project = ['/home/ann/other']
";
    let user = Policy::parse(RuleLayer::User, "u", text).unwrap();
    let rules = PolicyRules::new(Policy::builtin().unwrap(), user, None);
    for (project, src, env) in [
        ("/home/ann/app", None, Some(RuleEffect::Ask)),
        ("/home/ann/other", Some(RuleEffect::Deny), Some(RuleEffect::Allow)),
    ] {
        let requester =
            PolicyRequester { role: Some("dev"), mode: ProjectMode::Auto, project: Some(project) };
        let limits = rules.visibility_rules(requester, &read_action("fs.searchFiles", "."));
        let visibility = PathVisibility::new(&limits).unwrap();
        assert_eq!(visibility.match_path("src/x").combined_effect(), src, "{project}");
        assert_eq!(visibility.match_path(".env").combined_effect(), env, "{project}");
    }
}

#[test]
fn commands_are_denied_to_write_what_rules_deny_and_nothing_else() {
    let denied = |role, mode| {
        let requester = PolicyRequester { role: Some(role), mode, project: None };
        let rules = rules(PolicyTrust::Untrusted).write_denials(requester);
        let ids: Vec<_> = rules.iter().map(|rule| rule.id.as_str()).collect();
        (ids.join(" "), PathVisibility::new(&rules).unwrap())
    };
    for mode in [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full] {
        let (ids, visibility) = denied("dev", mode);
        assert_eq!(ids, "no", "not what asks, allows, is built in or denies something else");
        assert_eq!(visibility.match_path("private/a").combined_effect(), Some(RuleEffect::Deny));
        assert_eq!(visibility.match_path("src/a").combined_effect(), None);
    }
}

#[test]
fn what_commands_may_read_is_a_setting_of_trusted_files() {
    let read = |trust| {
        let user = "[sandbox]\nread = ['~/datasets']\n";
        let user = Policy::parse(RuleLayer::User, "u", user).unwrap();
        let project = "[sandbox]\nread = ['/srv/models']\n";
        let project = Policy::parse(RuleLayer::Project, "p", project).unwrap();
        let rules = PolicyRules::new(Policy::builtin().unwrap(), user, Some((project, trust)));
        rules.sandbox_read().join(" ")
    };
    assert_eq!(read(PolicyTrust::Trusted), "~/datasets /srv/models");
    assert_eq!(read(PolicyTrust::Untrusted), "~/datasets");
    for (text, expected) in [
        ("[sandbox]\nread = ['data']\n", "paths that begin with `/` or `~/`"),
        ("[sandbox]\nread = '/srv'\n", "paths that begin with `/` or `~/`"),
        ("[sandbox]\nwrite = ['/srv']\n", "write"),
        ("sandbox = 1\n", "[sandbox]"),
    ] {
        let error = Policy::parse(RuleLayer::User, "u", text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
