//! What an action would change in files: line by line where that can be shown,
//! and in words what is there now and what becomes of it.

use std::io::Read as _;
use std::path::Path;

use provost_core::action::{Action, DeleteFile, EditFile, FileAction, MoveFile, RelPath};
use provost_core::action::{WriteFile, WriteMode};
use provost_core::diff::unified_diff;
use provost_core::role::Role;
use provost_kernel::files;
use provost_sandbox::root_dir::{FileKind, FileStat, OpenedFile, RootDir};

use super::size;

/// The largest file whose change is shown line by line.
const SHOWN: u64 = 1024 * 1024;

/// Of a larger one, so much of the beginning.
const BEGINNING: u64 = 8 * 1024;

/// The largest file whose hash is told.
const HASHED: u64 = 64 * 1024 * 1024;

/// How many entries of a folder are counted at most, and how many are named.
const COUNTED: usize = 20_000;
const NAMED: usize = 10;

/// What changes.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) diff: Option<String>,
    pub(super) notes: Vec<String>,
}

/// What an action on files would change.
pub(super) fn change(folder: &Path, action: &Action) -> Change {
    let mut change = Change::default();
    let (Action::File(action), Ok(root)) = (action, RootDir::open(folder)) else { return change };
    match action {
        FileAction::WriteFile(write) => writes(&root, write, &mut change),
        FileAction::EditFile(edit) => edits(&root, edit, &mut change),
        FileAction::ApplyPatch(patch) => change.diff = Some(patch.patch.clone()),
        FileAction::DeleteFile(delete) => deletes(&root, delete, &mut change),
        FileAction::MoveFile(moved) => moves(&root, moved, &mut change),
        FileAction::ReadFile(_)
        | FileAction::ListFiles(_)
        | FileAction::SearchFiles(_)
        | FileAction::Stat(_)
        | FileAction::CreateDir(_) => {}
    }
    change
}

fn writes(root: &RootDir, write: &WriteFile, change: &mut Change) {
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
            format!("{} is replaced", file_there(root, path, stat))
        }
        (FileKind::File, WriteMode::Append) => {
            format!("{} is added to", file_there(root, path, stat))
        }
        (FileKind::Directory | FileKind::Symlink | FileKind::Other, _) => not_a_file(path, stat),
    });
    let Some(old) = beginning(root, path, stat.size) else { return };
    let whole = stat.size <= SHOWN;
    let new = match write.mode {
        WriteMode::Overwrite | WriteMode::Create if whole => new.into_owned(),
        WriteMode::Overwrite | WriteMode::Create => new.get(..old.len()).unwrap_or(&new).to_vec(),
        WriteMode::Append if whole => [&old[..], &new].concat(),
        // Where it ends is not shown, so what is added stands for itself.
        WriteMode::Append => {
            change.diff = Some(text_diff(b"", &new, name));
            return;
        }
    };
    if !whole {
        change.notes.push(format!("of the change, the first {} are shown", size(BEGINNING)));
    }
    change.diff = Some(text_diff(&old, &new, name));
}

fn edits(root: &RootDir, edit: &EditFile, change: &mut Change) {
    let Ok(stat) = root.stat(edit.path.as_ref()) else {
        change
            .notes
            .push(format!("{} is not there, so this will fail", edit.path.display_quoted()));
        return;
    };
    change.notes.push(format!("{} is changed", file_there(root, &edit.path, &stat)));
    let Some(old) = root.read(edit.path.as_ref(), SHOWN).ok() else { return };
    match files::edited(Some(&old), edit) {
        Ok((new, _)) => change.diff = Some(text_diff(&old, &new, edit.path.as_str())),
        Err(error) => change.notes.push(format!("as the file is now, this fails: {error}")),
    }
}

fn deletes(root: &RootDir, delete: &DeleteFile, change: &mut Change) {
    let path = &delete.path;
    let Ok(stat) = root.stat(path.as_ref()) else {
        change.notes.push(format!("{} is not there, so this will fail", path.display_quoted()));
        return;
    };
    match stat.kind {
        FileKind::Directory => change.notes.push(in_folder(root, delete)),
        FileKind::Symlink | FileKind::Other => {
            change.notes.push(format!("{}; it is removed", not_a_file(path, &stat)));
        }
        FileKind::File => {
            change.notes.push(format!("{} is removed", file_there(root, path, &stat)));
            let Some(old) = beginning(root, path, stat.size).filter(|old| !old.is_empty()) else {
                return;
            };
            if stat.size > SHOWN {
                change.notes.push(format!("of it, the first {} are shown", size(BEGINNING)));
            }
            change.diff = Some(text_diff(&old, b"", path.as_str()));
        }
    }
}

