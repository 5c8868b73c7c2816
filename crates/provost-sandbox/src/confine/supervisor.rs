//! In the child: the process that stands over one run.
//!
//! It arranges the namespaces, starts the command, and waits. All orphans of the
//! run fall to it, because it is the first process of a process id namespace or
//! a subreaper. When the command is gone it ends what is left, and when it ends
//! itself, nothing of the run is left: the parent waits for it alone.
//!
//! It shares the parent's memory, as a thread would, which makes it cheap: no
//! page tables are copied. Only for a user namespace it is a copy, because the
//! maps of one can be written by a dumpable process alone, and the parent may not
//! want to be one. Either way it never enters the sandbox's Landlock domain,
//! whose members can look into each other only, stands on a stack of its own,
//! and makes nothing but system calls. The plan is the parent's and is not
//! touched after the report pipe is closed.

pub(super) mod hold_paths;
pub(super) mod kill_tree;
pub(super) mod namespace_reaper;
pub(super) mod standby_supervisor;
pub(super) mod supervisor_stack;

use std::ffi::{CStr, c_int, c_void};

use rustix::fs::{Mode, OFlags};

use super::error::SetupStep;
use super::plan::mounts;
use super::plan::spawn_plan::{AtSetupStep as _, SetupFailure, SpawnPlan, UserMaps};
use super::raw_syscall::{self, at_step, int_arg, ptr_arg, syscall};
use super::spawn::child;
use hold_paths::CONTROL_HOLD_PATH;

/// Orders from the parent: a signal for the command's group, or for all, or the end.
pub(super) const CONTROL_TO_ALL: u8 = 0x80;
pub(super) const CONTROL_END: u8 = 0xff;

/// Where the warden keeps its two descriptors, having closed all others.
const CONTROL_FD: c_int = 0;
const SIGCHLD_FD: c_int = 1;

#[expect(clippy::cast_possible_truncation, reason = "a 16-bit request")]
const SET_INTERFACE_FLAGS: usize = libc::SIOCSIFFLAGS as usize;

/// Stack for the command's child until it execs.
const COMMAND_STACK_SIZE: usize = 64 * 1024;

/// What the warden needs of the plan when it has started the command.
#[derive(Clone, Copy)]
struct SupervisorOptions {
    own_namespace: bool,
    keep_leftovers: bool,
    die_with_parent: bool,
}

/// Runs the whole life of the warden. Never returns.
///
/// # Safety
///
/// `plan` must point to a [`RuntimePlan`] that lives until the report pipe is closed.
pub(super) unsafe extern "C" fn supervisor_main(plan: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let given = &*plan.cast_const().cast::<SpawnPlan<'_>>();
        let maps = given.maps.map_or(Ok(()), write_user_maps);
        let mounts = given.mounts.map(|mounts| mounts.proc);
        if let Err(failed) = maps.and_then(|()| prepare_namespaces(given.loopback, mounts)) {
            given.report_failure(failed);
            raw_syscall::exit(0);
        }
        run_plan(plan.cast_const())
    }
}

/// Runs the rest of the warden's life, when its namespaces are prepared. Never returns.
///
/// # Safety
///
/// As for [`run`].
pub(super) unsafe fn run_plan(plan: *const c_void) -> ! {
    // SAFETY: as the caller promises.
    let plan = unsafe { &*plan.cast::<SpawnPlan<'_>>() };
    let duty = SupervisorOptions {
        own_namespace: plan.flags & libc::CLONE_NEWPID != 0,
        keep_leftovers: plan.keep_leftovers,
        die_with_parent: plan.die_with_parent,
    };
    match start_command(plan) {
        Ok(command) => supervise_command(duty, command),
        Err(failed) => plan.report_failure(failed),
    }
    raw_syscall::exit(0)
}

/// What is the same for every run: it can be done before there is a plan.
pub(super) fn prepare_namespaces(loopback: bool, mounts: Option<bool>) -> Result<(), SetupFailure> {
    reset_signals();
    set_prctl(libc::PR_SET_CHILD_SUBREAPER, 1, SetupStep::Supervisor)?;
    if loopback {
        bring_up_loopback()?;
    }
    mounts.map_or(Ok(()), mounts::init_mount_namespace)
}

fn start_command(plan: &SpawnPlan<'_>) -> Result<c_int, SetupFailure> {
    if let Some(mounts) = plan.mounts {
        mounts::apply_mount_plan(plan, mounts)?;
    }
    let command = fork_command(plan)?;
    close_other_fds(plan)?;
    Ok(command)
}

/// What the parent handles or ignores is nothing to us or the command. Real-time
/// signals have no meaning by default, and nobody ignores them.
fn reset_signals() {
    for signal in 1..32 {
        let default = [0u64; 4];
        // SAFETY: all zero is the default action without flags; the kernel's
        // structure is at most this long. Two signals refuse, which is fine.
        let _ = unsafe {
            syscall(
                libc::SYS_rt_sigaction,
                [signal, ptr_arg(default.as_ptr()), 0, size_of::<u64>()],
            )
        };
    }
}

/// The maps can be written only while the process is dumpable. This is a copy of
/// the parent, with its secrets, so it is so for no longer than that.
fn write_user_maps(maps: &UserMaps) -> Result<(), SetupFailure> {
    set_prctl(libc::PR_SET_DUMPABLE, 1, SetupStep::UserNamespace)?;
    write_proc_file(c"/proc/self/setgroups", b"deny")?;
    write_proc_file(c"/proc/self/uid_map", maps.uid.as_bytes())?;
    write_proc_file(c"/proc/self/gid_map", maps.gid.as_bytes())?;
    set_prctl(libc::PR_SET_DUMPABLE, 0, SetupStep::UserNamespace)
}

fn set_prctl(option: c_int, value: usize, step: SetupStep) -> Result<(), SetupFailure> {
    // SAFETY: the call takes numbers and changes only this process.
    at_step(unsafe { syscall(libc::SYS_prctl, [int_arg(option), value]) }, step).map(drop)
}

fn write_proc_file(file: &CStr, content: &[u8]) -> Result<(), SetupFailure> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(file, flags, Mode::empty()).at_step(SetupStep::UserNamespace)?;
    rustix::io::write(&file, content).at_step(SetupStep::UserNamespace).map(drop)
}

