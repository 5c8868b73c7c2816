//! Sockets with a path: in the project, and in the run's folder for temporary files.
//!
//! The path is walked here, from a folder that is held, through no link and never out
//! of it; what was found is held, and that is what is connected. So it does not matter
//! what the run puts in its place meanwhile, and a link to a socket elsewhere (that of
//! docker, of an agent) leads nowhere.

use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use super::socket_replica;
use crate::confine::SandboxError;
use crate::sandbox_policy::SandboxPolicy;

/// The folders in which a run has sockets.
#[derive(Debug)]
pub(in crate::confine) struct UnixSocketDirs {
    folders: Vec<UnixSocketDir>,
}

#[derive(Debug)]
struct UnixSocketDir {
    /// As the run calls it.
    name: PathBuf,
    held: OwnedFd,
    /// What in it is hidden from the run.
    hidden: Vec<PathBuf>,
}

impl UnixSocketDirs {
    /// For a run with this policy; with a `/tmp` of its own or without.
    pub(in crate::confine) fn new(
        policy: &SandboxPolicy,
        private_tmp: bool,
    ) -> Result<Self, SandboxError> {
        let (project, scratch) = (&policy.project, &policy.scratch);
        let tmp: &[&str] = if private_tmp { &["/tmp", "/var/tmp"] } else { &[] };
        // The narrower first: the project may lie in what is `/tmp` outside, and is there
        // in the private one too.
        let folders = [scratch, project].map(|folder| (folder.clone(), folder)).into_iter();
        let folders = folders.chain(tmp.iter().map(|name| (PathBuf::from(name), scratch)));
        let folders =
            folders.map(|(name, folder)| UnixSocketDir::open(name, folder, &policy.hidden));
        let folders = folders.collect::<Result<_, _>>();
        Ok(Self { folders: folders.map_err(SandboxError::wrap_errno("hold the run's folders"))? })
    }

    /// A socket like the caller's, and the one that has this path.
    pub(super) fn open_endpoints(
        &self,
        taken: BorrowedFd<'_>,
        path: &Path,
    ) -> Result<(OwnedFd, OwnedFd), Errno> {
        let found = self.open_socket(path)?;
        Ok((socket_replica::replicate_unix_socket(taken)?, found))
    }

    /// Finds the socket with this path, and holds it.
    fn open_socket(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let folder = self.folders.iter().find(|folder| path.starts_with(&folder.name));
        let found = folder.ok_or(Errno::PERM)?.open_beneath(path)?;
        match FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) {
            FileType::Socket => Ok(found),
            // What the kernel says of files that are no sockets.
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

/// Connects a socket to one that was [found](Named::ends); `AGAIN` while its queue is full.
pub(super) fn connect_unix(socket: &OwnedFd, found: &OwnedFd) -> Result<(), Errno> {
    let held = SocketAddrUnix::new(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
    rustix::net::connect(socket, &held)
}

impl UnixSocketDir {
    fn open(name: PathBuf, folder: &Path, hidden: &[PathBuf]) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = rustix::fs::open(folder, flags, Mode::empty())?;
        // What contains the folder does not hide it: it was named.
        let hidden = hidden.iter().filter(|hidden| hidden.starts_with(folder)).cloned().collect();
        Ok(Self { name, held, hidden })
    }

    /// Walks from the folder to what has this path in it, through no link.
    fn open_beneath(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let rest = path.strip_prefix(&self.name).map_err(|_| Errno::PERM)?;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let found = match rustix::fs::openat2(&self.held, rest, flags, Mode::empty(), resolve) {
            Ok(found) => found,
            Err(errno @ (Errno::NOENT | Errno::NOTDIR)) => return Err(errno),
            Err(_) => return Err(Errno::PERM),
        };
        let place = std::fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd()));
        let place = place.map_err(|_| Errno::PERM)?;
        let is_hidden = self.hidden.iter().any(|hidden| place.starts_with(hidden));
        if is_hidden { Err(Errno::PERM) } else { Ok(found) }
    }
}
