//! The supervisor: the process that holds one run.
//!
//! It sets up the namespaces, starts the command, and waits. All orphans of the run
//! are reparented to it, because it is the first process of a pid namespace or a
//! subreaper. When the command has ended it kills what is left, and when it ends
//! itself, no process of the run is left: the parent only waits for it.
//!
//! It shares the parent's memory like a thread, which makes it cheap: no page tables
//! are copied. Only for a user namespace it is a copy, because only a dumpable process
//! can write the maps, and the parent may not want to be one. Either way it never
//! enters the sandbox's Landlock domain, whose members can only trace each other, has
//! a stack of its own, and only makes system calls. The plan belongs to the parent
//! and is not used after the report pipe is closed.

pub(super) mod hold_paths;
pub(super) mod kill_tree;
pub(super) mod namespace_reaper;
pub(super) mod standby_supervisor;
pub(super) mod supervisor_stack;

use std::ffi::{CStr, c_int, c_void};

use rustix::fs::{Mode, OFlags};

use super::error::SetupStep;
use super::plan::mounts;
use super::plan::spawn_plan::{
    AtSetupStep as _, NamespaceMounts, SetupFailure, SpawnPlan, UserMaps,
};
use super::raw_syscall::{self, at_step, int_arg, ptr_arg, syscall};
use super::spawn::child;
use hold_paths::CONTROL_HOLD_PATH;

/// Control messages: a signal for the command's process group, or for all, or the end.
pub(super) const CONTROL_TO_ALL: u8 = 0x80;
pub(super) const CONTROL_END: u8 = 0xff;
/// The message to the parent that processes could not be listed.
pub(super) const CONTROL_UNSEEN: u8 = 0xfe;

/// The supervisor's two descriptors; it closes all others.
const CONTROL_FD: c_int = 0;
const SIGCHLD_FD: c_int = 1;

#[expect(clippy::cast_possible_truncation, reason = "a 16-bit request")]
const SET_INTERFACE_FLAGS: usize = libc::SIOCSIFFLAGS as usize;

/// Stack of the command's child until its exec, in bytes.
const COMMAND_STACK_SIZE: usize = 64 * 1024;

/// What the supervisor needs of the plan after it has started the command.
#[derive(Clone, Copy)]
struct SupervisorOptions {
    own_namespace: bool,
    keep_orphans: bool,
    die_with_parent: bool,
}

/// Runs the supervisor. Never returns.
///
/// # Safety
///
/// `plan` must point to a [`SpawnPlan`] that lives until the report pipe is closed.
pub(super) unsafe extern "C" fn supervisor_main(plan: *mut c_void) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let given = &*plan.cast_const().cast::<SpawnPlan<'_>>();
        let maps = given.maps.map_or(Ok(()), write_user_maps);
        let mounts = given.mounts.map(|mounts| mounts.own);
        if let Err(failed) = maps.and_then(|()| prepare_namespaces(given.loopback, mounts)) {
            given.report_failure(failed);
            raw_syscall::exit(0);
        }
        run_plan(plan.cast_const())
    }
}

