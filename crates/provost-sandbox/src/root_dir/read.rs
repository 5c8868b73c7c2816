//! Reading: files, metadata, directories.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;

use super::error::FileErrorContext as _;
use super::{OpenedFile, RootDir, RootDirError, path_validation};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

/// The metadata of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Its kind.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last modified, in microseconds since 1970.
    pub modified: i64,
    /// Its permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// How many hard links it has.
    pub links: u64,
    /// The target of a symbolic link, not resolved.
    pub target: Option<OsString>,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDirEntry {
    /// The name, without its directory.
    pub name: OsString,
    /// Its metadata; links are not followed and their target is not read.
    pub stat: FileStat,
}

/// The entries of a directory, in the file system's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDirListing {
    /// The entries.
    pub entries: Vec<RootDirEntry>,
    /// Whether there were more than the limit.
    pub more: bool,
}

impl RootDir {
    /// Opens a regular file for reading. Links that stay inside are followed.
    ///
    /// A pipe, socket or device is refused, and opening one cannot block.
    pub fn open_read(&self, path: &Path) -> Result<OpenedFile, RootDirError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened =
            self.resolve(path_validation::validate_relative(path)?, flags, "open the file");
        let file = File::from(opened.map_err(map_enxio)?);
        let stat = FileStat::from(&rustix::fs::fstat(&file).context("read the metadata")?);
        match stat.kind {
            FileKind::File => Ok(OpenedFile { file, stat }),
            FileKind::Directory => Err(RootDirError::IsDirectory),
            FileKind::Symlink | FileKind::Other => Err(NOT_A_FILE),
        }
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, RootDirError> {
        let OpenedFile { file, stat } = self.open_read(path)?;
        if stat.size > limit {
            return Err(RootDirError::TooLarge { size: stat.size, limit });
        }
        let mut content = vec![0; usize::try_from(stat.size).unwrap_or(usize::MAX)];
        let mut length = 0;
        // Up to the reported size, so that a usual file costs one call; one that grows
        // meanwhile is cut at that size.
        while length < content.len() {
            match (&file).read(&mut content[length..]) {
                Ok(0) => break,
                Ok(n_read) => length += n_read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(RootDirError::from_io(error, "read the file")),
            }
        }
        content.truncate(length);
        Ok(content)
    }

    /// The metadata of an entry; a link is not followed. `.` is the root.
    pub fn stat(&self, path: &Path) -> Result<FileStat, RootDirError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let held = self.resolve(
            path_validation::validate_relative_or_root(path)?,
            flags,
            "read the metadata",
        )?;
        let mut stat = FileStat::from(&rustix::fs::fstat(&held).context("read the metadata")?);
        if stat.kind == FileKind::Symlink {
            let text = rustix::fs::readlinkat(&held, c"", Vec::new()).context("read the link")?;
            stat.target = Some(OsString::from_vec(text.into_bytes()));
        }
        Ok(stat)
    }

    /// The entries of a directory, at most so many. `.` is the root.
    pub fn list(&self, path: &Path, at_most: usize) -> Result<RootDirListing, RootDirError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = self.resolve(
            path_validation::validate_relative_or_root(path)?,
            flags,
            "open the folder",
        )?;
        let mut listing = RootDirListing { entries: Vec::new(), more: false };
        for entry in Dir::read_from(&folder).context("read the folder")? {
            let entry = entry.context("read the folder")?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if listing.entries.len() == at_most {
                listing.more = true;
                break;
            }
            match rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => listing.entries.push(RootDirEntry {
                    name: OsString::from_vec(entry.file_name().to_bytes().to_vec()),
                    stat: FileStat::from(&found),
                }),
                // It was removed meanwhile: then it is not in the directory.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(RootDirError::from_errno(errno, "read the metadata")),
            }
        }
        Ok(listing)
    }
}

pub(super) const NOT_A_FILE: RootDirError = RootDirError::NotRegular("a pipe, socket or device");

/// The error of opening a socket, or a device without a driver.
fn map_enxio(error: RootDirError) -> RootDirError {
    let code =
        if let RootDirError::Io { source, .. } = &error { source.raw_os_error() } else { None };
    if code == Some(libc::ENXIO) { NOT_A_FILE } else { error }
}

impl From<&rustix::fs::Stat> for FileStat {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => FileKind::Other,
        };
        let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Self {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: stat.st_mtime.saturating_mul(1_000_000).saturating_add(nanos / 1000),
            mode: stat.st_mode & 0o7777,
            links: stat.st_nlink,
            target: None,
        }
    }
}
