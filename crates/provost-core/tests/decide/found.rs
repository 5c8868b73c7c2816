//! Files that a program finds or reads by itself do not bypass a rule about paths.

use super::*;

fn rule(effect: &str, path: &str) -> String {
    let on = "on = ['fs.*', 'terminal.runCommand']";
    format!("[[rule]]\nid = 'r'\neffect = '{effect}'\n{on}\npath = ['{path}']\n")
}

/// The decision in mode `auto`, with one rule about a path.
fn describe_decision(effect: &str, path: &str, params: Value) -> &'static str {
    let user = Policy::parse(RuleLayer::User, "policy.toml", &rule(effect, path)).unwrap();
    let rules = PolicyRules::new(Policy::builtin().unwrap(), user, None);
    word(&decide(
        requested(run(params)),
        ActingRole::Trusted(&able()),
        &policy_context(&rules, ProjectMode::Auto),
    ))
}

fn describe_command_decision(path: &str, command: &str) -> &'static str {
    describe_decision("deny", path, json!({ "command": command }))
}

#[test]
fn what_find_and_fd_run_on_what_they_find_is_asked_about_where_a_rule_denies_some_of_it() {
    for (path, command) in [
        ("conf/**", "find conf -exec cat {} +"),
        ("conf/**", "find conf -type f -exec sed -i s/a/b/ {} +"),
        ("conf/**", "find conf -type f -exec sed -i.bak s/a/b/ '{}' ';'"),
        ("conf/**", "find conf -type f -exec cp {} copy.yml ';'"),
        ("conf/**", "find conf -type f -exec cp x.yml {} ';'"),
        ("conf/**", "find conf -type f -exec mv {} {}.bak ';'"),
        ("conf/**", "find conf -type f -exec dd if={} of=x ';'"),
        ("conf/**", "find conf/prod.yml -exec cat {} +"),
        ("conf/**", "find . -exec cat {} +"),
        ("conf/**", "find -exec cat {} +"),
        ("conf/**", "find src conf -exec cat {} +"),
        ("conf/**", "find -L conf/ -name '*.yml' -exec cat {} +"),
        ("conf/**", "find $X -exec cat {} +"),
        ("conf/**", "find conf -exec env LC_ALL=C cat {} +"),
        ("conf/**", "find conf -exec cat {} + -name '*.md'"),
        ("conf/**", "find . -path './conf/*' -execdir cat prod.yml ';'"),
        ("conf/**", "find conf -execdir cat {} ';'"),
        ("conf/**", "find conf -execdir cat prod.yml ';'"),
        ("conf/**", "find conf -type f -delete"),
        ("conf/**", "find conf -name '*.yml' -delete"),
        ("out/prod.yml", "find conf -exec cp {} out ';'"),
        ("conf/**", "cd conf && find . -exec cat {} +"),
        ("conf/prod.yml", "find conf -name '*.yml' -exec cat {} +"),
        ("conf/prod.yml", "find conf/prod.yml -name '*.yml' -exec cat {} +"),
        ("conf/prod.yml", "find conf -name '*.md' -o -exec cat {} +"),
        ("conf/prod.yml", "find conf -exec true -name x ';' -exec cat {} +"),
        ("conf/prod.yml", "find conf -printf -name -exec cat {} +"),
        ("conf/prod.yml", "find conf ! -name '*.md' -exec cat {} +"),
        ("**/.env", "find . -name '*env' -exec cat {} +"),
        ("**/.env", "find . -name '*.env' -exec cat {} +"),
        ("**/.env", "find . -name '?env' -exec cat {} +"),
        ("**/.env", "find . -name '[.]env' -exec cat {} +"),
        ("**/.env", "find . -iname '.ENV' -exec cat {} +"),
        ("conf/**", "fd . conf -x cat"),
        ("conf/**", "fd . conf -X cat {}"),
        ("conf/**", "fd -Hx cat"),
        ("conf/**", "fd yml --exec rm {/}"),
    ] {
        assert_ne!(describe_command_decision(path, command), "allow mode", "{path}: {command}");
    }
    for (path, command) in [
        ("conf/**", "find src -exec cat {} +"),
        ("conf/**", "find src/conf -name '*.rs' -exec wc -l {} +"),
        ("conf/**", "find conf -name '*.yml'"),
        ("conf/**", "find conf -exec basename {} ';'"),
        ("**/.env", "find . -name '*.rs' -exec wc -l {} +"),
        ("**/.env", "find . -type f -name '*.py' -exec sed -i s/a/b/ {} +"),
        ("**/.env", "find target -name '*.o' -delete"),
        ("conf/**", "fd . conf"),
    ] {
        assert_eq!(describe_command_decision(path, command), "allow mode", "{path}: {command}");
    }
}

