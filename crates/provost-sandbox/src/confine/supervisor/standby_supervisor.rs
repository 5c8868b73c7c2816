//! A warden that is made before it is needed.
//!
//! Making a process with namespaces of its own, and a `/proc` in them, costs more
//! than all the rest of a start. Whoever runs one command after the other can
//! have that done in the meantime: the warden waits, and begins with the plan
//! that it is given.
//!
//! While it waits it shares our table of open files as well as our memory: what
//! the plan names is opened later than it was made. On the word it takes a copy
//! of the table and says so, and from there on nothing tells it from another.

use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::namespace_reaper::MountNamespaceHandle;
use super::supervisor_stack::SupervisorStack;
use crate::confine::SandboxError;
use crate::confine::plan::spawn_plan::{SetupFailure, SpawnPlan};
use crate::confine::raw_syscall::{self, int_arg, ptr_arg, syscall};
use crate::confine::spawn::cgroup_pool::{CgroupPool, RunCgroup};
use crate::confine::spawn::{self, ControlSocketPair, Supervisor};
use crate::confine::supervisor;

/// What is said to begin, and that the files are its own.
const BEGIN_MESSAGE: [u8; 1] = [1];

/// How long a warden that was given the word may take to answer.
const BEGIN_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What the warden knows while it waits.
#[derive(Debug)]
struct StandbyContext {
    loopback: bool,
    /// Whether there is a mount namespace, and a `/proc` in it.
    mounts: Option<bool>,
    control: RawFd,
    /// Of the groups to wait in.
    doors: Vec<RawFd>,
    /// Readable when we are gone; the line is not closed then, as it holds both ends.
    parent: OwnedFd,
    plan: AtomicPtr<SpawnPlan<'static>>,
}

/// A warden that waits. Dropping it ends it.
#[derive(Debug)]
pub(in crate::confine) struct StandbySupervisor {
    pub(in crate::confine) pid: u32,
    pidfd: OwnedFd,
    line: Option<ControlSocketPair>,
    stack: Option<SupervisorStack>,
    namespace: MountNamespaceHandle,
    seat: Box<StandbyContext>,
    groups: Option<(Arc<CgroupPool>, RunCgroup)>,
    made: Instant,
}

impl StandbySupervisor {
    /// Makes one with these namespaces.
    pub(in crate::confine) fn new(
        flags: i32,
        loopback: bool,
        mounts: Option<bool>,
        groups: Option<(Arc<CgroupPool>, RunCgroup)>,
    ) -> Result<Self, SandboxError> {
        let line = ControlSocketPair::new()?;
        let own = rustix::process::getpid();
        let parent = rustix::process::pidfd_open(own, PidfdFlags::empty())
            .map_err(SandboxError::wrap_errno("watch our own process"))?;
        let plan = AtomicPtr::new(null_mut());
        let control = line.theirs.as_raw_fd();
        let doors = groups.iter().flat_map(|(_, group)| group.procs_fds()).collect();
        let seat = Box::new(StandbyContext { loopback, mounts, control, doors, parent, plan });
        let stack = SupervisorStack::acquire().map_err(SandboxError::wrap_io("make a stack"))?;
        let shared = flags | libc::CLONE_VM | libc::CLONE_FILES;
        let argument = std::ptr::from_ref(&*seat).cast_mut().cast();
        // SAFETY: stack and seat live until the warden is gone or has its plan.
        let (pid, pidfd) = unsafe { spawn::clone_process(shared, &stack, standby_main, argument) }?;
        let namespace = MountNamespaceHandle::open_for_process(pid, flags);
        let (line, stack, made) = (Some(line), Some(stack), Instant::now());
        Ok(Self { pid, pidfd, line, stack, namespace, seat, groups, made })
    }

    /// How long it has been waiting.
    pub(in crate::confine) fn age(&self) -> Duration {
        self.made.elapsed()
    }

    /// The number of its end of the line, which the plan must name.
    pub(in crate::confine) fn control_fd(&self) -> RawFd {
        self.seat.control
    }

    /// Whether it waits in the groups of its command.
    pub(in crate::confine) fn is_in_cgroup(&self) -> bool {
        self.groups.is_some()
    }

