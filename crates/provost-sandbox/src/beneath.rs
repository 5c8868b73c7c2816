//! Files beneath a root, and nowhere else.
//!
//! A [`Root`] is a held handle to a folder. Every path is resolved by the kernel
//! from that handle with `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`, so
//! there is no moment between looking and using in which a symbolic link could be
//! swapped in: what was resolved is what is held, and what is held is what is
//! used, to the end of the operation. Nothing here ever calls `realpath`.
//!
//! - Links that stay inside are followed on the way to a file; one that leads
//!   outside is [`BeneathError::Outside`].
//! - The last component of a write is never followed. A whole-file write goes to
//!   a new file in the same, held folder, which then replaces the old name, so
//!   even a lost race replaces a name inside the root and changes no file outside.
//! - A root that was made with [`Root::bound_to`] follows those links only that were
//!   seen before, and only to where they led then.
//! - A file with a second name may be a file outside under a name inside; writing
//!   to it is [`BeneathError::HardLink`].
//! - Set-id bits are never carried over to what is written.
//!
//! Extended attributes and access control lists of a replaced file are not kept.

mod draft;
mod error;
mod links;
mod look;
mod path;
mod tree;
mod write;

pub use error::BeneathError;
pub use links::Links;
pub use look::{Entry, Kind, Listing, Stat};
pub use write::Mode;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{OFlags, ResolveFlags};
use rustix::io::Errno;

/// Whether a rename may replace what is at the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// The new name must be free, else [`BeneathError::Exists`].
    No,
    /// What is there goes, as `rename(2)` does it.
    Yes,
}

/// A folder that all paths are relative to and none can leave.
#[derive(Debug)]
pub struct Root {
    dir: Arc<OwnedFd>,
    /// The only links that are followed; all that stay inside, if it is `None`.
    links: Option<Links>,
}

/// How a path is resolved: never above the root, never through `/proc`'s links.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// How often an interrupted resolution is tried again. The kernel answers
/// "again" when a rename happened while it walked upwards.
const RESOLVE_TRIES: u32 = 128;

impl Root {
    /// Opens the folder. Its own path is the operator's word and is followed as it is.
    pub fn open(folder: &Path) -> Result<Self, BeneathError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())
            .map_err(|errno| BeneathError::from_errno(errno, "open the root"))?;
        Ok(Self { dir: Arc::new(dir), links: None })
    }

    /// A folder beneath this one, as a root of its own. `.` is this one again.
    pub fn descend(&self, path: &Path) -> Result<Self, BeneathError> {
        let path = path::folder(path)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let dir = self.resolve(path, flags, "open the folder")?;
        Ok(Self { dir: Arc::new(dir), links: None })
    }

    /// The one place that resolves a path.
    fn resolve(&self, path: &OsStr, flags: OFlags, doing: &'static str) -> Resolved {
        match &self.links {
            None => self.reach(path, flags, RESOLVE, doing),
            Some(links) => self.resolve_bound(links, path, flags, doing),
        }
    }

    fn reach(
        &self,
        path: &OsStr,
        flags: OFlags,
        resolve: ResolveFlags,
        doing: &'static str,
    ) -> Resolved {
        for _ in 0..RESOLVE_TRIES {
            let mode = rustix::fs::Mode::empty();
            match rustix::fs::openat2(&*self.dir, path, flags | OFlags::CLOEXEC, mode, resolve) {
                Ok(fd) => return Ok(fd),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // The kernel's words for "this path leaves the folder" and for a
                // link that leads anywhere, be it one of `/proc` or a circle.
                Err(Errno::XDEV | Errno::LOOP) => return Err(BeneathError::Outside),
                Err(errno) => return Err(BeneathError::from_errno(errno, doing)),
            }
        }
        Err(BeneathError::from_errno(Errno::AGAIN, doing))
    }

    /// The folder that holds a path's last component, open, and that component.
    fn parent<'p>(&self, path: &'p Path) -> Result<(OwnedFd, &'p OsStr), BeneathError> {
        let (folder, leaf) = path::split(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok((self.resolve(folder, flags, "open the folder")?, leaf))
    }
}

type Resolved = Result<OwnedFd, BeneathError>;

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// A file that was opened for reading, with what is known about it.
#[derive(Debug)]
pub struct Opened {
    /// The file, at its beginning.
    pub file: File,
    /// What it is; always a regular file.
    pub stat: Stat,
}

#[cfg(test)]
mod tests;
