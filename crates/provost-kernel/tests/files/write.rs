//! `fs.writeFile`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use provost_proto::Code;
use serde_json::json;

use crate::{Project, changed, hash};

#[test]
fn a_file_is_made_replaced_and_added_to() {
    let project = Project::new();
    let made = project.done("fs.writeFile", json!({"path": "f", "content": "one"}));
    assert_eq!((&made["created"], &made["size"]), (&json!(true), &json!(3)));
    assert_eq!((changed(&made), &made["hash"]), (vec!["created f".into()], &json!(hash("one"))));
    let again = project.done("fs.writeFile", json!({"path": "f", "content": "two"}));
    assert_eq!((changed(&again), &again["created"]), (vec!["modified f".into()], &json!(false)));
    let more = project.done("fs.writeFile", json!({"path": "f", "content": "+", "mode": "append"}));
    assert_eq!((&more["size"], &more["hash"]), (&json!(4), &json!(hash("two+"))));
    project.holds("f", "two+");
    let bytes = json!({"path": "b", "content": "/wA=", "encoding": "base64"});
    project.done("fs.writeFile", bytes);
    assert_eq!(fs::read(project.at("b")).unwrap(), b"\xff\x00");
    assert_eq!(project.names(), ["b", "f"], "nothing else is left behind");
}

#[test]
fn folders_on_the_way_are_made() {
    let project = Project::with(&[("a/", ""), ("f", "")]);
    let made = project.done("fs.writeFile", json!({"path": "a/b/c/f", "content": "x"}));
    assert_eq!(changed(&made), ["created a/b", "created a/b/c", "created a/b/c/f"]);
    project.fails("fs.writeFile", json!({"path": "f/x", "content": ""}), Code::NotADirectory);
    project.fails("fs.writeFile", json!({"path": "a", "content": ""}), Code::IsDirectory);
}

#[test]
fn create_does_not_replace() {
    let project = Project::with(&[("f", "old")]);
    project.fails(
        "fs.writeFile",
        json!({"path": "f", "content": "", "mode": "create"}),
        Code::Exists,
    );
    project.holds("f", "old");
}

#[test]
fn only_the_content_that_was_seen_is_replaced() {
    let project = Project::with(&[("f", "old")]);
    let write = |hash: String, mode: &str| json!({"path": "f", "content": "new", "mode": mode, "expectHash": hash});
    let error = project.fails("fs.writeFile", write(hash("other"), "overwrite"), Code::Conflict);
    assert_eq!(error.details.unwrap()["hash"], json!(hash("old")));
    project.holds("f", "old");
    project.done("fs.writeFile", write(hash("old"), "overwrite"));
    project.done("fs.writeFile", write(hash("new"), "append"));
    project.holds("f", "newnew");
    let gone = json!({"path": "d/gone", "content": "", "expectHash": hash("")});
    project.fails("fs.writeFile", gone, Code::NotFound);
    let gone = json!({"path": "gone", "content": "", "expectHash": hash("")});
    project.fails("fs.writeFile", gone, Code::Conflict);
    assert_eq!(project.names(), ["f"]);
}

#[test]
fn ten_megabytes_are_written_and_permissions_kept() {
    let project = Project::with(&[("f", "old")]);
    fs::set_permissions(project.at("f"), fs::Permissions::from_mode(0o750)).unwrap();
    let content = "0123456789".repeat(1_000_000);
    let answer = project.done("fs.writeFile", json!({"path": "f", "content": content}));
    assert_eq!(answer["hash"], json!(hash(&content)));
    assert_eq!(fs::metadata(project.at("f")).unwrap().permissions().mode() & 0o777, 0o750);
}
