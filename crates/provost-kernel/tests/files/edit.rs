//! `fs.editFile`.

use std::fs;

use provost_proto::Code;
use serde_json::{Value, json};

use crate::{Project, changed, hash};

#[track_caller]
fn edit(before: &str, edits: &Value, after: &str) {
    let project = Project::with(&[("f", before)]);
    let answer = project.done("fs.editFile", json!({"path": "f", "edits": edits}));
    project.holds("f", after);
    assert_eq!(answer["hash"], json!(hash(after)));
    assert_eq!(answer["size"], json!(after.len()));
    assert_eq!(changed(&answer), ["modified f"]);
}

#[test]
fn edits_are_applied_one_after_the_other() {
    edit("a b c", &json!([{"old": "b", "new": "B"}]), "a B c");
    edit("a b c", &json!([{"old": "a", "new": "x"}, {"old": "x b", "new": "y"}]), "y c");
    edit("a a a", &json!([{"old": "a", "new": "bb", "all": true}]), "bb bb bb");
    edit("aaaa", &json!([{"old": "aa", "new": "b", "all": true}]), "bb");
    edit("no end", &json!([{"old": " end", "new": ""}]), "no");
    edit("日本", &json!([{"old": "本", "new": "光"}]), "日光");
}

#[test]
fn line_ends_of_windows_are_kept() {
    let edits = json!([{"old": "one\ntwo\n", "new": "1\n2\n"}]);
    edit("zero\r\none\r\ntwo\r\n", &edits, "zero\r\n1\r\n2\r\n");
    // In a file with mixed line ends, only exact matches are replaced.
    let project = Project::with(&[("f", "one\r\ntwo\nthree\n")]);
    project.fails("fs.editFile", json!({"path": "f", "edits": edits}), Code::NoMatch);
}

#[test]
fn a_text_that_is_not_there_is_no_match() {
    let project = Project::with(&[("f", "fn a() {\n    one();\n}\n"), ("empty", "")]);
    let edits = json!([{"old": "one()", "new": "two()"}, {"old": "fn a() {\n  two", "new": "x"}]);
    let error = project.fails("fs.editFile", json!({"path": "f", "edits": edits}), Code::NoMatch);
    assert_eq!(
        error.message,
        "f: edit 2: the text to replace is not in the file; line 1 is like its first line, so \
         spaces or later lines differ"
    );
    assert_eq!(error.details.unwrap(), json!({"edit": 2, "near": 1}));
    project.holds("f", "fn a() {\n    one();\n}\n");
    let edits = json!([{"old": "x", "new": "y"}]);
    project.fails("fs.editFile", json!({"path": "empty", "edits": edits}), Code::NoMatch);
    project.fails("fs.editFile", json!({"path": "gone", "edits": edits}), Code::NotFound);
    assert_eq!(project.names(), ["empty", "f"]);
}

#[test]
fn a_text_that_is_there_twice_is_ambiguous() {
    let project = Project::with(&[("f", "x\ny\nx\n"), ("over", "aaa")]);
    let edits = json!([{"old": "x", "new": "z"}]);
    let error = project.fails("fs.editFile", json!({"path": "f", "edits": edits}), Code::Ambiguous);
    assert_eq!(error.details.unwrap(), json!({"edit": 1, "matches": 2, "lines": [1, 3]}));
    let edits = json!([{"old": "aa", "new": "z"}]);
    project.fails("fs.editFile", json!({"path": "over", "edits": edits}), Code::Ambiguous);
    project.holds("f", "x\ny\nx\n");
}

#[test]
fn a_file_changed_since_it_was_read_is_a_conflict() {
    let project = Project::with(&[("f", "one")]);
    let read = project.done("fs.readFile", json!({"path": "f"}));
    fs::write(project.at("f"), "one, and somebody else's").unwrap();
    let edits = json!([{"old": "one", "new": "two"}]);
    let params = json!({"path": "f", "edits": edits, "expectHash": read["hash"]});
    project.fails("fs.editFile", params, Code::Conflict);
    project.holds("f", "one, and somebody else's");
}

#[test]
fn an_edit_cannot_make_a_file_too_long() {
    let project = Project::with(&[("f", &"a".repeat(1 << 20))]);
    let edits = json!([{"old": "a", "new": "b".repeat(17), "all": true}]);
    project.fails("fs.editFile", json!({"path": "f", "edits": edits}), Code::TooLarge);
}

#[test]
fn a_file_that_is_not_text_is_edited_where_it_is() {
    let project = Project::new();
    fs::write(project.at("f"), b"\xff\xfeversion=1\x00").unwrap();
    let edits = json!([{"old": "version=1", "new": "version=2"}]);
    project.done("fs.editFile", json!({"path": "f", "edits": edits}));
    assert_eq!(fs::read(project.at("f")).unwrap(), b"\xff\xfeversion=2\x00");
}
