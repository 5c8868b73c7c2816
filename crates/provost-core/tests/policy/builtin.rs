//! The built-in rules.

use provost_core::policy::{Policy, PolicyRequester, PolicyRules, RuleEffect, RuleLayer};
use provost_proto::ProjectMode;

use super::{ALLOW, ASK, line, on_path, path, policy, run};

fn rules() -> PolicyRules {
    PolicyRules::new(Policy::builtin().unwrap(), Policy::empty(RuleLayer::User), None)
}

#[test]
fn they_only_ask_and_each_says_why_and_shows_examples() {
    let builtin = Policy::builtin().unwrap();
    assert!(builtin.rules().len() > 5);
    for rule in builtin.rules() {
        assert_eq!(rule.effect(), RuleEffect::Ask, "{}", rule.id());
        assert!(rule.reason().is_some(), "{}", rule.id());
        let text = rule.to_toml();
        assert!(text.contains("\nmatch = ") && text.contains("\nnot_match = "), "{text}");
    }
}

#[test]
fn what_is_dangerous_asks_and_what_is_ordinary_is_left_to_the_mode() {
    let rules = rules();
    for (command, expected) in [
        ("git push origin main", ASK),
        ("git status", None),
        ("rm -rf build", ASK),
        ("rm a", None),
        ("sudo ls", ASK),
        ("true && curl https://example.com", ASK),
        ("echo hi > .env", ASK),
        ("wc < .env", ASK),
        ("cargo test", None),
        ("bash -c 'git push'", ASK),
    ] {
        assert_eq!(line(&rules, command), expected, "{command}");
    }
    assert_eq!(path(&rules, "fs.readFile", ".env"), ASK);
    assert_eq!(path(&rules, "fs.readFile", ".env.example"), None);
    assert_eq!(path(&rules, "fs.readFile", "src/main.rs"), None);
    assert_eq!(path(&rules, "fs.writeFile", "src/main.rs"), None);
}

#[test]
fn in_mode_full_they_do_not_ask() {
    let rules = rules();
    let full = PolicyRequester { role: Some("dev"), mode: ProjectMode::Full, project: None };
    let (action, analysis) = run("git push");
    assert_eq!(rules.evaluate(full, &action, Some(&analysis)).combined_effect(), None);
    assert_eq!(rules.evaluate(full, &on_path("fs.readFile", ".env"), None).combined_effect(), None);
}

#[test]
fn a_person_who_allows_is_not_asked_again() {
    let mine = "[[rule]]\nid = 'push'\neffect = 'allow'\non = ['terminal.runCommand']\n\
                argv = ['git', 'push']\n";
    let rules = PolicyRules::new(Policy::builtin().unwrap(), policy(RuleLayer::User, mine), None);
    assert_eq!(line(&rules, "git push"), ALLOW);
    assert_eq!(line(&rules, "git push --force"), ASK);
}
