//! Actions: what is accepted, what is refused and why, and that each has one canonical form.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod patches;
mod paths;
mod refused;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use provost_core::action::{Action, ActionKind};
use provost_proto::ProjectId;
use serde_json::{Value, json};
use uuid::Uuid;

/// Parses a valid action.
fn parse(name: &str, params: Value) -> Action {
    Action::parse(name, params).unwrap()
}

#[track_caller]
fn described(name: &str, params: Value, expected: &Expect) {
    expected.assert_eq(&parse(name, params).describe());
}

#[test]
fn what_is_done_with_the_runtime_is_described_in_plain_words() {
    for (name, params, expected) in [
        ("pty.open", json!({}), "open the project's terminal with your own shell"),
        ("pty.read", json!({}), "read the screen of your terminal"),
        ("pty.read", json!({"after": 7}), "read what your terminal printed, from byte 7"),
        (
            "pty.write",
            json!({"text": "rm -r x\r"}),
            r"type `rm -r x\r` into your own terminal, outside the sandbox",
        ),
        ("runtime.stop", json!({}), "stop the project's build and dev server and all they started"),
        ("runtime.logs", json!({}), "read what the project's build and dev server printed last"),
        (
            "runtime.logs",
            json!({"after": 7}),
            "read what the project's build and dev server printed, from byte 7",
        ),
        ("preview.fetch", json!({}), "fetch `/` from the project's preview"),
        (
            "preview.fetch",
            json!({"path": "/a?b=1", "port": 81}),
            "fetch `/a?b=1` from what the project serves on port 81",
        ),
    ] {
        assert_eq!(parse(name, params).describe(), expected);
    }
}

#[test]
fn what_the_runtime_cannot_take_is_refused() {
    for (name, params) in [
        ("pty.open", json!({"cols": 0})),
        ("pty.open", json!({"rows": 501})),
        ("pty.write", json!({"text": ""})),
        ("pty.write", json!({})),
        ("pty.read", json!({"scrollback": 2001})),
        ("runtime.run", json!({"command": "rm"})),
        ("runtime.stop", json!({"graceMs": 30_001})),
        ("runtime.logs", json!({"limit": 3})),
        ("runtime.logs", json!({"limit": 262_145})),
        ("preview.fetch", json!({"path": "a"})),
        ("preview.fetch", json!({"path": "//example.com/"})),
        ("preview.fetch", json!({"path": "/\\example.com/"})),
        ("preview.fetch", json!({"path": "/a b"})),
        ("preview.fetch", json!({"path": "/a\r\nHost: b"})),
        ("preview.fetch", json!({"path": "/#a"})),
        ("preview.fetch", json!({"port": 0})),
        ("preview.fetch", json!({"url": "http://example.com"})),
    ] {
        assert!(Action::parse(name, params.clone()).is_err(), "{name} {params}");
    }
}

#[test]
fn putting_back_is_described_in_plain_words() {
    described(
        "fs.restoreFile",
        json!({"path": "a", "id": "1f".repeat(32)}),
        &expect!["put back a, which was set aside"],
    );
}

#[test]
fn an_action_is_described_in_plain_words() {
    described(
        "fs.readFile",
        json!({"path": "README.md", "startLine": 10}),
        &expect!["read README.md from line 10"],
    );
    described(
        "fs.readFile",
        json!({"path": "a b", "offset": 5, "length": 1}),
        &expect!["read 1 byte of `a b` from byte 5"],
    );
    described(
        "fs.writeFile",
        json!({"path": "a", "content": "aGk=", "encoding": "base64"}),
        &expect!["write 2 bytes as the whole of a"],
    );
    described(
        "fs.editFile",
        json!({"path": "a", "edits": [{"old": "x", "new": "y"}]}),
        &expect!["make an edit in a"],
    );
    described(
        "fs.listFiles",
        json!({"depth": 3, "glob": "*.rs", "hidden": true}),
        &expect!["list the files of the project that match `*.rs`, 3 levels deep, hidden ones too"],
    );
    described(
        "fs.searchFiles",
        json!({"pattern": "a\nb", "path": "src", "literal": true}),
        &expect![[r"search src for the text `a\nb`"]],
    );
    described("fs.moveFile", json!({"from": "a", "to": "b"}), &expect!["move a to b"]);
    described(
        "fs.deleteFile",
        json!({"path": "a", "recursive": true}),
        &expect!["delete a and everything in it"],
    );
    described(
        "terminal.runCommand",
        json!({"command": "npm test", "cwd": "web"}),
        &expect!["run `npm test` in web/"],
    );
    described(
        "terminal.runCommand",
        json!({"argv": ["git", "commit", "-m", "it's\ndone"], "env": {"A": "1"}, "background": true}),
        &expect![[
            r"run the program `git commit -m 'it'\''s\ndone'` with A=`1`, in the background"
        ]],
    );
    described(
        "terminal.write",
        json!({"id": "p1", "text": "\u{3}y\n"}),
        &expect![[r"type `\u{3}y\n` into process `p1`"]],
    );
    described(
        "terminal.signal",
        json!({"id": "p1", "signal": "HUP"}),
        &expect!["send SIGHUP to process `p1`"],
    );
}

