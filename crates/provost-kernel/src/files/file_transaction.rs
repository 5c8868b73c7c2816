//! Changes to several files that are committed together or rolled back.
//!
//! Each step is recorded with what reverts it. A deleted file is moved aside and
//! removed on commit, so that it can be restored completely. A file that somebody
//! else changed meanwhile is left alone, and the error says so.

use std::sync::atomic::{AtomicU32, Ordering};

use provost_core::action::{MAX_FILE_WRITE_BYTES, RelPath};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileWriteMode, ReplaceExisting, RootDir, RootDirError};

use super::{ChangeKind, ChangedPath, create_parent_dirs};
use crate::ActionError;

/// The completed steps, in order.
enum CompletedStep {
    CreatedDir(RelPath),
    Created { path: RelPath, content: Vec<u8> },
    Replaced { path: RelPath, old: Vec<u8>, new: Vec<u8> },
    Moved { from: RelPath, to: RelPath },
    MovedAside { path: RelPath, aside: String },
}

/// The steps so far.
pub(super) struct FileTransaction<'a> {
    root: &'a RootDir,
    done: Vec<CompletedStep>,
}

/// Number of files moved aside by this process, for unique names.
static ASIDE_COUNTER: AtomicU32 = AtomicU32::new(0);

impl<'a> FileTransaction<'a> {
    pub(super) fn new(root: &'a RootDir) -> Self {
        Self { root, done: Vec::new() }
    }

    pub(super) fn create(&mut self, path: &RelPath, content: &[u8]) -> Result<(), ActionError> {
        self.create_parent_dirs(path)?;
        self.root
            .write(path.as_ref(), content, FileWriteMode::Create)
            .map_err(error_with_path(path))?;
        self.done.push(CompletedStep::Created { path: path.clone(), content: content.to_vec() });
        Ok(())
    }

    /// Replaces a file, if it still has the expected content.
    pub(super) fn replace(
        &mut self,
        path: &RelPath,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), ActionError> {
        replace_if_unchanged(self.root, path, old, new)?;
        let (old, new) = (old.to_vec(), new.to_vec());
        self.done.push(CompletedStep::Replaced { path: path.clone(), old, new });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &RelPath, to: &RelPath) -> Result<(), ActionError> {
        self.create_parent_dirs(to)?;
        self.root
            .rename(from.as_ref(), to.as_ref(), ReplaceExisting::No)
            .map_err(error_with_path(to))?;
        self.done.push(CompletedStep::Moved { from: from.clone(), to: to.clone() });
        Ok(())
    }

    /// Removes a file, if it still has the expected content.
    pub(super) fn remove(&mut self, path: &RelPath, old: &[u8]) -> Result<(), ActionError> {
        let number = ASIDE_COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".provost-aside-{}-{number}", std::process::id());
        let folder = path.parent().filter(|folder| !folder.is_root());
        let aside = folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"));
        self.root
            .rename(path.as_ref(), aside.as_ref(), ReplaceExisting::No)
            .map_err(error_with_path(path))?;
        self.done.push(CompletedStep::MovedAside { path: path.clone(), aside: aside.clone() });
        let present = self
            .root
            .read(aside.as_ref(), MAX_FILE_WRITE_BYTES as u64)
            .map_err(error_with_path(path))?;
        if present == old { Ok(()) } else { Err(concurrent_change_error().with_path(path)) }
    }

    fn create_parent_dirs(&mut self, path: &RelPath) -> Result<(), ActionError> {
        let made = create_parent_dirs(self.root, path)?;
        self.done.extend(made.into_iter().map(CompletedStep::CreatedDir));
        Ok(())
    }

    /// Commits: removes the files that were moved aside.
    pub(super) fn commit(self) -> Result<Vec<ChangedPath>, ActionError> {
        let mut changed = Vec::new();
        for done in &self.done {
            changed.push(match done {
                CompletedStep::CreatedDir(path) | CompletedStep::Created { path, .. } => {
                    ChangedPath::new(path, ChangeKind::Created)
                }
                CompletedStep::Replaced { path, .. } => {
                    ChangedPath::new(path, ChangeKind::Modified)
                }
                CompletedStep::Moved { from, to } => ChangedPath::moved(from, to),
                CompletedStep::MovedAside { path, aside } => {
                    self.root.remove_file(aside.as_ref()).map_err(error_with_path(path))?;
                    ChangedPath::new(path, ChangeKind::Deleted)
                }
            });
        }
        Ok(changed)
    }

    /// Reverts all steps, the last first; adds to `error` what could not be reverted.
    pub(super) fn roll_back(self, mut error: ActionError) -> ActionError {
        let root = self.root;
        for done in self.done.into_iter().rev() {
            let (path, undone) = match done {
                CompletedStep::CreatedDir(path) => match root.remove_dir(path.as_ref()) {
                    // Not empty any more: somebody uses it, so it stays.
                    Err(RootDirError::NotEmpty) | Ok(()) => continue,
                    Err(error) => (path, Err(error.into())),
                },
                CompletedStep::Created { path, content } => {
                    let undone = remove_created_file(root, &path, &content);
                    (path, undone)
                }
                CompletedStep::Replaced { path, old, new } => {
                    let undone = replace_if_unchanged(root, &path, &new, &old);
                    (path, undone)
                }
                CompletedStep::Moved { from, to } => {
                    let undone = root.rename(to.as_ref(), from.as_ref(), ReplaceExisting::No);
                    (from, undone.map_err(ActionError::from))
                }
                CompletedStep::MovedAside { path, aside } => {
                    let undone = root.rename(aside.as_ref(), path.as_ref(), ReplaceExisting::No);
                    (path, undone.map_err(ActionError::from))
                }
            };
            if let Err(problem) = undone {
                error.message = format!("{error}; {path} could not be restored: {problem}");
            }
        }
        error
    }
}

fn remove_created_file(root: &RootDir, path: &RelPath, content: &[u8]) -> Result<(), ActionError> {
    if root.read(path.as_ref(), MAX_FILE_WRITE_BYTES as u64)? != content {
        return Err(concurrent_change_error());
    }
    Ok(root.remove_file(path.as_ref())?)
}

fn replace_if_unchanged(
    root: &RootDir,
    path: &RelPath,
    old: &[u8],
    new: &[u8],
) -> Result<(), ActionError> {
    let swapped = root.edit(path.as_ref(), MAX_FILE_WRITE_BYTES as u64, |present| {
        if present == Some(old) { Ok(new.to_vec()) } else { Err(concurrent_change_error()) }
    });
    swapped.map_err(|error| error.with_path(path))
}

fn concurrent_change_error() -> ActionError {
    ActionError::new(Code::Conflict, "the file was changed by something else in the meantime")
}

fn error_with_path(path: &RelPath) -> impl Fn(RootDirError) -> ActionError + '_ {
    move |error| ActionError::from(error).with_path(path)
}
