//! Reads of what Linux has in memory, which never wait for a disk or a server.

use std::fs::File;
use std::io::IoSliceMut;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::symlink_snapshot::RESOLVE_NO_SYMLINKS;
use super::{FileKind, FileStat, RootDir, path_validation};

/// The device and the inode of a directory, which no other has while it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirIdentity {
    device: u64,
    inode: u64,
}

impl RootDir {
    /// Opens the directory if its path is in memory. `None` for any other reason too: whoever
    /// needs the reason calls [`RootDir::open`].
    pub fn open_cached(folder: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir =
            rustix::fs::openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
        Some(Self { dir: std::sync::Arc::new(dir), links: None })
    }

    /// Which directory this is.
    pub fn identity(&self) -> Option<DirIdentity> {
        let stat = rustix::fs::fstat(&*self.dir).ok()?;
        Some(DirIdentity { device: stat.st_dev, inode: stat.st_ino })
    }

    /// Reads a whole regular file of at most `limit` bytes if it is in memory, with all
    /// directories on its path, and no link or mount point is on that path. `None` for any other
    /// reason too: whoever needs the reason calls [`RootDir::read`].
    pub fn read_cached(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        let path = path_validation::validate_relative(path).ok()?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = RESOLVE_NO_SYMLINKS | ResolveFlags::NO_XDEV | ResolveFlags::CACHED;
        let opened = rustix::fs::openat2(&*self.dir, path, flags, Mode::empty(), resolve).ok()?;
        let file = File::from(opened);
        let stat = FileStat::from(&rustix::fs::fstat(&file).ok()?);
        if stat.kind != FileKind::File || stat.size > limit {
            return None;
        }
        let mut content = vec![0; usize::try_from(stat.size).ok()?];
        let mut length = 0;
        while length < content.len() {
            let room = &mut [IoSliceMut::new(&mut content[length..])];
            match preadv2(&file, room, length as u64, ReadWriteFlags::NOWAIT) {
                Ok(0) => break,
                Ok(n_read) => length += n_read,
                Err(Errno::INTR) => {}
                // Not in memory, or a file system that cannot tell.
                Err(_) => return None,
            }
        }
        content.truncate(length);
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_in_memory_is_read_and_nothing_through_links_or_mounts() {
        // On a disk: not all file systems in memory know `RWF_NOWAIT`.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path();
        fs::create_dir(path.join("deep")).unwrap();
        fs::write(path.join("deep/file"), "content").unwrap();
        fs::write(path.join("empty"), "").unwrap();
        symlink("file", path.join("deep/link")).unwrap();
        symlink("deep", path.join("folder-link")).unwrap();
        fs::write(path.join("large"), vec![b'x'; 101]).unwrap();
        let root = RootDir::open_cached(path).expect("it was just used");
        let read = |path: &str| root.read_cached(Path::new(path), 100);
        assert_eq!(read("deep/file").as_deref(), Some(&b"content"[..]));
        assert_eq!(read("empty").as_deref(), Some(&b""[..]));
        for path in
            ["deep/link", "folder-link/file", "large", "deep", "missing", "../x", "/etc/passwd", ""]
        {
            assert_eq!(read(path), None, "{path:?}");
        }
        let system = RootDir::open(Path::new("/")).unwrap();
        assert!(system.read(Path::new("proc/version"), 4096).is_ok());
        assert_eq!(system.read_cached(Path::new("proc/version"), 4096), None, "another mount");
    }

    #[test]
    fn a_replaced_directory_has_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("project");
        fs::create_dir(&path).unwrap();
        let first = RootDir::open_cached(&path).unwrap();
        assert_eq!(first.identity(), RootDir::open_cached(&path).unwrap().identity());
        fs::rename(&path, folder.path().join("moved")).unwrap();
        assert!(RootDir::open_cached(&path).is_none());
        fs::create_dir(&path).unwrap();
        assert_ne!(first.identity(), RootDir::open_cached(&path).unwrap().identity());
        assert_eq!(RootDir::open_cached(Path::new("/etc/passwd")).map(|_| ()), None, "a file");
    }
}
