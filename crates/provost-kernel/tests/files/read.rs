//! `fs.readFile`.

use std::fs;

use provost_proto::Code;
use serde_json::{Value, json};

use crate::{Project, hash};

const TEXT: &str = "eins\nzwei\r\ndrei ä日😀\n\nfünf";

#[track_caller]
fn part(params: Value, content: &str, truncated: bool) -> Value {
    let project = Project::with(&[("f", TEXT), ("empty", "")]);
    let mut whole = params;
    whole["path"] = json!("f");
    let answer = project.done("fs.readFile", whole.clone());
    assert_eq!(answer["content"], json!(content), "{whole}");
    assert_eq!(answer["truncated"], json!(truncated), "{whole}");
    answer
}

#[test]
fn a_whole_file_comes_with_its_hash() {
    let answer = part(json!({}), TEXT, false);
    assert_eq!(answer["hash"], json!(hash(TEXT)));
    assert_eq!(answer["size"], json!(TEXT.len()));
    let project = Project::with(&[("empty", ""), ("größe/日本.txt", "hier")]);
    assert_eq!(project.done("fs.readFile", json!({"path": "empty"}))["hash"], json!(hash("")));
    let named = project.done("fs.readFile", json!({"path": "größe/日本.txt"}));
    assert_eq!(named["content"], "hier");
}

#[test]
fn lines_are_counted_from_one_and_keep_their_ends() {
    part(json!({"startLine": 1, "lineCount": 1}), "eins\n", true);
    let answer = part(json!({"startLine": 2, "lineCount": 2}), "zwei\r\ndrei ä日😀\n", true);
    assert_eq!((&answer["startLine"], &answer["lineCount"]), (&json!(2), &json!(2)));
    assert_eq!(answer["hash"], Value::Null);
    part(json!({"startLine": 4}), "\nfünf", false);
    part(json!({"startLine": 5, "lineCount": 9}), "fünf", false);
    part(json!({"lineCount": 99}), TEXT, false);
    let beyond = part(json!({"startLine": 6}), "", false);
    assert_eq!(beyond["lineCount"], json!(0));
    part(json!({"startLine": 9_000_000}), "", false);
}

#[test]
fn a_range_of_bytes_never_splits_a_character() {
    let ae = TEXT.find('ä').unwrap();
    part(json!({"offset": 0, "length": 4}), "eins", true);
    part(json!({"offset": ae, "length": 2}), "ä", true);
    // Half of it at the end is left to the next read, half at the start to the one before.
    part(json!({"offset": ae - 1, "length": 2}), " ", true);
    let answer = part(json!({"offset": ae + 1, "length": 4}), "日", true);
    assert_eq!(answer["offset"], json!(ae + 2));
    // Even a single byte makes progress.
    part(json!({"offset": ae + 5, "length": 1}), "😀", true);
    part(json!({"offset": TEXT.len() - 2}), "nf", false);
    part(json!({"offset": TEXT.len()}), "", false);
    part(json!({"offset": 1_000_000}), "", false);
    let answer = part(json!({"offset": 0}), TEXT, false);
    assert_eq!(answer["hash"], json!(hash(TEXT)));
}

#[test]
fn reading_on_from_where_a_part_ended_gives_the_whole() {
    let project = Project::with(&[("f", TEXT)]);
    for length in 1..12 {
        let (mut offset, mut whole) = (0, String::new());
        loop {
            let params = json!({"path": "f", "offset": offset, "length": length});
            let answer = project.done("fs.readFile", params);
            whole += answer["content"].as_str().unwrap();
            offset = answer["offset"].as_u64().unwrap() + answer["length"].as_u64().unwrap();
            if answer["truncated"] == json!(false) {
                break;
            }
        }
        assert_eq!(whole, TEXT, "by {length}");
    }
}

#[test]
fn what_is_not_text_is_given_as_base64_only() {
    let project = Project::new();
    fs::write(project.at("f"), b"\x7fELF\xff\x00\xfe").unwrap();
    for params in [
        json!({"path": "f"}),
        json!({"path": "f", "offset": 0}),
        json!({"path": "f", "startLine": 1}),
    ] {
        let error = project.fails("fs.readFile", params, Code::BinaryFile);
        assert!(error.message.starts_with("f: "), "{error}");
    }
    let answer = project.done("fs.readFile", json!({"path": "f", "encoding": "base64"}));
    assert_eq!(answer["content"], "f0VMRv8A/g==");
    let part = json!({"path": "f", "encoding": "base64", "offset": 4, "length": 1});
    assert_eq!(project.done("fs.readFile", part)["content"], "/w==");
}

#[test]
fn a_long_file_is_read_in_parts() {
    let project = Project::new();
    let line = format!("{}\n", "x".repeat(99));
    fs::write(project.at("f"), line.repeat(100_000)).unwrap();
    let error = project.fails("fs.readFile", json!({"path": "f"}), Code::TooLarge);
    assert!(error.message.contains("startLine"), "{error}");
    let answer = project.done("fs.readFile", json!({"path": "f", "startLine": 99_999}));
    assert_eq!(answer["content"], json!(line.repeat(2)));
    let answer = project.done("fs.readFile", json!({"path": "f", "offset": 5_000_000}));
    assert_eq!((&answer["length"], &answer["truncated"]), (&json!(1 << 20), &json!(true)));
    let answer = project.done("fs.readFile", json!({"path": "f", "startLine": 1}));
    assert_eq!((&answer["length"], &answer["truncated"]), (&json!(1 << 20), &json!(true)));
}

#[test]
fn a_single_huge_line_is_cut_between_characters() {
    let project = Project::new();
    fs::write(project.at("f"), format!("x{}", "日".repeat(4_000_000))).unwrap();
    let answer = project.done("fs.readFile", json!({"path": "f", "startLine": 1, "lineCount": 1}));
    assert_eq!(answer["length"], json!(1 + 3 * ((1 << 20) / 3)));
    assert_eq!(answer["truncated"], json!(true));
    let answer = project.done("fs.readFile", json!({"path": "f", "startLine": 2}));
    assert_eq!((&answer["content"], &answer["lineCount"]), (&json!(""), &json!(0)));
}

#[test]
fn what_cannot_be_read_is_said() {
    let project = Project::with(&[("d/", ""), ("f", "")]);
    project.fails("fs.readFile", json!({"path": "gone"}), Code::NotFound);
    project.fails("fs.readFile", json!({"path": "gone/x"}), Code::NotFound);
    project.fails("fs.readFile", json!({"path": "d"}), Code::IsDirectory);
    project.fails("fs.readFile", json!({"path": "f/x"}), Code::NotADirectory);
}
