//! A supervisor that is started before it is needed.
//!
//! Cloning a process with namespaces, and mounting a `/proc` in them, costs more than
//! all the rest of a start. When one command follows another, that can be done in
//! between: the supervisor waits, and begins with the plan that it is given.
//!
//! While it waits it shares our descriptor table as well as our memory: the files of
//! the plan are opened after it was started. On the begin message it unshares the
//! table and confirms that, and from then on it is like any other supervisor.

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
use crate::confine::plan::spawn_plan::{NamespaceMounts, SetupFailure, SpawnPlan};
use crate::confine::raw_syscall::{self, int_arg, ptr_arg, syscall};
use crate::confine::spawn::cgroup_pool::{CgroupPool, RunCgroup};
use crate::confine::spawn::layer_slot::RunLayers;
use crate::confine::spawn::{self, ControlSocketPair, Supervisor};
use crate::confine::supervisor;

/// The message to begin, and its confirmation.
const BEGIN_MESSAGE: [u8; 1] = [1];

/// How long a supervisor may take to confirm.
const BEGIN_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What the supervisor uses while it waits.
#[derive(Debug)]
struct StandbyContext {
    loopback: bool,
    /// The file systems of its mount namespace, if there is one.
    mounts: Option<NamespaceMounts>,
    control: RawFd,
    /// Descriptors of the cgroups to wait in.
    cgroup_fds: Vec<RawFd>,
    /// Readable when our process has ended; the control socket is not closed then,
    /// because the supervisor shares both ends.
    parent: OwnedFd,
    plan: AtomicPtr<SpawnPlan<'static>>,
}

/// A supervisor that waits. Dropping it ends it.
#[derive(Debug)]
pub(in crate::confine) struct StandbySupervisor {
    pub(in crate::confine) pid: u32,
    pidfd: OwnedFd,
    sockets: Option<ControlSocketPair>,
    stack: Option<SupervisorStack>,
    namespace: MountNamespaceHandle,
    context: Box<StandbyContext>,
    groups: Option<(Arc<CgroupPool>, RunCgroup)>,
    /// The layers of its run, mounted.
    layers: Option<RunLayers>,
    started_at: Instant,
}

impl StandbySupervisor {
    /// Starts one with these namespaces.
    pub(in crate::confine) fn new(
        flags: i32,
        loopback: bool,
        mounts: Option<NamespaceMounts>,
        groups: Option<(Arc<CgroupPool>, RunCgroup)>,
    ) -> Result<Self, SandboxError> {
        let sockets = ControlSocketPair::new()?;
        let own = rustix::process::getpid();
        let parent = rustix::process::pidfd_open(own, PidfdFlags::empty())
            .map_err(SandboxError::wrap_errno("open our own process"))?;
        let plan = AtomicPtr::new(null_mut());
        let control = sockets.theirs.as_raw_fd();
        let cgroup_fds = groups.iter().flat_map(|(_, group)| group.join_fds()).collect();
        let context =
            Box::new(StandbyContext { loopback, mounts, control, cgroup_fds, parent, plan });
        let stack =
            SupervisorStack::acquire().map_err(SandboxError::wrap_io("allocate a stack"))?;
        let shared = flags | libc::CLONE_VM | libc::CLONE_FILES;
        let argument = std::ptr::from_ref(&*context).cast_mut().cast();
        // SAFETY: stack and context live until the supervisor has ended or has its plan.
        let (pid, pidfd) = unsafe { spawn::clone_process(shared, &stack, standby_main, argument) }?;
        let namespace = MountNamespaceHandle::open_for_process(pid, flags);
        let (sockets, stack, started_at) = (Some(sockets), Some(stack), Instant::now());
        let layers = None;
        Ok(Self { pid, pidfd, sockets, stack, namespace, context, groups, layers, started_at })
    }

    /// The same with layers that were mounted in advance.
    pub(in crate::confine) fn with_layers(mut self, layers: Option<RunLayers>) -> Self {
        self.layers = layers;
        self
    }

    pub(in crate::confine) fn take_layers(&mut self) -> Option<RunLayers> {
        self.layers.take()
    }

