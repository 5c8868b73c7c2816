//! In the child that becomes the command: the last steps before exec.
//!
//! It shares its memory with the warden, who stands still meanwhile, and makes
//! nothing but system calls.

use std::os::fd::{AsRawFd as _, RawFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::error::Step;
use super::mounts;
use super::plan::{At as _, Failed, Plan, borrow};
use super::raw::{at, call, int, place};

/// The highest capability of any kernel we know, with room.
const CAPABILITIES: usize = 63;

/// The last number a descriptor can have.
const LAST: usize = u32::MAX as usize;
const CLOEXEC: usize = libc::CLOSE_RANGE_CLOEXEC as usize;
#[expect(clippy::cast_possible_truncation, reason = "a 16-bit request")]
const TAKE_TERMINAL: usize = libc::TIOCSCTTY as usize;

#[expect(clippy::cast_possible_truncation, reason = "a flag in the first byte")]
const LISTENER: usize = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize;
#[expect(clippy::cast_possible_truncation, reason = "a flag in the first byte")]
const HOLD_SIGNALS: usize = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV as usize;

/// Becomes the command, or says why not.
pub(super) fn become_command(plan: &Plan<'_>) -> Failed {
    if let Err(failed) = prepare(plan) {
        return failed;
    }
    // SAFETY: all strings end with a NUL and both tables with a null pointer.
    let failed = unsafe {
        let (arguments, environment) = (plan.arguments.as_ptr(), plan.environment.as_ptr());
        let program = plan.program.as_ptr();
        call(libc::SYS_execve, [place(program), place(arguments), place(environment)])
    };
    (Step::Exec, failed.err().unwrap_or(libc::EIO))
}

fn prepare(plan: &Plan<'_>) -> Result<(), Failed> {
    join(&plan.doors)?;
    rustix::process::setsid().at(Step::Session)?;
    streams(plan)?;
    enter_folder(plan)?;
    limits(plan)?;
    if plan.drop_capabilities {
        drop_bounding_set()?;
    }
    // SAFETY: the calls take numbers and change only this process.
    unsafe {
        let set = call(libc::SYS_prctl, [int(libc::PR_SET_NO_NEW_PRIVS), 1]);
        at(set, Step::NoNewPrivs)?;
        if let Some(rules) = &plan.rules {
            let fd = int(rules.fd.as_raw_fd());
            at(call(libc::SYS_landlock_restrict_self, [fd, 0]), Step::Landlock)?;
        }
    }
    if plan.drop_capabilities {
        drop_capabilities()?;
    }
    unblock_signals();
    filter(plan)
}

/// Enters groups, with all that is started from here on.
pub(super) fn join(doors: &[RawFd]) -> Result<(), Failed> {
    for door in doors {
        // SAFETY: the group keeps its door open while the run lives.
        rustix::io::write(unsafe { borrow(*door) }, b"0").at(Step::Cgroup)?;
    }
    Ok(())
}

fn streams(plan: &Plan<'_>) -> Result<(), Failed> {
    for (target, source) in (0..).zip(plan.streams) {
        // SAFETY: plain numbers. The sources were made to lie above the targets.
        at(unsafe { call(libc::SYS_dup3, [int(source), target]) }, Step::Streams)?;
    }
    if plan.terminal {
        // SAFETY: standard input is the terminal that was given, our session has none.
        let taken = unsafe { call(libc::SYS_ioctl, [0, TAKE_TERMINAL]) };
        at(taken, Step::Session)?;
    }
    // SAFETY: plain numbers. Marked instead of closed: the report pipe must
    // stay until the exec.
    let marked = unsafe { call(libc::SYS_close_range, [3, LAST, CLOEXEC]) };
    at(marked, Step::Streams).map(drop)
}

fn enter_folder(plan: &Plan<'_>) -> Result<(), Failed> {
    if plan.mounts.is_none() {
        return rustix::process::fchdir(&plan.start.folder).at(Step::WorkingDirectory);
    }
    let project = mounts::project(&plan.start).at(Step::WorkingDirectory)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let inside = &*plan.start.inside;
    let folder = rustix::fs::openat2(&project, inside, flags, Mode::empty(), resolve)
        .at(Step::WorkingDirectory)?;
    rustix::process::fchdir(&folder).at(Step::WorkingDirectory)
}

fn limits(plan: &Plan<'_>) -> Result<(), Failed> {
    for (resource, limit) in &plan.limits {
        let value = libc::rlimit { rlim_cur: *limit, rlim_max: *limit };
        let arguments = [0, *resource as usize, place(&raw const value)];
        // SAFETY: the structure outlives the call.
        at(unsafe { call(libc::SYS_prlimit64, arguments) }, Step::Limits)?;
    }
    Ok(())
}

/// So that root gets nothing back by running a program. An ordinary user may not
/// drop it and has nothing in it to gain, since `no_new_privs` is set.
fn drop_bounding_set() -> Result<(), Failed> {
    for capability in 0..=CAPABILITIES {
        // SAFETY: the call takes numbers and changes only this process.
        let dropped = unsafe { call(libc::SYS_prctl, [int(libc::PR_CAPBSET_DROP), capability]) };
        match dropped {
            Ok(_) => {}
            // The kernel has fewer than we counted to, or we have no right to.
            Err(libc::EINVAL | libc::EPERM) => break,
            Err(other) => return Err((Step::Capabilities, other)),
        }
    }
    Ok(())
}

fn drop_capabilities() -> Result<(), Failed> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    let header = Header { version: 0x2008_0522, pid: 0 };
    let none = [0u32; 6];
    // SAFETY: version 3 takes two sets of three words, all zero here; plain numbers else.
    unsafe {
        let clear = [int(libc::PR_CAP_AMBIENT), int(libc::PR_CAP_AMBIENT_CLEAR_ALL)];
        at(call(libc::SYS_prctl, clear), Step::Capabilities)?;
        let result = call(libc::SYS_capset, [place(&raw const header), place(none.as_ptr())]);
        at(result, Step::Capabilities).map(drop)
    }
}