/// Runs the supervisor after its namespaces are prepared. Never returns.
///
/// # Safety
///
/// As for [`supervisor_main`].
pub(super) unsafe fn run_plan(plan: *const c_void) -> ! {
    // SAFETY: as the caller promises.
    let plan = unsafe { &*plan.cast::<SpawnPlan<'_>>() };
    let options = SupervisorOptions {
        own_namespace: plan.flags & libc::CLONE_NEWPID != 0,
        keep_orphans: plan.keep_orphans,
        die_with_parent: plan.die_with_parent,
    };
    match start_command(plan) {
        Ok(command) => supervise_command(options, command),
        Err(failed) => plan.report_failure(failed),
    }
    raw_syscall::exit(0)
}

/// The setup that is the same for every run, and can be done before there is a plan.
pub(super) fn prepare_namespaces(
    loopback: bool,
    mounts: Option<NamespaceMounts>,
) -> Result<(), SetupFailure> {
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

/// Resets what the parent handles or ignores. Real-time signals are not ignored by
/// anybody.
fn reset_signals() {
    for signal in 1..32 {
        let default = [0u64; 4];
        // SAFETY: all zero is the default action without flags, and the structure is at
        // least as long as Linux needs. Two signals refuse, which is fine.
        let _ = unsafe {
            syscall(
                libc::SYS_rt_sigaction,
                [signal, ptr_arg(default.as_ptr()), 0, size_of::<u64>()],
            )
        };
    }
}

/// The maps can only be written while the process is dumpable. It is a copy of the
/// parent, with its secrets, so it is dumpable no longer than that.
fn write_user_maps(maps: &UserMaps) -> Result<(), SetupFailure> {
    set_prctl(libc::PR_SET_DUMPABLE, 1, SetupStep::UserNamespace)?;
    write_proc_file(c"/proc/self/setgroups", b"deny")?;
    write_proc_file(c"/proc/self/uid_map", maps.uid.as_bytes())?;
    write_proc_file(c"/proc/self/gid_map", maps.gid.as_bytes())?;
    // Of the machine's limit for a user, usually 128. Where `/proc/sys` is read-only, as in
    // some containers, only that one holds.
    let _ = write_proc_file(c"/proc/sys/user/max_inotify_instances", b"32");
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

/// Lets programs connect to themselves in an isolated network.
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

/// Starts the command in a child that borrows our memory until its exec, so that the
/// page tables are not copied a second time.
fn fork_command(plan: &SpawnPlan<'_>) -> Result<c_int, SetupFailure> {
    extern "C" fn main(plan: *mut c_void) -> c_int {
        // SAFETY: the plan outlives the child: we are suspended until it execs or exits.
        let plan = unsafe { &*plan.cast_const().cast::<SpawnPlan<'_>>() };
        plan.report_failure(child::exec_command(plan));
        127
    }
    let mut stack = std::mem::MaybeUninit::<[u128; COMMAND_STACK_SIZE / 16]>::uninit();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from its end and only the child uses it; with
    // CLONE_VFORK we do not run before the child is done with it.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(1).cast::<c_void>();
        libc::clone(main, top, flags, std::ptr::from_ref(plan).cast_mut().cast())
    };
    if pid > 0 { Ok(pid) } else { Err((SetupStep::Supervisor, libc::EAGAIN)) }
}

/// Closes all descriptors but the control socket and a signalfd for SIGCHLD.
fn close_other_fds(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    let children = 1u64 << (libc::SIGCHLD - 1);
    // SAFETY: the set has the given size; the rest are plain numbers.
    unsafe {
        let set = [int_arg(-1), ptr_arg(&raw const children), 8, int_arg(libc::SFD_NONBLOCK)];
        let sigchld = at_step(syscall(libc::SYS_signalfd4, set), SetupStep::Supervisor)?;
        // First duplicate both above the targets, then move them into place.
        let high = |fd| syscall(libc::SYS_fcntl, [fd, int_arg(libc::F_DUPFD), 3]);
        let control = at_step(high(int_arg(plan.control)), SetupStep::Supervisor)?;
        let sigchld = at_step(high(sigchld), SetupStep::Supervisor)?;
        at_step(syscall(libc::SYS_dup3, [control, int_arg(CONTROL_FD)]), SetupStep::Supervisor)?;
        at_step(syscall(libc::SYS_dup3, [sigchld, int_arg(SIGCHLD_FD)]), SetupStep::Supervisor)?;
        at_step(syscall(libc::SYS_close_range, [2, u32::MAX as usize]), SetupStep::Supervisor)
            .map(drop)
    }
}

/// Waits for the command, for control messages and for the end of the parent.
fn supervise_command(options: SupervisorOptions, command: c_int) {
    let mut poll_fds = [
        libc::pollfd { fd: SIGCHLD_FD, events: libc::POLLIN, revents: 0 },
        libc::pollfd { fd: CONTROL_FD, events: libc::POLLIN, revents: 0 },
    ];
    // Set when all were asked to end: each gets its grace period, even if the command
    // ends first.
    let mut stopping = false;
    loop {
        match reap_children(command) {
            ReapOutcome::NoChildren => break,
            ReapOutcome::CommandExited if !options.keep_orphans && !stopping => break,
            // Check again before waiting: it may have left no process behind.
            ReapOutcome::CommandExited => continue,
            ReapOutcome::ChildrenRemain => {}
        }
        // SAFETY: the array has the given length.
        let _ =
            unsafe { syscall(libc::SYS_ppoll, [ptr_arg(poll_fds.as_mut_ptr()), poll_fds.len()]) };
        drain_signalfd();
        if poll_fds[1].revents != 0 {
            let mut buffer = [0u8; hold_paths::MAX_CONTROL_MESSAGE];
            match receive_control_message(&mut buffer) {
                Some([CONTROL_END, ..]) => break,
                Some([CONTROL_HOLD_PATH, message @ ..]) => {
                    send_to_parent(&hold_paths::execute_hold_path(message));
                }
                Some([signal, ..]) => {
                    stopping |= signal & CONTROL_TO_ALL != 0;
                    forward_signal(*signal, command, options.own_namespace);
                }
                Some([]) | None if options.die_with_parent => break,
                // The parent sends no more messages; a negative descriptor is not polled.
                Some([]) | None => poll_fds[1].fd = -1,
            }
        }
    }
    // In a pid namespace, our exit ends all processes.
    if !options.own_namespace && !kill_tree::kill_descendants(command, report_status) {
        send_to_parent(&[CONTROL_UNSEEN]);
    }
}

enum ReapOutcome {
    CommandExited,
    ChildrenRemain,
    NoChildren,
}

/// Reaps children that have ended; reports the status of the command.
fn reap_children(command: c_int) -> ReapOutcome {
    let mut outcome = ReapOutcome::ChildrenRemain;
    loop {
        match kill_tree::try_reap_one() {
            Ok(None) => return outcome,
            Ok(Some((pid, status))) if pid == command => {
                report_status(status);
                outcome = ReapOutcome::CommandExited;
            }
            Ok(Some(_)) | Err(libc::EINTR) => {}
            Err(_) => {
                return if matches!(outcome, ReapOutcome::CommandExited) {
                    outcome
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
    // SAFETY: the buffer has the given length. Fails if the parent is gone.
    let _ = unsafe { syscall(libc::SYS_sendto, message) };
}

fn drain_signalfd() {
    let mut sigchld = [0u8; 1024];
    loop {
        let arguments = [int_arg(SIGCHLD_FD), ptr_arg(sigchld.as_mut_ptr()), sigchld.len()];
        // SAFETY: the buffer has the given length; the descriptor does not block.
        if !unsafe { syscall(libc::SYS_read, arguments) }.is_ok_and(|n_read| n_read > 0) {
            return;
        }
    }
}

/// The next control message; `None` when the parent is gone.
fn receive_control_message(buffer: &mut [u8]) -> Option<&[u8]> {
    let arguments = [
        int_arg(CONTROL_FD),
        ptr_arg(buffer.as_mut_ptr()),
        buffer.len(),
        int_arg(libc::MSG_DONTWAIT),
    ];
    // SAFETY: the buffer has the given length.
    let n_read = unsafe { syscall(libc::SYS_recvfrom, arguments) }.ok()?;
    buffer.get(..n_read).filter(|message| !message.is_empty())
}

fn forward_signal(message: u8, command: c_int, own_namespace: bool) {
    let signal = c_int::from(message & !CONTROL_TO_ALL);
    if message & CONTROL_TO_ALL == 0 {
        // The command leads a process group with its own pid.
        if send_signal(-command, signal).is_err() {
            let _ = send_signal(command, signal);
        }
    } else if own_namespace {
        // In a pid namespace this reaches all but ourselves.
        let _ = send_signal(-1, signal);
    } else {
        kill_tree::signal_descendants(signal);
    }
}

fn send_signal(target: c_int, signal: c_int) -> Result<usize, i32> {
    // SAFETY: plain numbers.
    unsafe { syscall(libc::SYS_kill, [int_arg(target), int_arg(signal)]) }
}
