//! The process of a kernel, held by a pidfd: to kill it, and to wait until it has exited.

use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::net::unix::pipe;

/// A process that cannot be mistaken for another one that gets its pid later.
///
/// A pidfd becomes readable when the process exits, and is polled like a pipe; nothing is
/// read from it.
#[derive(Debug)]
pub(super) struct KernelProcess(pipe::Receiver);

impl KernelProcess {
    /// Holds a process that has not been reaped.
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the kernel's process id is not one"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        pipe::Receiver::from_owned_fd_unchecked(pidfd).map(Self)
    }

    pub(super) fn kill(&self) {
        if let Err(error) = pidfd_send_signal(&self.0, Signal::KILL) {
            tracing::debug!(%error, "the kernel was gone before it was killed");
        }
    }

    pub(super) async fn wait_for_exit(&self) {
        if let Err(error) = self.0.readable().await {
            tracing::warn!(%error, "cannot wait for the end of a kernel");
        }
    }
}
