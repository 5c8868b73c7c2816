//! The data folder: what is in it, and who has it.
//!
//! ```text
//! <data>/            0700
//!   token            0600  the owner's token
//!   log.db                 the log
//!   daemon.lock            held by the daemon that has the folder; its pid
//!   daemon.json            where that daemon listens
//!   daemon.log             what it said, when `provost up` started it
//!   login.html       0600  leads the browser to the last login link
//! ```

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use provost_gateway::Secret;
use provost_proto::Micros;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// The data folder.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

/// Where the running daemon is; the content of `daemon.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) address: SocketAddr,
    pub(crate) version: String,
    pub(crate) started_at: Micros,
}

/// The folder is ours while this lives. The lock is the kernel's: it ends with
/// the process, however that ends, so none is ever left behind.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Folder {
    /// The folder, which need not exist.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The folder, made if it is not there, and closed to others.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let what = || format!("cannot use {} as data folder", path.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(what)?;
        let mode = fs::metadata(path).with_context(what)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(0o700)).with_context(what)?;
        }
        Ok(Self(path.canonicalize().with_context(what)?))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The log's database.
    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("log.db")
    }

    /// What a daemon in the background says.
    pub(crate) fn daemon_log(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// Takes the folder, or tells who has it.
    pub(crate) fn lock(&self) -> anyhow::Result<Lock> {
        let path = self.0.join("daemon.lock");
        let mut file = open_private(&path).context("cannot open the lock")?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            file.read_to_string(&mut pid).context("cannot read the lock")?;
            bail!(
                "a daemon has {} already (pid {})\nhint: `provost status` shows it, `provost down` \
                 stops it, --data chooses another folder",
                self.0.display(),
                pid.trim()
            );
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Lock(file))
    }

    /// The process that has the folder, if any.
    pub(crate) fn holder(&self) -> Option<u32> {
        let mut file = File::open(self.0.join("daemon.lock")).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        let mut pid = String::new();
        file.read_to_string(&mut pid).ok()?;
        pid.trim().parse().ok()
    }

    /// Tells clients where we listen.
    pub(crate) fn announce(&self, running: &Running) -> anyhow::Result<()> {
        let draft = self.0.join("daemon.json.new");
        let mut file = open_private(&draft)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec_pretty(running)?)?;
        drop(file);
        fs::rename(draft, self.0.join("daemon.json")).context("cannot write daemon.json")
    }

    /// A page that leads to a URL, and the URL of that page. Arguments of a
    /// program can be seen by everyone on the machine, and a login link is a
    /// key, so a browser is given this instead.
    pub(crate) fn login_page(&self, url: &str) -> anyhow::Result<String> {
        let path = self.0.join("login.html");
        let mut file = open_private(&path)?;
        file.set_len(0)?;
        write!(
            file,
            "<!doctype html><meta charset=utf-8><title>Provost</title>\
             <meta http-equiv=refresh content=\"0;url={url}\"><a href=\"{url}\">Log in to Provost</a>"
        )?;
        Ok(format!("file://{}", path.display()))
    }

    /// Takes that back. A client that still finds it is told so by the lock.
    pub(crate) fn withdraw(&self) {
        if let Err(error) = fs::remove_file(self.0.join("daemon.json")) {
            tracing::debug!(%error, "daemon.json could not be removed");
        }
    }

    /// The daemon that runs in this folder, if one does.
    pub(crate) fn running(&self) -> Option<Running> {
        let pid = self.holder()?;
        let text = fs::read(self.0.join("daemon.json")).ok()?;
        let running: Running = serde_json::from_slice(&text).ok()?;
        (running.pid == pid).then_some(running)
    }

    /// The owner's token.
    pub(crate) fn token(&self) -> anyhow::Result<Secret> {
        let path = self.0.join("token");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read the token in {}", path.display()))?;
        Ok(Secret::from_text(text.trim()))
    }

    /// The owner's token, made if there is none.
    pub(crate) fn token_or_new(&self) -> anyhow::Result<Secret> {
        let path = self.0.join("token");
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match created {
            Ok(mut file) => {
                let secret = Secret::random("provost_operator_")?;
                writeln!(file, "{}", secret.reveal())?;
                file.sync_all()?;
                Ok(secret)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mode = fs::metadata(&path)?.permissions().mode();
                if mode & 0o077 != 0 {
                    bail!(
                        "{} can be read by others, so it may be known\nhint: remove it, and a new \
                         one is made at the next start",
                        path.display()
                    );
                }
                let secret = self.token()?;
                if secret.reveal().len() < 32 {
                    bail!("{} holds no token\nhint: remove it", path.display());
                }
                Ok(secret)
            }
            Err(error) => Err(error).context("cannot make the owner's token"),
        }
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
