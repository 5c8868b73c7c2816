//! The data folder: its files, and the lock of the daemon that owns it.
//!
//! ```text
//! <data>/            0700
//!   token            0600  the owner's token
//!   log.db                 the log
//!   daemon.lock            held by the daemon that owns the folder; contains its pid
//!   daemon.json            address of that daemon
//!   daemon.log             output of a daemon that `provost up` started
//!   login.html       0600  redirects the browser to the last login link
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

/// Attempts to take a lock that no live process seems to hold.
const LOCK_ATTEMPTS: u32 = 25;

/// Delay between attempts.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

/// The data folder.
#[derive(Debug, Clone)]
pub(crate) struct DataFolder(PathBuf);

/// The running daemon; the content of `daemon.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunningDaemon {
    pub(crate) pid: u32,
    pub(crate) address: SocketAddr,
    pub(crate) version: String,
    pub(crate) started_at: UnixMicros,
    /// The path of the `config.toml` that it uses, which need not exist; daemons before it
    /// was written had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<PathBuf>,
}

/// Ownership of the data folder. It is an `flock`, which the Linux kernel releases
/// when the process ends, so no stale lock remains.
#[derive(Debug)]
pub(crate) struct DataFolderLock(#[expect(dead_code, reason = "held, not read")] File);

impl DataFolder {
    /// The folder at this path, which need not exist.
    pub(crate) fn from_path(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Creates the folder if needed and makes it private.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let what = || format!("cannot use {} as data folder", path.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(what)?;
        let mode = fs::metadata(path).with_context(what)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(path, Permissions::from_mode(0o700)).with_context(what)?;
        }
        Ok(Self(path.canonicalize().with_context(what)?))
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Database of the log.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.0.join("log.db")
    }

    /// Output of a daemon in the background.
    pub(crate) fn daemon_log_path(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    /// Locks the folder; the error names the process that holds the lock.
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
            // `lock_holder` takes a shared lock for a moment.
            if tries < LOCK_ATTEMPTS && !is_process_alive(pid.trim()) {
                std::thread::sleep(LOCK_RETRY_DELAY);
                continue;
            }
            bail!(
                "a daemon (pid {1}) is already using {0}\nhint: `provost status` shows it, `provost down` \
                 stops it, --data selects another folder",
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

    /// The process that holds the lock, if any.
    pub(crate) fn lock_holder(&self) -> Option<u32> {
        let mut file = File::open(self.0.join("daemon.lock")).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        let mut pid = String::new();
        file.read_to_string(&mut pid).ok()?;
        pid.trim().parse().ok()
    }

    /// Writes the address for clients.
    pub(crate) fn write_daemon_info(&self, running: &RunningDaemon) -> anyhow::Result<()> {
        self.write_atomically("daemon.json", &serde_json::to_vec_pretty(running)?)
    }

    /// Writes a page that redirects to a URL, and returns the page's own URL. Program
    /// arguments are visible to every user of the machine and a login link is a
    /// credential, so the browser is started with this page instead.
    pub(crate) fn write_login_page(&self, url: &str) -> anyhow::Result<String> {
        let page = format!(
            "<!doctype html><meta charset=utf-8><title>Provost</title>\
             <meta http-equiv=refresh content=\"0;url={url}\"><a href=\"{url}\">Log in to Provost</a>"
        );
        self.write_atomically("login.html", page.as_bytes())?;
        Ok(format!("file://{}", self.0.join("login.html").display()))
    }

    /// Removes the address. A client that still reads it checks the lock as well.
    pub(crate) fn remove_daemon_info(&self) {
        if let Err(error) = fs::remove_file(self.0.join("daemon.json")) {
            tracing::debug!(%error, "cannot remove daemon.json");
        }
    }

    /// The daemon that owns the folder, if one is running.
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

    /// The owner's token, created if there is none.
    pub(crate) fn read_or_create_token(&self) -> anyhow::Result<Secret> {
        let path = self.0.join("token");
        match fs::metadata(&path) {
            Ok(found) if found.permissions().mode() & 0o077 != 0 => bail!(
                "{} can be read by others, so the token may be compromised\nhint: remove it; the \
                 next start creates a new one",
                path.display()
            ),
            Ok(_) => {
                let secret = self.read_token()?;
                if secret.reveal().len() < 32 {
                    bail!(
                        "{} holds no token\nhint: remove it; the next start creates a new one",
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

    /// Writes a file atomically: after a full disk or a power failure the old content
    /// is still there.
    fn write_atomically(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let (draft, path) = (self.0.join(format!("{name}.new")), self.0.join(name));
        let write = || {
            // A leftover draft may have other permissions, so it is not reused.
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

/// Whether this process is alive. A killed process has no program any more, but keeps
/// its locks until its last thread has finished its I/O.
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
        // The leftover of an interrupted start is ignored.
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
        // The pid of a dead daemon; no process has so high a number.
        fs::write(folder.path().join("daemon.lock"), "2147483646\n").unwrap();
        let probe = File::open(folder.path().join("daemon.lock")).unwrap();
        flock(&probe, FlockOperation::NonBlockingLockShared).unwrap();
        let releaser = std::thread::spawn(move || {
            std::thread::sleep(LOCK_RETRY_DELAY * 2);
            drop(probe);
        });
        let lock = folder.lock().unwrap();
        releaser.join().unwrap();
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
            config: Some(PathBuf::from("/c.toml")),
        };
        let json = serde_json::to_string(&running).unwrap();
        expect_test::expect![[
            r#"{"pid":7,"address":"127.0.0.1:3001","version":"0.1.0","startedAt":9,"config":"/c.toml"}"#
        ]]
        .assert_eq(&json);
        assert_eq!(serde_json::from_str::<RunningDaemon>(&json).unwrap(), running);
        let older = r#"{"pid":7,"address":"127.0.0.1:3001","version":"0.1.0","startedAt":9}"#;
        let older: RunningDaemon = serde_json::from_str(older).unwrap();
        assert_eq!(older, RunningDaemon { config: None, ..running });
    }
}