/// What goes with a folder.
fn in_folder(root: &RootDir, delete: &DeleteFile) -> String {
    let path = delete.path.display_quoted();
    let (mut n_files, mut n_folders, mut bytes) = (0_u64, 0_u64, 0_u64);
    let (mut names, mut more) = (Vec::new(), false);
    let mut next = vec![delete.path.as_str().to_owned()];
    while let Some(folder) = next.pop() {
        let left = COUNTED.saturating_sub(usize::try_from(n_files + n_folders).unwrap_or(COUNTED));
        let Ok(listing) = root.list(Path::new(&folder), left) else {
            more = true;
            continue;
        };
        more |= listing.more;
        let mut entries = listing.entries;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            let inside = format!("{folder}/{}", entry.name.to_string_lossy());
            if names.len() < NAMED {
                names.push(shown(&inside));
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
        return format!("{path} is an empty folder; it is removed");
    }
    if !delete.recursive {
        return format!("{path} is a folder that is not empty, so this will fail");
    }
    let least = if more { "at least " } else { "" };
    let unnamed = (n_files + n_folders).saturating_sub(names.len() as u64);
    let rest = if unnamed > 0 || more { ", …" } else { "" };
    format!(
        "{path} is a folder with {least}{n_files} files and {n_folders} folders, {}; all are \
         removed: {}{rest}",
        size(bytes),
        names.join(", ")
    )
}

fn moves(root: &RootDir, moved: &MoveFile, change: &mut Change) {
    let MoveFile { from, to } = moved;
    match root.stat(from.as_ref()) {
        Err(_) => {
            change.notes.push(format!("{} is not there, so this will fail", from.display_quoted()))
        }
        Ok(stat) if stat.kind == FileKind::Directory => {
            change
                .notes
                .push(format!("{} is a folder; all in it moves along", from.display_quoted()));
        }
        Ok(stat) => change.notes.push(format!("{} is moved", file_there(root, from, &stat))),
    }
    if let Ok(stat) = root.stat(to.as_ref()) {
        let there = file_there(root, to, &stat);
        change.notes.push(format!("{there} is in the way: nothing is replaced, this will fail"));
    }
}

/// A file that is there, by its size and what it holds.
fn file_there(root: &RootDir, path: &RelPath, stat: &FileStat) -> String {
    if stat.kind != FileKind::File {
        return not_a_file(path, stat);
    }
    let hash = (stat.size <= HASHED).then(|| root.read(path.as_ref(), HASHED).ok()).flatten();
    let hash = hash.map(|bytes| format!(", BLAKE3 {}", Role::hash(&bytes))).unwrap_or_default();
    format!("{}, a file of {}{hash},", path.display_quoted(), size(stat.size))
}

fn not_a_file(path: &RelPath, stat: &FileStat) -> String {
    let what = match (stat.kind, &stat.target) {
        (FileKind::Directory, _) => "a folder".to_owned(),
        (FileKind::Symlink, Some(target)) => {
            format!("a link to {}", shown(&target.to_string_lossy()))
        }
        (FileKind::File | FileKind::Symlink | FileKind::Other, _) => "no regular file".to_owned(),
    };
    format!("{} is {what}", path.display_quoted())
}

/// A path that may be none of ours, in words.
fn shown(path: &str) -> String {
    RelPath::new(path)
        .map_or_else(|_| format!("`{}`", path.escape_debug()), |path| path.display_quoted())
}

/// All of a file, or the beginning of a large one.
fn beginning(root: &RootDir, path: &RelPath, length: u64) -> Option<Vec<u8>> {
    let limit = if length <= SHOWN { SHOWN } else { BEGINNING };
    let OpenedFile { file, .. } = root.open_read(path.as_ref()).ok()?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    if length > SHOWN {
        // Not in the midst of a line, nor of a character.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        bytes.truncate(end);
    }
    Some(bytes)
}

fn text_diff(old: &[u8], new: &[u8], name: &str) -> String {
    match (std::str::from_utf8(old), std::str::from_utf8(new)) {
        (Ok(old), Ok(new)) => unified_diff(old, new, name),
        // Cut in the midst of a character, or no text.
        _ => match (String::from_utf8_lossy(old), String::from_utf8_lossy(new)) {
            (old, new) if is_text(&old) && is_text(&new) => unified_diff(&old, &new, name),
            _ => format!("{name}: {} bytes that are not text\n", new.len()),
        },
    }
}

/// Text but for a character that was cut at its end.
fn is_text(text: &str) -> bool {
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    !text.contains(char::REPLACEMENT_CHARACTER) && !text.contains('\0')
}