    /// Lets it begin with this plan. Gives `None`, and nothing has begun, when it is
    /// no longer there.
    pub(in crate::confine) fn begin_plan(
        mut self,
        plan: &SpawnPlan<'_>,
    ) -> Option<(Supervisor, Option<RunCgroup>)> {
        let line = self.line.as_ref()?;
        self.seat.plan.store(std::ptr::from_ref(plan).cast_mut().cast(), Ordering::Release);
        rustix::net::send(&line.ours, &BEGIN_MESSAGE, SendFlags::NOSIGNAL).ok()?;
        // From its answer on it uses nothing of ours but memory; until then the
        // files that the plan names must stay open, which they do.
        let mut both =
            [PollFd::new(&line.ours, PollFlags::IN), PollFd::new(&self.pidfd, PollFlags::IN)];
        while rustix::event::poll(&mut both, Some(&BEGIN_TIMEOUT)) == Err(rustix::io::Errno::INTR) {
        }
        let mut said = [0; 1];
        rustix::net::recv(&line.ours, &mut said, RecvFlags::DONTWAIT).ok()?;
        let ControlSocketPair { ours, theirs } = self.line.take()?;
        drop(theirs);
        let stack = self.stack.take()?;
        let pidfd = self.pidfd.try_clone().ok()?;
        let group = self.groups.take().map(|(_, group)| group);
        let namespace = std::mem::take(&mut self.namespace);
        Some((Supervisor { pid: self.pid, pidfd, control: ours, stack, namespace }, group))
    }
}

impl Drop for StandbySupervisor {
    fn drop(&mut self) {
        // Without its stack it has begun and is another's.
        let Some(stack) = self.stack.take() else { return };
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
        let ended = loop {
            let pidfd = WaitId::PidFd(self.pidfd.as_fd());
            match rustix::process::waitid(pidfd, WaitIdOptions::EXITED) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        if ended.is_ok() {
            stack.release();
            if let Some((groups, group)) = self.groups.take() {
                groups.release(group);
            }
        } else {
            // It may still stand there. Memory is lost, which is the lesser evil.
            std::mem::forget(stack);
        }
    }
}

/// The life of a warden that waits. Never returns.
extern "C" fn standby_main(seat: *mut c_void) -> c_int {
    // SAFETY: `StandbySupervisor::new` gives the seat, which lives until we have answered.
    let seat = unsafe { &*seat.cast_const().cast::<StandbyContext>() };
    let ready = supervisor::prepare_namespaces(seat.loopback, seat.mounts)
        .and_then(|()| crate::confine::spawn::child::join_cgroups(&seat.doors));
    // What failed will fail again, and be told, when it is done for the command itself.
    if ready.is_err() || !wait_for_begin(seat) {
        raw_syscall::exit(0);
    }
    let plan = seat.plan.load(Ordering::Acquire).cast_const();
    if confirm_begin(seat.control).is_err() {
        raw_syscall::exit(0);
    }
    // SAFETY: the plan was stored before the word was given, and lives until the
    // report pipe is closed.
    unsafe { supervisor::run_plan(plan.cast()) }
}

/// Waits for the word; `false` when we are gone.
fn wait_for_begin(seat: &StandbyContext) -> bool {
    let mut lines = [
        libc::pollfd { fd: seat.control, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: seat.parent.as_raw_fd(), events: libc::POLLIN, revents: 0 },
    ];
    loop {
        // SAFETY: the array has the length that is given.
        let _ = unsafe { syscall(libc::SYS_ppoll, [ptr_arg(lines.as_mut_ptr()), lines.len()]) };
        if lines[1].revents != 0 {
            return false;
        }
        if lines[0].revents != 0 {
            let mut word = [0u8; 1];
            let arguments = [
                int_arg(seat.control),
                ptr_arg(word.as_mut_ptr()),
                word.len(),
                int_arg(libc::MSG_DONTWAIT),
            ];
            // SAFETY: the buffer is as long as is said.
            let heard = unsafe { syscall(libc::SYS_recvfrom, arguments) };
            return heard == Ok(word.len()) && word == BEGIN_MESSAGE;
        }
    }
}

/// Takes a table of files of its own, and says so.
fn confirm_begin(control: RawFd) -> Result<(), SetupFailure> {
    use crate::confine::error::SetupStep;
    // SAFETY: the first call takes a number and changes only this process; the
    // buffer of the second is as long as is said.
    unsafe {
        raw_syscall::at_step(
            syscall(libc::SYS_unshare, [int_arg(libc::CLONE_FILES)]),
            SetupStep::Supervisor,
        )?;
        let flags = int_arg(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
        let arguments =
            [int_arg(control), ptr_arg(BEGIN_MESSAGE.as_ptr()), BEGIN_MESSAGE.len(), flags];
        raw_syscall::at_step(syscall(libc::SYS_sendto, arguments), SetupStep::Supervisor).map(drop)
    }
}
