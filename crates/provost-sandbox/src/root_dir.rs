//! Access to files inside a directory, and nowhere else.
//!
//! A [`RootDir`] is an open directory. Linux resolves every path from that descriptor
//! with `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`, so there is no moment
//! between check and use in which a symlink could be swapped in: what was resolved is
//! open, and what is open is used, to the end of the operation. Nothing here ever
//! calls `realpath`.
//!
//! - Links that stay inside are followed on the way to a file; one that leads
//!   outside is [`RootDirError::OutsideRoot`].
//! - The last component of a write is never followed. A whole-file write goes to a new
//!   file in the same, open directory, which then replaces the old name, so even a
//!   lost race replaces a name inside the root and changes no file outside.
//! - A root that was made with [`RootDir::with_allowed_links`] only follows links that
//!   were observed before, and only to their targets of that time.
//! - A file with a second name may be a file outside under a name inside; writing to
//!   it is [`RootDirError::HardLink`].
//! - Set-id bits are never preserved.
//!
//! Extended attributes and access control lists of a replaced file are not preserved.

mod cached_read;
mod directory_ops;
mod error;
mod path_validation;
mod read;
mod staged_file;
mod symlink_snapshot;
mod write;

pub use cached_read::DirIdentity;
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

/// Whether a rename may replace an existing entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceExisting {
    /// The new name must be free, otherwise [`RootDirError::Exists`].
    No,
    /// An existing entry is replaced, like `rename(2)`.
    Yes,
}

/// A directory that all paths are relative to and none can leave.
#[derive(Debug)]
pub struct RootDir {
    dir: Arc<OwnedFd>,
    /// The only links that are followed; all that stay inside, if `None`.
    links: Option<SymlinkSnapshot>,
}

/// Never resolves above the root, nor through magic links of `/proc`.
const RESOLVE_FLAGS: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// How often an interrupted resolution is retried. Linux returns EAGAIN when a rename
/// happened while it resolved `..`.
pub(crate) const RESOLVE_TRIES: u32 = 128;

impl RootDir {
    /// Opens the directory. Its own path is trusted and followed as it is.
    pub fn open(folder: &Path) -> Result<Self, RootDirError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())
            .map_err(|errno| RootDirError::from_errno(errno, "open the root"))?;
        Ok(Self { dir: Arc::new(dir), links: None })
    }

    /// A subdirectory as a root of its own. `.` is the same directory.
    pub fn open_subdir(&self, path: &Path) -> Result<Self, RootDirError> {
        let path = path_validation::validate_relative_or_root(path)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let dir = self.resolve(path, flags, "open the folder")?;
        Ok(Self { dir: Arc::new(dir), links: None })
    }

    /// The only function that resolves a path.
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
                // The errors for "this path leaves the directory" and for a link that is not
                // followed, be it a magic link or a cycle.
                Err(Errno::XDEV | Errno::LOOP) => return Err(RootDirError::OutsideRoot),
                Err(errno) => return Err(RootDirError::from_errno(errno, doing)),
            }
        }
        Err(RootDirError::from_errno(Errno::AGAIN, doing))
    }

    /// The open parent directory of a path, and the last component.
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

/// A file that is open for reading, with its metadata.
#[derive(Debug)]
pub struct OpenedFile {
    /// The file, at offset 0.
    pub file: File,
    /// Its metadata; always a regular file.
    pub stat: FileStat,
}

#[cfg(test)]
mod tests;
