//! What a file action would change: as a diff where possible, and as notes on what exists
//! now and what happens to it.

use std::io::Read as _;
use std::path::Path;

use provost_core::action::{Action, DeleteFile, EditFile, FileAction, MoveFile, RelPath};
use provost_core::action::{WriteFile, WriteMode};
use provost_core::diff::{deletion_diff, unified_diff, whole_diff};
use provost_core::role::Role;
use provost_kernel::files;
use provost_kernel::quarantine::QuarantineStore;
use provost_sandbox::root_dir::{FileKind, FileStat, OpenedFile, RootDir};

use super::{format_size, restore_summary};

/// The largest file whose change is shown as a diff, in bytes.
const MAX_DIFF_BYTES: u64 = 1024 * 1024;

/// How much of the beginning of a larger file is shown, in bytes.
const DIFF_PREFIX_BYTES: u64 = 8 * 1024;

/// The largest file whose hash is shown, in bytes.
const MAX_PROMPT_HASH_BYTES: u64 = 64 * 1024 * 1024;

/// How many entries of a folder are counted, and how many are named, at most.
const MAX_COUNTED_ENTRIES: usize = 20_000;
const MAX_NAMED_ENTRIES: usize = 10;

/// The change of a file action.
#[derive(Debug, Default)]
pub(super) struct FileChangeSummary {
    pub(super) diff: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Summarizes what a file action would change.
pub(super) fn summarize_file_change(
    folder: &Path,
    store: &QuarantineStore,
    action: &Action,
) -> FileChangeSummary {
    let mut change = FileChangeSummary::default();
    let (Action::File(action), Ok(root)) = (action, RootDir::open(folder)) else { return change };
    match action {
        FileAction::WriteFile(write) => summarize_write(&root, write, &mut change),
        FileAction::EditFile(edit) => summarize_edit(&root, edit, &mut change),
        FileAction::ApplyPatch(patch) => {
            let deleted = patch.deleted_paths();
            change
                .notes
                .extend(deleted.iter().map(|path| format!("{} is deleted", path.display_quoted())));
            change.diff = Some(patch.patch.clone());
        }
        FileAction::DeleteFile(delete) => summarize_delete(&root, delete, &mut change),
        FileAction::MoveFile(moved) => summarize_move(&root, moved, &mut change),
        FileAction::RestoreFile(restore) => {
            restore_summary::summarize_restore(&root, store, restore, &mut change);
        }
        FileAction::ReadFile(_)
        | FileAction::ListFiles(_)
        | FileAction::SearchFiles(_)
        | FileAction::Stat(_)
        | FileAction::CreateDir(_) => {}
    }
    change
}

fn summarize_write(root: &RootDir, write: &WriteFile, change: &mut FileChangeSummary) {
    let (path, name) = (&write.path, write.path.as_str());
    let Ok(new) = write.bytes() else { return };
    let there = root.stat(path.as_ref()).ok();
    let Some(stat) = &there else {
        change.notes.push(format!("{} is not there yet: it is created", path.display_quoted()));
        change.diff = Some(text_diff(b"", &new, name));
        return;
    };
    change.notes.push(match (stat.kind, write.mode) {
        (FileKind::File, WriteMode::Create) => {
            format!("{} is there, so this will fail", path.display_quoted())
        }
        (FileKind::File, WriteMode::Overwrite) => {
            format!("{} is replaced", describe_existing_file(root, path, stat))
        }
        (FileKind::File, WriteMode::Append) => {
            format!("{} is added to", describe_existing_file(root, path, stat))
        }
        (FileKind::Directory | FileKind::Symlink | FileKind::Other, _) => {
            describe_non_file(path, stat)
        }
    });
    let Some(old) = read_file_prefix(root, path, stat.size) else { return };
    let whole = stat.size <= MAX_DIFF_BYTES;
    let new = match write.mode {
        WriteMode::Overwrite | WriteMode::Create if whole => new.into_owned(),
        WriteMode::Overwrite | WriteMode::Create => new.get(..old.len()).unwrap_or(&new).to_vec(),
        WriteMode::Append if whole => [&old[..], &new].concat(),
        // The end of the file is not shown, so only the added text is.
        WriteMode::Append => {
            change.diff = Some(text_diff(b"", &new, name));
            return;
        }
    };
    if !whole {
        change
            .notes
            .push(format!("of the change, the first {} are shown", format_size(DIFF_PREFIX_BYTES)));
    }
    change.diff = Some(text_diff(&old, &new, name));
}

fn summarize_edit(root: &RootDir, edit: &EditFile, change: &mut FileChangeSummary) {
    let Ok(stat) = root.stat(edit.path.as_ref()) else {
        change
            .notes
            .push(format!("{} is not there, so this will fail", edit.path.display_quoted()));
        return;
    };
    change.notes.push(format!("{} is changed", describe_existing_file(root, &edit.path, &stat)));
    let Some(old) = root.read(edit.path.as_ref(), MAX_DIFF_BYTES).ok() else { return };
    match files::edited(Some(&old), edit) {
        Ok((new, _)) => change.diff = Some(text_diff(&old, &new, edit.path.as_str())),
        Err(error) => change.notes.push(format!("as the file is now, this fails: {error}")),
    }
}

fn summarize_delete(root: &RootDir, delete: &DeleteFile, change: &mut FileChangeSummary) {
    let path = &delete.path;
    let Ok(stat) = root.stat(path.as_ref()) else {
        change.notes.push(format!("{} is not there, so this will fail", path.display_quoted()));
        return;
    };
    match stat.kind {
        FileKind::Directory => change.notes.push(describe_folder_removal(root, delete)),
        FileKind::Symlink | FileKind::Other => {
            change.notes.push(format!("{}; it is deleted", describe_non_file(path, &stat)));
        }
        FileKind::File => {
            change.notes.push(format!("{} is deleted", describe_existing_file(root, path, &stat)));
            let Some(old) = read_file_prefix(root, path, stat.size).filter(|old| !old.is_empty())
            else {
                return;
            };
            if stat.size > MAX_DIFF_BYTES {
                change
                    .notes
                    .push(format!("of it, the first {} are shown", format_size(DIFF_PREFIX_BYTES)));
            }
            change.diff = Some(delete_diff(&old, path.as_str()));
        }
    }
}

/// What is deleted with a folder.
fn describe_folder_removal(root: &RootDir, delete: &DeleteFile) -> String {
    let path = delete.path.display_quoted();
    let (mut n_files, mut n_folders, mut bytes) = (0_u64, 0_u64, 0_u64);
    let (mut names, mut more) = (Vec::new(), false);
    let mut next = vec![delete.path.as_str().to_owned()];
    while let Some(folder) = next.pop() {
        let left = MAX_COUNTED_ENTRIES
            .saturating_sub(usize::try_from(n_files + n_folders).unwrap_or(MAX_COUNTED_ENTRIES));
        let Ok(listing) = root.list(Path::new(&folder), left) else {
            more = true;
            continue;
        };
        more |= listing.more;
        let mut entries = listing.entries;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            let inside = format!("{folder}/{}", entry.name.to_string_lossy());
            if names.len() < MAX_NAMED_ENTRIES {
                names.push(display_path(&inside));
            }
            if entry.stat.kind == FileKind::Directory {
                n_folders += 1;
                next.push(inside);
            } else {
                n_files += 1;
                bytes = bytes.saturating_add(entry.stat.size);
            }
        }
    }
    if n_files + n_folders == 0 && !more {
        return format!("{path} is an empty folder; it is deleted");
    }
    if !delete.recursive {
        return format!("{path} is a folder that is not empty, so this will fail");
    }
    let least = if more { "at least " } else { "" };
    let unnamed = (n_files + n_folders).saturating_sub(names.len() as u64);
    let rest = if unnamed > 0 || more { ", …" } else { "" };
    format!(
        "{path} is a folder with {least}{n_files} files and {n_folders} folders, {}; all are \
         deleted: {}{rest}",
        format_size(bytes),
        names.join(", ")
    )
}

