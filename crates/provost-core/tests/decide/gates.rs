//! The hard gates, which also hold in mode `full`.

use super::*;

fn in_full(action: Action) -> &'static str {
    word(&in_mode(ProjectMode::Full, action))
}

#[test]
fn no_way_of_writing_a_protected_path_is_open_to_an_agent() {
    for command in [
        "echo x > .git/config",
        "echo x >> .git/hooks/pre-commit",
        "cd .git && echo x > config",
        "cd .git; echo x > config",
        "cd src && echo x > ../.git/config",
        "cd .. && echo x > app/.git/config",
        "echo x > ../app/.git/config",
        "echo x > /home/ann/app/.git/config",
        "echo x > /home/ann/app/src/../.git/config",
        "echo x > .GIT/config",
        "echo x > './.git//config'",
        "tee .provost/policy.toml < x",
        "cp evil .git/hooks/pre-commit",
        "cp -t .git/hooks pre-commit",
        "mv evil .claude/agents/dev.md",
        "mv .provost old",
        "ln -sf /tmp/x .envrc",
        "rm .mcp.json",
        "mkdir -p .github/workflows",
        "dd if=x of=.git/config",
        "sh -c 'echo x > .git/config'",
        "true | tee .vscode/tasks.json",
    ] {
        assert_eq!(in_full(line(command)), "deny", "{command}");
    }
    let inside = json!({ "command": "echo x > config", "cwd": ".git" });
    assert_eq!(in_full(run(inside)), "deny");
    for (name, params) in [
        ("fs.writeFile", json!({ "path": ".provost/roles/dev.md", "content": "" })),
        ("fs.editFile", json!({ "path": ".git/config", "edits": [{ "old": "a", "new": "b" }] })),
        ("fs.createDir", json!({ "path": ".claude/agents" })),
        ("fs.moveFile", json!({ "from": ".git", "to": "git" })),
        ("fs.deleteFile", json!({ "path": ".agent", "recursive": true })),
    ] {
        assert_eq!(in_full(action(name, params)), "deny", "{name}");
    }
    // A person sees the content, and can allow it each time.
    for (name, params) in [
        ("fs.moveFile", json!({ "from": "a", "to": ".envrc" })),
        ("fs.applyPatch", json!({ "patch": "--- a/.envrc\n+++ b/.envrc\n@@ -0,0 +1 @@\n+x\n" })),
        ("fs.writeFile", json!({ "path": "sub/.npmrc", "content": "" })),
        ("fs.writeFile", json!({ "path": ".cargo/config.toml", "content": "" })),
    ] {
        assert_eq!(in_full(action(name, params)), "ask", "{name}");
    }
    assert_eq!(in_full(line("echo x > .npmrc")), "deny", "nobody sees what a command writes");
    assert_eq!(in_full(line("cat .git/config")), "allow mode", "reading is not writing");
    assert_eq!(in_full(line("echo x > git/config")), "allow mode");
}

#[test]
fn deleting_everything_is_asked_for_each_time() {
    for command in [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf //",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~ann",
        "rm -rf \"$HOME\"",
        "rm -rf $HOME/*",
        "rm -rf ${PWD}",
        "rm -rf .",
        "rm -rf ./.",
        "rm -rf ./",
        "rm -rf src/..",
        "rm -rf ..",
        "rm -rf ../app",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf -- .",
        "rm -r -f src .",
        "rm . -rf",
        "rm --rec .",
        "rm --recursive --force .",
        "/bin/rm -fR .",
        "cd src && rm -rf ..",
        "cd / && rm -rf *",
        "rm -rf /home",
        "rm -rf /home/ann",
        "rm -rf /usr",
        "env rm -rf .",
        "sh -c 'rm -rf .'",
        "find . -delete",
        "find -delete",
        "find / -type f -delete",
    ] {
        assert_eq!(in_full(line(command)), "ask", "{command}");
    }
    assert_eq!(in_full(run(json!({ "command": "rm -rf ..", "cwd": "web" }))), "ask");
    for command in
        ["rm -rf target", "rm -rf ./target/*", "rm a.txt", "rm -f .", "find target -delete"]
    {
        assert_eq!(in_full(line(command)), "allow mode", "{command}");
    }
}

