//! In the child that becomes the command: the last steps before exec.
//!
//! It shares its memory with the supervisor, which is suspended meanwhile, and only
//! makes system calls.

use std::os::fd::{AsRawFd as _, RawFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::confine::error::SetupStep;
use crate::confine::plan::mounts;
use crate::confine::plan::spawn_plan::{AtSetupStep as _, SetupFailure, SpawnPlan, borrow_fd};
use crate::confine::raw_syscall::{at_step, int_arg, ptr_arg, syscall};

/// The highest capability of any Linux version, with reserve.
const MAX_CAPABILITY: usize = 63;

/// The highest descriptor number.
const MAX_FD: usize = u32::MAX as usize;
const CLOSE_RANGE_CLOEXEC: usize = libc::CLOSE_RANGE_CLOEXEC as usize;
#[expect(clippy::cast_possible_truncation, reason = "a 16-bit request")]
const TAKE_TERMINAL: usize = libc::TIOCSCTTY as usize;

#[expect(clippy::cast_possible_truncation, reason = "a flag in the first byte")]
const FILTER_NEW_LISTENER: usize = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize;
#[expect(clippy::cast_possible_truncation, reason = "a flag in the first byte")]
const FILTER_WAIT_KILLABLE: usize = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV as usize;

/// Executes the command, or returns why not.
pub(in crate::confine) fn exec_command(plan: &SpawnPlan<'_>) -> SetupFailure {
    if let Err(failed) = apply_restrictions(plan) {
        return failed;
    }
    // SAFETY: all strings end with a NUL and both tables with a null pointer.
    let failed = unsafe {
        let (arguments, environment) = (plan.arguments.as_ptr(), plan.environment.as_ptr());
        let program = plan.program.as_ptr();
        syscall(libc::SYS_execve, [ptr_arg(program), ptr_arg(arguments), ptr_arg(environment)])
    };
    (SetupStep::Exec, failed.err().unwrap_or(libc::EIO))
}

fn apply_restrictions(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    join_cgroups(&plan.cgroup_fds)?;
    rustix::process::setsid().at_step(SetupStep::Session)?;
    connect_streams(plan)?;
    enter_working_directory(plan)?;
    apply_limits(plan)?;
    if plan.drop_capabilities {
        drop_bounding_set()?;
    }
    // SAFETY: the calls take numbers and change only this process.
    unsafe {
        let set = syscall(libc::SYS_prctl, [int_arg(libc::PR_SET_NO_NEW_PRIVS), 1]);
        at_step(set, SetupStep::NoNewPrivs)?;
        if let Some(rules) = &plan.rules {
            let fd = int_arg(rules.fd.as_raw_fd());
            at_step(syscall(libc::SYS_landlock_restrict_self, [fd, 0]), SetupStep::Landlock)?;
        }
    }
    if plan.drop_capabilities {
        drop_capabilities()?;
    }
    unblock_signals();
    install_filter(plan)
}

/// Joins the cgroups, with all processes that are started later.
pub(in crate::confine) fn join_cgroups(cgroup_fds: &[RawFd]) -> Result<(), SetupFailure> {
    for fd in cgroup_fds {
        // SAFETY: the cgroup keeps the descriptor open while the run lives.
        rustix::io::write(unsafe { borrow_fd(*fd) }, b"0").at_step(SetupStep::Cgroup)?;
    }
    Ok(())
}

fn connect_streams(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    for (target, source) in (0..).zip(plan.streams) {
        // SAFETY: plain numbers. The sources are above the targets.
        at_step(unsafe { syscall(libc::SYS_dup3, [int_arg(source), target]) }, SetupStep::Streams)?;
    }
    if plan.terminal {
        // SAFETY: standard input is the given terminal, and our session has none.
        let taken = unsafe { syscall(libc::SYS_ioctl, [0, TAKE_TERMINAL]) };
        at_step(taken, SetupStep::Session)?;
    }
    // SAFETY: plain numbers. Marked close-on-exec instead of closed: the report pipe must
    // stay open until the exec.
    let marked = unsafe { syscall(libc::SYS_close_range, [3, MAX_FD, CLOSE_RANGE_CLOEXEC]) };
    at_step(marked, SetupStep::Streams).map(drop)
}

fn enter_working_directory(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    if plan.mounts.is_none() {
        return rustix::process::fchdir(&plan.start.folder).at_step(SetupStep::WorkingDirectory);
    }
    let project = mounts::open_project(&plan.start).at_step(SetupStep::WorkingDirectory)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let inside = &*plan.start.inside;
    let folder = rustix::fs::openat2(&project, inside, flags, Mode::empty(), resolve)
        .at_step(SetupStep::WorkingDirectory)?;
    rustix::process::fchdir(&folder).at_step(SetupStep::WorkingDirectory)
}

fn apply_limits(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    for (resource, limit) in &plan.limits {
        let value = libc::rlimit { rlim_cur: *limit, rlim_max: *limit };
        let arguments = [0, *resource as usize, ptr_arg(&raw const value)];
        // SAFETY: the structure outlives the call.
        at_step(unsafe { syscall(libc::SYS_prlimit64, arguments) }, SetupStep::Limits)?;
    }
    Ok(())
}

/// Drops the bounding set, so that root regains nothing by exec. An ordinary user may
/// not drop it and cannot gain anything, since `no_new_privs` is set.
fn drop_bounding_set() -> Result<(), SetupFailure> {
    for capability in 0..=MAX_CAPABILITY {
        // SAFETY: the call takes numbers and changes only this process.
        let dropped =
            unsafe { syscall(libc::SYS_prctl, [int_arg(libc::PR_CAPBSET_DROP), capability]) };
        match dropped {
            Ok(_) => {}
            // Linux has fewer capabilities, or we may not drop them.
            Err(libc::EINVAL | libc::EPERM) => break,
            Err(other) => return Err((SetupStep::Capabilities, other)),
        }
    }
    Ok(())
}

fn drop_capabilities() -> Result<(), SetupFailure> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: version 3 takes two sets of three words, all zero here; plain numbers else.
    unsafe {
        let clear = [int_arg(libc::PR_CAP_AMBIENT), int_arg(libc::PR_CAP_AMBIENT_CLEAR_ALL)];
        at_step(syscall(libc::SYS_prctl, clear), SetupStep::Capabilities)?;
        let result =
            syscall(libc::SYS_capset, [ptr_arg(&raw const header), ptr_arg(none.as_ptr())]);
        at_step(result, SetupStep::Capabilities).map(drop)
    }
}

