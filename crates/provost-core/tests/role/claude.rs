//! Roles that are imported from Claude Code.

use expect_test::{Expect, expect};
use provost_core::role::{Role, RoleSource};

fn import(text: &str) -> Role {
    Role::parse(".claude/agents/reviewer.md", text, RoleSource::Claude).unwrap()
}

/// The skills, then each note on its line.
#[track_caller]
fn check(keys: &str, expected: &Expect) {
    let role = import(&format!("---\nname: reviewer\n{keys}---\nBe kind.\n"));
    let lines: Vec<_> = std::iter::once(role.skills.to_string()).chain(role.notes).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn a_file_of_that_program_becomes_a_role() {
    let role = import(
        "---\nname: code-reviewer\ndescription: Use it after every change.\n\
         tools: Read, Grep\nmodel: sonnet\ncolor: blue\n---\nYou review.\n",
    );
    assert_eq!(role.name, "code-reviewer");
    assert_eq!(role.model.as_deref(), Some("sonnet"));
    assert_eq!(role.instructions, "You review.");
    assert!(role.notes.is_empty());
    assert_eq!(import("---\nname: a\nmodel: inherit\n---\n").model, None);
}

#[test]
fn tools_become_the_skills_that_do_the_same_and_no_others() {
    check("tools: Read, Glob\n", &expect!["fs.listFiles, fs.readFile, fs.stat"]);
    check("tools: [LS, Grep]\n", &expect!["fs.listFiles, fs.searchFiles"]);
    check(
        "tools:\n  - Write\n  - Edit\n  - MultiEdit\n",
        &expect!["fs.createDir, fs.editFile, fs.writeFile"],
    );
    check(
        "tools: Bash\n",
        &expect!["terminal.list, terminal.read, terminal.runCommand, terminal.stop"],
    );
    check(
        "tools: Read, WebFetch, mcp__db__query, Task\n",
        &expect![[r"
        fs.readFile, fs.stat
        the tool `WebFetch` has no counterpart here and gives no skill
        the tool `mcp__db__query` has no counterpart here and gives no skill
        the tool `Task` has no counterpart here and gives no skill"]],
    );
    check(
        "tools: Bash(git diff:*, git log), Read\n",
        &expect![[r"
        fs.readFile, fs.stat
        the tool `Bash(git diff:*, git log)` is restricted by a pattern, which is not imported, so it gives no skill; write a role in .provost/roles and a rule instead"]],
    );
    check(
        "tools: '*'\n",
        &expect![[r"

        the tool `*` has no counterpart here and gives no skill"]],
    );
    check("tools: Read, Bash\ndisallowedTools: Bash(rm:*)\n", &expect!["fs.readFile, fs.stat"]);
}

#[test]
fn no_tools_means_none_and_it_is_said() {
    check(
        "",
        &expect![[r"

        no `tools` are listed, so this role has no skills; here, what is not given is denied"]],
    );
    check(
        "tools:\n",
        &expect![[r"

        no `tools` are listed, so this role has no skills; here, what is not given is denied"]],
    );
    check("tools: ''\n", &expect![""]);
}

#[test]
fn what_has_no_effect_here_is_said_and_what_is_unknown_is_refused() {
    check(
        "tools: Read\npermissionMode: bypassPermissions\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      \
         hooks:\n        - type: command\n          command: ./x\nmcpServers: [a]\nskills: [b]\n",
        &expect![[r"
            fs.readFile, fs.stat
            `permissionMode` has no effect here
            `skills` has no effect here
            `mcpServers` has no effect here
            `hooks` has no effect here"]],
    );
    let error =
        Role::parse("a.md", "---\nname: a\ntool: Bash\n---\n", RoleSource::Claude).unwrap_err();
    expect!["a.md:3:1: unknown field `tool`, expected one of name, description, model, tools, disallowedTools, permissionMode, maxTurns, skills, mcpServers, hooks, memory, background, effort, isolation, initialPrompt, color"].assert_eq(&error.to_string());
}
