//! The parent's hold on a run.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Signal, WaitId, WaitIdOptions};
use serde::Serialize;

use super::cgroup_pool::{CgroupPool, RunCgroup};
use crate::confine::supervisor::namespace_reaper::MountNamespaceHandle;
use crate::confine::supervisor::supervisor_stack::SupervisorStack;
use crate::confine::supervisor::{CONTROL_END, CONTROL_TO_ALL};
use crate::confine::{AppliedLayers, SandboxError};

/// How long the kernel gets to make killed processes disappear.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl SandboxExit {
    fn from_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signal(libc::WTERMSIG(status))
        } else {
            Self::Code(libc::WEXITSTATUS(status))
        }
    }
}

/// A running command with everything it started.
///
/// The handle of its process ([`AsFd`]) becomes readable when the command and
/// all it left behind are gone. Dropping the child ends the run.
#[derive(Debug)]
pub struct SandboxChild {
    /// Its standard input, if it is a pipe.
    pub stdin: Option<OwnedFd>,
    /// Its standard output, if it is a pipe.
    pub stdout: Option<OwnedFd>,
    /// Its standard error, if it is a pipe.
    pub stderr: Option<OwnedFd>,
    /// Which layers were applied.
    pub applied: AppliedLayers,
    pub(in crate::confine) run: SandboxRun,
}

#[derive(Debug)]
pub(in crate::confine) struct SandboxRun {
    pub(in crate::confine) pid: u32,
    pub(in crate::confine) pidfd: OwnedFd,
    pub(in crate::confine) control: OwnedFd,
    pub(in crate::confine) groups: Option<(Arc<CgroupPool>, RunCgroup)>,
    /// What the warden stands on; gone when it is.
    pub(in crate::confine) stack: Option<SupervisorStack>,
    /// Let go of when the run has ended.
    pub(in crate::confine) namespace: MountNamespaceHandle,
    pub(in crate::confine) state: SandboxRunState,
}

/// What is known about a run by now.
#[derive(Debug, Default)]
pub(in crate::confine) struct SandboxRunState {
    status: Option<SandboxExit>,
    ended: Option<SandboxExit>,
    was_stopped: bool,
    was_killed: bool,
}

impl SandboxChild {
    /// The process at the top of the run: the parent of the command and of all orphans.
    pub fn pid(&self) -> u32 {
        self.run.pid
    }

    /// How the run ended, or `None` while anything of it lives.
    pub fn try_wait(&mut self) -> Result<Option<SandboxExit>, SandboxError> {
        self.run.wait_until(Some(Instant::now()))
    }

    /// Waits until nothing of the run lives.
    pub fn wait(&mut self) -> Result<SandboxExit, SandboxError> {
        self.run.wait_until(None)?.ok_or(SandboxError::StillAlive)
    }

    /// Waits, but not longer than this.
    pub fn wait_for(&mut self, time: Duration) -> Result<Option<SandboxExit>, SandboxError> {
        self.run.wait_until(Some(Instant::now() + time))
    }

    /// Sends a signal to the command's process group, as Ctrl-C would.
    pub fn signal(&self, signal: Signal) -> Result<(), SandboxError> {
        self.run.send_control_byte(encode_signal(signal))
    }

    /// Asks all processes of the run to end, daemons included, and does not wait.
    pub fn terminate(&self) -> Result<(), SandboxError> {
        self.run.send_control_byte(CONTROL_TO_ALL | encode_signal(Signal::TERM))
    }

    /// Ends the run by force and does not wait: the handle becomes readable when
    /// nothing is left. A second call no longer trusts the run's own warden.
    pub fn kill(&mut self) -> Result<(), SandboxError> {
        self.run.kill()
    }

    /// Ends the run: SIGTERM to all its processes, a grace, SIGKILL. When it
    /// returns `Ok`, no process of the run is left, daemons included.
    pub fn stop(&mut self, grace: Duration) -> Result<SandboxExit, SandboxError> {
        self.run.stop(grace)
    }
}

impl AsFd for SandboxChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.run.pidfd.as_fd()
    }
}