    /// How long it has been waiting.
    pub(in crate::confine) fn age(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// Its end of the control socket, which the plan must name.
    pub(in crate::confine) fn control_fd(&self) -> RawFd {
        self.context.control
    }

    /// Whether it waits in the cgroups of its command.
    pub(in crate::confine) fn is_in_cgroup(&self) -> bool {
        self.groups.is_some()
    }

    /// Lets it begin with this plan. Returns `None`, and nothing has begun, when it has
    /// ended.
    pub(in crate::confine) fn begin_plan(
        mut self,
        plan: &SpawnPlan<'_>,
    ) -> Option<(Supervisor, Option<RunCgroup>)> {
        let sockets = self.sockets.as_ref()?;
        self.context.plan.store(std::ptr::from_ref(plan).cast_mut().cast(), Ordering::Release);
        rustix::net::send(&sockets.ours, &BEGIN_MESSAGE, SendFlags::NOSIGNAL).ok()?;
        // After its confirmation it uses nothing of ours but memory; until then the
        // descriptors of the plan must stay open, which they do.
        let mut poll_fds =
            [PollFd::new(&sockets.ours, PollFlags::IN), PollFd::new(&self.pidfd, PollFlags::IN)];
        while rustix::event::poll(&mut poll_fds, Some(&BEGIN_TIMEOUT))
            == Err(rustix::io::Errno::INTR)
        {}
        let mut reply = [0; 1];
        rustix::net::recv(&sockets.ours, &mut reply, RecvFlags::DONTWAIT).ok()?;
        let ControlSocketPair { ours, theirs } = self.sockets.take()?;
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
        // Without its stack it has begun and belongs to a run.
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
            // It may still use it. Leaking the memory is the lesser evil.
            std::mem::forget(stack);
        }
    }
}

/// The entry point of a standby supervisor. Never returns.
extern "C" fn standby_main(context: *mut c_void) -> c_int {
    // SAFETY: `StandbySupervisor::new` passes the context, which lives until we confirm.
    let context = unsafe { &*context.cast_const().cast::<StandbyContext>() };
    let ready = supervisor::prepare_namespaces(context.loopback, context.mounts)
        .and_then(|()| crate::confine::spawn::child::join_cgroups(&context.cgroup_fds));
    // A failure will occur again, and be reported, when the command is started.
    if ready.is_err() || !wait_for_begin(context) {
        raw_syscall::exit(0);
    }
    let plan = context.plan.load(Ordering::Acquire).cast_const();
    if confirm_begin(context.control).is_err() {
        raw_syscall::exit(0);
    }
    // SAFETY: the plan was stored before the begin message, and lives until the report
    // pipe is closed.
    unsafe { supervisor::run_plan(plan.cast()) }
}

/// Waits for the begin message; `false` when the parent has ended.
fn wait_for_begin(context: &StandbyContext) -> bool {
    let mut poll_fds = [
        libc::pollfd { fd: context.control, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: context.parent.as_raw_fd(), events: libc::POLLIN, revents: 0 },
    ];
    loop {
        // SAFETY: the array has the given length.
        let _ =
            unsafe { syscall(libc::SYS_ppoll, [ptr_arg(poll_fds.as_mut_ptr()), poll_fds.len()]) };
        if poll_fds[1].revents != 0 {
            return false;
        }
        if poll_fds[0].revents != 0 {
            let mut message = [0u8; 1];
            let arguments = [
                int_arg(context.control),
                ptr_arg(message.as_mut_ptr()),
                message.len(),
                int_arg(libc::MSG_DONTWAIT),
            ];
            // SAFETY: the buffer has the given length.
            let received = unsafe { syscall(libc::SYS_recvfrom, arguments) };
            return received == Ok(message.len()) && message == BEGIN_MESSAGE;
        }
    }
}

/// Unshares the descriptor table, and confirms that.
fn confirm_begin(control: RawFd) -> Result<(), SetupFailure> {
    use crate::confine::error::SetupStep;
    // SAFETY: the first call takes a number and changes only this process; the buffer of
    // the second has the given length.
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
