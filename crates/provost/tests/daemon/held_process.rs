//! Processes that a test holds by a pidfd, to wait for their end or to end them.
//!
//! A daemon and its kernels are not dumpable, so their own user cannot read the link
//! `/proc/PID/exe`. A daemon is found by its lock, a kernel by its socket.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Long enough for any machine; only a process that cannot be killed takes it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long supervisors take at most, after their kernel, to end what they supervise.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(2);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A process that cannot be mistaken for another one that gets its pid later.
pub(crate) struct HeldProcess(OwnedFd);

impl HeldProcess {
    /// Holds a process that has not been reaped.
    pub(crate) fn open(pid: Pid) -> Option<Self> {
        pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)
    }

    /// The daemon that has locked this data folder.
    pub(crate) fn daemon_of(data: &Path) -> Option<Self> {
        let path = data.join("daemon.lock");
        let lock = File::open(&path).ok()?;
        let is_locked = || flock(&lock, FlockOperation::NonBlockingLockShared).is_err();
        let pid = fs::read_to_string(&path).ok()?.trim().parse().ok().and_then(Pid::from_raw)?;
        let held = Self::open(pid)?;
        // It holds the lock with its pid in it, so that is the process we hold.
        is_locked().then_some(held)
    }

    /// The kernel that listens in this directory.
    fn kernel_of(dir: &Path) -> Option<Self> {
        let connection = UnixStream::connect(dir.join("socket")).ok()?;
        let pid = socket_peercred(&connection).ok()?.pid;
        // A supervisor may hold the socket of a kernel that is gone for a moment longer.
        Self::open(pid).filter(|_| names_path(pid, dir))
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.exits_within(Duration::ZERO)
    }

    /// Kills it and waits for its end.
    pub(crate) fn kill(&self) {
        // It may have exited by itself; one that cannot be killed is found after the suite.
        let _gone = pidfd_send_signal(&self.0, Signal::KILL);
        let _exited = self.exits_within(EXIT_TIMEOUT);
    }

    /// Kills the kernels of a data folder, and waits until their runs have ended too.
    ///
    /// The supervisors of the runs are copies of their kernel, with its command line. They are
    /// not killed, because they end what runs below them.
    pub(crate) fn kill_kernels(data: &Path) {
        let start = Instant::now();
        // A kernel that is just starting does not listen yet, and before its exec it has the
        // command line of the daemon.
        loop {
            let left = find_processes_naming(data);
            if left.is_empty() || start.elapsed() > EXIT_TIMEOUT {
                return;
            }
            let dirs = fs::read_dir(data.join("kernels")).into_iter().flatten().flatten();
            dirs.filter_map(|dir| Self::kernel_of(&dir.path())).for_each(|kernel| kernel.kill());
            if start.elapsed() > SUPERVISOR_TIMEOUT {
                // A kernel whose daemon was killed before it listened, so that the next daemon
                // started another one, which replaced its socket.
                let is_top =
                    |pid: Pid| read_parent(pid).is_none_or(|parent| !left.contains(&parent));
                let tops = left.iter().filter(|pid| is_top(**pid));
                tops.filter_map(|pid| Self::open(*pid)).for_each(|kernel| kernel.kill());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// A pidfd becomes readable when its process exits.
    pub(crate) fn exits_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).unwrap();
        let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut watched, Some(&limit)).unwrap() > 0
    }
}

/// Whether an argument of a process is a path below this one. Every user can read it.
fn names_path(pid: Pid, path: &Path) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    line.split(|byte| *byte == 0).any(|word| Path::new(OsStr::from_bytes(word)).starts_with(path))
}

fn find_processes_naming(path: &Path) -> Vec<Pid> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| names_path(*pid, path)).collect()
}

fn read_parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    Pid::from_raw(stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?)
}
