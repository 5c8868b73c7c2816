//! Moves leftovers into the store, and puts what was there before in their place.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use provost_core::action::protected_paths::{is_protected_parent, leftover_reason};
use provost_core::quarantine::git_entries::EntryType;
use provost_core::quarantine::hidden_names::TreePlace;
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, FileWriteMode, RootDir, RootDirError};
use rustix::fs::{AtFlags, Mode};

use super::snapshot::SnapshotEntry;
use super::store::{
    LeftInPlace, MAX_STORED_BYTES, QuarantineStore, SetAsideEntry, SetAsideKind, entry_id,
};
use crate::ActionError;

/// An entry that is to be set aside.
#[derive(Debug)]
pub(super) struct SetAsideRequest<'a> {
    pub(super) path: &'a Path,
    pub(super) why: &'a str,
    /// What remains of it.
    pub(super) replacement: Option<&'a [u8]>,
    pub(super) former: Option<&'a SnapshotEntry>,
    pub(super) found: Option<&'a SnapshotEntry>,
}

/// Stores the entry, and puts the former or the harmless content in its place.
pub(super) fn set_aside(
    root: &RootDir,
    store: &QuarantineStore,
    request: &SetAsideRequest<'_>,
) -> Result<SetAsideEntry, ActionError> {
    let SetAsideRequest { path, why, replacement, former, .. } = *request;
    make_parent_writable(root, path);
    let stat = root.stat(path)?;
    let (kind, content, is_whole) = match stat.kind {
        FileKind::Symlink => {
            (SetAsideKind::Symlink, stat.target.unwrap_or_default().as_bytes().to_vec(), true)
        }
        FileKind::File => {
            let content = match &request.found.and_then(|found| found.content.clone()) {
                Some(content) => Some(content.to_vec()),
                None => read_any(root, path),
            };
            (SetAsideKind::File, content.clone().unwrap_or_default(), content.is_some())
        }
        FileKind::Other => (SetAsideKind::Other, Vec::new(), true),
        FileKind::Directory => {
            return Err(ActionError::new(Code::Conflict, "it became a folder meanwhile"));
        }
    };
    let executable = kind == SetAsideKind::File && stat.mode & 0o100 != 0;
    let left = match (replacement, former) {
        (Some(_), _) => LeftInPlace::Rest,
        (None, Some(_)) => LeftInPlace::Former,
        (None, None) => LeftInPlace::Nothing,
    };
    let why = if is_whole { why.to_owned() } else { format!("{why}; too large to be kept") };
    // The file may have grown since its content was read.
    let n_bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let size = if is_whole { n_bytes } else { stat.size };
    let content = StoredContent { kind, executable, size, bytes: &content };
    let entry = store_entry(store, path, &content, why, left)?;
    put_in_place(root, path, stat.mode, replacement, former)?;
    Ok(entry)
}

/// The content of an entry that is set aside.
#[derive(Debug)]
pub(super) struct StoredContent<'a> {
    pub(super) kind: SetAsideKind,
    pub(super) executable: bool,
    /// The size that it had, also if it is too large to be kept.
    pub(super) size: u64,
    pub(super) bytes: &'a [u8],
}

/// Stores an entry.
pub(super) fn store_entry(
    store: &QuarantineStore,
    path: &Path,
    content: &StoredContent<'_>,
    why: String,
    left: LeftInPlace,
) -> Result<SetAsideEntry, ActionError> {
    let StoredContent { kind, executable, size, bytes } = *content;
    let path = path.to_string_lossy().into_owned();
    let id = entry_id(&path, kind, executable, bytes);
    let kept = store.kept_path(&id);
    let entry = SetAsideEntry { id, path, kind, executable, size, why, left, kept };
    store.add(&entry, bytes).map_err(|error| {
        ActionError::new(Code::Internal, format!("cannot store what was left: {error}"))
    })?;
    Ok(entry)
}

