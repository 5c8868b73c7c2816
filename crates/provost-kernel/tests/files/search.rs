//! `fs.searchFiles`.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use provost_core::action::Action;
use provost_kernel::files;
use provost_proto::Code;
use serde_json::{Value, json};

use crate::Project;

/// `path:line:column:text` of each match.
fn lines(answer: &Value) -> Vec<String> {
    let one = |found: &Value| {
        format!(
            "{}:{}:{}:{}",
            found["path"].as_str().unwrap(),
            found["line"],
            found["column"],
            found["text"].as_str().unwrap()
        )
    };
    answer["matches"].as_array().unwrap().iter().map(one).collect()
}

#[track_caller]
fn finds(project: &Project, params: Value, expected: &[&str]) {
    let answer = project.done("fs.searchFiles", params.clone());
    assert_eq!(lines(&answer), expected, "{params}");
    assert_eq!(answer["truncated"], json!(false));
}

fn tree() -> Project {
    Project::with(&[
        (".env", "KEY=needle\n"),
        (".gitignore", "target\n"),
        ("a.rs", "one\nneedle here\nthree\n"),
        ("b/c.py", "no end: a needle"),
        ("b/crlf.txt", "needle\r\nnext\r\n"),
        ("binary", "needle\n\0needle\n"),
        ("empty", ""),
        ("target/x.rs", "needle\n"),
        ("ünï/日.txt", "ä needle\n"),
    ])
}

#[test]
fn lines_are_found_in_the_order_of_a_listing() {
    let project = tree();
    let all = [
        "a.rs:2:1:needle here",
        "b/c.py:1:11:no end: a needle",
        "b/crlf.txt:1:1:needle",
        "ünï/日.txt:1:4:ä needle",
    ];
    finds(&project, json!({"pattern": "needle"}), &all);
    finds(&project, json!({"pattern": "needle$"}), &all[1..]);
    finds(&project, json!({"pattern": "^NEEDLE h", "path": "."}), &[]);
    finds(&project, json!({"pattern": "(?i)^NEEDLE h"}), &all[..1]);
    finds(&project, json!({"pattern": "n..dle", "literal": true}), &[]);
    finds(
        &project,
        json!({"pattern": "a n", "literal": true, "path": "b"}),
        &["b/c.py:1:9:no end: a needle"],
    );
    // Hidden and ignored files are searched only if they are named.
    finds(&project, json!({"pattern": "needle", "path": ".env"}), &[".env:1:5:KEY=needle"]);
    finds(&project, json!({"pattern": "needle", "path": "target"}), &["target/x.rs:1:1:needle"]);
    finds(&project, json!({"pattern": "needle", "path": "binary"}), &[]);
}

#[test]
fn a_file_that_turns_out_to_be_binary_late_gives_nothing() {
    let project = Project::with(&[("a", "needle\n"), ("b", "")]);
    fs::write(project.at("b"), format!("needle\n{}\0", "text\n".repeat(200_000))).unwrap();
    finds(&project, json!({"pattern": "needle"}), &["a:1:1:needle"]);
}

#[test]
fn globs_choose_files() {
    let project = tree();
    let globs = |globs: &[&str]| json!({"pattern": "needle", "globs": globs});
    finds(&project, globs(&["*.rs"]), &["a.rs:2:1:needle here"]);
    finds(&project, globs(&["b/**", "!*.txt"]), &["b/c.py:1:11:no end: a needle"]);
    finds(&project, globs(&["!b"]), &["a.rs:2:1:needle here", "ünï/日.txt:1:4:ä needle"]);
    project.fails("fs.searchFiles", globs(&["a[b"]), Code::InvalidAction);
}

#[test]
fn context_is_given_once() {
    let project = Project::with(&[("f", "1\n2\nx\n4\nx\n6\n7\n")]);
    let answer = project.done("fs.searchFiles", json!({"pattern": "x", "context": 1}));
    let numbers = |lines: &Value| -> Vec<u64> {
        lines.as_array().into_iter().flatten().map(|line| line["line"].as_u64().unwrap()).collect()
    };
    let around: Vec<_> = answer["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (numbers(&m["before"]), m["line"].as_u64().unwrap(), numbers(&m["after"])))
        .collect();
    assert_eq!(around, [(vec![2], 3, vec![4]), (vec![], 5, vec![6])]);
}

#[test]
fn a_limit_cuts_and_says_so() {
    let project = Project::with(&[("f", &"x\n".repeat(300)), ("g", "x\n")]);
    let answer = project.done("fs.searchFiles", json!({"pattern": "x"}));
    assert_eq!((lines(&answer).len(), &answer["truncated"]), (200, &json!(true)));
    let answer = project.done("fs.searchFiles", json!({"pattern": "x", "limit": 301}));
    assert_eq!((lines(&answer).len(), &answer["truncated"]), (301, &json!(false)));
}

#[test]
fn a_long_line_is_cut_around_the_match_with_a_mark() {
    let project =
        Project::with(&[("f", &format!("{}needle{}", "日".repeat(1_000_000), "ä".repeat(1000)))]);
    let answer = project.done("fs.searchFiles", json!({"pattern": "needle"}));
    let found = &answer["matches"][0];
    let text = found["text"].as_str().unwrap();
    assert_eq!((&found["cut"], &found["column"]), (&json!(true), &json!(3_000_001)));
    assert!(text.starts_with("…日") && text.ends_with("ä…") && text.contains("needle"), "{text}");
    assert!(text.len() < 500);
}

#[test]
fn no_pattern_is_slow() {
    let project = Project::with(&[("f", &format!("{}b\n", "a".repeat(1_000_000)))]);
    let begun = std::time::Instant::now();
    finds(&project, json!({"pattern": "(a+)+$"}), &[]);
    finds(&project, json!({"pattern": "(a|a)*c"}), &[]);
    finds(&project, json!({"pattern": "(.*)(.*)(.*)(.*)c"}), &[]);
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
}

#[test]
fn a_pattern_that_is_none_is_explained() {
    let project = tree();
    for (pattern, why) in [
        ("a(b", "unclosed group"),
        (r"(a)\1", "backreferences"),
        ("a(?=b)", "look-around"),
        ("a{9999999}", "size limit"),
        ("a\nb", "\\n"),
    ] {
        let error =
            project.fails("fs.searchFiles", json!({"pattern": pattern}), Code::InvalidAction);
        assert!(error.message.contains(why), "{error}");
    }
    project.fails("fs.searchFiles", json!({"pattern": "x", "path": "gone"}), Code::NotFound);
}

#[test]
fn a_search_ends_when_it_is_stopped() {
    let project = Project::new();
    fs::write(project.at("f"), "x\n".repeat(5_000_000)).unwrap();
    let asked = AtomicU32::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > 3;
    for (name, params) in [
        ("fs.searchFiles", json!({"pattern": "y"})),
        ("fs.readFile", json!({"path": "f", "startLine": 4_000_000})),
        ("fs.listFiles", json!({})),
    ] {
        let Ok(Action::File(action)) = Action::parse(name, params) else { panic!("{name}") };
        let error = files::execute_file_action(&project.root, &action, &stop).unwrap_err();
        assert_eq!(error.code, Code::Cancelled, "{name}");
    }
}
