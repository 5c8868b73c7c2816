//! Harmless commands need no approval, and those that only look harmless do.

use super::*;
use provost_core::command::CommandEffect;

fn describe_decision(mode: ProjectMode, command: &str) -> &'static str {
    let builtin =
        PolicyRules::new(Policy::builtin().unwrap(), Policy::empty(RuleLayer::User), None);
    word(&decide(
        requested(line(command)),
        ActingRole::Trusted(&able()),
        &policy_context(&builtin, mode),
    ))
}

/// The files that a line writes.
fn written(command: &str) -> Vec<String> {
    let bound = requested(line(command));
    let writes = bound.command_effects().iter().filter_map(|effect| match effect {
        CommandEffect::Write { path, .. } => Some(path.clone()),
        CommandEffect::Run(_) | CommandEffect::Read { .. } | CommandEffect::ReadOperand { .. } => {
            None
        }
    });
    writes.collect()
}

#[test]
fn in_mode_auto_scripts_that_are_named_and_words_that_only_look_are_let_through() {
    for command in [
        "node --test",
        "node --test tests/a.test.js",
        "node --test --test-name-pattern=x",
        "node --max-old-space-size=4096 x.js",
        "node --watch x.js",
        "node --watch",
        "node --no-warnings --enable-source-maps x.js",
        "python3 -W ignore x.py",
        "python3 -Wignore x.py",
        "python3 -W error::DeprecationWarning x.py",
        "python3 -X dev x.py",
        "python3 -Xutf8 x.py",
        "python3 -X importtime x.py",
        "python3 -u x.py",
        "python3 -uB x.py",
        "python3 -um pytest tests/a.py",
        "python3 -Im venv .venv",
        "sed -ne '1,5p' x",
        "sed -ne 's/a/b/p' x",
        "sed -n 1,20p x",
        "sed -nE '/a/,/b/p' x",
        "sed -i.bak 's/a/b/' x",
        "sed --in-place=.bak 's/a/b/' x",
        "sed -e 's/a/b/' -e '/c/d' x",
        "sed '/x/{n;d}' x",
        "sed ':a;N;$!ba;s/x/ /g' x",
        "sed '1i # a comment' x",
        "sed --sandbox \"s/a/$B/\" x",
        "awk '$3 > 5 {print $1}' x",
        "awk -F: '$3 >= 1000 || $1 == \"me\" {print $1}' x",
        "awk '/a|b/ {n++} END {print n}' x",
        "awk '{ if ($1 > 2) print $2 }' x",
        "awk '{print $1 > \"out.txt\"}' x",
        "git config user.name",
        "git config --get user.email",
        "git config --list --show-origin",
        "git config get user.name",
        "git submodule status",
        "git submodule status --recursive",
        "git submodule",
        "git grep event.key",
        "git grep -n event.key -- src",
        "git grep -e event.key",
        "git log -S x.key --grep x.key",
        "git log -Sx.key --author=x.key --since 1.week",
        "git diff -G x.key",
        "grep -e event.key src/x.rs",
        "rg -e event.key src",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "allow mode", "{command}");
    }
}

#[test]
fn in_mode_auto_what_only_looks_like_these_is_asked_about() {
    for command in [
        "node",
        "node -",
        "node --test -r ./x.js",
        "python3 -u",
        "python3 -W ignore",
        "python3 -W ignore $F",
        "sed -ne '1e id' x",
        "sed -n 'w out' x",
        "sed -f x.sed x",
        "sed -i 's/a/b/e' x",
        "sed -e p -e '1e id' x",
        "sed \"s/a/$B/\" x",
        "sed -n \"$X\" x",
        "sed p $X",
        "sed '/x/{e}' x",
        "awk \"$X\" x",
        "awk '{print | \"sh\"}' x",
        "awk 'BEGIN{system(\"id\")}'",
        "awk '{print > $1}' x",
        "awk 'BEGIN{ARGV[1]=\".env\";ARGC=2}1' x",
        "awk -f x.awk x",
        "git config user.name me",
        "git config --add a.b c",
        "git config --unset a.b",
        "git config --edit",
        "git config -f .env --list",
        "git config --file=.env --list",
        "git config $X",
        "git submodule foreach ls",
        "git submodule update --init",
        "git grep x -- .env",
        "git grep x .env",
        "git grep -e x .env",
        "git grep -f .env",
        "git grep -ie x .env",
        "git grep x HEAD:.env",
        "git log -p -S x -- .env",
        "git blame -S .env x",
        "git --odd grep show HEAD:.env",
        "grep -e x .env",
        "jq . -e .env",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "ask", "{command}");
    }
}

#[test]
fn what_edits_a_file_where_it_lies_writes_that_file() {
    for (command, paths) in [
        ("sed -i.bak s/a/b/ x.txt", &["x.txt", "x.txt.bak"][..]),
        ("sed -i s/a/b/ x.txt y.txt", &["x.txt", "y.txt"]),
        ("sed -ni p x.txt", &["x.txt"]),
        ("sed -n p x.txt", &[]),
        ("awk '{print > \"out.txt\"}' x", &["out.txt"]),
        ("awk '$1 > 5' x", &[]),
    ] {
        assert_eq!(written(command), paths, "{command}");
    }
    for command in [
        "sed -i.bak s/a/b/ .git/config",
        "sed -i s/a/b/ .provost/roles/dev.md",
        "awk '{print > \".git/config\"}' x",
    ] {
        assert_eq!(describe_decision(ProjectMode::Full, command), "deny", "{command}");
    }
    assert_eq!(
        describe_decision(ProjectMode::Sandbox, "sed -i.bak s/a/b/ x"),
        "ask",
        "in sandbox, writing asks"
    );
}

