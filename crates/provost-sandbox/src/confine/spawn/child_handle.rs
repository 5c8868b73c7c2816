//! The parent's handle of a run.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Signal, WaitId, WaitIdOptions};
use serde::Serialize;

use super::cgroup_pool::{CgroupPool, RunCgroup};
use super::layer_slot::LayerSlot;
use crate::confine::supervisor::namespace_reaper::MountNamespaceHandle;
use crate::confine::supervisor::supervisor_stack::SupervisorStack;
use crate::confine::supervisor::{CONTROL_END, CONTROL_TO_ALL, CONTROL_UNSEEN};
use crate::confine::{AppliedLayers, SandboxError};

/// How long killed processes may take to disappear.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxExit {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
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

/// A running command with all its processes.
///
/// Its pidfd ([`AsFd`]) becomes readable when all processes of the run have ended.
/// Dropping the child ends the run.
#[derive(Debug)]
pub struct SandboxChild {
    /// Its standard input, if it is a pipe.
    pub stdin: Option<OwnedFd>,
    /// Its standard output, if it is a pipe.
    pub stdout: Option<OwnedFd>,
    /// Its standard error, if it is a pipe.
    pub stderr: Option<OwnedFd>,
    /// The layers that were applied.
    pub applied: AppliedLayers,
    pub(in crate::confine) run: SandboxRun,
}

#[derive(Debug)]
pub(in crate::confine) struct SandboxRun {
    pub(in crate::confine) pid: u32,
    pub(in crate::confine) pidfd: OwnedFd,
    pub(in crate::confine) control: OwnedFd,
    pub(in crate::confine) groups: Option<(Arc<CgroupPool>, RunCgroup)>,
    /// The supervisor's stack, in use until it has ended.
    pub(in crate::confine) stack: Option<SupervisorStack>,
    /// Released when the run has ended.
    pub(in crate::confine) namespace: MountNamespaceHandle,
    /// Its layers of the caches, which no other run may have at the same time.
    pub(in crate::confine) slot: Option<LayerSlot>,
    pub(in crate::confine) state: SandboxRunState,
}

/// What is known about a run so far.
#[derive(Debug, Default)]
pub(in crate::confine) struct SandboxRunState {
    status: Option<SandboxExit>,
    ended: Option<SandboxExit>,
    was_stopped: bool,
    /// The supervisor could not list the processes it had to kill.
    unseen: bool,
    was_killed: bool,
}

impl SandboxChild {
    /// The supervisor's process: the parent of the command and of all orphans.
    pub fn pid(&self) -> u32 {
        self.run.pid
    }

    /// The exit of the run, or `None` while a process of it is alive.
    pub fn try_wait(&mut self) -> Result<Option<SandboxExit>, SandboxError> {
        self.run.wait_until(Some(Instant::now()))
    }

    /// Waits until all processes of the run have ended.
    pub fn wait(&mut self) -> Result<SandboxExit, SandboxError> {
        self.run.wait_until(None)?.ok_or(SandboxError::StillAlive)
    }

    /// Waits at most this long.
    pub fn wait_for(&mut self, time: Duration) -> Result<Option<SandboxExit>, SandboxError> {
        self.run.wait_until(Some(Instant::now() + time))
    }

    /// Sends a signal to the command's process group, as Ctrl-C would.
    pub fn signal(&self, signal: Signal) -> Result<(), SandboxError> {
        self.run.send_control_byte(encode_signal(signal))
    }

    /// Sends SIGTERM to all processes of the run, daemons included; does not wait.
    pub fn terminate(&self) -> Result<(), SandboxError> {
        self.run.send_control_byte(CONTROL_TO_ALL | encode_signal(Signal::TERM))
    }

    /// Kills the run and does not wait: the pidfd becomes readable when no process is
    /// left. A second call kills the supervisor itself.
    pub fn kill(&mut self) -> Result<(), SandboxError> {
        self.run.kill()
    }

    /// Stops the run: SIGTERM to all processes, a grace period, SIGKILL. When it returns
    /// `Ok`, no process of the run is left, daemons included.
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
            // A caller that needs the error calls `stop`.
            drop(self.stop(Duration::ZERO));
        }
        if self.state.ended.is_none() {
            // The supervisor still uses it. Leaking the memory is the lesser evil.
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
        // The supervisor does not respond; in a pid namespace this ends all processes.
        match rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(SandboxError::wrap_errno("kill the run")(errno)),
        }
    }

    fn send_control_byte(&self, byte: u8) -> Result<(), SandboxError> {
        match rustix::net::send(&self.control, &[byte], SendFlags::NOSIGNAL) {
            // The supervisor has ended, and all processes with it.
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
        // The run was killed before the command's status was reported.
        let killed =
            SandboxExit::Signal(ended.and_then(|status| status.terminating_signal()).unwrap_or(9));
        let exit = self.state.status.unwrap_or(killed);
        self.state.ended = Some(exit);
        std::mem::take(&mut self.namespace).release(self.slot.take());
        if let Some(stack) = self.stack.take() {
            stack.release();
        }
        if let Some((groups, group)) = self.groups.take()
            && !self.state.was_stopped
        {
            groups.release(group);
        }
        if self.state.unseen {
            return Err(SandboxError::Unseen);
        }
        Ok(Some(exit))
    }

    fn poll(&self, deadline: Option<Instant>) -> Result<bool, SandboxError> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut poll_fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
            match rustix::event::poll(&mut poll_fds, timeout.as_ref()) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SandboxError::wrap_errno("wait for the run")(errno)),
            }
        }
    }

    /// Receives the command's status, which the supervisor sends before it exits.
    fn receive_status(&mut self) {
        let mut message = [0; 4];
        while let Ok((n_read, _)) =
            rustix::net::recv(&self.control, &mut message, RecvFlags::DONTWAIT)
        {
            match n_read {
                4 => self.record_status(message),
                1 if message[0] == CONTROL_UNSEEN => self.state.unseen = true,
                0 => return,
                _ => {}
            }
        }
    }

    /// Records the status of the command.
    pub(in crate::confine) fn record_status(&mut self, status: [u8; 4]) {
        self.state.status = Some(SandboxExit::from_status(i32::from_ne_bytes(status)));
    }
}