#[test]
fn what_xargs_reads_is_asked_about_where_a_rule_denies_or_asks_about_some_paths() {
    for params in [
        json!({ "command": "xargs cat", "stdin": ".env" }),
        json!({ "command": "xargs -0 -n 1 cat --" }),
        json!({ "command": "printf '.e%s' nv | xargs cat" }),
        json!({ "command": "ls -A | xargs touch" }),
        json!({ "command": "ls -A | xargs rm" }),
        json!({ "command": "ls -A | xargs grep x" }),
        json!({ "command": "ls -A | xargs -n1 sed -i s/a/b/" }),
        json!({ "command": "ls -A | xargs env cat" }),
        json!({ "command": "ls -A | xargs cp -t out" }),
        json!({ "command": "ls -A | xargs mytool" }),
        json!({ "command": "ls -A | xargs -I{} cat {}" }),
        json!({ "command": "ls -A | xargs -I% cp % out.txt" }),
        json!({ "command": "ls -A | xargs -I % dd if=% of=x" }),
        json!({ "argv": ["xargs", "cat"], "stdin": ".env" }),
    ] {
        for (effect, path) in [("deny", "**/.env"), ("ask", "conf/**"), ("deny", "a/b/c.yml")] {
            assert_eq!(describe_decision(effect, path, params.clone()), "ask", "{path}: {params}");
        }
    }
    for command in ["ls | xargs echo", "ls | xargs -n1 basename", "ls | xargs -I{} stat {}"] {
        assert_eq!(describe_command_decision("**/.env", command), "allow mode", "{command}");
    }
}

#[test]
fn where_no_rule_of_ones_own_is_about_paths_find_and_xargs_are_not_asked_about() {
    let builtin =
        PolicyRules::new(Policy::builtin().unwrap(), Policy::empty(RuleLayer::User), None);
    let describe_decision = |params: Value| {
        let policy_context = policy_context(&builtin, ProjectMode::Auto);
        word(&decide(requested(run(params)), ActingRole::Trusted(&able()), &policy_context))
    };
    for command in [
        "find . -type f -exec wc -l {} +",
        "find src -name '*.rs' -exec grep -n x {} +",
        "find . -name '*.json' -exec cat {} +",
        "find target -delete",
        "find src -execdir cat x.rs ';'",
        "git ls-files | xargs wc -l",
        "ls | xargs -I{} cp {} out/",
        "rg -l x | xargs grep -n y",
    ] {
        assert_eq!(describe_decision(json!({ "command": command })), "allow mode", "{command}");
    }
    // The input in the request is analyzed.
    assert_eq!(
        describe_decision(json!({ "command": "xargs cat", "stdin": "a.txt\n.env\n" })),
        "ask"
    );
    assert_eq!(
        describe_decision(json!({ "command": "xargs cat", "stdin": "a.txt\n" })),
        "allow mode"
    );
}

#[test]
fn a_patch_in_the_request_that_names_what_a_rule_denies_is_asked_about() {
    let patch = |file: &str| format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-a .env\n+conf/b\n");
    let on_write = rule("deny", "conf/**").replace("'fs.*', 'terminal.runCommand'", "'fs.write'");
    let decided = |params: Value| {
        let rules = rules(&on_write, None);
        word(&decide(
            requested(run(params)),
            ActingRole::Trusted(&able()),
            &policy_context(&rules, ProjectMode::Full),
        ))
    };
    let moved = "diff --git a/x b/conf/x\nrename from x\nrename to conf/x\n";
    for command in ["git apply", "git apply --index -", "git -C . am", "patch -p1", "env patch -p0"]
    {
        for (text, expected) in [
            (patch("conf/prod"), "ask"),
            (moved.to_owned(), "ask"),
            (patch("src/a.rs"), "allow mode"),
        ] {
            let params = json!({ "command": command, "stdin": text });
            assert_eq!(decided(params.clone()), expected, "{params}");
        }
    }
    let data = json!({ "command": "wc -l", "stdin": patch("conf/prod") });
    assert_eq!(decided(data), "allow mode");
}