#[test]
fn deleting_the_project_or_a_home_by_its_absolute_name_is_asked_for_each_time() {
    let none = rules("", None);
    let homes = ["/data/people/ann".to_owned(), "/srv/bob".to_owned()];
    let (folder, homes) = (Some("/data/people/ann/code/app"), &homes[..]);
    let decided = |command: &str| {
        let policy_context =
            PolicyContext { folder, homes, ..policy_context(&none, ProjectMode::Full) };
        word(&decide(requested(line(command)), ActingRole::Trusted(&able()), &policy_context))
    };
    for command in [
        "rm -rf /data/people/ann/code/app",
        "rm -rf /data/people/ann/code/app/",
        "rm -rf /data/people/ann/code/app/*",
        "rm -rf /data/people/ann/code/app/.",
        "rm -rf /data//people/./ann/code/x/../app",
        "rm -rf /data/people/ann/code/a*",
        "rm -rf /data/people/*/code/app",
        "rm -rf /data/people/ann/code",
        "rm -rf /data/people/ann",
        "rm -rf /data/people",
        "rm -rf /srv/bob",
        "rm -rf /srv/bob/*",
        "rm -rf ~/code",
        "rm -rf $HOME/code/app/*",
        "cd /data/people/ann && rm -rf code",
        "cd /data/people/ann/code/app; rm -rf *",
        "find /data/people/ann/code/app -delete",
        "find /data/people/ann/code/app/ -type f -delete",
        "mywrap rm -rf /data/people/ann/code/app",
    ] {
        assert_eq!(decided(command), "ask", "{command}");
    }
    for command in [
        "rm -rf /data/people/ann/code/app/target",
        "rm -rf /data/people/ann/code/app/target/*",
        "rm -rf /data/people/ann/code/other",
        "rm -rf /srv/bob/tmp",
        "rm -rf ~/code/other",
        "rm -rf ~/.cache/x",
        "find /data/people/ann/code/app/target -delete",
    ] {
        assert_eq!(decided(command), "allow mode", "{command}");
    }
}

#[test]
fn leaving_the_sandbox_is_asked_for_each_time() {
    for command in [
        "sudo ls",
        "/usr/bin/sudo ls",
        "env sudo ls",
        "su -c ls",
        "run0 ls",
        "docker run alpine",
        "systemd-run --user ls",
        "systemctl --user start x",
        "busctl --user call a b c d",
        "nsenter -t 1 ls",
        "echo ls | at now",
        "flatpak-spawn --host ls",
        "timeout 5 sudo ls",
        "true && sudo ls",
    ] {
        assert_eq!(in_full(line(command)), "ask", "{command}");
    }
}

#[test]
fn what_a_program_is_given_to_read_is_not_allowed_by_a_rule_for_the_program() {
    let rules = rules("[[rule]]\nid = 'a'\neffect = 'allow'\non = ['*']\n", None);
    let decided = |params: Value| {
        let policy_context = policy_context(&rules, ProjectMode::Sandbox);
        word(&decide(requested(run(params)), ActingRole::Trusted(&able()), &policy_context))
    };
    assert_eq!(decided(json!({ "argv": ["repl", "x.db"] })), "allow rules");
    assert_eq!(decided(json!({ "argv": ["repl", "x.db"], "stdin": ".shell evil" })), "ask");
    assert_eq!(decided(json!({ "command": "sort", "stdin": "b\na\n" })), "allow rules");
    assert_eq!(decided(json!({ "command": "sort | repl", "stdin": "shell evil" })), "ask");
}