/// The kernel's signal set is 64 bits; all were blocked before the fork.
fn unblock_signals() {
    let none = 0u64;
    // SAFETY: the set has the size that is given. It cannot fail with these arguments.
    let _ = unsafe {
        let set = [int(libc::SIG_SETMASK), place(&raw const none), 0, size_of::<u64>()];
        call(libc::SYS_rt_sigprocmask, set)
    };
}

fn filter(plan: &Plan<'_>) -> Result<(), Failed> {
    let program = libc::sock_fprog {
        // The table is far below the 4096 instructions the kernel takes.
        len: u16::try_from(plan.filter.len()).unwrap_or(u16::MAX),
        filter: plan.filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program outlives the call; the kernel only reads it.
    let install = |flags| unsafe {
        let mode = libc::SECCOMP_SET_MODE_FILTER as usize;
        call(libc::SYS_seccomp, [mode, flags, place(&raw const program)])
    };
    if !plan.asks {
        return at(install(0), Step::Seccomp).map(drop);
    }
    // With signals held back while an answer is on its way, where the kernel can.
    let line = match install(LISTENER | HOLD_SIGNALS) {
        Err(libc::EINVAL) => install(LISTENER),
        other => other,
    };
    send_line(plan, at(line, Step::Seccomp)?)
}

/// Sends the other end of the filter to the parent. The one that is left here is
/// closed by the exec.
fn send_line(plan: &Plan<'_>, line: usize) -> Result<(), Failed> {
    #[repr(C)]
    struct Rights {
        head: libc::cmsghdr,
        fd: i32,
    }
    let fd = i32::try_from(line).map_err(|_| (Step::Seccomp, libc::EBADF))?;
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
    let flags = int(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    let arguments = [int(plan.control), place(&raw const message), flags];
    // SAFETY: the message and all it points to outlive the call.
    at(unsafe { call(libc::SYS_sendmsg, arguments) }, Step::Seccomp).map(drop)
}
