//! An untrusted project can only restrict.

use std::sync::LazyLock;

use expect_test::expect;
use proptest::prelude::*;
use provost_core::action::Action;
use provost_core::command::CommandAnalysis;
use provost_core::policy::{
    Policy, PolicyRequester, PolicyRules, PolicyTrust, RuleEffect, RuleLayer, RuleStatus,
};
use provost_proto::ProjectMode;

use super::{ALLOW, DENY, both, line, on_path, path, policy, run};

const ALLOWS: &str = "[[rule]]\nid = 'a'\neffect = 'allow'\non = ['*']\n";

#[test]
fn a_project_that_is_not_trusted_allows_nothing_and_it_is_said() {
    let rules = both("", ALLOWS, PolicyTrust::Untrusted);
    assert_eq!(path(&rules, "fs.readFile", "x"), None);
    assert_eq!(line(&rules, "ls"), None);
    assert!(rules.iter().all(|hit| hit.force == RuleStatus::Untrusted));
    let (action, analysis) = run("ls");
    let requester = PolicyRequester { role: None, mode: ProjectMode::Auto, project: None };
    expect![[r"
        run `ls`
          allow by rule `a` (the project's policy, line 1), without effect until the project is trusted
        no rule decides, so the mode does
    "]].assert_eq(&rules.evaluate(requester, &action, Some(&analysis)).explain());
    assert_eq!(path(&both("", ALLOWS, PolicyTrust::Trusted), "fs.readFile", "x"), ALLOW);
}

#[test]
fn a_project_that_is_not_trusted_may_deny() {
    let denies = ALLOWS.replace("allow", "deny");
    assert_eq!(path(&both(ALLOWS, &denies, PolicyTrust::Untrusted), "fs.readFile", "x"), DENY);
}

/// Rules of all kinds over a small set of names, so that they often match.
fn rule() -> impl Strategy<Value = String> {
    let pick = |texts: &'static [&'static str]| prop::sample::select(texts.to_vec());
    let on = pick(&["*", "fs.*", "fs.read", "fs.write", "fs.deleteFile"]);
    let about = prop_oneof![
        (
            on,
            pick(&[
                "",
                "path = ['a/**']\n",
                "path = ['**/b']\nexcept = ['a/*']\n",
                "path = ['a']\n"
            ])
        ),
        (
            Just("terminal.runCommand"),
            pick(&[
                "",
                "argv = ['git', '**']\n",
                "argv = ['git', 'push']\n",
                "host = ['*.x.org']\n",
                "argv = [['git', 'ls'], '**']\nwithout = ['-c']\n",
                "path = ['a/**']\n",
                "argv = ['*', 'push', '**']\n",
                "argv = ['timeout', '**']\n",
            ])
        ),
    ];
    let narrowed = pick(&["", "roles = ['dev']\n", "modes = ['auto', 'full']\n"]);
    (pick(&["allow", "ask", "deny"]), about, narrowed).prop_map(
        |(effect, (on, about), narrowed)| {
            format!("effect = '{effect}'\non = ['{on}']\n{about}{narrowed}")
        },
    )
}

fn file() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(), 0..6).prop_map(|rules| {
        let number = |(n, rule): (usize, &String)| format!("[[rule]]\nid = 'r{n}'\n{rule}");
        rules.iter().enumerate().map(number).collect::<Vec<_>>().concat()
    })
}

const LINES: &[&str] = &[
    "git push",
    "git -c a=b push",
    "ls && git status",
    "timeout 5 ls",
    "curl https://a.x.org",
    "echo x > a/b",
    "ls $X; git push",
    "cd / && git push",
    "A=1 git push",
    "wc < a",
];

const ACTIONS: &[(&str, &str)] = &[
    ("fs.readFile", "a/b"),
    ("fs.readFile", "b"),
    ("fs.writeFile", "a/b/c"),
    ("fs.deleteFile", "a"),
    ("fs.moveFile", "b"),
    ("fs.stat", "."),
];

/// All possible requests, analyzed once.
static WORLD: LazyLock<Vec<(Action, Option<CommandAnalysis>)>> = LazyLock::new(|| {
    let lines = LINES.iter().map(|text| {
        let (action, analysis) = run(text);
        (action, Some(analysis))
    });
    lines.chain(ACTIONS.iter().map(|(skill, place)| (on_path(skill, place), None))).collect()
});

/// The effects for all requests.
fn effects(rules: &PolicyRules) -> Vec<Option<RuleEffect>> {
    let mut all = Vec::new();
    for mode in [ProjectMode::Sandbox, ProjectMode::Auto, ProjectMode::Full] {
        for role in [None, Some("dev"), Some("other")] {
            let requester = PolicyRequester { role, mode, project: None };
            let describe = |(action, analysis): &(Action, Option<CommandAnalysis>)| {
                rules.evaluate(requester, action, analysis.as_ref()).combined_effect()
            };
            all.extend(WORLD.iter().map(describe));
        }
    }
    all
}

/// How strict an effect is. Without one the mode decides, which may allow, so it must not replace
/// an ask or a deny, nor may an allow replace it.
fn strictness(effect: Option<RuleEffect>) -> u8 {
    match effect {
        Some(RuleEffect::Allow) => 0,
        None => 1,
        Some(RuleEffect::Ask) => 2,
        Some(RuleEffect::Deny) => 3,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_project_layer_never_loosens_while_untrusted(
        builtin in file(), user in file(), project in file(),
    ) {
        let layers = || (policy(RuleLayer::Builtin, &builtin), policy(RuleLayer::User, &user));
        let (first, second) = layers();
        let without = effects(&PolicyRules::new(first, second, None));
        let (first, second) = layers();
        let project = policy(RuleLayer::Project, &project);
        let with = effects(&PolicyRules::new(first, second, Some((project, PolicyTrust::Untrusted))));
        for (before, after) in without.into_iter().zip(with) {
            prop_assert!(strictness(after) >= strictness(before), "{before:?} became {after:?}");
        }
    }

    #[test]
    fn a_rule_that_is_written_and_read_again_is_the_same(text in file()) {
        let old = policy(RuleLayer::User, &text);
        let written: String = old.rules().iter().map(provost_core::policy::PolicyRule::to_toml).collect();
        let new = Policy::parse(RuleLayer::User, "x", &written).unwrap();
        let empty = || Policy::empty(RuleLayer::Builtin);
        prop_assert_eq!(
            effects(&PolicyRules::new(empty(), old, None)),
            effects(&PolicyRules::new(empty(), new, None))
        );
    }
}
