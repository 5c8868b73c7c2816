//! The directory of a kernel: its socket, its secret, and the path of its scratch directory.
//!
//! A socket path may have at most 108 bytes, and a data folder may be deep, so
//! both ends reach the socket through a descriptor of its directory.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use uuid::Uuid;

/// The directory in which a kernel and its daemon find each other.
#[derive(Debug, Clone)]
pub struct KernelDir(PathBuf);

impl KernelDir {
    /// The kernel directory at this path, which need not exist.
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file with the kernel's own log.
    pub fn log_path(&self) -> PathBuf {
        self.0.join("kernel.log")
    }

    /// Creates the directory with a new secret, before a kernel is started.
    pub fn prepare(&self) -> io::Result<()> {
        self.remove_stale_scratch();
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let draft = self.0.join("secret.new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        write!(file, "{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())?;
        fs::rename(draft, self.0.join("secret"))
    }

    /// The secret that authenticates both ends.
    pub(crate) fn read_secret(&self) -> io::Result<String> {
        fs::read_to_string(self.0.join("secret"))
    }

    /// Binds the socket; replaces the socket of a kernel that is gone.
    pub(crate) fn bind_listener(&self) -> io::Result<UnixListener> {
        let socket = self.0.join("socket");
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let (_folder, path) = self.short_socket_path()?;
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(listener)
    }

    /// Connects to the kernel that listens here.
    pub(crate) async fn connect(&self) -> io::Result<UnixStream> {
        let (_folder, path) = self.short_socket_path()?;
        UnixStream::connect(path).await
    }

    /// A short path of the socket, valid while the file is open.
    fn short_socket_path(&self) -> io::Result<(File, PathBuf)> {
        let folder = File::open(&self.0)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/socket", folder.as_raw_fd()));
        Ok((folder, path))
    }

    /// Creates a private directory for the temporary files of commands. It is outside
    /// the kernel directory, which no command may access; its path is recorded here, so
    /// that it can be removed after a crash of the kernel.
    pub(crate) fn create_scratch_dir(&self) -> io::Result<ScratchDir> {
        let folder = tempfile::Builder::new().prefix("provost-").tempdir_in("/tmp")?;
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        fs::write(self.0.join(SCRATCH_POINTER_FILE), folder.path().as_os_str().as_bytes())?;
        let [runs, network] = ["runs", "network"].map(|name| folder.path().join(name));
        for part in [&runs, &network] {
            fs::create_dir(part)?;
        }
        Ok(ScratchDir { _folder: folder, runs, network, _lock: lock })
    }

    /// Removes the scratch directory of a kernel that was killed. A live kernel holds
    /// a lock on its own.
    pub fn remove_stale_scratch(&self) {
        let note = self.0.join(SCRATCH_POINTER_FILE);
        let Ok(text) = fs::read(&note) else { return };
        let path = PathBuf::from(OsString::from_vec(text));
        match remove_scratch(&path) {
            Ok(()) => drop(fs::remove_file(note)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => drop(fs::remove_file(note)),
            Err(error) => {
                tracing::debug!(%error, path = %path.display(), "cannot remove a scratch directory");
            }
        }
    }

    /// Removes the directory, when the kernel has ended.
    pub fn remove_all(&self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "cannot remove a kernel directory");
        }
    }
}

/// The file with the path of the scratch directory.
const SCRATCH_POINTER_FILE: &str = "scratch";

/// A scratch directory, removed when the kernel ends.
#[derive(Debug)]
pub(crate) struct ScratchDir {
    /// Removed when it is dropped.
    _folder: TempDir,
    runs: PathBuf,
    network: PathBuf,
    /// Released by the system even if the kernel is killed.
    _lock: File,
}

impl ScratchDir {
    /// The part for runs without the network.
    pub(crate) fn runs(&self) -> &Path {
        &self.runs
    }

    /// The part for runs with the network.
    pub(crate) fn network(&self) -> &Path {
        &self.network
    }
}

/// Removes a scratch directory that Provost created and no kernel has locked.
fn remove_scratch(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let named = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"provost-"));
    let ours = found.uid() == rustix::process::geteuid().as_raw();
    if !(found.is_dir() && named && ours && path.parent() == Some(Path::new("/tmp"))) {
        return Err(io::Error::other("not a scratch directory of Provost"));
    }
    let lock = File::open(path)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_of_a_dead_kernel_is_removed_and_that_of_a_living_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = KernelDir::new(&folder.path().join("kernel"));
        dir.prepare().unwrap();
        let scratch = dir.create_scratch_dir().unwrap();
        let path = scratch.runs().to_owned();
        fs::write(path.join("left"), "x").unwrap();
        dir.remove_stale_scratch();
        assert!(path.join("left").exists(), "its kernel is alive");
        // After a kill the lock is gone, the directory is not.
        let ScratchDir { _folder: left, _lock: lock, .. } = scratch;
        drop(lock);
        let path = left.keep();
        dir.remove_stale_scratch();
        assert!(!path.exists());
        dir.remove_stale_scratch();
    }

    #[test]
    fn nothing_is_swept_that_is_not_a_scratch_folder() {
        let folder = tempfile::tempdir().unwrap();
        let dir = KernelDir::new(&folder.path().join("kernel"));
        dir.prepare().unwrap();
        let other = folder.path().join("provost-project");
        fs::create_dir(&other).unwrap();
        for path in [other.clone(), PathBuf::from("/tmp"), folder.path().join("none")] {
            fs::write(dir.path().join(SCRATCH_POINTER_FILE), path.as_os_str().as_bytes()).unwrap();
            dir.remove_stale_scratch();
        }
        assert!(other.exists());
    }
}
