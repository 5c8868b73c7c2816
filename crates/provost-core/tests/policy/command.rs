//! Rules about commands.

use expect_test::expect;
use provost_core::action::Action;
use provost_core::command::analyze_line;
use serde_json::json;

use super::{ALLOW, ASK, DENY, DEV, ids, line, run, user};

fn rule(effect: &str, more: &str) -> String {
    format!(
        "[[rule]]\nid = '{effect}'\neffect = '{effect}'\non = ['terminal.runCommand']\n{more}\n"
    )
}

#[test]
fn a_star_is_one_word_and_two_are_any_number() {
    for (pattern, command, expected) in [
        ("['git', 'status']", "git status", ALLOW),
        ("['git', 'status']", "git status -s", None),
        ("['git', '*']", "git status", ALLOW),
        ("['git', '*']", "git", None),
        ("['git', '*']", "git log b", None),
        ("['git', '**']", "git", ALLOW),
        ("['git', '**']", "git log b c", ALLOW),
        ("[['npm', 'pnpm'], ['test', 'run'], '**']", "pnpm run x", ALLOW),
        ("['git', '--no-*', '**']", "git --no-pager log", ALLOW),
        ("['echo', '\\*']", "echo '*'", ALLOW),
        ("['echo', '\\*']", "echo x", None),
        ("['echo', '']", "echo ''", ALLOW),
        ("['echo', '']", "echo x", None),
    ] {
        let rules = user(&rule("allow", &format!("argv = {pattern}")));
        assert_eq!(line(&rules, command), expected, "{pattern} on {command}");
    }
}

#[test]
fn who_allows_is_read_narrowly_and_who_denies_generously() {
    let allow = user(&rule("allow", "argv = ['git', 'status', '**']"));
    let deny = user(&rule("deny", "argv = ['git', 'status', '**']"));
    for (command, allowed, denied) in [
        ("git status", ALLOW, DENY),
        ("timeout 5 git status", ALLOW, DENY),
        ("/usr/bin/git status", None, DENY),
        ("./git status", None, DENY),
        ("A=1 git status", None, DENY),
        ("git status $(id)", None, DENY),
        ("git status; ls", None, DENY),
        ("sudo git status", None, DENY),
        ("cd / && git status", None, DENY),
        ("sh -c 'git status'", ALLOW, DENY),
        ("git status > out", None, DENY),
        ("echo git status", None, None),
    ] {
        assert_eq!(line(&allow, command), allowed, "allow {command}");
        assert_eq!(line(&deny, command), denied, "deny {command}");
    }
}

#[test]
fn an_opaque_line_is_never_allowed_and_its_readable_parts_are_still_denied() {
    let rules = user(&(rule("allow", "") + &rule("deny", "argv = ['rm', '**']")));
    assert_eq!(line(&rules, "ls"), ALLOW);
    assert_eq!(line(&rules, "ls $HOME"), None);
    assert_eq!(line(&rules, "echo $(ls) && rm x"), DENY);
    let asks = user(&rule("ask", ""));
    assert_eq!(line(&asks, "ls $HOME"), ASK);
}

#[test]
fn without_its_analysis_a_command_is_opaque() {
    let rules = user(&rule("allow", ""));
    let (action, _) = run("ls");
    assert_eq!(rules.evaluate(DEV, &action, None).combined_effect(), None);
}

#[test]
fn variables_of_the_request_are_allowed_by_no_rule() {
    let rules = user(&rule("allow", ""));
    let params = json!({"argv": ["ls"], "env": {"A": "1"}});
    let action = Action::parse("terminal.runCommand", params).unwrap();
    let analysis = analyze_line("ls").unwrap();
    assert_eq!(rules.evaluate(DEV, &action, Some(&analysis)).combined_effect(), None);
}

#[test]
fn a_redirection_is_a_write_and_a_rule_on_files_is_about_it() {
    let files = |effect: &str, path: &str| {
        format!("[[rule]]\nid = 'f'\neffect = '{effect}'\non = ['fs.write']\npath = ['{path}']\n")
    };
    let echo = rule("allow", "argv = ['echo', '**']");
    let rules = user(&(echo.clone() + &files("allow", "out/**")));
    assert_eq!(line(&rules, "echo a > out/a"), ALLOW);
    assert_eq!(line(&rules, "echo a > ./out//a"), ALLOW);
    assert_eq!(line(&rules, "echo a > out/../src/a"), None);
    assert_eq!(line(&rules, "echo a > /out/a"), None);
    assert_eq!(line(&rules, "echo a > src/a"), None);
    let rules = user(&(echo.clone() + &files("deny", "src/**")));
    assert_eq!(line(&rules, "echo a > src/a"), DENY);
    assert_eq!(line(&rules, "echo a > /home/me/project/src/a"), DENY);
    assert_eq!(line(&rules, "cd src && echo a > a"), DENY);
    // A rule on commands can name paths too.
    let rules = user(&(echo + &rule("deny", "path = ['src/**']")));
    assert_eq!(line(&rules, "echo a > src/a"), DENY);
    assert_eq!(line(&rules, "echo a < src/a"), DENY);
    assert_eq!(line(&rules, "echo a"), ALLOW);
}

#[test]
fn the_folder_of_the_request_is_where_its_paths_begin() {
    let rules = user("[[rule]]\nid = 'f'\neffect = 'deny'\non = ['fs.write']\npath = ['src/a']\n");
    let params = json!({"command": "echo x > a", "cwd": "src"});
    let action = Action::parse("terminal.runCommand", params).unwrap();
    let analysis = analyze_line("echo x > a").unwrap();
    assert_eq!(rules.evaluate(DEV, &action, Some(&analysis)).combined_effect(), DENY);
}

#[test]
fn all_hosts_must_be_allowed_and_one_suffices_to_be_denied() {
    let hosts = "host = ['*.Example.com']";
    let allow = user(&rule("allow", hosts));
    let deny = user(&rule("deny", hosts));
    for (command, allowed, denied) in [
        ("curl https://a.example.com/x", ALLOW, DENY),
        ("curl https://A.EXAMPLE.com", ALLOW, DENY),
        ("curl https://a.example.com https://evil.org", None, DENY),
        ("curl https://evil.org", None, None),
        ("ls", None, None),
    ] {
        assert_eq!(line(&allow, command), allowed, "allow {command}");
        assert_eq!(line(&deny, command), denied, "deny {command}");
    }
}

#[test]
fn a_wrapper_is_matched_by_a_rule_about_all_of_it() {
    let rules = user(&rule("deny", "argv = ['timeout', '**']"));
    assert_eq!(line(&rules, "timeout 5 ls"), DENY);
    assert_eq!(line(&rules, "ls"), None);
}

#[test]
fn an_evaluation_is_told_in_plain_words() {
    let rules = user(
        &(rule("allow", "argv = ['git', '**']\nreason = 'Git is fine.'")
            + &rule("ask", "argv = ['git', 'push', '**']\nreason = 'Others see it.'")),
    );
    let (action, analysis) = run("git push && ls > out $X");
    let evaluation = rules.evaluate(DEV, &action, Some(&analysis));
    assert_eq!(ids(&evaluation), ["allow", "ask"]);
    expect![[r"
        run `git push`
          allow by rule `allow` (your policy, line 1), outweighed: Git is fine.
          ask by rule `ask` (your policy, line 7): Others see it.
        run `ls $X`
          no rule is about it
        fs.writeFile on `out`
          no rule is about it
        `$X`, which stands for a value that is not known yet; no rule allows that
          no rule is about it
        a person decides
    "]]
    .assert_eq(&evaluation.explain());
}
