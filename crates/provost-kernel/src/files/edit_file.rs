//! `fs.editFile`: replaces text in a file.

use memchr::memmem;
use provost_core::action::{EditFile, MAX_FILE_WRITE_BYTES, TextEdit};
use provost_proto::{Code, Hash};
use provost_sandbox::root_dir::RootDir;
use serde::Serialize;
use serde_json::json;

use super::write_file::check_expected_hash;
use super::{ChangeKind, ChangedPath, hash_content};
use crate::ActionError;

/// The result of `fs.editFile`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditFileResult {
    /// The new size of the file, in bytes.
    pub size: u64,
    /// The hash of the whole file.
    pub hash: Hash,
    /// How many matches were replaced.
    pub replaced: usize,
    /// The file.
    pub changed: Vec<ChangedPath>,
}

/// How many matches an error lists.
const MAX_REPORTED_MATCHES: usize = 20;

pub(super) fn run(root: &RootDir, action: &EditFile) -> Result<EditFileResult, ActionError> {
    let mut edited = EditFileResult {
        size: 0,
        hash: Hash::ZERO,
        replaced: 0,
        changed: vec![ChangedPath::new(&action.path, ChangeKind::Modified)],
    };
    let done = root.edit(action.path.as_ref(), MAX_FILE_WRITE_BYTES as u64, |present| {
        let (content, replaced) = apply_edits(present, action)?;
        edited.replaced = replaced;
        edited.size = content.len() as u64;
        edited.hash = hash_content(&content);
        Ok::<_, ActionError>(content)
    });
    done.map_err(|error| error.with_path(&action.path))?;
    Ok(edited)
}

/// Applies the edits to a file's content; returns how many matches were replaced.
pub fn apply_edits(
    present: Option<&[u8]>,
    action: &EditFile,
) -> Result<(Vec<u8>, usize), ActionError> {
    let mut content = check_expected_hash(present, action.expect_hash)?.to_vec();
    let mut replaced = 0;
    for (edit, number) in action.edits.iter().zip(1..) {
        let (next, n_replaced) = apply_edit(&content, edit, number)?;
        content = next;
        replaced += n_replaced;
    }
    Ok((content, replaced))
}

/// Applies one edit: the new content, and how many matches were replaced.
fn apply_edit(
    content: &[u8],
    edit: &TextEdit,
    number: usize,
) -> Result<(Vec<u8>, usize), ActionError> {
    let mut old = edit.old.clone();
    let mut new = edit.new.clone();
    let mut matches = find_occurrences(content, &old, edit.all);
    if matches.is_empty() && old.contains('\n') && !old.contains('\r') && has_only_crlf(content) {
        // The file has CRLF line ends, and the text was written with LF.
        old = old.replace('\n', "\r\n");
        new = new.replace("\r\n", "\n").replace('\n', "\r\n");
        matches = find_occurrences(content, &old, edit.all);
    }
    match matches.len() {
        0 => return Err(no_match_error(content, edit, number)),
        1 => {}
        _ if edit.all => {}
        n => return Err(ambiguous_match_error(content, &matches, n, number)),
    }
    let size = content.len() - matches.len() * old.len() + matches.len() * new.len();
    if size > MAX_FILE_WRITE_BYTES {
        let message = format!(
            "edit {number} makes the file {size} bytes long, more than the {MAX_FILE_WRITE_BYTES} allowed"
        );
        return Err(ActionError::new(Code::TooLarge, message));
    }
    let mut out = Vec::with_capacity(size);
    let mut rest = 0;
    for offset in &matches {
        out.extend_from_slice(&content[rest..*offset]);
        out.extend_from_slice(new.as_bytes());
        rest = offset + old.len();
    }
    out.extend_from_slice(&content[rest..]);
    Ok((out, matches.len()))
}

/// The offsets of the text. To replace one match, overlapping ones count too, since
/// either could be meant; to replace all, they do not.
fn find_occurrences(content: &[u8], old: &str, all: bool) -> Vec<usize> {
    let finder = memmem::Finder::new(old);
    let step = if all { old.len() } else { 1 };
    let mut matches = Vec::new();
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| finder.find(rest)) {
        matches.push(from + at);
        from += at + step;
        // More than this is ambiguous in any case; a hostile file has millions.
        if !all && matches.len() > 10_000 {
            break;
        }
    }
    matches
}

fn has_only_crlf(content: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', content).peekable();
    ends.peek().is_some() && ends.all(|at| at > 0 && content[at - 1] == b'\r')
}

fn line_number_at(content: &[u8], offset: usize) -> usize {
    memchr::memchr_iter(b'\n', &content[..offset]).count() + 1
}

fn no_match_error(content: &[u8], edit: &TextEdit, number: usize) -> ActionError {
    let first = edit.old.lines().map(str::trim).find(|line| !line.is_empty());
    let near = first.and_then(|line| memmem::find(content, line.as_bytes()));
    let line = near.map(|offset| line_number_at(content, offset));
    let hint = line.map_or_else(String::new, |line| {
        format!("; line {line} is like its first line, so spaces or later lines differ")
    });
    let message = format!("edit {number}: the text to replace is not in the file{hint}");
    ActionError::new(Code::NoMatch, message).with_details(json!({ "edit": number, "near": line }))
}

fn ambiguous_match_error(
    content: &[u8],
    matches: &[usize],
    n_matches: usize,
    number: usize,
) -> ActionError {
    let lines: Vec<_> = matches
        .iter()
        .take(MAX_REPORTED_MATCHES)
        .map(|offset| line_number_at(content, *offset))
        .collect();
    let named: Vec<_> = lines.iter().map(ToString::to_string).collect();
    let more = if n_matches > MAX_REPORTED_MATCHES { " and more" } else { "" };
    let message = format!(
        "edit {number}: the text to replace is in the file {n_matches} times, at lines {}{more}; \
         include more of the surrounding text, or set `all`",
        named.join(", ")
    );
    let details = json!({ "edit": number, "matches": n_matches, "lines": lines });
    ActionError::new(Code::Ambiguous, message).with_details(details)
}
