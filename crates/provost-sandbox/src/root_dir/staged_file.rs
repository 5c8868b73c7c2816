//! A new file that is complete and on disk before it gets its name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, OFlags, RenameFlags};
use rustix::io::Errno;

use super::RootDirError;
use super::error::FileErrorContext as _;

/// What a replacement preserves of the file it replaces.
pub(super) struct PreservedAttributes {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// A temporary file beside its target; removed unless it was renamed to it.
pub(super) struct StagedFile<'a> {
    folder: &'a OwnedFd,
    leaf: &'a OsStr,
    name: OsString,
    file: File,
    named: bool,
}

/// Number of staged files of this process, for unique names.
static NEXT_STAGED_ID: AtomicU32 = AtomicU32::new(0);

/// How many taken names are tried before giving up.
const NAME_TRIES: u32 = 64;

impl<'a> StagedFile<'a> {
    pub(super) fn new(folder: &'a OwnedFd, leaf: &'a OsStr) -> Result<Self, RootDirError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        for _ in 0..NAME_TRIES {
            let number = NEXT_STAGED_ID.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".provost-{}-{number}", std::process::id()));
            match rustix::fs::openat(folder, &name, flags | OFlags::CLOEXEC, mode) {
                Ok(fd) => {
                    return Ok(Self { folder, leaf, name, file: File::from(fd), named: false });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(RootDirError::from_errno(errno, "create a new file")),
            }
        }
        Err(RootDirError::from_errno(Errno::AGAIN, "create a new file"))
    }

    pub(super) fn write_content(
        &self,
        content: &[u8],
        keep: Option<&PreservedAttributes>,
    ) -> Result<(), RootDirError> {
        (&self.file).write_all(content).context("write the file")?;
        if let Some(keep) = keep {
            self.apply_attributes(keep)?;
        }
        self.file.sync_all().context("write the file to the disk")
    }

    /// The owner is preserved where permitted; an ordinary user cannot give files away, and
    /// loses nothing by owning what it wrote.
    fn apply_attributes(&self, keep: &PreservedAttributes) -> Result<(), RootDirError> {
        let present = rustix::fs::fstat(&self.file).context("read the metadata")?;
        if (present.st_uid, present.st_gid) != (keep.uid, keep.gid) {
            let uid = Some(rustix::fs::Uid::from_raw(keep.uid));
            let gid = Some(rustix::fs::Gid::from_raw(keep.gid));
            match rustix::fs::fchown(&self.file, uid, gid) {
                Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
                Err(errno) => return Err(RootDirError::from_errno(errno, "preserve the owner")),
            }
        }
        let mode = rustix::fs::Mode::from_raw_mode(keep.mode);
        rustix::fs::fchmod(&self.file, mode).context("preserve the permissions")
    }

    /// Renames it to the target, replacing what is there.
    pub(super) fn replace_target(mut self) -> Result<(), RootDirError> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, self.leaf)
            .context("replace the file")?;
        self.sync_parent()
    }

    /// Renames it to the target, if that does not exist.
    pub(super) fn create_target(mut self) -> Result<(), RootDirError> {
        let (folder, name, leaf) = (self.folder, &self.name, self.leaf);
        match rustix::fs::renameat_with(folder, name, folder, leaf, RenameFlags::NOREPLACE) {
            // Some file systems do not support the flag; a hard link is as atomic.
            Err(Errno::INVAL) => {
                rustix::fs::linkat(folder, name, folder, leaf, AtFlags::empty())
                    .context("name the file")?;
                rustix::fs::unlinkat(folder, name, AtFlags::empty()).context("name the file")?;
            }
            other => other.context("name the file")?,
        }
        self.sync_parent()
    }

    /// The name is on disk only when its directory is.
    fn sync_parent(&mut self) -> Result<(), RootDirError> {
        self.named = true;
        rustix::fs::fsync(self.folder).context("write the folder to the disk")
    }
}

impl Drop for StagedFile<'_> {
    fn drop(&mut self) {
        if !self.named {
            // If this fails, a visible dot file is left; the error that brought us here is the
            // one to report.
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}
