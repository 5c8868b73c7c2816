//! Changes to several files that are made together or not at all.
//!
//! Each step is remembered with what undoes it. A file that goes is moved aside
//! and removed at the end, so that bringing it back loses nothing of it. What
//! somebody else changed meanwhile is left as they made it, and said.

use std::sync::atomic::{AtomicU32, Ordering};

use provost_core::action::{MAX_FILE_WRITE_BYTES, RelPath};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileWriteMode, ReplaceExisting, RootDir, RootDirError};

use super::{ChangeKind, Changed, make_folders_for};
use crate::ActionError;

/// What was done, in order.
enum Done {
    MadeFolder(RelPath),
    Created { path: RelPath, content: Vec<u8> },
    Replaced { path: RelPath, old: Vec<u8>, new: Vec<u8> },
    Moved { from: RelPath, to: RelPath },
    MovedAside { path: RelPath, aside: String },
}

/// The steps so far.
pub(super) struct Steps<'a> {
    root: &'a RootDir,
    done: Vec<Done>,
}

/// Files moved aside by this process, so that two at once have two names.
static ASIDE: AtomicU32 = AtomicU32::new(0);

impl<'a> Steps<'a> {
    pub(super) fn new(root: &'a RootDir) -> Self {
        Self { root, done: Vec::new() }
    }

    pub(super) fn create(&mut self, path: &RelPath, content: &[u8]) -> Result<(), ActionError> {
        self.make_folders(path)?;
        self.root.write(path.as_ref(), content, FileWriteMode::Create).map_err(on(path))?;
        self.done.push(Done::Created { path: path.clone(), content: content.to_vec() });
        Ok(())
    }

    /// Replaces what the caller has seen, and nothing else.
    pub(super) fn replace(
        &mut self,
        path: &RelPath,
        old: &[u8],
        new: &[u8],
    ) -> Result<(), ActionError> {
        swap(self.root, path, old, new)?;
        let (old, new) = (old.to_vec(), new.to_vec());
        self.done.push(Done::Replaced { path: path.clone(), old, new });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &RelPath, to: &RelPath) -> Result<(), ActionError> {
        self.make_folders(to)?;
        self.root.rename(from.as_ref(), to.as_ref(), ReplaceExisting::No).map_err(on(to))?;
        self.done.push(Done::Moved { from: from.clone(), to: to.clone() });
        Ok(())
    }

    /// Removes a file that still is what the caller has seen.
    pub(super) fn remove(&mut self, path: &RelPath, old: &[u8]) -> Result<(), ActionError> {
        let number = ASIDE.fetch_add(1, Ordering::Relaxed);
        let name = format!(".provost-aside-{}-{number}", std::process::id());
        let folder = path.parent().filter(|folder| !folder.is_root());
        let aside = folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"));
        self.root.rename(path.as_ref(), aside.as_ref(), ReplaceExisting::No).map_err(on(path))?;
        self.done.push(Done::MovedAside { path: path.clone(), aside: aside.clone() });
        let present =
            self.root.read(aside.as_ref(), MAX_FILE_WRITE_BYTES as u64).map_err(on(path))?;
        if present == old { Ok(()) } else { Err(changed_meanwhile().on(path)) }
    }

    fn make_folders(&mut self, path: &RelPath) -> Result<(), ActionError> {
        let made = make_folders_for(self.root, path)?;
        self.done.extend(made.into_iter().map(Done::MadeFolder));
        Ok(())
    }

    /// Makes it last: files that were moved aside go.
    pub(super) fn finish(self) -> Result<Vec<Changed>, ActionError> {
        let mut changed = Vec::new();
        for done in &self.done {
            changed.push(match done {
                Done::MadeFolder(path) | Done::Created { path, .. } => {
                    Changed::new(path, ChangeKind::Created)
                }
                Done::Replaced { path, .. } => Changed::new(path, ChangeKind::Modified),
                Done::Moved { from, to } => Changed::moved(from, to),
                Done::MovedAside { path, aside } => {
                    self.root.remove_file(aside.as_ref()).map_err(on(path))?;
                    Changed::new(path, ChangeKind::Deleted)
                }
            });
        }
        Ok(changed)
    }

    /// Undoes all, the last step first; what could not be undone is said in `error`.
    pub(super) fn undo(self, mut error: ActionError) -> ActionError {
        let root = self.root;
        for done in self.done.into_iter().rev() {
            let (path, undone) = match done {
                Done::MadeFolder(path) => match root.remove_dir(path.as_ref()) {
                    // Somebody put something into it meanwhile: then it stays.
                    Err(RootDirError::NotEmpty) | Ok(()) => continue,
                    Err(error) => (path, Err(error.into())),
                },
                Done::Created { path, content } => {
                    let undone = take_back(root, &path, &content);
                    (path, undone)
                }
                Done::Replaced { path, old, new } => {
                    let undone = swap(root, &path, &new, &old);
                    (path, undone)
                }
                Done::Moved { from, to } => {
                    let undone = root.rename(to.as_ref(), from.as_ref(), ReplaceExisting::No);
                    (from, undone.map_err(ActionError::from))
                }
                Done::MovedAside { path, aside } => {
                    let undone = root.rename(aside.as_ref(), path.as_ref(), ReplaceExisting::No);
                    (path, undone.map_err(ActionError::from))
                }
            };
            if let Err(problem) = undone {
                error.message = format!("{error}; {path} could not be put back: {problem}");
            }
        }
        error
    }
}

fn take_back(root: &RootDir, path: &RelPath, content: &[u8]) -> Result<(), ActionError> {
    if root.read(path.as_ref(), MAX_FILE_WRITE_BYTES as u64)? != content {
        return Err(changed_meanwhile());
    }
    Ok(root.remove_file(path.as_ref())?)
}

fn swap(root: &RootDir, path: &RelPath, old: &[u8], new: &[u8]) -> Result<(), ActionError> {
    let swapped = root.edit(path.as_ref(), MAX_FILE_WRITE_BYTES as u64, |present| {
        if present == Some(old) { Ok(new.to_vec()) } else { Err(changed_meanwhile()) }
    });
    swapped.map_err(|error| error.on(path))
}

fn changed_meanwhile() -> ActionError {
    ActionError::new(Code::Conflict, "somebody changed the file meanwhile")
}

fn on(path: &RelPath) -> impl Fn(RootDirError) -> ActionError + '_ {
    move |error| ActionError::from(error).on(path)
}
