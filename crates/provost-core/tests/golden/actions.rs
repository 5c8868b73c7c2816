//! Every action: its name, its parameters in canonical form, its hash.

use std::fmt::Write as _;

use expect_test::expect_file;
use provost_core::action::Action;
use provost_core::canonical;
use serde_json::{Value, json};

use crate::id;

#[test]
fn actions_keep_their_names() {
    let names = Action::NAMES.join("\n");
    expect_file!["files/action_names.txt"].assert_eq(&format!("{names}\n"));
}

#[test]
fn actions_keep_their_parameters_and_hashes() {
    let mut text = String::new();
    for name in Action::NAMES {
        for params in samples(name) {
            let action = Action::parse(name, params).unwrap();
            let json = String::from_utf8(canonical::to_vec(&action).unwrap()).unwrap();
            assert_eq!(serde_json::from_str::<Action>(&json).unwrap(), action);
            assert_eq!(Action::parse(name, action.params()).unwrap(), action);
            let hash = action.hash("local:ann", id(1)).unwrap();
            writeln!(text, "{hash} {json}").unwrap();
        }
    }
    expect_file!["files/actions.txt"].assert_eq(&text);
}

/// Parameters with everything left out that may be, and with everything filled in.
fn samples(name: &str) -> Vec<Value> {
    match name.split_once('.').unwrap().0 {
        "fs" => file_samples(name),
        "terminal" => process_samples(name),
        _ => runtime_samples(name),
    }
}

const PATCH: &str = "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+b\n";

fn file_samples(name: &str) -> Vec<Value> {
    let hash = "11".repeat(32);
    match name {
        "fs.readFile" => vec![
            json!({ "path": "a" }),
            json!({ "path": "a", "offset": 1, "length": 2, "encoding": "base64" }),
            json!({ "path": "a", "startLine": 3, "lineCount": 4, "encoding": "utf-8" }),
        ],
        "fs.writeFile" => vec![
            json!({ "path": "a", "content": "x" }),
            json!({ "path": "a", "content": "eA==", "encoding": "base64", "mode": "append" }),
            json!({ "path": "a", "content": "x", "mode": "create" }),
            json!({ "path": "a", "content": "x", "mode": "overwrite", "expectHash": hash }),
        ],
        "fs.editFile" => vec![
            json!({ "path": "a", "edits": [{ "old": "x", "new": "y" }] }),
            json!({ "path": "a", "edits": [{ "old": "x", "new": "", "all": true }], "expectHash": hash }),
        ],
        "fs.applyPatch" => {
            vec![json!({ "patch": PATCH }), json!({ "patch": PATCH, "atomic": false })]
        }
        "fs.listFiles" => vec![
            json!({}),
            json!({
                "path": "src", "depth": 3, "glob": "*.rs", "hidden": true, "respectIgnore": false,
                "limit": 7, "cursor": "YQ",
            }),
        ],
        "fs.searchFiles" => vec![
            json!({ "pattern": "x" }),
            json!({
                "pattern": "x+", "literal": true, "path": "src", "globs": ["*.rs"], "context": 2,
                "limit": 7,
            }),
        ],
        "fs.stat" => vec![json!({ "path": "." })],
        "fs.createDir" => vec![json!({ "path": "a/b" })],
        "fs.moveFile" => vec![json!({ "from": "a", "to": "b" })],
        "fs.deleteFile" => vec![json!({ "path": "a" }), json!({ "path": "a", "recursive": true })],
        "fs.restoreFile" => vec![json!({ "path": "a", "id": hash })],
        other => panic!("no sample of {other}"),
    }
}

fn process_samples(name: &str) -> Vec<Value> {
    let id = "0190b3c4-0000-7000-8000-000000000001";
    match name {
        "terminal.runCommand" => vec![
            json!({ "command": "cargo test" }),
            json!({
                "argv": ["cargo", "test"], "cwd": "sub", "env": { "A": "1" }, "stdin": "y\n",
                "timeoutMs": 1000, "maxOutput": 2048, "network": true,
            }),
            json!({ "command": "npm run dev", "background": true }),
        ],
        "terminal.list" => vec![json!({})],
        "terminal.read" => {
            vec![json!({ "id": id }), json!({ "id": id, "after": 7, "limit": 100 })]
        }
        "terminal.write" => {
            vec![json!({ "id": id, "text": "y\n" }), json!({ "id": id, "eof": true })]
        }
        "terminal.signal" => ["TERM", "INT", "HUP", "KILL", "USR1", "USR2", "QUIT", "STOP", "CONT"]
            .map(|signal| json!({ "id": id, "signal": signal }))
            .to_vec(),
        "terminal.stop" => vec![json!({ "id": id }), json!({ "id": id, "graceMs": 500 })],
        other => panic!("no sample of {other}"),
    }
}

fn runtime_samples(name: &str) -> Vec<Value> {
    match name {
        "pty.open" => vec![json!({}), json!({ "cols": 120, "rows": 40 })],
        "pty.read" => vec![json!({}), json!({ "scrollback": 5, "after": 7, "limit": 100 })],
        "pty.write" => vec![json!({ "text": "ls\r" })],
        "runtime.run" | "runtime.build" | "runtime.status" => vec![json!({})],
        "runtime.stop" | "runtime.restart" => vec![json!({}), json!({ "graceMs": 500 })],
        "runtime.logs" => vec![json!({}), json!({ "after": 7, "limit": 100 })],
        "preview.fetch" => vec![json!({}), json!({ "path": "/a", "port": 5173, "limit": 100 })],
        other => panic!("no sample of {other}"),
    }
}
