//! Files beneath a root, and nowhere else.
//!
//! A [`RootDir`] is a held handle to a folder. Every path is resolved by the kernel
//! from that handle with `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`, so
//! there is no moment between looking and using in which a symbolic link could be
//! swapped in: what was resolved is what is held, and what is held is what is
//! used, to the end of the operation. Nothing here ever calls `realpath`.
//!
//! - Links that stay inside are followed on the way to a file; one that leads
//!   outside is [`RootDirError::OutsideRoot`].
//! - The last component of a write is never followed. A whole-file write goes to
//!   a new file in the same, held folder, which then replaces the old name, so
//!   even a lost race replaces a name inside the root and changes no file outside.
//! - A root that was made with [`RootDir::with_allowed_links`] follows those links only that were
//!   seen before, and only to where they led then.
//! - A file with a second name may be a file outside under a name inside; writing
//!   to it is [`RootDirError::HardLink`].
//! - Set-id bits are never carried over to what is written.
//!
//! Extended attributes and access control lists of a replaced file are not kept.

mod directory_ops;
mod error;
mod path_validation;
mod read;
mod staged_file;
mod symlink_snapshot;
mod write;

pub use error::RootDirError;
pub use read::{FileKind, FileStat, RootDirEntry, RootDirListing};
pub use symlink_snapshot::SymlinkSnapshot;
pub use write::FileWriteMode;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{OFlags, ResolveFlags};
use rustix::io::Errno;

/// Whether a rename may replace what is at the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceExisting {
    /// The new name must be free, else [`RootDirError::Exists`].
    No,
    /// What is there goes, as `rename(2)` does it.
    Yes,
}

/// A folder that all paths are relative to and none can leave.
#[derive(Debug)]
pub struct RootDir {
    dir: Arc<OwnedFd>,
    /// The only links that are followed; all that stay inside, if it is `None`.
    links: Option<SymlinkSnapshot>,
}

/// How a path is resolved: never above the root, never through `/proc`'s links.
const RESOLVE_FLAGS: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// How often an interrupted resolution is tried again. The kernel answers
/// "again" when a rename happened while it walked upwards.
const RESOLVE_TRIES: u32 = 128;

impl RootDir {
    /// Opens the folder. Its own path is the operator's word and is followed as it is.
    pub fn open(folder: &Path) -> Result<Self, RootDirError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())
            .map_err(|errno| RootDirError::from_errno(errno, "open the root"))?;
        Ok(Self { dir: Arc::new(dir), links: None })
    }

    /// A folder beneath this one, as a root of its own. `.` is this one again.
    pub fn open_subdir(&self, path: &Path) -> Result<Self, RootDirError> {
        let path = path_validation::validate_relative_or_root(path)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let dir = self.resolve(path, flags, "open the folder")?;
        Ok(Self { dir: Arc::new(dir), links: None })
    }

    /// The one place that resolves a path.
    fn resolve(&self, path: &OsStr, flags: OFlags, doing: &'static str) -> ResolveResult {
        match &self.links {
            None => self.open_beneath(path, flags, RESOLVE_FLAGS, doing),
            Some(links) => self.resolve_with_links(links, path, flags, doing),
        }
    }

    fn open_beneath(
        &self,
        path: &OsStr,
        flags: OFlags,
        resolve: ResolveFlags,
        doing: &'static str,
    ) -> ResolveResult {
        for _ in 0..RESOLVE_TRIES {
            let mode = rustix::fs::Mode::empty();
            match rustix::fs::openat2(&*self.dir, path, flags | OFlags::CLOEXEC, mode, resolve) {
                Ok(fd) => return Ok(fd),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The kernel's words for "this path leaves the folder" and for a
                // link that leads anywhere, be it one of `/proc` or a circle.
                Err(Errno::XDEV | Errno::LOOP) => return Err(RootDirError::OutsideRoot),
                Err(errno) => return Err(RootDirError::from_errno(errno, doing)),
            }
        }
        Err(RootDirError::from_errno(Errno::AGAIN, doing))
    }

    /// The folder that holds a path's last component, open, and that component.
    fn open_parent<'p>(&self, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), RootDirError> {
        let (folder, leaf) = path_validation::split_parent(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok((self.resolve(folder, flags, "open the folder")?, leaf))
    }
}

type ResolveResult = Result<OwnedFd, RootDirError>;

impl AsFd for RootDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// A file that was opened for reading, with what is known about it.
#[derive(Debug)]
pub struct OpenedFile {
    /// The file, at its beginning.
    pub file: File,
    /// What it is; always a regular file.
    pub stat: FileStat,
}

#[cfg(test)]
mod tests;
