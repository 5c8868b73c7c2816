//! One attempt in one throwaway child.
//!
//! The child is forked from a process with many threads, so it may only make system
//! calls: no allocation, no locks, no panics. Its exit status is the errno, 0 for
//! success.

use std::io;
use std::ptr::null;

use super::LayerSupport;

/// What to try.
#[derive(Clone, Copy)]
pub(super) enum ProbeAttempt {
    /// Create this kind of namespace with our own rights.
    Unshare(i32),
    /// Create a user namespace and this kind inside it.
    UnshareInUserNamespace(i32),
    /// Mount a `/proc` for a new pid namespace.
    MountProc { direct: bool },
    /// Mount a `/dev/pts` of its own.
    MountTerminals { direct: bool },
    /// Install a filter that allows everything.
    Seccomp,
    /// Install a filter that notifies, and use the calls that answer it.
    SeccompNotify,
    /// Set `no_new_privs`.
    NoNewPrivs,
}

pub(super) fn run_in_child(what: ProbeAttempt) -> LayerSupport {
    // SAFETY: the child only makes the async-signal-safe calls of `run_attempt` and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => to_refusal(&io::Error::last_os_error()),
        0 => {
            let error = run_attempt(what);
            // SAFETY: `_exit` runs no destructors, which belong to the parent.
            unsafe { libc::_exit(error) }
        }
        _ => reap_child(pid),
    }
}

fn reap_child(pid: libc::pid_t) -> LayerSupport {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for a write.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return to_refusal(&error);
        }
    }
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
        return LayerSupport::Available;
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return LayerSupport::Refused {
            reason: format!("the attempt was killed by signal {signal}"),
        };
    }
    to_refusal(&io::Error::from_raw_os_error(libc::WEXITSTATUS(status)))
}

fn to_refusal(error: &io::Error) -> LayerSupport {
    LayerSupport::Refused { reason: error.to_string() }
}

fn run_attempt(what: ProbeAttempt) -> i32 {
    match what {
        ProbeAttempt::Unshare(flag) => unshare(flag),
        // In two steps: some systems let everybody create a user namespace and then grant
        // no rights inside it.
        ProbeAttempt::UnshareInUserNamespace(flag) => {
            first_error(unshare(libc::CLONE_NEWUSER), || unshare(flag))
        }
        ProbeAttempt::MountProc { direct } => {
            let entered = if direct { 0 } else { unshare(libc::CLONE_NEWUSER) };
            first_error(entered, || {
                first_error(unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS), mount_proc)
            })
        }
        ProbeAttempt::MountTerminals { direct } => {
            let user = if direct { 0 } else { libc::CLONE_NEWUSER };
            first_error(unshare(user | libc::CLONE_NEWNS), mount_terminals)
        }
        ProbeAttempt::Seccomp => first_error(set_no_new_privs(), try_seccomp),
        ProbeAttempt::SeccompNotify => first_error(try_inspect_self(), || {
            first_error(set_no_new_privs(), || {
                let listener = install_allow_filter(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
                let failed = to_errno(listener);
                first_error(failed, || try_add_fd(i32::try_from(listener).unwrap_or(-1)))
            })
        }),
        ProbeAttempt::NoNewPrivs => set_no_new_privs(),
    }
}

fn first_error(first: i32, then: impl FnOnce() -> i32) -> i32 {
    if first == 0 { then() } else { first }
}

fn to_errno(result: i64) -> i32 {
    if result >= 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) }
}

fn unshare(flags: i32) -> i32 {
    // SAFETY: changes only this throwaway process.
    to_errno(unsafe { libc::unshare(flags) }.into())
}

fn set_no_new_privs() -> i32 {
    // SAFETY: changes only this throwaway process.
    to_errno(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())
}

fn try_seccomp() -> i32 {
    to_errno(install_allow_filter(0))
}

/// Installs a filter that allows everything.
fn install_allow_filter(flags: libc::c_ulong) -> i64 {
    let mut allow = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    // SAFETY: `program` points to one valid instruction; only this process is filtered.
    unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    }
}

/// The two calls that inspect the memory and the files of a caller, which containers
/// often forbid. Tried on ourselves: which processes we may inspect is another check.
fn try_inspect_self() -> i32 {
    let (from, mut to) = (0u64, 0u64);
    let theirs = libc::iovec { iov_base: (&raw const from).cast_mut().cast(), iov_len: 8 };
    let ours = libc::iovec { iov_base: (&raw mut to).cast(), iov_len: 8 };
    // SAFETY: both buffers have the given length and live until the end; the descriptors
    // end with this throwaway process.
    unsafe {
        let own = libc::getpid();
        let read = libc::process_vm_readv(own, &raw const ours, 1, &raw const theirs, 1, 0);
        first_error(to_errno(i64::try_from(read).unwrap_or(-1)), || {
            let handle = libc::syscall(libc::SYS_pidfd_open, own, 0);
            first_error(to_errno(handle), || {
                to_errno(libc::syscall(libc::SYS_pidfd_getfd, handle, handle, 0))
            })
        })
    }
}

/// Whether a file can be given to a caller. There is no caller, which only a Linux that
/// knows the request reports.
fn try_add_fd(listener: i32) -> i32 {
    let given = libc::seccomp_notif_addfd {
        id: 0,
        flags: 0,
        srcfd: listener.cast_unsigned(),
        newfd: 0,
        newfd_flags: 0,
    };
    // SAFETY: the structure outlives the call.
    let errno = to_errno(
        unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const given) }.into(),
    );
    if errno == libc::ENOENT { 0 } else { libc::ENOSYS }
}

/// A new pid namespace only holds children created after it, so the mount needs one.
fn mount_proc() -> i32 {
    // SAFETY: this process has a single thread; the child makes system calls only.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => to_errno(-1),
        0 => {
            let error = first_error(mount(c"none", c"/", null(), MAKE_PRIVATE), || {
                mount(c"proc", c"/proc", c"proc".as_ptr(), 0)
            });
            // SAFETY: `_exit` runs no destructors.
            unsafe { libc::_exit(error) }
        }
        _ => {
            let mut status = 0;
            // SAFETY: `status` is valid for a write.
            let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
            if waited == pid && libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                libc::EIO
            }
        }
    }
}

fn mount_terminals() -> i32 {
    first_error(mount(c"none", c"/", null(), MAKE_PRIVATE), || {
        mount(c"devpts", c"/dev/pts", c"devpts".as_ptr(), 0)
    })
}

const MAKE_PRIVATE: libc::c_ulong = libc::MS_REC | libc::MS_PRIVATE;

fn mount(
    source: &std::ffi::CStr,
    target: &std::ffi::CStr,
    kind: *const libc::c_char,
    flags: libc::c_ulong,
) -> i32 {
    // SAFETY: all strings end with a NUL; the mount exists only in this throwaway namespace.
    to_errno(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, null()) }.into())
}
