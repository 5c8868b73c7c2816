//! Golden files: what actions on files answer, byte for byte.
//!
//! Struct literals without `..` keep the samples complete.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use provost_core::action::{BytesEncoding, RelPath};
use provost_kernel::ActionError;
use provost_kernel::files::{
    ApplyPatchResult, ChangeKind, ChangedPath, ContextLine, CreateDirResult, DeleteFileResult,
    EditFileResult, EntryKind, ListFilesResult, ListedEntry, MoveFileResult, OmittedPaths,
    ReadFileResult, SearchFilesResult, SearchMatch, SkippedPath, StatPathResult, WriteFileResult,
};
use provost_proto::{Code, Hash};
use serde::Serialize;
use serde_json::json;

fn path(text: &str) -> RelPath {
    text.parse().unwrap()
}

fn add(text: &mut String, heading: &str, value: &impl Serialize) {
    writeln!(text, "{heading} {}", serde_json::to_string(value).unwrap()).unwrap();
}

fn changed() -> Vec<ChangedPath> {
    let kinds = [ChangeKind::Created, ChangeKind::Modified, ChangeKind::Deleted, ChangeKind::Moved];
    let changed = |kind| {
        let from = match kind {
            ChangeKind::Moved => Some(path("old.txt")),
            ChangeKind::Created | ChangeKind::Modified | ChangeKind::Deleted => None,
        };
        ChangedPath { path: path("a.txt"), kind, from }
    };
    kinds.map(changed).to_vec()
}

fn errors() -> Vec<ActionError> {
    let error = |details| ActionError { code: Code::NoMatch, message: "no".to_owned(), details };
    vec![error(Some(json!({ "edit": 1 }))), error(None)]
}

fn skipped() -> Vec<SkippedPath> {
    vec![SkippedPath { path: "b".to_owned(), error: "no rights".to_owned() }]
}

fn left_out() -> OmittedPaths {
    OmittedPaths { count: 2, why: BTreeSet::from(["secrets".to_owned()]) }
}

fn reads(text: &mut String) {
    let content = |encoding, hash, start_line, line_count| ReadFileResult {
        content: "a\n".to_owned(),
        encoding,
        size: 2,
        hash,
        offset: 0,
        length: 2,
        truncated: true,
        start_line,
        line_count,
    };
    add(text, "fs.readFile", &content(BytesEncoding::Utf8, Some(Hash::ZERO), Some(1), Some(2)));
    add(text, "fs.readFile", &content(BytesEncoding::Base64, None, None, None));
    for kind in [EntryKind::File, EntryKind::Directory, EntryKind::Symlink, EntryKind::Other] {
        let target = match kind {
            EntryKind::Symlink => Some("there".to_owned()),
            EntryKind::File | EntryKind::Directory | EntryKind::Other => None,
        };
        let mode = "0644".to_owned();
        let (size, modified, links) = (3, 4, 1);
        let path = path("a");
        add(text, "fs.stat", &StatPathResult { path, kind, size, modified, mode, links, target });
    }
    let listed = |size, unusable| ListedEntry {
        path: "a".to_owned(),
        kind: EntryKind::File,
        size,
        modified: 4,
        unusable,
    };
    let entries = vec![listed(Some(3), false), listed(None, true)];
    let (cursor, skipped) = (Some("YQ".to_owned()), skipped());
    let full = ListFilesResult { entries, cursor, skipped, left_out: Some(left_out()) };
    add(text, "fs.listFiles", &full);
    let bare =
        ListFilesResult { entries: Vec::new(), cursor: None, skipped: Vec::new(), left_out: None };
    add(text, "fs.listFiles", &bare);
}

fn searches(text: &mut String) {
    let line = |line| vec![ContextLine { line, text: "x".to_owned() }];
    let found = |cut, before, after| SearchMatch {
        path: "a".to_owned(),
        line: 2,
        column: 3,
        text: "xyx".to_owned(),
        cut,
        before,
        after,
    };
    let full = SearchFilesResult {
        matches: vec![found(true, line(1), line(3)), found(false, Vec::new(), Vec::new())],
        files: 7,
        truncated: true,
        timed_out: false,
        skipped: skipped(),
        left_out: Some(left_out()),
    };
    add(text, "fs.searchFiles", &full);
    let bare =
        SearchFilesResult { matches: Vec::new(), skipped: Vec::new(), left_out: None, ..full };
    add(text, "fs.searchFiles", &bare);
}

fn writes(text: &mut String) {
    let written = |hash| WriteFileResult { size: 3, hash, created: true, changed: changed() };
    add(text, "fs.writeFile", &written(Some(Hash::ZERO)));
    add(text, "fs.writeFile", &written(None));
    let edited = EditFileResult { size: 3, hash: Hash::ZERO, replaced: 2, changed: changed() };
    add(text, "fs.editFile", &edited);
    let full =
        ApplyPatchResult { changed: changed(), failed: errors(), notes: vec!["moved".to_owned()] };
    add(text, "fs.applyPatch", &full);
    let bare = ApplyPatchResult { changed: Vec::new(), failed: Vec::new(), notes: Vec::new() };
    add(text, "fs.applyPatch", &bare);
    add(text, "fs.createDir", &CreateDirResult { created: true, changed: changed() });
    add(text, "fs.moveFile", &MoveFileResult { changed: changed() });
    add(text, "fs.deleteFile", &DeleteFileResult { changed: changed() });
}

#[test]
fn results_of_actions_on_files_keep_their_fields() {
    let mut text = String::new();
    reads(&mut text);
    searches(&mut text);
    writes(&mut text);
    expect_file!["../golden/results.txt"].assert_eq(&text);
}
