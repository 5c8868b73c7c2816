//! In the child that becomes the command: the last steps before exec.
//!
//! It shares its memory with the warden, who stands still meanwhile, and makes
//! nothing but system calls.

use std::os::fd::AsRawFd as _;

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::error::Step;
use super::mounts;
use super::plan::{At as _, Failed, Plan, borrow, check, errno};

/// The highest capability of any kernel we know, with room.
const CAPABILITIES: libc::c_ulong = 63;

/// Becomes the command, or says why not.
pub(super) fn become_command(plan: &Plan<'_>) -> Failed {
    if let Err(failed) = prepare(plan) {
        return failed;
    }
    // SAFETY: all strings end with a NUL and both tables with a null pointer.
    unsafe {
        let environment = plan.environment.as_ptr();
        libc::execve(plan.program.as_ptr(), plan.arguments.as_ptr(), environment);
    }
    (Step::Exec, errno())
}

fn prepare(plan: &Plan<'_>) -> Result<(), Failed> {
    for door in &plan.doors {
        // SAFETY: the group keeps its door open while the run lives.
        rustix::io::write(unsafe { borrow(*door) }, b"0").at(Step::Cgroup)?;
    }
    rustix::process::setsid().at(Step::Session)?;
    streams(plan)?;
    enter_folder(plan)?;
    limits(plan)?;
    if plan.drop_capabilities {
        drop_bounding_set()?;
    }
    // SAFETY: the calls take numbers and change only this process.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into(), Step::NoNewPrivs)?;
        if let Some(rules) = &plan.rules {
            let fd = rules.fd.as_raw_fd();
            check(libc::syscall(libc::SYS_landlock_restrict_self, fd, 0), Step::Landlock)?;
        }
    }
    if plan.drop_capabilities {
        drop_capabilities()?;
    }
    unblock_signals();
    filter(plan)
}

fn streams(plan: &Plan<'_>) -> Result<(), Failed> {
    for (target, source) in (0..).zip(plan.streams) {
        // SAFETY: plain numbers. The sources were made to lie above the targets.
        check(unsafe { libc::dup2(source, target) }.into(), Step::Streams)?;
    }
    if plan.terminal {
        // SAFETY: standard input is the terminal that was given, our session has none.
        check(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) }.into(), Step::Session)?;
    }
    // SAFETY: plain numbers. Marked instead of closed: the report pipe must
    // stay until the exec.
    let marked = unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    check(marked, Step::Streams).map(drop)
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
        // SAFETY: the structure outlives the call.
        let result =
            unsafe { libc::syscall(libc::SYS_prlimit64, 0, *resource, &raw const value, 0usize) };
        check(result, Step::Limits)?;
    }
    Ok(())
}

/// So that root gets nothing back by running a program. An ordinary user may not
/// drop it and has nothing in it to gain, since `no_new_privs` is set.
fn drop_bounding_set() -> Result<(), Failed> {
    for capability in 0..=CAPABILITIES {
        // SAFETY: the call takes numbers and changes only this process.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            match errno() {
                // The kernel has fewer than we counted to, or we have no right to.
                libc::EINVAL | libc::EPERM => break,
                other => return Err((Step::Capabilities, other)),
            }
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
        let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL;
        check(libc::prctl(libc::PR_CAP_AMBIENT, clear, 0, 0, 0).into(), Step::Capabilities)?;
        let result = libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr());
        check(result, Step::Capabilities).map(drop)
    }
}

/// The kernel's signal set is 64 bits; all were blocked before the fork.
fn unblock_signals() {
    let none = 0u64;
    // SAFETY: the set has the size that is given. It cannot fail with these arguments.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            0usize,
            size_of::<u64>(),
        );
    }
}

fn filter(plan: &Plan<'_>) -> Result<(), Failed> {
    let program = libc::sock_fprog {
        // The table is far below the 4096 instructions the kernel takes.
        len: u16::try_from(plan.filter.len()).unwrap_or(u16::MAX),
        filter: plan.filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program outlives the call; the kernel only reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    check(result, Step::Seccomp).map(drop)
}