/// Unblocks all signals, which were blocked before the clone. A signal set has 64 bits.
fn unblock_signals() {
    let none = 0u64;
    // SAFETY: the set has the given size. It cannot fail with these arguments.
    let _ = unsafe {
        let set = [int_arg(libc::SIG_SETMASK), ptr_arg(&raw const none), 0, size_of::<u64>()];
        syscall(libc::SYS_rt_sigprocmask, set)
    };
}

fn install_filter(plan: &SpawnPlan<'_>) -> Result<(), SetupFailure> {
    let program = libc::sock_fprog {
        // The table is far below the limit of 4096 instructions.
        len: u16::try_from(plan.filter.len()).unwrap_or(u16::MAX),
        filter: plan.filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program outlives the call, which only reads it.
    let install = |flags| unsafe {
        let mode = libc::SECCOMP_SET_MODE_FILTER as usize;
        syscall(libc::SYS_seccomp, [mode, flags, ptr_arg(&raw const program)])
    };
    if !plan.needs_broker {
        return at_step(install(0), SetupStep::Seccomp).map(drop);
    }
    // With only fatal signals while a notification is pending, where supported.
    let listener = match install(FILTER_NEW_LISTENER | FILTER_WAIT_KILLABLE) {
        Err(libc::EINVAL) => install(FILTER_NEW_LISTENER),
        other => other,
    };
    send_listener_fd(plan, at_step(listener, SetupStep::Seccomp)?)
}

/// Sends the listener of the filter to the parent. The exec closes ours.
fn send_listener_fd(plan: &SpawnPlan<'_>, listener: usize) -> Result<(), SetupFailure> {
    #[repr(C)]
    struct Rights {
        head: libc::cmsghdr,
        fd: i32,
    }
    let fd = i32::try_from(listener).map_err(|_| (SetupStep::Seccomp, libc::EBADF))?;
    // SAFETY: all zero is a value of each.
    let (mut rights, mut message): (Rights, libc::msghdr) = unsafe { std::mem::zeroed() };
    rights.head.cmsg_level = libc::SOL_SOCKET;
    rights.head.cmsg_type = libc::SCM_RIGHTS;
    rights.head.cmsg_len = std::mem::offset_of!(Rights, fd) + size_of::<i32>();
    rights.fd = fd;
    let mut word = 0u8;
    let mut text = libc::iovec { iov_base: (&raw mut word).cast(), iov_len: 1 };
    message.msg_iov = &raw mut text;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut rights).cast();
    message.msg_controllen = size_of::<Rights>();
    let flags = int_arg(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    let arguments = [int_arg(plan.control), ptr_arg(&raw const message), flags];
    // SAFETY: the message and all it points to outlive the call.
    at_step(unsafe { syscall(libc::SYS_sendmsg, arguments) }, SetupStep::Seccomp).map(drop)
}