/// So that programs can talk to themselves in a network that leads nowhere.
fn bring_up_loopback() -> Result<(), SetupFailure> {
    #[repr(C)]
    struct Request {
        name: [u8; 16],
        flags: i16,
        rest: [u8; 22],
    }
    let mut name = [0; 16];
    name[..2].copy_from_slice(b"lo");
    let up = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(1);
    let request = Request { name, flags: up, rest: [0; 22] };
    // SAFETY: the request has the layout of `ifreq` and outlives the call.
    unsafe {
        let kind = int_arg(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC);
        let socket = at_step(
            syscall(libc::SYS_socket, [int_arg(libc::AF_INET), kind, 0]),
            SetupStep::Loopback,
        )?;
        let up =
            syscall(libc::SYS_ioctl, [socket, SET_INTERFACE_FLAGS, ptr_arg(&raw const request)]);
        let _ = syscall(libc::SYS_close, [socket]);
        at_step(up, SetupStep::Loopback).map(drop)
    }
}

/// Starts the command in a child that borrows our memory until its exec, which
/// spares copying the page tables a second time.
fn fork_command(plan: &SpawnPlan<'_>) -> Result<c_int, SetupFailure> {
    extern "C" fn main(plan: *mut c_void) -> c_int {
        // SAFETY: the plan outlives the child: we stand still until it execs or ends.
        let plan = unsafe { &*plan.cast_const().cast::<SpawnPlan<'_>>() };
        plan.report_failure(child::exec_command(plan));
        127
    }
    let mut stack = std::mem::MaybeUninit::<[u128; COMMAND_STACK_SIZE / 16]>::uninit();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its end and is used by the child alone;
    // with CLONE_VFORK we do not run before the child is done with it.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(1).cast::<c_void>();
        libc::clone(main, top, flags, std::ptr::from_ref(plan).cast_mut().cast())
    };
    if pid > 0 { Ok(pid) } else { Err((SetupStep::Supervisor, libc::EAGAIN)) }
}

/// Closes everything but the line to the parent and the news of our children.
fn close_other_fds(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    let children = 1u64 << (libc::SIGCHLD - 1);
    // SAFETY: the set has the size that is given; the rest are plain numbers.
    unsafe {
        let set = [int_arg(-1), ptr_arg(&raw const children), 8, int_arg(libc::SFD_NONBLOCK)];
        let news = at_step(syscall(libc::SYS_signalfd4, set), SetupStep::Supervisor)?;
        // First out of the way of each other, then into place.
        let high = |fd| syscall(libc::SYS_fcntl, [fd, int_arg(libc::F_DUPFD), 3]);
        let control = at_step(high(int_arg(plan.control)), SetupStep::Supervisor)?;
        let news = at_step(high(news), SetupStep::Supervisor)?;
        at_step(syscall(libc::SYS_dup3, [control, int_arg(CONTROL_FD)]), SetupStep::Supervisor)?;
        at_step(syscall(libc::SYS_dup3, [news, int_arg(SIGCHLD_FD)]), SetupStep::Supervisor)?;
        at_step(syscall(libc::SYS_close_range, [2, u32::MAX as usize]), SetupStep::Supervisor)
            .map(drop)
    }
}