#[test]
fn of_an_interpreter_with_options_the_script_is_what_runs() {
    let pins = ["ignore", "x.py", "dev", "pipefail", "x.sh"].map(|path| pin(path, "x"));
    for (command, script) in [
        ("python3 -W ignore x.py", "x.py"),
        ("python3 -X dev x.py", "x.py"),
        ("bash -o pipefail x.sh", "x.sh"),
        ("python3 x.py ignore", "x.py"),
    ] {
        assert_eq!(requested(line(command)).pinned_programs("/p", &pins), [script], "{command}");
    }
    for command in ["python3 -W ignore $F", "bash -o pipefail $F", "node --test"] {
        assert!(requested(line(command)).unpinned_reason("/p", &pins).is_some(), "{command}");
    }
    assert_eq!(requested(line("node --test x.py")).unpinned_reason("/p", &pins), None);
}

#[test]
fn in_mode_auto_what_a_rule_is_about_is_not_hidden_by_a_variable_a_glob_or_another_program() {
    for command in [
        "f=.env; cat $f",
        "f=.env; cat < $f",
        "for f in .env; do cat $f; done",
        "cat $(echo .env)",
        "echo .env | xargs cat",
        "printf '%s' web/.env | xargs cat",
        "find . -name .env -exec cat {} ';'",
        "find . -name .env | xargs cat",
        "find . -name '.e*' -exec cat {} +",
        "for f in .*; do cat \"$f\"; done",
        "find / -name '*.key' -exec cat {} +",
        "git cat-file -p $(git rev-parse HEAD:.env)",
        "git config --blob HEAD:.env --list",
        "x=env; cat .$x",
        "cat $'\\x2eenv'",
        "cat .en[v]",
        "cat .e*",
        "cat ./.env*",
        "cat \"$PWD/.env\"",
        "cd /tmp && cat $OLDPWD/.env",
        "cat ~/.ssh/id_rsa",
        "cat $HOME/.ssh/*",
        "cat certs/*.key",
        "cat secrets/$X",
        "awk '{print}' ./.e*",
        "grep -rn '' --include=.env .",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "ask", "{command}");
    }
    for command in [
        "for f in src/*; do cat $f; done",
        "cat .eslintrc*",
        "cat *.json",
        "cat $X",
        "cat $X/main.rs",
        "find . -name '*.rs' -exec cat {} +",
        "find . -name .env",
        "test -f .env",
        "grep -rn key --include=*.rs $X",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "allow mode", "{command}");
    }
}

#[test]
fn in_mode_auto_what_is_not_known_is_no_way_to_an_option_that_runs_something() {
    for command in [
        "X='-exec git push ;'; find . $X",
        "find . \"$X\"",
        "X='--checkpoint-action=exec=git push'; tar cf x \"$X\" .",
        "X='-e git push'; rsync $X a b",
        "source <(echo Z2l0IHB1c2g= | base64 -d)",
        ". /dev/stdin < x",
        "git merge-index 'git push' -a",
        "pylint --init-hook='import os; os.system(\"git push\")' a",
        "exiftool -if 'system(\"git push\")' a",
        "gcc -wrapper git,push a.c",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "ask", "{command}");
    }
    for command in [
        "find . -name \"$X\"",
        "find src/* -name x",
        "tar czf \"$OUT\" src",
        "cargo test $X",
        "source venv/bin/activate",
        "gcc -O2 a.c",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "allow mode", "{command}");
    }
    // What an option runs can change, so the named files are pinned.
    for (command, file) in [
        ("gcc -fplugin=./x.so a.c", "x.so"),
        ("rsync -e ./x a b", "x"),
        ("sort --compress-program=./x a", "x"),
        ("pandoc --filter ./x a.md", "x"),
        ("mocha -r ./x", "x.js"),
        ("go vet -vettool=./x", "x"),
        ("javac -J-javaagent:x.jar A.java", "x.jar"),
    ] {
        let bound = requested(line(command));
        assert!(bound.unpinned_reason("/p", &[]).is_some(), "{command}");
        assert!(bound.script_paths("/p").iter().any(|it| it.as_str() == file), "{command}");
    }
}

#[test]
fn in_mode_auto_code_in_the_line_is_let_through_as_a_script_is() {
    for command in [
        "python3 -c 'print(1)'",
        "python3.12 -c 'import json, sys; print(json.load(sys.stdin))' < a.json",
        "node -e 'console.log(1 + 1)'",
        "perl -e 1",
        "node -p 1",
        "python3 -uc 'print(1)'",
        "perl -pi -e 's/a/b/' src/x.rs",
        "ruby -e 'puts 1'",
        "python3 - <<E\nimport os\nprint(os.getcwd())\nE",
        "python3 - <<'E' | head -3\nprint(1)\nE",
        "i=1; echo $((i+1))",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "arr=(a b); echo ${arr[0]}",
        "x=abc; echo ${x:1:$n}",
    ] {
        assert_eq!(describe_decision(ProjectMode::Auto, command), "allow mode", "{command}");
        assert_eq!(describe_decision(ProjectMode::Sandbox, command), "ask", "{command}");
    }
}

#[test]
fn code_in_the_line_is_asked_about_where_a_rule_denies_commands() {
    let denied = rules(
        "[[rule]]\nid = 'r'\neffect = 'deny'\non = ['terminal.runCommand']\nargv = ['gitx']\n",
        None,
    );
    let describe_decision = |command: &str| {
        let context = policy_context(&denied, ProjectMode::Auto);
        word(&decide(requested(line(command)), ActingRole::Trusted(&able()), &context))
    };
    assert_eq!(describe_decision("python3 -c 'print(1)'"), "ask");
    assert_eq!(describe_decision("python3 x.py"), "allow mode");
}
