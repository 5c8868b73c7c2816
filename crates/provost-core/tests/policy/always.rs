//! Rules that an answer "always" creates, and how they are added to a file.

use expect_test::expect;
use proptest::prelude::*;
use provost_core::command::{CommandAnalysis, CommandEffect, CommandInvocation};
use provost_core::policy::{Policy, PolicyRule, RuleLayer, append_rule};

use super::{ALLOW, DEV, FILE, line, path, run, user};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn the_rule_for_a_command_is_one_that_a_person_can_read() {
    let rule =
        PolicyRule::allow_exact_command(&words(&["git", "push", "a b", "**", "\u{202e}"])).unwrap();
    expect![[r#"
        [[rule]]
        id = "always-git-96434587"
        effect = "allow"
        on = ["terminal.runCommand"]
        argv = ["git", "push", "a b", "\\*\\*", "\U0000202E"]
        reason = "a person answered \"always\" for this command"
    "#]]
    .assert_eq(&rule.to_toml());
    let rule = PolicyRule::allow_path("fs.writeFile", "docs/[a]*.md")
        .unwrap()
        .restrict_to_role("dev")
        .unwrap();
    expect![[r#"
        [[rule]]
        id = "always-fs-writefile-6416463c-b629278f"
        effect = "allow"
        on = ["fs.writeFile"]
        roles = ["dev"]
        path = ["docs/\\[a\\]\\*.md"]
        reason = "a person answered \"always\" for this path"
    "#]]
    .assert_eq(&rule.to_toml());
}

#[test]
fn it_allows_that_command_and_no_other() {
    let rules = user(&PolicyRule::allow_exact_command(&words(&["git", "push"])).unwrap().to_toml());
    assert_eq!(line(&rules, "git push"), ALLOW);
    for other in ["git push -f", "git", "git pull", "./git push", "A=1 git push", "git push *"] {
        assert_eq!(line(&rules, other), None, "{other}");
    }
    let rules = user(&PolicyRule::allow_path("fs.writeFile", "a*").unwrap().to_toml());
    assert_eq!(path(&rules, "fs.writeFile", "a*"), ALLOW);
    assert_eq!(path(&rules, "fs.writeFile", "ab"), None);
    assert_eq!(path(&rules, "fs.editFile", "a*"), None);
}

#[test]
fn a_file_keeps_all_that_was_in_it_and_takes_a_rule_once() {
    let rule = PolicyRule::allow_exact_command(&words(&["ls"])).unwrap();
    for text in ["", "# mine", "# mine\r\n\r\n", "[[rule]] # x\nid='a'\neffect='deny'\non=['fs.*']"]
    {
        let new = append_rule(RuleLayer::User, FILE, text, &rule).unwrap();
        assert!(new.starts_with(text), "{new}");
        let read = Policy::parse(RuleLayer::User, FILE, &new).unwrap();
        assert_eq!(read.rules().last().unwrap().to_toml(), rule.to_toml());
        assert_eq!(append_rule(RuleLayer::User, FILE, &new, &rule).unwrap(), new);
    }
}

#[test]
fn a_file_that_cannot_take_it_is_left_alone() {
    let rule = PolicyRule::allow_exact_command(&words(&["ls"])).unwrap();
    let inline = "rule = [{id = 'a', effect = 'deny', on = ['fs.*']}]\n";
    Policy::parse(RuleLayer::User, FILE, inline).unwrap();
    for text in [inline, "[[rule]]\nid = 'broken'\n", "text = '''\n"] {
        append_rule(RuleLayer::User, FILE, text, &rule).unwrap_err();
    }
}

proptest! {
    #[test]
    fn any_command_makes_a_rule_that_reads_back_and_matches_only_it(
        argv in prop::collection::vec("(?s)[ -~é\n\t*?\\\\\"'\u{202e}]{0,8}", 1..5),
        other in prop::collection::vec("[a-z*?]{0,3}", 1..5),
    ) {
        prop_assume!(!argv[0].is_empty());
        let rule = PolicyRule::allow_exact_command(&argv).unwrap();
        let rules = user(&rule.to_toml());
        let (action, _) = run("true");
        let effect = |argv: &Vec<String>| {
            let run = CommandInvocation { argv: argv.clone(), ..CommandInvocation::default() };
            let analysis = CommandAnalysis { effects: vec![CommandEffect::Run(run)], opaque: Vec::new() };
            rules.evaluate(DEV, &action, Some(&analysis)).combined_effect()
        };
        prop_assert_eq!(effect(&argv), ALLOW);
        prop_assert_eq!(effect(&other) == ALLOW, argv == other);
    }
}
