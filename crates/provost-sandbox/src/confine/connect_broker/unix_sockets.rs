//! Unix sockets in the project, and in the run's folder for temporary files.
//!
//! The path is resolved here, from an open folder, through no link and never out of it;
//! what was found is held open, and that is what is connected. So it does not matter
//! what the run puts in its place meanwhile, and a link to a socket elsewhere (docker's,
//! an SSH agent's) leads nowhere.

use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use super::socket_replica;
use crate::confine::SandboxError;
use crate::root_dir::RESOLVE_TRIES;
use crate::sandbox_policy::SandboxPolicy;

/// The folders in which a run may have sockets.
#[derive(Debug)]
pub(in crate::confine) struct UnixSocketDirs {
    folders: Vec<UnixSocketDir>,
}

#[derive(Debug)]
struct UnixSocketDir {
    /// The path of the folder in the run.
    name: PathBuf,
    held: OwnedFd,
    /// Paths in it that are hidden from the run.
    hidden: Vec<PathBuf>,
}

impl UnixSocketDirs {
    /// For a run with this policy, with or without a private `/tmp`.
    pub(in crate::confine) fn new(
        policy: &SandboxPolicy,
        private_tmp: bool,
    ) -> Result<Self, SandboxError> {
        let (project, scratch) = (&policy.project, &policy.scratch);
        let tmp: &[&str] = if private_tmp { &["/tmp", "/var/tmp"] } else { &[] };
        // The more specific first: the project may be below the shared `/tmp`, and is then
        // mounted in the private one too.
        let folders = [scratch, project].map(|folder| (folder.clone(), folder)).into_iter();
        let folders = folders.chain(tmp.iter().map(|name| (PathBuf::from(name), scratch)));
        let folders =
            folders.map(|(name, folder)| UnixSocketDir::open(name, folder, &policy.hidden));
        let folders = folders.collect::<Result<_, _>>();
        Ok(Self { folders: folders.map_err(SandboxError::wrap_errno("open the run's folders"))? })
    }

    /// A replica of the caller's socket, and the socket at this path.
    pub(super) fn open_endpoints(
        &self,
        taken: BorrowedFd<'_>,
        path: &Path,
    ) -> Result<(OwnedFd, OwnedFd), Errno> {
        let found = self.open_socket(path)?;
        Ok((socket_replica::replicate_unix_socket(taken)?, found))
    }

    /// Opens the socket at this path.
    fn open_socket(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let folder = self.folders.iter().find(|folder| path.starts_with(&folder.name));
        let found = folder.ok_or(Errno::PERM)?.open_beneath(path)?;
        match FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) {
            FileType::Socket => Ok(found),
            // The error that Linux gives for files that are not sockets.
            FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Err(Errno::CONNREFUSED),
        }
    }
}

/// Connects to a socket that was [opened](UnixSocketDirs::open_endpoints); `AGAIN` while
/// its backlog is full.
pub(super) fn connect_unix(socket: &OwnedFd, found: &OwnedFd) -> Result<(), Errno> {
    let held = SocketAddrUnix::new(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
    rustix::net::connect(socket, &held)
}

impl UnixSocketDir {
    fn open(name: PathBuf, folder: &Path, hidden: &[PathBuf]) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = rustix::fs::open(folder, flags, Mode::empty())?;
        // A hidden parent does not hide the folder: it was granted explicitly.
        let hidden = hidden.iter().filter(|hidden| hidden.starts_with(folder)).cloned().collect();
        Ok(Self { name, held, hidden })
    }

    /// Opens a path below the folder, through no link.
    fn open_beneath(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let rest = path.strip_prefix(&self.name).map_err(|_| Errno::PERM)?;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let open = |_| rustix::fs::openat2(&self.held, rest, flags, Mode::empty(), resolve);
        let attempts = (0..RESOLVE_TRIES).map(open);
        let mut finished =
            attempts.skip_while(|found| matches!(found, Err(Errno::AGAIN | Errno::INTR)));
        let found = match finished.next() {
            Some(Ok(found)) => found,
            Some(Err(errno @ (Errno::NOENT | Errno::NOTDIR))) => return Err(errno),
            Some(Err(_)) | None => return Err(Errno::PERM),
        };
        let real_path = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd()));
        let real_path = real_path.map_err(|_| Errno::PERM)?;
        let is_hidden = self.hidden.iter().any(|hidden| real_path.starts_with(hidden));
        if is_hidden { Err(Errno::PERM) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Linux gives up resolving `..` when anything on the machine is renamed meanwhile.
    #[test]
    fn a_path_with_dots_is_opened_while_others_rename() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        let _listener = UnixListener::bind(project.join("src/s")).unwrap();
        let folder = UnixSocketDir::open(project.clone(), &project, &[]).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (one, other) = (dir.path().join("one"), dir.path().join("other"));
                fs::create_dir(&one).unwrap();
                while !done.load(Ordering::Relaxed) {
                    fs::rename(&one, &other).unwrap();
                    fs::rename(&other, &one).unwrap();
                }
            });
            let path = project.join("src/../src/../src/s");
            let failed = (0..5000).find_map(|_| folder.open_beneath(&path).err());
            done.store(true, Ordering::Relaxed);
            assert_eq!(failed, None);
        });
    }
}