#[test]
fn defaults_are_filled_in_and_spellings_do_not_matter() {
    for (name, given, complete) in [
        ("fs.readFile", json!({"path": "./a"}), json!({"path": "a", "encoding": "utf-8"})),
        (
            "fs.readFile",
            json!({"path": "a", "offset": null}),
            json!({"path": "a", "encoding": "utf-8"}),
        ),
        (
            "fs.listFiles",
            json!({}),
            json!({"path": ".", "depth": 1, "hidden": false, "respectIgnore": true, "limit": 500}),
        ),
        (
            "fs.searchFiles",
            json!({"pattern": "x"}),
            json!({"pattern": "x", "literal": false, "path": ".", "globs": [], "context": 0, "limit": 200}),
        ),
        (
            "terminal.runCommand",
            json!({"command": "a"}),
            json!({"command": "a", "cwd": ".", "env": {}, "timeoutMs": 120_000, "maxOutput": 262_144, "network": false, "background": false}),
        ),
        ("terminal.read", json!({"id": "a"}), json!({"id": "a", "after": 0, "limit": 65_536})),
        ("terminal.stop", json!({"id": "a"}), json!({"id": "a", "graceMs": 2000})),
        (
            "terminal.signal",
            json!({"id": "a", "signal": "TERM"}),
            json!({"id": "a", "signal": "TERM"}),
        ),
    ] {
        assert_eq!(parse(name, given).params(), complete, "{name}");
    }
}

#[test]
fn a_hash_is_bound_to_who_asks_where_and_for_what() {
    let project = ProjectId::new(Uuid::from_u128(1));
    let other = ProjectId::new(Uuid::from_u128(2));
    let stat = parse("fs.stat", json!({"path": "a//b"}));
    let hash = stat.hash("local:me", project).unwrap();
    let text = r#"[1,"local:me","00000000-0000-0000-0000-000000000001",{"action":"fs.stat","params":{"path":"a/b"}}]"#;
    assert_eq!(hash.as_bytes(), blake3::hash(text.as_bytes()).as_bytes());
    assert_eq!(parse("fs.stat", json!({"path": "a/b"})).hash("local:me", project).unwrap(), hash);
    assert_ne!(stat.hash("local:you", project).unwrap(), hash);
    assert_ne!(stat.hash("local:me", other).unwrap(), hash);
    assert_ne!(parse("fs.stat", json!({"path": "a/c"})).hash("local:me", project).unwrap(), hash);
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof!["[a-zä.]{0,3}z", Just(".".to_owned()), Just(String::new())],
        1..4,
    )
    .prop_map(|names| format!("x{}", names.join("/")))
}