/// Waits for the command, for orders and for the end of the parent.
fn supervise_command(duty: SupervisorOptions, command: c_int) {
    let mut lines = [
        libc::pollfd { fd: SIGCHLD_FD, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: CONTROL_FD, events: libc::POLLIN, revents: 0 },
    ];
    // All were asked to end: each gets its time, also when the command is gone first.
    let mut stopping = false;
    loop {
        match reap_children(command) {
            ReapOutcome::NoChildren => break,
            ReapOutcome::CommandExited if !duty.keep_leftovers && !stopping => break,
            // Look again before waiting: it may have left nobody behind.
            ReapOutcome::CommandExited => continue,
            ReapOutcome::ChildrenRemain => {}
        }
        // SAFETY: the array has the length that is given.
        let _ = unsafe { syscall(libc::SYS_ppoll, [ptr_arg(lines.as_mut_ptr()), lines.len()]) };
        drain_signalfd();
        if lines[1].revents != 0 {
            let mut said = [0u8; hold_paths::MAX_CONTROL_MESSAGE];
            match receive_control_message(&mut said) {
                Some([CONTROL_END, ..]) => break,
                Some([CONTROL_HOLD_PATH, order @ ..]) => {
                    send_to_parent(&hold_paths::execute_hold_path(order))
                }
                Some([signal, ..]) => {
                    stopping |= signal & CONTROL_TO_ALL != 0;
                    forward_signal(*signal, command, duty.own_namespace);
                }
                Some([]) | None if duty.die_with_parent => break,
                // Nobody will give orders any more; a negative number is not polled.
                Some([]) | None => lines[1].fd = -1,
            }
        }
    }
    // In a namespace of our own, our end is everybody's.
    if !duty.own_namespace {
        kill_tree::kill_descendants(command, report_status);
    }
}

enum ReapOutcome {
    CommandExited,
    ChildrenRemain,
    NoChildren,
}

/// Collects whoever ended. The parent hears of the command's end.
fn reap_children(command: c_int) -> ReapOutcome {
    let mut seen = ReapOutcome::ChildrenRemain;
    loop {
        match kill_tree::try_reap_one() {
            Ok(None) => return seen,
            Ok(Some((pid, status))) if pid == command => {
                report_status(status);
                seen = ReapOutcome::CommandExited;
            }
            Ok(Some(_)) | Err(libc::EINTR) => {}
            Err(_) => {
                return if matches!(seen, ReapOutcome::CommandExited) {
                    seen
                } else {
                    ReapOutcome::NoChildren
                };
            }
        }
    }
}

fn report_status(status: c_int) {
    send_to_parent(&status.to_ne_bytes());
}

fn send_to_parent(message: &[u8]) {
    let flags = int_arg(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    let message = [int_arg(CONTROL_FD), ptr_arg(message.as_ptr()), message.len(), flags];
    // SAFETY: the buffer is as long as is said. If the parent is gone, nobody needs it.
    let _ = unsafe { syscall(libc::SYS_sendto, message) };
}

fn drain_signalfd() {
    let mut news = [0u8; 1024];
    loop {
        let arguments = [int_arg(SIGCHLD_FD), ptr_arg(news.as_mut_ptr()), news.len()];
        // SAFETY: the buffer is as long as is said; the descriptor does not block.
        if !unsafe { syscall(libc::SYS_read, arguments) }.is_ok_and(|n_read| n_read > 0) {
            return;
        }
    }
}

/// The next order; `None` when the parent is gone.
fn receive_control_message(said: &mut [u8]) -> Option<&[u8]> {
    let arguments =
        [int_arg(CONTROL_FD), ptr_arg(said.as_mut_ptr()), said.len(), int_arg(libc::MSG_DONTWAIT)];
    // SAFETY: the buffer is as long as is said.
    let n_read = unsafe { syscall(libc::SYS_recvfrom, arguments) }.ok()?;
    said.get(..n_read).filter(|order| !order.is_empty())
}

fn forward_signal(order: u8, command: c_int, own_namespace: bool) {
    let signal = c_int::from(order & !CONTROL_TO_ALL);
    if order & CONTROL_TO_ALL == 0 {
        // The command leads a group of its own number.
        if send_signal(-command, signal).is_err() {
            let _ = send_signal(command, signal);
        }
    } else if own_namespace {
        // Inside the namespace this reaches all but ourselves.
        let _ = send_signal(-1, signal);
    } else {
        kill_tree::signal_descendants(signal);
    }
}

fn send_signal(whom: c_int, signal: c_int) -> Result<usize, i32> {
    // SAFETY: plain numbers.
    unsafe { syscall(libc::SYS_kill, [int_arg(whom), int_arg(signal)]) }
}
