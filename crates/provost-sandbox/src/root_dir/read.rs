//! Reading: files, what is known about them, folders.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;

use super::error::FileErrorContext as _;
use super::{OpenedFile, RootDir, RootDirError, path_validation};

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

/// What is known about a file without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// What it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub size: u64,
    /// When it was last changed, in microseconds since 1970.
    pub modified: i64,
    /// Its permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// How many names it has.
    pub links: u64,
    /// Where it leads, if it is a symbolic link: the text, not resolved.
    pub target: Option<OsString>,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDirEntry {
    /// The name, without its folder.
    pub name: OsString,
    /// What it is; links are not followed and their text is not read.
    pub stat: FileStat,
}

/// The names in a folder, in the file system's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootDirListing {
    /// The names.
    pub entries: Vec<RootDirEntry>,
    /// Whether there were more than asked for.
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
        let stat = FileStat::from(&rustix::fs::fstat(&file).context("look at the file")?);
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
        // Up to the size it claims, so that the usual file costs one call; one
        // that grew meanwhile is as long as it was when we looked.
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

    /// What something is, without following it if it is a link. `.` is the root.
    pub fn stat(&self, path: &Path) -> Result<FileStat, RootDirError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let held = self.resolve(
            path_validation::validate_relative_or_root(path)?,
            flags,
            "look at the file",
        )?;
        let mut stat = FileStat::from(&rustix::fs::fstat(&held).context("look at the file")?);
        if stat.kind == FileKind::Symlink {
            let text = rustix::fs::readlinkat(&held, c"", Vec::new()).context("read the link")?;
            stat.target = Some(OsString::from_vec(text.into_bytes()));
        }
        Ok(stat)
    }

    /// The names in a folder, at most so many. `.` is the root.
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
                // It went away while we looked: then it is not in the folder.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(RootDirError::from_errno(errno, "look at a file")),
            }
        }
        Ok(listing)
    }
}

pub(super) const NOT_A_FILE: RootDirError = RootDirError::NotRegular("a pipe, socket or device");

/// The kernel refuses to open a socket, or a device without a driver, with this.
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