fn any_request() -> impl Strategy<Value = (&'static str, Value)> {
    let text = "(?s).{1,20}";
    let small = 1..5_u32;
    prop_oneof![
        (any_path(), small.clone())
            .prop_map(|(p, n)| ("fs.readFile", json!({"path": p, "offset": n}))),
        (any_path(), small.clone())
            .prop_map(|(p, n)| ("fs.readFile", json!({"path": p, "lineCount": n}))),
        (any_path(), text).prop_map(|(p, t)| ("fs.writeFile", json!({"path": p, "content": t}))),
        (any_path(), text).prop_map(|(p, t)| (
            "fs.editFile",
            json!({"path": p, "edits": [{"old": t, "new": ""}]})
        )),
        (any_path(), any::<bool>())
            .prop_map(|(p, b)| ("fs.listFiles", json!({"path": p, "hidden": b}))),
        (any_path(), text).prop_map(|(p, t)| ("fs.searchFiles", json!({"path": p, "pattern": t}))),
        any_path().prop_map(|p| ("fs.stat", json!({"path": p}))),
        any_path().prop_map(|p| ("fs.createDir", json!({"path": p}))),
        any_path().prop_map(|p| ("fs.moveFile", json!({"from": "y", "to": p}))),
        (any_path(), any::<bool>())
            .prop_map(|(p, b)| ("fs.deleteFile", json!({"path": p, "recursive": b}))),
        any_path().prop_map(|p| ("fs.restoreFile", json!({"path": p, "id": "1f".repeat(32)}))),
        (any_path(), "[ -~\n\t]{1,20}x")
            .prop_map(|(p, t)| ("terminal.runCommand", json!({"command": t, "cwd": p}))),
        prop::collection::vec("[ -~]{1,9}", 1..4).prop_map(|argv| (
            "terminal.runCommand",
            json!({"argv": argv, "env": {"B": "1", "A": "2"}})
        )),
        Just(("terminal.list", json!({}))),
        ("[a-z0-9]{1,9}", small)
            .prop_map(|(id, n)| ("terminal.read", json!({"id": id, "after": n}))),
        ("[a-z0-9]{1,9}", text)
            .prop_map(|(id, t)| ("terminal.write", json!({"id": id, "text": t}))),
        Just(("terminal.signal", json!({"id": "a", "signal": "USR1"}))),
        Just(("terminal.stop", json!({"id": "a"}))),
        any_path().prop_map(|p| (
            "fs.applyPatch",
            json!({"patch": format!("--- /dev/null\n+++ b/{p}\n@@ -0,0 +1 @@\n+x\n")})
        )),
    ]
}

proptest! {
    #[test]
    fn reading_an_action_again_gives_the_same_action((name, params) in any_request()) {
        let action = parse(name, params);
        prop_assert_eq!(action.name(), name);
        prop_assert!(Action::NAMES.contains(&name));
        let again = parse(name, action.params());
        prop_assert_eq!(&again, &action);
        prop_assert_eq!(again.params(), action.params());
        let wire: Action = serde_json::from_str(&serde_json::to_string(&action).unwrap()).unwrap();
        prop_assert_eq!(&wire, &action);
        let shown = action.describe();
        prop_assert!(!shown.chars().any(char::is_control), "{}", shown);
    }
}

#[test]
fn effects_are_what_the_skills_say() {
    for (name, params, effect) in [
        ("fs.stat", json!({"path": "."}), ActionKind::Read),
        ("fs.createDir", json!({"path": "a"}), ActionKind::Write),
        ("terminal.runCommand", json!({"command": "a"}), ActionKind::Run),
        ("terminal.list", json!({}), ActionKind::Process),
    ] {
        assert_eq!(parse(name, params).kind(), effect);
    }
}

#[test]
fn an_action_is_written_as_its_name_with_its_parameters() {
    for (name, params) in [
        ("fs.readFile", json!({"path": "a", "startLine": 3})),
        ("fs.applyPatch", json!({"patch": "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"})),
        ("terminal.runCommand", json!({"argv": ["make", "x"], "env": {"B": "1", "A": "b"}})),
        ("terminal.list", json!({})),
        ("pty.write", json!({"text": "ls\r"})),
        ("runtime.stop", json!({"graceMs": 5})),
    ] {
        let action = parse(name, params);
        let written = json!({ "action": name, "params": action.params() });
        assert_eq!(serde_json::to_value(&action).unwrap(), written);
        let canonical = provost_core::canonical::to_vec(&action).unwrap();
        assert_eq!(canonical, provost_core::canonical::to_vec(&written).unwrap());
    }
}