/// Replaces the settings of a repository.
pub(super) fn write_settings(
    root: &RootDir,
    path: &Path,
    content: &[u8],
) -> Result<(), RootDirError> {
    let mode = root.stat(path)?.mode;
    write_over(root, path, content, mode)
}

fn read_any(root: &RootDir, path: &Path) -> Option<Vec<u8>> {
    root.read(path, MAX_STORED_BYTES).ok().or_else(|| {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::chmodat(root, path, mode, AtFlags::empty()).ok()?;
        root.read(path, MAX_STORED_BYTES).ok()
    })
}

/// A command may have made a folder read-only.
pub(super) fn make_parent_writable(root: &RootDir, path: &Path) {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return;
    };
    if let Ok(stat) = root.stat(parent)
        && stat.mode & 0o300 != 0o300
    {
        let mode = Mode::from_raw_mode((stat.mode & 0o7777) | 0o700);
        // If it fails, so does the removal, and that is reported.
        let _ = rustix::fs::chmodat(root, parent, mode, AtFlags::empty());
    }
}

fn put_in_place(
    root: &RootDir,
    path: &Path,
    mode: u32,
    replacement: Option<&[u8]>,
    former: Option<&SnapshotEntry>,
) -> Result<(), ActionError> {
    if let Some(rest) = replacement {
        return Ok(write_over(root, path, rest, mode)?);
    }
    let Some(former) = former else {
        root.remove_file(path)?;
        remove_empty_parents(root, path);
        return Ok(());
    };
    match (former.kind, &former.content) {
        (EntryType::File, Some(content)) => Ok(write_over(root, path, content, former.mode)?),
        (EntryType::Symlink, Some(target)) => {
            root.remove_file(path)?;
            create_link(root, path, target)
        }
        (EntryType::File | EntryType::Symlink | EntryType::Directory | EntryType::Other, _) => {
            root.remove_file(path)?;
            let message = "it was set aside; its former content was too large to be put back";
            Err(ActionError::new(Code::TooLarge, message))
        }
    }
}

/// Replaces whatever is at the path: at once where it is a file with one name.
pub(super) fn write_over(
    root: &RootDir,
    path: &Path,
    content: &[u8],
    mode: u32,
) -> Result<(), RootDirError> {
    let is_plain = root.stat(path).is_ok_and(|stat| stat.kind == FileKind::File && stat.links == 1);
    if !is_plain || root.write(path, content, FileWriteMode::Overwrite).is_err() {
        match root.remove_file(path) {
            Ok(()) | Err(RootDirError::NotFound) => {}
            Err(error) => return Err(error),
        }
        root.write(path, content, FileWriteMode::Create)?;
    }
    let mode = Mode::from_raw_mode(mode & 0o777);
    if let Err(error) = rustix::fs::chmodat(root, path, mode, AtFlags::empty()) {
        tracing::debug!(%error, ?path, "cannot set the former permissions");
    }
    Ok(())
}

pub(super) fn create_link(root: &RootDir, path: &Path, target: &[u8]) -> Result<(), ActionError> {
    rustix::fs::symlinkat(OsStr::from_bytes(target), root, path).map_err(|error| {
        ActionError::new(Code::Internal, format!("cannot create the link: {error}"))
    })
}

/// Removes the folders that were created for an entry, as far as they are empty.
fn remove_empty_parents(root: &RootDir, path: &Path) {
    for parent in path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()) {
        let Some(text) = parent.to_str() else { return };
        let names: Vec<&str> = text.split('/').collect();
        let is_ours = (1..=names.len()).any(|n| leftover_reason(&names[..n], false).is_some())
            || is_protected_parent(&names)
            || names.iter().any(|name| TreePlace::Project.enter_folder(name) == TreePlace::Hidden);
        let in_git = names.contains(&".git");
        if !is_ours || in_git || root.remove_dir(parent).is_err() {
            return;
        }
    }
}
