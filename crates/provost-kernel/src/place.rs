//! The folder of a kernel: its socket and its secret.
//!
//! The path of a socket may have no more than 108 bytes, and a data folder may
//! be deep, so both ends reach the socket through a handle of its folder.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use uuid::Uuid;

/// Where a kernel and its daemon meet.
#[derive(Debug, Clone)]
pub struct Place(PathBuf);

impl Place {
    /// The place in this folder, which need not exist.
    pub fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Where the kernel's own messages go.
    pub fn log(&self) -> PathBuf {
        self.0.join("kernel.log")
    }

    /// Makes the folder with a new secret in it, for a kernel to be started.
    pub fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let draft = self.0.join("secret.new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        write!(file, "{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())?;
        fs::rename(draft, self.0.join("secret"))
    }

    /// The secret that both ends must know.
    pub(crate) fn secret(&self) -> io::Result<String> {
        fs::read_to_string(self.0.join("secret"))
    }

    /// Listens, in the place of whoever listened before and is gone.
    pub(crate) fn listen(&self) -> io::Result<UnixListener> {
        let socket = self.0.join("socket");
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let (_folder, path) = self.short()?;
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(listener)
    }

    /// Connects to the kernel that listens here.
    pub(crate) async fn connect(&self) -> io::Result<UnixStream> {
        let (_folder, path) = self.short()?;
        UnixStream::connect(path).await
    }

    /// A short path of the socket, good while the handle lives.
    fn short(&self) -> io::Result<(File, PathBuf)> {
        let folder = File::open(&self.0)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/socket", folder.as_raw_fd()));
        Ok((folder, path))
    }

    /// Takes everything away; nobody is here any more.
    pub fn clear(&self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "the folder of a kernel could not be removed");
        }
    }
}
