//! Any sequence of changes has the same effect on files as on a map.

use std::collections::BTreeMap;

use proptest::prelude::*;
use provost_proto::Code;
use serde_json::{Value, json};

use crate::Project;

/// One operation on one of a few files.
#[derive(Debug, Clone)]
enum Op {
    Write(&'static str, String),
    Create(&'static str, String),
    Append(&'static str, String),
    Edit(&'static str, String, String),
    Move(&'static str, &'static str),
    Delete(&'static str),
}

fn any_op() -> impl Strategy<Value = Op> {
    let path = || prop::sample::select(vec!["a", "b", "d/a", "d/ä"]);
    let text = || "[xy\nä]{0,4}";
    prop_oneof![
        (path(), text()).prop_map(|(path, text)| Op::Write(path, text)),
        (path(), text()).prop_map(|(path, text)| Op::Create(path, text)),
        (path(), text()).prop_map(|(path, text)| Op::Append(path, text)),
        (path(), "[xy]{1,2}", text()).prop_map(|(path, old, new)| Op::Edit(path, old, new)),
        (path(), path()).prop_map(|(from, to)| Op::Move(from, to)),
        path().prop_map(Op::Delete),
    ]
}

type Files = BTreeMap<&'static str, String>;

/// The expected result.
fn imagine(files: &mut Files, op: &Op) -> Result<(), Code> {
    match op {
        Op::Create(path, _) if files.contains_key(path) => return Err(Code::Exists),
        Op::Write(path, text) | Op::Create(path, text) => drop(files.insert(path, text.clone())),
        Op::Append(path, text) => *files.entry(path).or_default() += text,
        Op::Edit(path, old, new) => {
            let content = files.get_mut(path).ok_or(Code::NotFound)?;
            let n_places = (0..content.len())
                .filter(|at| content.as_bytes()[*at..].starts_with(old.as_bytes()))
                .count();
            match n_places {
                0 => return Err(Code::NoMatch),
                1 => *content = content.replacen(old, new, 1),
                _ => return Err(Code::Ambiguous),
            }
        }
        Op::Move(from, to) => {
            let content = files.get(from).cloned().ok_or(Code::NotFound)?;
            if files.contains_key(to) {
                return Err(Code::Exists);
            }
            files.remove(from);
            files.insert(to, content);
        }
        Op::Delete(path) => drop(files.remove(path).ok_or(Code::NotFound)?),
    }
    Ok(())
}

fn request(op: &Op) -> (&'static str, Value) {
    match op {
        Op::Write(path, text) => ("fs.writeFile", json!({"path": path, "content": text})),
        Op::Create(path, text) => {
            ("fs.writeFile", json!({"path": path, "content": text, "mode": "create"}))
        }
        Op::Append(path, text) => {
            ("fs.writeFile", json!({"path": path, "content": text, "mode": "append"}))
        }
        Op::Edit(path, old, new) => {
            ("fs.editFile", json!({"path": path, "edits": [{"old": old, "new": new}]}))
        }
        Op::Move(from, to) => ("fs.moveFile", json!({"from": from, "to": to})),
        Op::Delete(path) => ("fs.deleteFile", json!({"path": path})),
    }
}

/// Whether the request is invalid for any file.
fn is_senseless(op: &Op) -> bool {
    match op {
        Op::Edit(_, old, new) => old == new,
        Op::Move(from, to) => from == to,
        Op::Write(..) | Op::Create(..) | Op::Append(..) | Op::Delete(_) => false,
    }
}

fn present(project: &Project) -> BTreeMap<String, String> {
    let listed = project.done("fs.listFiles", json!({"depth": 9, "hidden": true}));
    let entries = listed["entries"].as_array().unwrap().iter();
    entries
        .filter(|entry| entry["kind"] == "file")
        .map(|entry| {
            let read = project.done("fs.readFile", json!({"path": entry["path"]}));
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&entry["path"]), text(&read["content"]))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_changes_is_what_a_map_would_hold(ops in prop::collection::vec(any_op(), 1..24)) {
        let project = Project::new();
        let mut files = Files::new();
        for op in ops.iter().filter(|op| !is_senseless(op)) {
            let (name, params) = request(op);
            let outcome = project.attempt(name, params).map(drop).map_err(|error| error.code);
            prop_assert_eq!(outcome, imagine(&mut files, op), "{:?}", op);
        }
        let expected: BTreeMap<String, String> =
            files.into_iter().map(|(path, text)| (path.to_owned(), text)).collect();
        prop_assert_eq!(present(&project), expected);
    }
}