impl Drop for SandboxRun {
    fn drop(&mut self) {
        if self.state.ended.is_none() {
            // Whoever wants to hear about a failure calls `stop`.
            drop(self.stop(Duration::ZERO));
        }
        if self.state.ended.is_none() {
            // It still stands there. Memory is lost, which is the lesser evil.
            std::mem::forget(self.stack.take());
        }
    }
}

fn encode_signal(signal: Signal) -> u8 {
    u8::try_from(signal.as_raw()).unwrap_or(CONTROL_END) & !CONTROL_TO_ALL
}

impl SandboxRun {
    fn stop(&mut self, grace: Duration) -> Result<SandboxExit, SandboxError> {
        if let Some(exit) = self.state.ended {
            return Ok(exit);
        }
        self.state.was_stopped = true;
        if !grace.is_zero() {
            self.send_control_byte(CONTROL_TO_ALL | encode_signal(Signal::TERM))?;
            if let Some(exit) = self.wait_until(Some(Instant::now() + grace))? {
                return Ok(exit);
            }
        }
        self.kill()?;
        if let Some(exit) = self.wait_until(Some(Instant::now() + KILL_WAIT))? {
            return Ok(exit);
        }
        self.kill()?;
        self.wait_until(Some(Instant::now() + KILL_WAIT))?.ok_or(SandboxError::StillAlive)
    }

    fn kill(&mut self) -> Result<(), SandboxError> {
        if self.state.ended.is_some() {
            return Ok(());
        }
        self.state.was_stopped = true;
        if let Some((_, group)) = &self.groups {
            group.forbid_new_processes();
        }
        if !std::mem::replace(&mut self.state.was_killed, true) {
            return self.send_control_byte(CONTROL_END);
        }
        // A warden that does not answer; in a process id namespace this ends all.
        match rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(SandboxError::wrap_errno("kill the run")(errno)),
        }
    }

    fn send_control_byte(&self, byte: u8) -> Result<(), SandboxError> {
        match rustix::net::send(&self.control, &[byte], SendFlags::NOSIGNAL) {
            // The warden is gone, and all with it: nobody is left to signal.
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Ok(()),
            Err(errno) => Err(SandboxError::wrap_errno("signal the run")(errno)),
        }
    }

    fn wait_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<SandboxExit>, SandboxError> {
        if self.state.ended.is_some() {
            return Ok(self.state.ended);
        }
        if !self.poll(deadline)? {
            return Ok(None);
        }
        self.receive_status();
        let ended = loop {
            let options = WaitIdOptions::EXITED;
            match rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options) {
                Ok(status) => break status,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SandboxError::wrap_errno("wait for the run")(errno)),
            }
        };
        // A run that was killed before its command's end could be told.
        let killed =
            SandboxExit::Signal(ended.and_then(|status| status.terminating_signal()).unwrap_or(9));
        let exit = self.state.status.unwrap_or(killed);
        self.state.ended = Some(exit);
        drop(std::mem::take(&mut self.namespace));
        if let Some(stack) = self.stack.take() {
            stack.release();
        }
        if let Some((groups, group)) = self.groups.take()
            && !self.state.was_stopped
        {
            groups.release(group);
        }
        Ok(Some(exit))
    }

    fn poll(&self, deadline: Option<Instant>) -> Result<bool, SandboxError> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut lines = [PollFd::new(&self.pidfd, PollFlags::IN)];
            match rustix::event::poll(&mut lines, timeout.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SandboxError::wrap_errno("wait for the run")(errno)),
            }
        }
    }

    /// What the warden said about the command before it ended.
    fn receive_status(&mut self) {
        let mut status = [0; 4];
        let heard = rustix::net::recv(&self.control, &mut status, RecvFlags::DONTWAIT);
        if heard.is_ok_and(|(n_read, _)| n_read == status.len()) {
            self.record_status(status);
        }
    }

    /// The command has ended so.
    pub(in crate::confine) fn record_status(&mut self, status: [u8; 4]) {
        self.state.status = Some(SandboxExit::from_status(i32::from_ne_bytes(status)));
    }
}
