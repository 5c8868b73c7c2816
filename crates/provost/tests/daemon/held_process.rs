//! Processes that a test holds by a pidfd, to wait for their end or to end them.
//!
//! A daemon and its kernels are not dumpable, so their own user cannot read the link
//! `/proc/PID/exe`; a pidfd and the command line are enough for any user.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Long enough for any machine; only a process that cannot be killed takes it.
const EXIT_TIMEOUT: Duration = Duration::from_mins(1);

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

    /// The kernels of this data folder: their command line names a directory in it.
    pub(crate) fn kernels_of(data: &Path) -> Vec<Self> {
        let kernels = data.join("kernels").to_string_lossy().into_owned();
        let is_kernel = |pid: Pid| {
            let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
            let line = line.unwrap_or_default();
            String::from_utf8_lossy(&line).split('\0').any(|word| word.starts_with(&kernels))
        };
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Pid::from_raw)
            .filter(|pid| is_kernel(*pid))
            // Read again once it is held: the pid may have got another process meanwhile.
            .filter_map(|pid| Self::open(pid).filter(|_| is_kernel(pid)))
            .collect()
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

    /// A pidfd becomes readable when its process exits.
    fn exits_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).unwrap();
        let mut watched = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut watched, Some(&limit)).unwrap() > 0
    }
}
