//! Creating, moving and removing entries.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use super::error::FileErrorContext as _;
use super::{ReplaceExisting, RootDir, RootDirError, path_validation};

/// How deep a removal descends with open descriptors. Deeper entries are moved up
/// first, so that no depth of a hostile tree can exhaust our descriptors.
const MAX_DEPTH: usize = 64;

/// How often a directory that somebody keeps filling is emptied again.
const EMPTY_TRIES: u32 = 64;

/// How many passes a removal makes, each of [`MAX_DEPTH`] levels or more.
const MAX_REMOVAL_PASSES: u32 = 1 << 16;

impl RootDir {
    /// Creates a directory and its parents. It may exist.
    pub fn create_dir_all(&self, path: &Path) -> Result<(), RootDirError> {
        let whole = path_validation::validate_relative(path)?.as_bytes();
        let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        let mut folder = self.resolve(OsStr::new("."), OPEN_DIRECTORY, "open the root")?;
        let mut start = 0;
        for end in ends.chain([whole.len()]) {
            let name = OsStr::from_bytes(&whole[start..end]);
            let mode = rustix::fs::Mode::from_raw_mode(0o777);
            match rustix::fs::mkdirat(&folder, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(RootDirError::from_errno(errno, "create the folder")),
            }
            // From the root again: a link on the way may lead elsewhere, but not out.
            folder =
                self.resolve(OsStr::from_bytes(&whole[..end]), OPEN_DIRECTORY, "open the folder")?;
            start = end + 1;
        }
        Ok(())
    }

    /// Renames an entry inside the root. A link is moved, not followed.
    pub fn rename(
        &self,
        from: &Path,
        to: &Path,
        replace: ReplaceExisting,
    ) -> Result<(), RootDirError> {
        let (old_folder, old) = self.open_parent(from)?;
        let (new_folder, new) = self.open_parent(to)?;
        let flags = match replace {
            ReplaceExisting::No => RenameFlags::NOREPLACE,
            ReplaceExisting::Yes => RenameFlags::empty(),
        };
        rustix::fs::renameat_with(&old_folder, old, &new_folder, new, flags).context("rename")
    }

    /// Removes a file or a link, which is not followed.
    pub fn remove_file(&self, path: &Path) -> Result<(), RootDirError> {
        let (folder, leaf) = self.open_parent(path)?;
        rustix::fs::unlinkat(&folder, leaf, AtFlags::empty()).context("remove the file")
    }

    /// Removes an empty folder.
    pub fn remove_dir(&self, path: &Path) -> Result<(), RootDirError> {
        let (folder, leaf) = self.open_parent(path)?;
        rustix::fs::unlinkat(&folder, leaf, AtFlags::REMOVEDIR).context("remove the folder")
    }

    /// Removes a directory with its content, or a single file.
    ///
    /// Links are removed, never followed. A mounted file system inside is not entered:
    /// the removal fails then, and nothing in it is changed.
    pub fn remove_tree(&self, path: &Path) -> Result<(), RootDirError> {
        let (folder, leaf) = self.open_parent(path)?;
        let name = name_to_cstring(leaf)?;
        match open_subdir_at(&folder, &name) {
            Ok(top) => {
                remove_contents(&top)?;
                remove_emptied_dir(&folder, &name)
            }
            Err(RootDirError::NotADirectory) => self.remove_file(path),
            Err(error) => Err(error),
        }
    }
}

const OPEN_DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn name_to_cstring(name: &OsStr) -> Result<CString, RootDirError> {
    CString::new(name.as_bytes()).map_err(|_| RootDirError::BadPath("it contains a NUL"))
}

/// Opens a subdirectory by name: no link, no other mount.
fn open_subdir_at(folder: &OwnedFd, name: &CStr) -> Result<OwnedFd, RootDirError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let mode = rustix::fs::Mode::empty();
    loop {
        match rustix::fs::openat2(folder, name, OPEN_DIRECTORY | OFlags::NOFOLLOW, mode, resolve) {
            Err(Errno::LOOP) => return Err(RootDirError::NotADirectory),
            Err(Errno::INTR | Errno::AGAIN) => {}
            other => return other.context("enter the folder"),
        }
    }
}

/// Removes a directory that was just emptied; retries if it was filled meanwhile.
fn remove_emptied_dir(folder: &OwnedFd, name: &CStr) -> Result<(), RootDirError> {
    for _ in 0..EMPTY_TRIES {
        match rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => remove_contents(&open_subdir_at(folder, name)?)?,
            // It is gone, as intended.
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(RootDirError::from_errno(errno, "remove the folder")),
        }
    }
    Err(RootDirError::NotEmpty)
}

/// One directory on the way down: its descriptor, the remaining entries, and its name
/// in the parent.
struct RemovalLevel {
    folder: OwnedFd,
    names: Dir,
    name: CString,
}

impl RemovalLevel {
    fn new(folder: OwnedFd, name: CString) -> Result<Self, RootDirError> {
        let names = Dir::read_from(&folder).context("read the folder")?;
        Ok(Self { folder, names, name })
    }

    fn next(&mut self) -> Result<Option<(CString, FileType)>, RootDirError> {
        for entry in self.names.by_ref() {
            let entry = entry.context("read the folder")?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Ok(Some((entry.file_name().to_owned(), entry.file_type())));
            }
        }
        Ok(None)
    }
}

/// Removes the content of a directory, by descriptor at every level.
fn remove_contents(top: &OwnedFd) -> Result<(), RootDirError> {
    let mut n_moved = 0;
    for _ in 0..MAX_REMOVAL_PASSES {
        let again = n_moved;
        remove_contents_once(top, &mut n_moved)?;
        // Entries that were moved up while the top was read may have been missed.
        if n_moved == again {
            return Ok(());
        }
    }
    Err(RootDirError::NotEmpty)
}

fn remove_contents_once(top: &OwnedFd, n_moved: &mut u32) -> Result<(), RootDirError> {
    let top_again = top.try_clone().context("open the folder again")?;
    let mut levels = vec![RemovalLevel::new(top_again, CString::default())?];
    loop {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return Ok(()) };
        let Some((name, kind)) = level.next()? else {
            let done = levels.pop();
            if let (Some(above), Some(done)) = (levels.last(), done) {
                remove_emptied_dir(&above.folder, &done.name)?;
            }
            continue;
        };
        if kind != FileType::Directory {
            match rustix::fs::unlinkat(&level.folder, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                // The file system did not report the kind, or it was replaced.
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(errno) => return Err(RootDirError::from_errno(errno, "remove a file")),
            }
        }
        if depth >= MAX_DEPTH {
            move_to_top(&level.folder, &name, top, n_moved)?;
            continue;
        }
        let inside = match open_subdir_at(&level.folder, &name) {
            Err(RootDirError::NotFound) => continue,
            other => other?,
        };
        levels.push(RemovalLevel::new(inside, name)?);
    }
}

fn move_to_top(
    folder: &OwnedFd,
    name: &CStr,
    top: &OwnedFd,
    n_moved: &mut u32,
) -> Result<(), RootDirError> {
    loop {
        *n_moved += 1;
        let new = format!(".provost-deep-{}-{n_moved}", std::process::id());
        match rustix::fs::renameat_with(folder, name, top, &*new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(RootDirError::from_errno(errno, "move a deep folder up")),
        }
    }
}
