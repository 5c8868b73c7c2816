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
use std::time::Duration;

use anyhow::{Context, bail};
use provost_gateway::Secret;
use provost_proto::UnixMicros;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How often the lock is tried again while it seems that nobody keeps it.
const LOCK_ATTEMPTS: u32 = 25;

/// How long to wait in between.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

/// The data folder.
#[derive(Debug, Clone)]
pub(crate) struct DataFolder(PathBuf);

/// Where the running daemon is; the content of `daemon.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunningDaemon {
    pub(crate) pid: u32,
    pub(crate) address: SocketAddr,
    pub(crate) version: String,
    pub(crate) started_at: UnixMicros,
}

/// The folder is ours while this lives. The lock is the kernel's: it ends with
/// the process, however that ends, so none is ever left behind.
#[derive(Debug)]
pub(crate) struct DataFolderLock(#[expect(dead_code, reason = "held, not read")] File);

impl DataFolder {
    /// The folder, which need not exist.
    pub(crate) fn from_path(path: &Path) -> Self {
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
    pub(crate) fn log_path(&self) -> PathBuf {
        self.0.join("log.db")
    }

    /// What a daemon in the background says.
    pub(crate) fn daemon_log_path(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// Takes the folder, or tells who has it.
    pub(crate) fn lock(&self) -> anyhow::Result<DataFolderLock> {
        let path = self.0.join("daemon.lock");
        let what = || format!("cannot use the lock {}", path.display());
        let mut file = open_private(&path).with_context(what)?;
        let mut tries = 0;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != Errno::WOULDBLOCK {
                return Err(error).with_context(what);
            }
            tries += 1;
            let mut pid = String::new();
            file.rewind().with_context(what)?;
            file.read_to_string(&mut pid).with_context(what)?;
            // Someone who only looks holds the lock too, for a moment.
            if tries < LOCK_ATTEMPTS && !is_process_alive(pid.trim()) {
                std::thread::sleep(LOCK_RETRY_DELAY);
                continue;
            }
            bail!(
                "a daemon has {} already (pid {})\nhint: `provost status` shows it, `provost down` \
                 stops it, --data chooses another folder",
                self.0.display(),
                pid.trim()
            );
        }
        let mut own = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        own().with_context(what)?;
        Ok(DataFolderLock(file))
    }

    /// The process that has the folder, if any.
    pub(crate) fn lock_holder(&self) -> Option<u32> {
        let mut file = File::open(self.0.join("daemon.lock")).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        let mut pid = String::new();
        file.read_to_string(&mut pid).ok()?;
        pid.trim().parse().ok()
    }

    /// Tells clients where we listen.
    pub(crate) fn write_daemon_info(&self, running: &RunningDaemon) -> anyhow::Result<()> {
        self.write_atomically("daemon.json", &serde_json::to_vec_pretty(running)?)
    }

    /// A page that leads to a URL, and the URL of that page. Arguments of a
    /// program can be seen by everyone on the machine, and a login link is a
    /// key, so a browser is given this instead.
    pub(crate) fn write_login_page(&self, url: &str) -> anyhow::Result<String> {
        let page = format!(
            "<!doctype html><meta charset=utf-8><title>Provost</title>\
             <meta http-equiv=refresh content=\"0;url={url}\"><a href=\"{url}\">Log in to Provost</a>"
        );
        self.write_atomically("login.html", page.as_bytes())?;
        Ok(format!("file://{}", self.0.join("login.html").display()))
    }

    /// Takes that back. A client that still finds it is told so by the lock.
    pub(crate) fn remove_daemon_info(&self) {
        if let Err(error) = fs::remove_file(self.0.join("daemon.json")) {
            tracing::debug!(%error, "daemon.json could not be removed");
        }
    }

    /// The daemon that runs in this folder, if one does.
    pub(crate) fn running_daemon(&self) -> Option<RunningDaemon> {
        let pid = self.lock_holder()?;
        let text = fs::read(self.0.join("daemon.json")).ok()?;
        let running: RunningDaemon = serde_json::from_slice(&text).ok()?;
        (running.pid == pid).then_some(running)
    }

    /// The owner's token.
    pub(crate) fn read_token(&self) -> anyhow::Result<Secret> {
        let path = self.0.join("token");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read the token in {}", path.display()))?;
        Ok(Secret::from_text(text.trim()))
    }

    /// The owner's token, made if there is none.
    pub(crate) fn read_or_create_token(&self) -> anyhow::Result<Secret> {
        let path = self.0.join("token");
        match fs::metadata(&path) {
            Ok(found) if found.permissions().mode() & 0o077 != 0 => bail!(
                "{} can be read by others, so it may be known\nhint: remove it, and a new one is \
                 made at the next start",
                path.display()
            ),
            Ok(_) => {
                let secret = self.read_token()?;
                if secret.reveal().len() < 32 {
                    bail!(
                        "{} holds no token\nhint: remove it, and a new one is made at the next \
                         start",
                        path.display()
                    );
                }
                Ok(secret)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let secret = Secret::random("provost_operator_")?;
                self.write_atomically("token", format!("{}\n", secret.reveal()).as_bytes())?;
                Ok(secret)
            }
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes a file as a whole or not at all: a full disk or a power cut leaves
    /// what was there before.
    fn write_atomically(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let (draft, path) = (self.0.join(format!("{name}.new")), self.0.join(name));
        let write = || {
            // A draft that was left behind may be open to others; this one is not.
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(&self.0)?.sync_all()
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Whether this process lives. One that was killed no longer has a program, but
/// keeps its locks until the last of its threads has left the disk.
fn is_process_alive(pid: &str) -> bool {
    pid.parse::<u32>().is_ok_and(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok())
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_cannot_be_written_whole_leaves_nothing_and_names_the_file() {
        let temp = tempfile::tempdir().unwrap();
        let folder = DataFolder::create(temp.path()).unwrap();
        fs::create_dir(folder.path().join("token.new")).unwrap();
        let error = format!("{:#}", folder.read_or_create_token().unwrap_err());
        assert!(error.contains("cannot write") && error.contains("/token"), "{error}");
        assert!(!folder.path().join("token").exists());
        fs::remove_dir(folder.path().join("token.new")).unwrap();
        // What a start that was cut off left behind does not matter.
        fs::write(folder.path().join("token.new"), "half, and longer than a token is".repeat(9))
            .unwrap();
        let token = folder.read_or_create_token().unwrap();
        assert_eq!(folder.read_or_create_token().unwrap(), token, "it is kept");
        assert!(token.reveal().starts_with("provost_operator_"));
        assert!(!folder.path().join("token.new").exists());
    }

    #[test]
    fn a_probe_that_holds_the_lock_for_a_moment_does_not_refuse_a_daemon() {
        let temp = tempfile::tempdir().unwrap();
        let folder = DataFolder::create(temp.path()).unwrap();
        drop(folder.lock().unwrap());
        // The pid of a daemon that is gone; no process has so high a number.
        fs::write(folder.path().join("daemon.lock"), "2147483646\n").unwrap();
        let probe = File::open(folder.path().join("daemon.lock")).unwrap();
        flock(&probe, FlockOperation::NonBlockingLockShared).unwrap();
        let looking = std::thread::spawn(move || {
            std::thread::sleep(LOCK_RETRY_DELAY * 2);
            drop(probe);
        });
        let lock = folder.lock().unwrap();
        looking.join().unwrap();
        let refused = format!("{:#}", folder.lock().unwrap_err());
        assert!(refused.contains(&format!("pid {}", std::process::id())), "{refused}");
        drop(lock);
    }

    #[test]
    fn the_file_of_a_running_daemon_keeps_its_fields() {
        let running = RunningDaemon {
            pid: 7,
            address: "127.0.0.1:3001".parse().unwrap(),
            version: "0.1.0".to_owned(),
            started_at: 9,
        };
        let json = serde_json::to_string(&running).unwrap();
        expect_test::expect![[
            r#"{"pid":7,"address":"127.0.0.1:3001","version":"0.1.0","startedAt":9}"#
        ]]
        .assert_eq(&json);
        assert_eq!(serde_json::from_str::<RunningDaemon>(&json).unwrap(), running);
    }
}
