//! `fs.stat`, `fs.createDir`, `fs.moveFile`, `fs.deleteFile`.

use std::fs;
use std::os::unix::fs::symlink;

use provost_proto::Code;
use serde_json::json;

use crate::{Project, changed};

#[test]
fn stat_says_what_something_is_without_following_it() {
    let project = Project::with(&[("f", "12345"), ("d/", "")]);
    symlink("/etc/passwd", project.at("out")).unwrap();
    let stat = |path: &str| project.done("fs.stat", json!({"path": path}));
    assert_eq!((&stat("f")["kind"], &stat("f")["size"]), (&json!("file"), &json!(5)));
    assert_eq!(stat("d")["kind"], "directory");
    assert_eq!(stat(".")["kind"], "directory");
    let link = stat("out");
    assert_eq!((&link["kind"], &link["target"]), (&json!("symlink"), &json!("/etc/passwd")));
    project.fails("fs.stat", json!({"path": "gone"}), Code::NotFound);
    project.fails("fs.stat", json!({"path": "out/x"}), Code::OutsideProject);
}

#[test]
fn a_folder_is_made_with_those_above_it() {
    let project = Project::with(&[("f", "")]);
    let made = project.done("fs.createDir", json!({"path": "a/b/c"}));
    assert_eq!(changed(&made), ["created a", "created a/b", "created a/b/c"]);
    let again = project.done("fs.createDir", json!({"path": "a/b/c"}));
    assert_eq!((changed(&again).len(), &again["created"]), (0, &json!(false)));
    project.fails("fs.createDir", json!({"path": "f"}), Code::NotADirectory);
    project.fails("fs.createDir", json!({"path": "f/d"}), Code::NotADirectory);
}

#[test]
fn a_move_never_replaces() {
    let project = Project::with(&[("a", "A"), ("b", "B"), ("d/x", "")]);
    project.fails("fs.moveFile", json!({"from": "a", "to": "b"}), Code::Exists);
    project.fails("fs.moveFile", json!({"from": "a", "to": "d"}), Code::Exists);
    project.fails("fs.moveFile", json!({"from": "gone", "to": "new/c"}), Code::NotFound);
    assert!(!project.at("new").exists(), "no folder is made for nothing");
    project.fails("fs.moveFile", json!({"from": ".", "to": "c"}), Code::ProtectedPath);
    let moved = project.done("fs.moveFile", json!({"from": "a", "to": "n/a"}));
    assert_eq!(changed(&moved), ["created n", "moved n/a"]);
    assert_eq!(moved["changed"][1]["from"], "a");
    project.done("fs.moveFile", json!({"from": "d", "to": "e"}));
    project.holds("n/a", "A");
    project.holds("b", "B");
    project.holds("e/x", "");
}

#[test]
fn a_folder_is_deleted_with_what_is_in_it_only_when_asked() {
    let project = Project::with(&[("d/e/f", ""), ("f", ""), ("empty/", "")]);
    symlink(&project.outside, project.at("d/out")).unwrap();
    project.fails("fs.deleteFile", json!({"path": "d"}), Code::NotEmpty);
    project.fails("fs.deleteFile", json!({"path": "."}), Code::ProtectedPath);
    project.fails("fs.deleteFile", json!({"path": ".", "recursive": true}), Code::ProtectedPath);
    project.fails("fs.deleteFile", json!({"path": "gone"}), Code::NotFound);
    assert_eq!(changed(&project.done("fs.deleteFile", json!({"path": "f"}))), ["deleted f"]);
    project.done("fs.deleteFile", json!({"path": "empty"}));
    project.done("fs.deleteFile", json!({"path": "d", "recursive": true}));
    assert!(project.names().is_empty());
    assert_eq!(fs::read_to_string(project.outside.join("secret")).unwrap(), "SECRET\n");
}