fn summarize_move(root: &RootDir, moved: &MoveFile, change: &mut FileChangeSummary) {
    let MoveFile { from, to } = moved;
    match root.stat(from.as_ref()) {
        Err(_) => {
            change.notes.push(format!("{} is not there, so this will fail", from.display_quoted()));
        }
        Ok(stat) if stat.kind == FileKind::Directory => {
            change
                .notes
                .push(format!("{} is a folder; all in it moves along", from.display_quoted()));
        }
        Ok(stat) => {
            change.notes.push(format!("{} is moved", describe_existing_file(root, from, &stat)));
        }
    }
    if let Ok(stat) = root.stat(to.as_ref()) {
        let there = describe_existing_file(root, to, &stat);
        change.notes.push(format!("{there} is in the way: nothing is replaced, this will fail"));
    }
}

/// An existing file, with its size and hash.
pub(super) fn describe_existing_file(root: &RootDir, path: &RelPath, stat: &FileStat) -> String {
    if stat.kind != FileKind::File {
        return describe_non_file(path, stat);
    }
    let hash = (stat.size <= MAX_PROMPT_HASH_BYTES)
        .then(|| root.read(path.as_ref(), MAX_PROMPT_HASH_BYTES).ok())
        .flatten();
    let hash = hash.map(|bytes| format!(", BLAKE3 {}", Role::hash(&bytes))).unwrap_or_default();
    format!("{}, a file of {}{hash},", path.display_quoted(), format_size(stat.size))
}

