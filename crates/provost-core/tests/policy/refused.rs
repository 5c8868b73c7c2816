//! Invalid policy files: every error with its position and what was expected.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use provost_core::policy::{Policy, RuleLayer};

use super::FILE;

#[track_caller]
fn refused(text: &str, expected: &Expect) {
    let errors = Policy::parse(RuleLayer::User, FILE, text).unwrap_err();
    expected.assert_eq(&errors.to_string());
}

/// A rule with these keys.
#[track_caller]
fn rule(keys: &str, expected: &Expect) {
    refused(&format!("[[rule]]\nid = 'x'\neffect = 'allow'\n{keys}\n"), expected);
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    refused(
        r#"
[[rule]]
id = "a"
effect = "alow"
on = []
pth = ["x"]

[[rule]]
id = "b"
effect = "deny"
on = ["fs.raed", "net.*"]
path = ["/etc", "a**"]
reason = "x\u202ey"

[[rule]]
id = "c"
effect = "deny"
on = ["fs.read"]
argv = ["cat"]

[[rule]]
id = "a b"
effect = "deny"
on = ["fs.read"]

[[rule]]
effect = "deny"

[rules]
"#,
        &expect![[r#"
            policy.toml:4:10: rule `a`: `effect` is `alow`; expected "allow", "ask" or "deny"
            policy.toml:5:6: rule `a`: `on` is an empty list; expected a list of 1 to 256 texts
            policy.toml:6:1: rule `a`: unknown key `pth`; did you mean `path`?
            policy.toml:11:6: rule `b`: `on`: unknown skill `fs.raed`; did you mean `fs.read`?
            policy.toml:11:6: rule `b`: `on`: the pattern `net.*` matches no skill; skills are named like `fs.readFile`, patterns like `fs.*`
            policy.toml:12:8: rule `b`: `path`: `/etc`: a path pattern is relative to the project and has no `.`, `..` or empty name in it
            policy.toml:12:8: rule `b`: `path`: `a**`: `**` must stand alone between slashes, as in `src/**` or `**/test`
            policy.toml:13:10: rule `b`: `reason` contains \u{202e}, which cannot be seen
            policy.toml:19:8: rule `c`: `argv` and `host` are about commands; expected `on` to name `terminal.runCommand`
            policy.toml:22:6: rule `a b`: `id` is `a b`; expected 1 to 64 letters, digits and `-`, `_`, `.`
            policy.toml:26:1: `id` is missing; expected a text
            policy.toml:26:1: `on` is missing; expected a list of 1 to 256 texts
            policy.toml:29:2: unknown key `rules`; did you mean `rule`?"#]],
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    refused(
        "[[rule]]\nid = \n",
        &expect!["policy.toml:2:6: string values must be quoted, expected literal string"],
    );
    refused("[[rule]]\nid = 'a'\nid = 'b'\n", &expect!["policy.toml:3:1: duplicate key"]);
    refused("rule = 3\n", &expect!["policy.toml:1:8: `rule` is a number; expected `[[rule]]`"]);
    refused("rule = [1]\n", &expect!["policy.toml:1:9: `rule` is a number; expected `[[rule]]`"]);
}

#[test]
fn two_rules_with_one_id_are_a_mistake() {
    let one = "[[rule]]\nid = 'a'\neffect = 'deny'\non = ['fs.*']\n";
    refused(
        &one.repeat(2),
        &expect![
            "policy.toml:5:1: rule `a`: the id is taken by the rule in line 1; expected another"
        ],
    );
}

#[test]
fn what_could_never_match_is_a_mistake() {
    rule(
        "on = ['fs.*']\nargv = ['ls']",
        &expect![
            "policy.toml:5:8: rule `x`: `argv` and `host` are about commands; expected `on` to name `terminal.runCommand`"
        ],
    );
    rule(
        "on = ['fs.*']\nhost = ['x']",
        &expect![
            "policy.toml:5:8: rule `x`: `argv` and `host` are about commands; expected `on` to name `terminal.runCommand`"
        ],
    );
    rule(
        "on = ['*']\nargv = ['ls']\npath = ['a']",
        &expect![
            "policy.toml:6:8: rule `x`: `path` is about files and `argv` and `host` about commands; expected two rules"
        ],
    );
    rule(
        "on = ['terminal.list']\npath = ['a']",
        &expect![
            "policy.toml:5:8: rule `x`: `path` is about files; expected `on` to name `fs.…` or `terminal.runCommand`"
        ],
    );
    rule(
        "on = ['*']\nwithout = ['a']",
        &expect!["policy.toml:5:11: rule `x`: `without` narrows `argv`; expected an `argv`"],
    );
    rule(
        "on = ['*']\nexcept = ['a']",
        &expect!["policy.toml:5:10: rule `x`: `except` narrows `path`; expected a `path`"],
    );
}

#[test]
fn a_pattern_for_words_has_a_program_and_its_rest_at_the_end() {
    for (argv, expected) in [
        ("[]", "`argv` names no program"),
        ("['**']", "`argv` names no program"),
        ("['a', '**', 'b']", "only at its end"),
        ("['a', ['b', '**']]", "only at its end"),
        ("['a', []]", "has an empty list"),
        ("['a', 3]", "`argv` is a list of something else; expected a list of texts"),
        ("'ls'", "`argv` is `ls`; expected a list of texts"),
        ("['a\\']", "`\\\\` for a backslash"),
    ] {
        let keys = format!("on = ['terminal.runCommand']\nargv = {argv}");
        let text = format!("[[rule]]\nid = 'x'\neffect = 'allow'\n{keys}\n");
        let errors = Policy::parse(RuleLayer::User, FILE, &text).unwrap_err().to_string();
        assert!(errors.contains(expected), "{argv}: {errors}");
        assert!(errors.starts_with("policy.toml:5:8: rule `x`: "), "{errors}");
    }
}

#[test]
fn an_empty_list_would_mean_everything_and_is_a_mistake() {
    for key in ["on", "roles", "modes", "path", "except", "host", "without"] {
        let keys = format!("{key} = []");
        let on = if key == "on" { "" } else { "on = ['*']\n" };
        let text = format!("[[rule]]\nid = 'x'\neffect = 'allow'\n{on}{keys}\n");
        let errors = Policy::parse(RuleLayer::User, FILE, &text).unwrap_err().to_string();
        assert!(errors.contains(&format!("`{key}` is an empty list")), "{errors}");
    }
}

#[test]
fn an_example_that_fails_is_a_mistake() {
    rule(
        "on = ['terminal.runCommand']\nargv = ['git', 'log']\nmatch = ['git log', 'git log -p']",
        &expect![
            "policy.toml:6:9: rule `x`: the example `git log -p` in `match` is not matched by the rule; expected it to be"
        ],
    );
    rule(
        "on = ['terminal.runCommand']\nargv = ['git', '**']\nnot_match = ['git --version', 'git $X']",
        &expect![
            "policy.toml:6:13: rule `x`: the example `git --version` in `not_match` is matched by the rule; expected it not to be"
        ],
    );
    rule(
        "on = ['terminal.runCommand']\nargv = ['git', '**']\nmatch = ['git \"']",
        &expect![[
            r#"policy.toml:6:9: rule `x`: the example `git "` in `match` is no command line that can be read: the command ends too early: a quote, a bracket or a word such as `fi` is missing"#
        ]],
    );
    rule(
        "on = ['fs.*']\npath = ['src/**']\nmatch = ['src/a', 'docs/a', '../src/a']",
        &expect![[r"
        policy.toml:6:9: rule `x`: the example `docs/a` in `match` is not matched by the rule; expected it to be
        policy.toml:6:9: rule `x`: the example `../src/a` in `match` is not matched by the rule; expected it to be"]],
    );
    rule(
        "on = ['terminal.runCommand']\nhost = ['*.x.org']\nmatch = ['x.org']",
        &expect![
            "policy.toml:6:9: rule `x`: the example `x.org` in `match` is not matched by the rule; expected it to be"
        ],
    );
    rule(
        "on = ['fs.*']\nmatch = ['a']",
        &expect![
            "policy.toml:5:9: rule `x`: the example `a` in `match` has nothing to be matched with; expected the rule to have `argv`, `path` or `host`"
        ],
    );
}

#[test]
fn what_is_too_large_is_refused() {
    refused(
        &"#".repeat(300_000),
        &expect!["policy.toml:1:1: a policy file has at most 262144 bytes, this one has 300000"],
    );
    let one = |n: usize| format!("[[rule]]\nid = 'a{n}'\neffect = 'deny'\non = ['*']\n");
    refused(
        &(0..1001).map(one).collect::<String>(),
        &expect!["policy.toml:1:1: a policy file has at most 1000 rules, this one has 1001"],
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}") {
        drop(Policy::parse(RuleLayer::User, FILE, &text));
    }

    #[test]
    fn no_rule_makes_the_reader_panic(
        keys in "((on|argv|path|host|match|roles|modes|without|except|effect|id) = \
                 (\\[('fs\\.\\*'|'a'|'\\*\\*'|'\\{,\\}'|'terminal\\.runCommand'|\\[\\]|3|,)*\\]|'x'|\\{\\})\n){0,8}",
    ) {
        drop(Policy::parse(RuleLayer::User, FILE, &format!("[[rule]]\n{keys}")));
    }
}

#[test]
fn nesting_is_refused_and_not_followed() {
    for depth in [100, 10_000, 127_000] {
        for text in [
            format!("rule = {}", "[".repeat(depth)),
            format!("rule{} = 1", ".a".repeat(depth)),
            format!("[[rule]]\nargv = {}{}", "[".repeat(depth), "]".repeat(depth)),
            format!("[[rule]]\n{}", "a = {".repeat(depth / 3)),
        ] {
            Policy::parse(RuleLayer::User, FILE, &text).unwrap_err();
        }
    }
}
