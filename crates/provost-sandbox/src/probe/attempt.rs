//! All attempts, in one throwaway child.
//!
//! The child is forked from a process with many threads, so it may only make system
//! calls: no allocation, no locks, no panics. It writes the errno of each attempt, 0 for
//! success, into memory that it shares with us. An attempt that it does not reach,
//! because an earlier one killed it, is refused.

use std::io;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

use super::LayerSupport;

/// What to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeAttempt {
    /// Create a namespace with our own rights.
    Direct,
    /// Create a user namespace.
    User,
    /// Create the other namespaces: with our own rights, or inside the user namespace.
    Uts,
    Ipc,
    Net,
    Pid,
    Mount,
    /// Mount a `/proc` for a new pid namespace.
    MountProc,
    /// Mount a `/dev/pts` of its own.
    MountTerminals,
    /// Set `no_new_privs`.
    NoNewPrivs,
    /// Install a filter that allows everything.
    Seccomp,
    /// Install a filter that notifies, and use the calls that answer it.
    SeccompNotify,
}

const N_ATTEMPTS: usize = ProbeAttempt::SeccompNotify as usize + 1;

/// Not an errno: the child did not get that far.
const NOT_TRIED: i32 = -1;

/// The errno of each attempt.
struct SharedResults([AtomicI32; N_ATTEMPTS]);

impl SharedResults {
    fn set(&self, attempt: ProbeAttempt, errno: i32) -> i32 {
        // The index is in range by the definition of the length.
        if let Some(result) = self.0.get(attempt as usize) {
            result.store(errno, Ordering::Release);
        }
        errno
    }
}

/// What the child found.
#[derive(Debug)]
pub(super) struct ProbeResults {
    errnos: [i32; N_ATTEMPTS],
    /// How the child ended, if it did not get to its end.
    end: Option<String>,
}

impl ProbeResults {
    fn all_refused(error: &io::Error) -> Self {
        Self { errnos: [NOT_TRIED; N_ATTEMPTS], end: Some(error.to_string()) }
    }

    /// Whether an attempt succeeded.
    pub(super) fn support(&self, attempt: ProbeAttempt) -> LayerSupport {
        let reason = match self.errnos.get(attempt as usize) {
            Some(0) => return LayerSupport::Available,
            None | Some(&NOT_TRIED) => {
                self.end.clone().unwrap_or_else(|| "it was not tried".to_owned())
            }
            Some(errno) => io::Error::from_raw_os_error(*errno).to_string(),
        };
        LayerSupport::Refused { reason }
    }
}

/// Makes all attempts.
pub(super) fn run_all_in_child() -> ProbeResults {
    run_in_child(run_attempts)
}

fn run_in_child(attempts: fn(&SharedResults)) -> ProbeResults {
    let size = size_of::<SharedResults>();
    // SAFETY: a new anonymous mapping, which nothing else refers to.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return ProbeResults::all_refused(&io::Error::last_os_error());
    }
    // SAFETY: the mapping is large enough and aligned to a page, zeros are valid, and it is
    // unmapped only after the last use. Both processes access it by atomic operations only.
    let shared = unsafe { &*memory.cast::<SharedResults>() };
    shared.0.iter().for_each(|result| result.store(NOT_TRIED, Ordering::Release));
    // SAFETY: the child only makes the async-signal-safe calls of `attempts`, and leaves by `_exit`.
    let results = match unsafe { libc::fork() } {
        -1 => ProbeResults::all_refused(&io::Error::last_os_error()),
        0 => {
            attempts(shared);
            // SAFETY: `_exit` runs no destructors, which belong to the parent.
            unsafe { libc::_exit(0) }
        }
        pid => {
            let end = reap_child(pid);
            ProbeResults { errnos: shared.0.each_ref().map(|it| it.load(Ordering::Acquire)), end }
        }
    };
    // SAFETY: this is the mapping from above, and `shared` is not used any more.
    unsafe { libc::munmap(memory, size) };
    results
}

/// Waits for the child; returns how it ended, unless it got to its end.
fn reap_child(pid: libc::pid_t) -> Option<String> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for a write.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Some(error.to_string());
        }
    }
    libc::WIFSIGNALED(status)
        .then(|| format!("the attempt was killed by signal {}", libc::WTERMSIG(status)))
}

/// The order matters: a filter and `no_new_privs` stay, so they come last; a child of a pid
/// namespace can only be created after it.
fn run_attempts(results: &SharedResults) {
    let inspected = try_inspect_self();
    let direct = results.set(ProbeAttempt::Direct, unshare(libc::CLONE_NEWUTS)) == 0;
    if direct {
        results.set(ProbeAttempt::Uts, 0);
        try_namespaces(results, 0);
        // Last of the namespaces: the others were created with our own rights.
        results.set(ProbeAttempt::User, unshare(libc::CLONE_NEWUSER));
    } else {
        let user = results.set(ProbeAttempt::User, unshare(libc::CLONE_NEWUSER));
        // In two steps: some systems let everybody create a user namespace and then grant
        // no rights inside it.
        results.set(ProbeAttempt::Uts, first_error(user, || unshare(libc::CLONE_NEWUTS)));
        try_namespaces(results, user);
    }
    let denied = results.set(ProbeAttempt::NoNewPrivs, set_no_new_privs());
    results.set(ProbeAttempt::Seccomp, first_error(denied, try_seccomp));
    let notified = first_error(inspected, || {
        first_error(denied, || {
            let listener = install_allow_filter(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
            let failed = to_errno(listener);
            first_error(failed, || try_add_fd(i32::try_from(listener).unwrap_or(-1)))
        })
    });
    results.set(ProbeAttempt::SeccompNotify, notified);
}

/// Creates each kind of namespace but user and UTS, and mounts inside them. `entered` is the
/// errno of the user namespace around them, 0 if none is needed.
fn try_namespaces(results: &SharedResults, entered: i32) {
    let kind = |flag| first_error(entered, || unshare(flag));
    results.set(ProbeAttempt::Ipc, kind(libc::CLONE_NEWIPC));
    results.set(ProbeAttempt::Net, kind(libc::CLONE_NEWNET));
    let mount = results.set(ProbeAttempt::Mount, kind(libc::CLONE_NEWNS));
    results.set(ProbeAttempt::MountTerminals, first_error(mount, mount_terminals));
    let pid = results.set(ProbeAttempt::Pid, kind(libc::CLONE_NEWPID));
    let proc = first_error(mount, || first_error(pid, mount_proc));
    results.set(ProbeAttempt::MountProc, proc);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_carries_the_words_of_the_kernel() {
        // An impossible combination of flags stands in for a machine that refuses.
        let results = run_in_child(|results| {
            results.set(ProbeAttempt::User, unshare(i32::MIN));
        });
        let LayerSupport::Refused { reason } = results.support(ProbeAttempt::User) else {
            panic!("the kernel accepted nonsense")
        };
        assert!(reason.contains("Invalid argument"), "{reason}");
    }

    #[test]
    fn what_is_not_reached_is_refused() {
        let results = run_in_child(|results| {
            results.set(ProbeAttempt::Direct, 0);
            // SAFETY: ends only this throwaway process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            results.set(ProbeAttempt::User, 0);
        });
        assert!(results.support(ProbeAttempt::Direct).is_available());
        for attempt in [ProbeAttempt::User, ProbeAttempt::Seccomp, ProbeAttempt::MountProc] {
            let LayerSupport::Refused { reason } = results.support(attempt) else {
                panic!("{attempt:?} was never tried")
            };
            assert!(reason.contains("killed by signal 9"), "{reason}");
        }
    }
}
