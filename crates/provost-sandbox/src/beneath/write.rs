//! Writing: a new file that takes the old one's name, or bytes at the end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

use super::draft::{Draft, Keep};
use super::error::Doing as _;
use super::look::NOT_A_FILE;
use super::{BeneathError, Kind, Root, Stat};

/// What a write does with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Replaces the file, or makes it.
    Overwrite,
    /// Makes the file; [`BeneathError::Exists`] if there is one.
    Create,
    /// Adds to the end of the file, or makes it.
    Append,
}

impl Root {
    /// Writes a file. When this returns, the content is on the disk; when it
    /// fails, a file that was there is as it was (after a failed append it may
    /// have grown by a part).
    pub fn write(&self, path: &Path, content: &[u8], mode: Mode) -> Result<(), BeneathError> {
        let (folder, leaf) = self.parent(path)?;
        match mode {
            Mode::Overwrite => {
                let old = target(&folder, leaf)?;
                put(&folder, leaf, content, old.as_ref())
            }
            Mode::Create => create(&folder, leaf, content),
            Mode::Append => match append(&folder, leaf, content) {
                Err(BeneathError::NotFound) => create(&folder, leaf, content),
                done => done,
            },
        }
    }

    /// Replaces a file by what `edit` makes of its present content.
    ///
    /// `edit` gets at most `limit` bytes, `None` if there is no file, and returns
    /// the new content, or its own error to leave everything as it is: this is
    /// where a caller compares hashes. What it saw and what is replaced are the
    /// same name in the same held folder, so no link can be put between the two.
    pub fn edit<E: From<BeneathError>>(
        &self,
        path: &Path,
        limit: u64,
        edit: impl FnOnce(Option<&[u8]>) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let (folder, leaf) = self.parent(path)?;
        let Some(target) = target(&folder, leaf)? else {
            let content = edit(None)?;
            return Ok(create(&folder, leaf, &content)?);
        };
        let present = target.read(&folder, leaf, limit)?;
        let content = edit(Some(&present))?;
        Ok(put(&folder, leaf, &content, Some(&target))?)
    }
}

/// A file that may be replaced: regular, with one name.
struct Target {
    stat: Stat,
    keep: Keep,
    identity: (u64, u64),
}

impl Target {
    fn read(&self, folder: &OwnedFd, leaf: &OsStr, limit: u64) -> Result<Vec<u8>, BeneathError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(folder, leaf, flags)?);
        let stat = rustix::fs::fstat(&file).doing("look at the file")?;
        if (stat.st_dev, stat.st_ino) != self.identity {
            // Somebody replaced it between two of our calls; the caller may try again.
            return Err(BeneathError::from_errno(Errno::AGAIN, "read the file"));
        }
        let mut content = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut content).doing("read the file")?;
        let size = content.len() as u64;
        if size > limit {
            return Err(BeneathError::TooLarge { size: self.stat.size.max(size), limit });
        }
        Ok(content)
    }
}

fn open(folder: &OwnedFd, leaf: &OsStr, flags: OFlags) -> Result<OwnedFd, BeneathError> {
    match rustix::fs::openat(folder, leaf, flags, rustix::fs::Mode::empty()) {
        Err(Errno::LOOP) => Err(LINK),
        Err(Errno::NXIO) => Err(NOT_A_FILE),
        other => other.doing("open the file"),
    }
}

const LINK: BeneathError = BeneathError::NotRegular("a symbolic link");

/// What is at the name now, if it may be replaced; `None` if the name is free.
fn target(folder: &OwnedFd, leaf: &OsStr) -> Result<Option<Target>, BeneathError> {
    let found = match rustix::fs::statat(folder, leaf, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        other => other.doing("look at the file")?,
    };
    let stat = Stat::from(&found);
    writable(&stat)?;
    // The permission bits alone: a set-id bit was for the old content.
    let keep = Keep { mode: stat.mode & 0o777, uid: found.st_uid, gid: found.st_gid };
    Ok(Some(Target { stat, keep, identity: (found.st_dev, found.st_ino) }))
}

fn writable(stat: &Stat) -> Result<(), BeneathError> {
    match stat.kind {
        Kind::File if stat.links > 1 => Err(BeneathError::HardLink),
        Kind::File => Ok(()),
        Kind::Directory => Err(BeneathError::IsDirectory),
        Kind::Symlink => Err(LINK),
        Kind::Other => Err(NOT_A_FILE),
    }
}

fn append(folder: &OwnedFd, leaf: &OsStr, content: &[u8]) -> Result<(), BeneathError> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = File::from(open(folder, leaf, flags | OFlags::CLOEXEC)?);
    // Judged on the open file, so that what is checked is what is written to.
    let stat = Stat::from(&rustix::fs::fstat(&file).doing("look at the file")?);
    writable(&stat)?;
    if stat.mode & SET_ID != 0 {
        return Err(BeneathError::NotRegular("a set-id program"));
    }
    file.write_all(content).doing("write the file")?;
    file.sync_all().doing("write the file to the disk")
}

const SET_ID: u32 = 0o6000;

fn create(folder: &OwnedFd, leaf: &OsStr, content: &[u8]) -> Result<(), BeneathError> {
    let draft = Draft::new(folder, leaf)?;
    draft.fill(content, None)?;
    draft.take_free_name()
}

fn put(
    folder: &OwnedFd,
    leaf: &OsStr,
    content: &[u8],
    old: Option<&Target>,
) -> Result<(), BeneathError> {
    let draft = Draft::new(folder, leaf)?;
    draft.fill(content, old.map(|target| &target.keep))?;
    draft.replace()
}
