//! What `fs.restoreFile` would put back: the whole content as a diff, whatever its size.

use provost_core::action::RestoreFile;
use provost_core::role::Role;
use provost_kernel::quarantine::{QuarantineStore, SetAsideKind, StoredEntry};
use provost_sandbox::root_dir::{FileKind, RootDir};

use super::file_change_summary::{
    FileChangeSummary, describe_existing_file, display_path, read_file_prefix, whole_text_diff,
};
use super::format_size;

/// Summarizes what is put back, and what it replaces.
pub(super) fn summarize_restore(
    root: &RootDir,
    store: &QuarantineStore,
    restore: &RestoreFile,
    change: &mut FileChangeSummary,
) {
    let path = restore.path.display_quoted();
    let Ok(stored) = store.read(&restore.id, restore.path.as_str()) else {
        change.notes.push(format!("{path} is not kept any more, so this will fail"));
        return;
    };
    let StoredEntry { entry, content } = &stored;
    change.notes.push(format!("it was set aside because {}", entry.why));
    change.notes.push(match entry.kind {
        SetAsideKind::Symlink => {
            format!("it is a link to {}", display_path(&String::from_utf8_lossy(content)))
        }
        SetAsideKind::File | SetAsideKind::Other => {
            let executable = if entry.executable { ", executable" } else { "" };
            format!(
                "it is a file of {}{executable}, BLAKE3 {}, kept in the data folder as {}",
                format_size(entry.size),
                Role::hash(content),
                entry.kept
            )
        }
    });
    change
        .notes
        .extend(stored.find_obstacle_for_answer().map(|why| format!("this will fail: {why}")));
    let there = root.stat(restore.path.as_ref()).ok();
    change.notes.push(match &there {
        None => format!("{path} is not there now: it is created"),
        Some(stat) => format!("{} is replaced", describe_existing_file(root, &restore.path, stat)),
    });
    if entry.kind != SetAsideKind::File {
        return;
    }
    let plain = there.filter(|stat| stat.kind == FileKind::File);
    let old = plain.and_then(|stat| read_file_prefix(root, &restore.path, stat.size));
    // What a person cannot read is not put back by their answer.
    if stored.find_obstacle_for_answer().is_none() {
        let old = old.unwrap_or_default();
        change.diff = Some(whole_text_diff(&old, content, restore.path.as_str()));
    }
}
