//! Reading: files, what is known about them, folders.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;

use super::error::Doing as _;
use super::{BeneathError, Opened, Root, path};

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
pub struct Stat {
    /// What it is.
    pub kind: Kind,
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
pub struct Entry {
    /// The name, without its folder.
    pub name: OsString,
    /// What it is; links are not followed and their text is not read.
    pub stat: Stat,
}

/// The names in a folder, in the file system's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The names.
    pub entries: Vec<Entry>,
    /// Whether there were more than asked for.
    pub more: bool,
}

impl Root {
    /// Opens a regular file for reading. Links that stay inside are followed.
    ///
    /// A pipe, socket or device is refused, and opening one cannot block.
    pub fn open_read(&self, path: &Path) -> Result<Opened, BeneathError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.resolve(path::file(path)?, flags, "open the file");
        let file = File::from(opened.map_err(no_reader)?);
        let stat = Stat::from(&rustix::fs::fstat(&file).doing("look at the file")?);
        match stat.kind {
            Kind::File => Ok(Opened { file, stat }),
            Kind::Directory => Err(BeneathError::IsDirectory),
            Kind::Symlink | Kind::Other => Err(NOT_A_FILE),
        }
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, BeneathError> {
        let Opened { file, stat } = self.open_read(path)?;
        if stat.size > limit {
            return Err(BeneathError::TooLarge { size: stat.size, limit });
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
                Err(error) => return Err(BeneathError::from_io(error, "read the file")),
            }
        }
        content.truncate(length);
        Ok(content)
    }

    /// What something is, without following it if it is a link. `.` is the root.
    pub fn stat(&self, path: &Path) -> Result<Stat, BeneathError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let held = self.resolve(path::folder(path)?, flags, "look at the file")?;
        let mut stat = Stat::from(&rustix::fs::fstat(&held).doing("look at the file")?);
        if stat.kind == Kind::Symlink {
            let text = rustix::fs::readlinkat(&held, c"", Vec::new()).doing("read the link")?;
            stat.target = Some(OsString::from_vec(text.into_bytes()));
        }
        Ok(stat)
    }

    /// The names in a folder, at most so many. `.` is the root.
    pub fn list(&self, path: &Path, at_most: usize) -> Result<Listing, BeneathError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = self.resolve(path::folder(path)?, flags, "open the folder")?;
        let mut listing = Listing { entries: Vec::new(), more: false };
        for entry in Dir::read_from(&folder).doing("read the folder")? {
            let entry = entry.doing("read the folder")?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if listing.entries.len() == at_most {
                listing.more = true;
                break;
            }
            match rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => listing.entries.push(Entry {
                    name: OsString::from_vec(entry.file_name().to_bytes().to_vec()),
                    stat: Stat::from(&found),
                }),
                // It went away while we looked: then it is not in the folder.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(BeneathError::from_errno(errno, "look at a file")),
            }
        }
        Ok(listing)
    }
}

pub(super) const NOT_A_FILE: BeneathError = BeneathError::NotRegular("a pipe, socket or device");

/// The kernel refuses to open a socket, or a device without a driver, with this.
fn no_reader(error: BeneathError) -> BeneathError {
    let code =
        if let BeneathError::Io { source, .. } = &error { source.raw_os_error() } else { None };
    if code == Some(libc::ENXIO) { NOT_A_FILE } else { error }
}

impl From<&rustix::fs::Stat> for Stat {
    fn from(stat: &rustix::fs::Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Other,
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
