//! Writing: replaces a file by a new one, or appends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

use super::error::FileErrorContext as _;
use super::read::NOT_A_FILE;
use super::staged_file::{PreservedAttributes, StagedFile};
use super::{FileKind, FileStat, RootDir, RootDirError};

/// What a write does with an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileWriteMode {
    /// Replaces the file, or creates it.
    Overwrite,
    /// Creates the file; [`RootDirError::Exists`] if there is one.
    Create,
    /// Appends to the file, or creates it.
    Append,
}

impl RootDir {
    /// Writes a file. When this returns, the content is on disk; when it fails, an existing
    /// file is unchanged (after a failed append it may have grown by a part).
    pub fn write(
        &self,
        path: &Path,
        content: &[u8],
        mode: FileWriteMode,
    ) -> Result<(), RootDirError> {
        let (folder, leaf) = self.open_parent(path)?;
        match mode {
            FileWriteMode::Overwrite => {
                let old = find_replace_target(&folder, leaf)?;
                replace_file(&folder, leaf, content, old.as_ref())
            }
            FileWriteMode::Create => create_file(&folder, leaf, content),
            FileWriteMode::Append => match append_to_file(&folder, leaf, content) {
                Err(RootDirError::NotFound) => create_file(&folder, leaf, content),
                done => done,
            },
        }
    }

    /// Creates a file without waiting for the disk: for what can be made again, such as a mount
    /// point. [`RootDirError::Exists`] if there is something.
    pub fn create_unsynced(&self, path: &Path, content: &[u8]) -> Result<(), RootDirError> {
        let (folder, leaf) = self.open_parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let created = match rustix::fs::openat(&folder, leaf, flags | OFlags::CLOEXEC, mode) {
            Err(Errno::EXIST) => return Err(RootDirError::Exists),
            other => other.context("create the file")?,
        };
        File::from(created).write_all(content).context("write the file")
    }

    /// Replaces a file by what `edit` makes of its current content.
    ///
    /// `edit` gets at most `limit` bytes, `None` if there is no file, and returns the new
    /// content, or its own error to leave everything as it is: this is where a caller
    /// compares hashes. What it read and what is replaced are the same name in the same
    /// open directory, so no link can be put between the two.
    pub fn edit<E: From<RootDirError>>(
        &self,
        path: &Path,
        limit: u64,
        edit: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let (folder, leaf) = self.open_parent(path)?;
        let Some(target) = find_replace_target(&folder, leaf)? else {
            let content = edit(None)?;
            return Ok(create_file(&folder, leaf, &content)?);
        };
        let present = target.read_content(&folder, leaf, limit)?;
        let content = edit(Some(&present))?;
        Ok(replace_file(&folder, leaf, &content, Some(&target))?)
    }
}

/// A file that may be replaced: regular, with one name.
struct ReplaceTarget {
    stat: FileStat,
    keep: PreservedAttributes,
    identity: (u64, u64),
}

impl ReplaceTarget {
    fn read_content(
        &self,
        folder: &OwnedFd,
        leaf: &OsStr,
        limit: u64,
    ) -> Result<Vec<u8>, RootDirError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open_leaf(folder, leaf, flags)?);
        let stat = rustix::fs::fstat(&file).context("read the metadata")?;
        if (stat.st_dev, stat.st_ino) != self.identity {
            // Somebody replaced it between two of our calls; the caller may retry.
            return Err(RootDirError::from_errno(Errno::AGAIN, "read the file"));
        }
        let mut content = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut content).context("read the file")?;
        let size = content.len() as u64;
        if size > limit {
            return Err(RootDirError::TooLarge { size: self.stat.size.max(size), limit });
        }
        Ok(content)
    }
}

fn open_leaf(folder: &OwnedFd, leaf: &OsStr, flags: OFlags) -> Result<OwnedFd, RootDirError> {
    match rustix::fs::openat(folder, leaf, flags, rustix::fs::Mode::empty()) {
        Err(Errno::LOOP) => Err(SYMLINK_REFUSED),
        Err(Errno::NXIO) => Err(NOT_A_FILE),
        other => other.context("open the file"),
    }
}

const SYMLINK_REFUSED: RootDirError = RootDirError::NotRegular("a symbolic link");

/// The file at this name, if it may be replaced; `None` if the name is free.
fn find_replace_target(
    folder: &OwnedFd,
    leaf: &OsStr,
) -> Result<Option<ReplaceTarget>, RootDirError> {
    let found = match rustix::fs::statat(folder, leaf, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        other => other.context("read the metadata")?,
    };
    let stat = FileStat::from(&found);
    check_writable(&stat)?;
    // The permission bits only: a set-id bit was for the old content.
    let keep =
        PreservedAttributes { mode: stat.mode & 0o777, uid: found.st_uid, gid: found.st_gid };
    Ok(Some(ReplaceTarget { stat, keep, identity: (found.st_dev, found.st_ino) }))
}

fn check_writable(stat: &FileStat) -> Result<(), RootDirError> {
    match stat.kind {
        FileKind::File if stat.links > 1 => Err(RootDirError::HardLink),
        FileKind::File => Ok(()),
        FileKind::Directory => Err(RootDirError::IsDirectory),
        FileKind::Symlink => Err(SYMLINK_REFUSED),
        FileKind::Other => Err(NOT_A_FILE),
    }
}

fn append_to_file(folder: &OwnedFd, leaf: &OsStr, content: &[u8]) -> Result<(), RootDirError> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = File::from(open_leaf(folder, leaf, flags | OFlags::CLOEXEC)?);
    // Checked on the open file, so that what is checked is what is written to.
    let stat = FileStat::from(&rustix::fs::fstat(&file).context("read the metadata")?);
    check_writable(&stat)?;
    if stat.mode & SET_ID != 0 {
        return Err(RootDirError::NotRegular("a set-id program"));
    }
    file.write_all(content).context("write the file")?;
    file.sync_all().context("write the file to the disk")
}

const SET_ID: u32 = 0o6000;

fn create_file(folder: &OwnedFd, leaf: &OsStr, content: &[u8]) -> Result<(), RootDirError> {
    let draft = StagedFile::new(folder, leaf)?;
    draft.write_content(content, None)?;
    draft.create_target()
}

fn replace_file(
    folder: &OwnedFd,
    leaf: &OsStr,
    content: &[u8],
    old: Option<&ReplaceTarget>,
) -> Result<(), RootDirError> {
    let draft = StagedFile::new(folder, leaf)?;
    draft.write_content(content, old.map(|target| &target.keep))?;
    draft.replace_target()
}
