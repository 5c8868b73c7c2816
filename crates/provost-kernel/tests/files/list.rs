//! `fs.listFiles`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use provost_proto::Code;
use serde_json::{Value, json};

use crate::Project;

fn paths(answer: &Value) -> Vec<String> {
    let entries = answer["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn lists(project: &Project, params: Value, expected: &[&str]) {
    let answer = project.done("fs.listFiles", params.clone());
    assert_eq!(paths(&answer), expected, "{params}");
    assert_eq!(answer["cursor"], Value::Null);
}

fn tree() -> Project {
    Project::with(&[
        (".env", ""),
        (".git/info/exclude", "excluded\n"),
        (".gitignore", "target/\n*.log\n!keep.log\n/top\n"),
        ("a-b", ""),
        ("a/top", ""),
        ("a/x.rs", ""),
        ("a/deep/er/y.rs", ""),
        ("b/.gitignore", "!b.log\nlocal\n"),
        ("b/b.log", ""),
        ("b/c.log", ""),
        ("b/local", ""),
        ("excluded", ""),
        ("keep.log", ""),
        ("target/out.rs", ""),
        ("top", ""),
        ("words", ""),
        (".ignore", "words\n"),
    ])
}

#[test]
fn a_folder_is_listed_without_what_is_hidden_or_ignored() {
    let project = tree();
    lists(&project, json!({}), &["a", "a-b", "b", "keep.log"]);
    let all = json!({"hidden": true, "respectIgnore": false});
    let everything = [
        ".env",
        ".git",
        ".gitignore",
        ".ignore",
        "a",
        "a-b",
        "b",
        "excluded",
        "keep.log",
        "target",
        "top",
        "words",
    ];
    lists(&project, all, &everything);
    lists(&project, json!({"path": "b"}), &["b/b.log"]);
    // An ignored folder is listed if it is named.
    lists(&project, json!({"path": "target"}), &["target/out.rs"]);
    let hidden = json!({"hidden": true, "depth": 9, "glob": ".*"});
    lists(&project, hidden, &[".env", ".git", ".gitignore", ".ignore", "b/.gitignore"]);
}

#[test]
fn depth_and_glob_narrow_a_listing() {
    let project = tree();
    lists(&project, json!({"depth": 2, "path": "a"}), &["a/deep", "a/deep/er", "a/top", "a/x.rs"]);
    lists(&project, json!({"depth": 9, "glob": "*.rs"}), &["a/deep/er/y.rs", "a/x.rs"]);
    lists(&project, json!({"depth": 9, "glob": "a/*.rs"}), &["a/x.rs"]);
    lists(&project, json!({"depth": 9, "glob": "a/**/*.{rs,py}"}), &["a/deep/er/y.rs", "a/x.rs"]);
    let error = project.fails("fs.listFiles", json!({"glob": "a[b"}), Code::InvalidAction);
    assert!(error.message.starts_with("`glob` is not valid: "), "{error}");
    project.fails("fs.listFiles", json!({"path": "gone"}), Code::NotFound);
    project.fails("fs.listFiles", json!({"path": "a-b"}), Code::NotADirectory);
    let bad = json!({"cursor": "x/y"});
    project.fails("fs.listFiles", bad, Code::InvalidAction);
}

/// All pages.
fn pages(project: &Project, mut params: Value, limit: u32) -> Vec<String> {
    params["limit"] = json!(limit);
    let mut all = Vec::new();
    loop {
        let answer = project.done("fs.listFiles", params.clone());
        assert!(paths(&answer).len() <= limit as usize);
        all.extend(paths(&answer));
        params["cursor"] = answer["cursor"].clone();
        if params["cursor"].is_null() {
            return all;
        }
    }
}

#[test]
fn pages_of_any_size_give_the_whole_without_gaps_or_doubles() {
    let project = tree();
    let params = json!({"depth": 9, "hidden": true, "respectIgnore": false});
    let whole = pages(&project, params.clone(), 500);
    assert_eq!(whole.len(), 24);
    for limit in 1..30 {
        assert_eq!(pages(&project, params.clone(), limit), whole, "by {limit}");
    }
    let inside = pages(&project, json!({"path": "a", "depth": 9}), 1);
    assert_eq!(inside, ["a/deep", "a/deep/er", "a/deep/er/y.rs", "a/top", "a/x.rs"]);
}

#[test]
fn a_page_goes_on_behind_an_entry_that_is_gone() {
    let project = tree();
    let first = project.done("fs.listFiles", json!({"depth": 9, "limit": 2}));
    assert_eq!(paths(&first), ["a", "a/deep"]);
    fs::remove_dir_all(project.at("a/deep")).unwrap();
    let rest = project.done("fs.listFiles", json!({"depth": 9, "cursor": first["cursor"]}));
    assert_eq!(paths(&rest), ["a/top", "a/x.rs", "a-b", "b", "b/b.log", "keep.log"]);
}

/// A folder with many names, all hard links of one file, which is faster.
fn crowded(n_names: usize) -> Project {
    let project = Project::new();
    let first = project.at("f00000");
    fs::write(&first, "").unwrap();
    for n in 1..n_names {
        fs::hard_link(&first, project.at(format!("f{n:05}"))).unwrap();
    }
    project
}

#[test]
fn a_folder_of_twenty_thousand_is_listed_in_pages() {
    let project = crowded(20_000);
    let all = pages(&project, json!({}), 1999);
    assert_eq!(all.len(), 20_000);
    assert!(all.is_sorted_by(|a, b| a < b));
}

#[test]
fn of_a_folder_without_end_fifty_thousand_names_are_listed_and_that_is_said() {
    let project = crowded(50_001);
    let answer = project.done("fs.listFiles", json!({"limit": 50_000}));
    assert_eq!(paths(&answer).len(), 50_000);
    let note = "has more than 50000 names; the others are omitted";
    assert_eq!(answer["skipped"], json!([{"path": ".", "error": note}]));
}

#[test]
fn odd_names_are_shown_and_marked() {
    let project = Project::with(&[("größe", ""), ("日本", ""), ("new\nline", "")]);
    fs::write(project.at(OsStr::from_bytes(b"not-\xff-text")), "").unwrap();
    symlink("gone", project.at("link")).unwrap();
    let answer = project.done("fs.listFiles", json!({}));
    assert_eq!(paths(&answer), ["größe", "link", "new\nline", "not-\u{fffd}-text", "日本"]);
    let unusable: Vec<_> = answer["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["unusable"] == json!(true))
        .collect();
    assert_eq!(unusable, [false, false, true, true, false]);
    assert_eq!(answer["entries"][1]["kind"], "symlink");
    assert_eq!(pages(&project, json!({}), 1).len(), 5);
}