fn describe_non_file(path: &RelPath, stat: &FileStat) -> String {
    let what = match (stat.kind, &stat.target) {
        (FileKind::Directory, _) => "a folder".to_owned(),
        (FileKind::Symlink, Some(target)) => {
            format!("a link to {}", display_path(&target.to_string_lossy()))
        }
        (FileKind::File | FileKind::Symlink | FileKind::Other, _) => "no regular file".to_owned(),
    };
    format!("{} is {what}", path.display_quoted())
}

/// A path that need not be valid, quoted.
pub(super) fn display_path(path: &str) -> String {
    RelPath::new(path)
        .map_or_else(|_| format!("`{}`", path.escape_debug()), |path| path.display_quoted())
}

/// The content of a file, or the beginning of a large one.
pub(super) fn read_file_prefix(root: &RootDir, path: &RelPath, length: u64) -> Option<Vec<u8>> {
    let limit = if length <= MAX_DIFF_BYTES { MAX_DIFF_BYTES } else { DIFF_PREFIX_BYTES };
    let OpenedFile { file, .. } = root.open_read(path.as_ref()).ok()?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    if length > MAX_DIFF_BYTES {
        // Ends with a whole line.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.truncate(end);
    }
    Some(bytes)
}

fn text_diff(old: &[u8], new: &[u8], name: &str) -> String {
    diff_bytes(old, new, name, unified_diff)
}

/// The diff of two contents with all lines.
pub(super) fn whole_text_diff(old: &[u8], new: &[u8], name: &str) -> String {
    diff_bytes(old, new, name, whole_diff)
}

fn diff_bytes(old: &[u8], new: &[u8], name: &str, diff: fn(&str, &str, &str) -> String) -> String {
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) => diff(old, new, name),
        // Cut within a character, or not text.
        _ => match (String::from_utf8_lossy(old), String::from_utf8_lossy(new)) {
            (old, new) if is_text(&old) && is_text(&new) => diff(&old, &new, name),
            _ => format!("{name}: {} bytes that are not text\n", new.len()),
        },
    }
}

/// The diff of a file that is deleted.
fn delete_diff(old: &[u8], name: &str) -> String {
    match String::from_utf8_lossy(old) {
        text if is_text(&text) => deletion_diff(&text, name),
        _ => format!("{name}: {} bytes that are not text are deleted\n", old.len()),
    }
}

/// Whether this is text, except for a character that was cut at the end.
fn is_text(text: &str) -> bool {
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    !text.contains(char::REPLACEMENT_CHARACTER) && !text.contains('\0')
}
