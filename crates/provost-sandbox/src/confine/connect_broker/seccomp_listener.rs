//! The line on which the kernel tells of calls, and what it tells.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

/// The longest address that is read: that of a socket with a path.
const MAX_ADDRESS_LEN: usize = size_of::<libc::sockaddr_un>();

/// Makes the handle of one thread, where the kernel can (`PIDFD_THREAD`).
const PIDFD_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// Where calls come in.
#[derive(Debug)]
pub(super) struct SeccompListener {
    line: OwnedFd,
}

/// One `connect` of a process that stands still until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectRequest {
    id: u64,
    /// The thread that calls, as we see it.
    thread: u32,
    /// Its socket, by its own number.
    number: RawFd,
    /// Where the address lies in its memory.
    at: u64,
    length: usize,
}

impl AsFd for SeccompListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }
}

impl SeccompListener {
    pub(super) fn new(line: OwnedFd) -> Self {
        Self { line }
    }

    /// The next call. An error says that the caller gave up before it was heard.
    pub(super) fn receive_request(&self) -> Result<ConnectRequest, Errno> {
        let mut heard = EMPTY_NOTIFICATION;
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard)?;
        let [number, at, length, ..] = heard.data.args;
        Ok(ConnectRequest {
            id: heard.id,
            thread: heard.pid,
            // The kernel looks at 32 bits of each.
            number: low_i32(number),
            at,
            length: usize::try_from(low_i32(length)).unwrap_or(0),
        })
    }

    /// Whether the caller still waits for the answer. As long as it does, its
    /// numbers are its own.
    pub(super) fn is_pending(&self, call: &ConnectRequest) -> bool {
        let mut id = call.id;
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
    }

    /// Lets the call fail. A caller that is gone hears nothing, and need not.
    pub(super) fn fail_request(&self, call: &ConnectRequest, errno: Errno) {
        let _ = self.send_response(call, -errno.raw_os_error());
    }

    /// Puts a connected socket in the place of the caller's own, opened with these
    /// flags, and lets the call succeed.
    pub(super) fn complete_with_socket(
        &self,
        call: &ConnectRequest,
        socket: &OwnedFd,
        flags: OFlags,
    ) -> Result<(), Errno> {
        rustix::fs::fcntl_setfl(socket, flags & OFlags::NONBLOCK)?;
        let mut given = libc::seccomp_notif_addfd {
            id: call.id,
            flags: u32::try_from(libc::SECCOMP_ADDFD_FLAG_SETFD).map_err(|_| Errno::INVAL)?,
            srcfd: socket.as_raw_fd().cast_unsigned(),
            newfd: call.number.cast_unsigned(),
            newfd_flags: (flags & OFlags::CLOEXEC).bits(),
        };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw mut given)?;
        self.send_response(call, 0)
    }

    fn send_response(&self, call: &ConnectRequest, error: i32) -> Result<(), Errno> {
        let mut said = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags: 0 };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut said)
    }

    fn ioctl<T>(&self, request: libc::Ioctl, argument: *mut T) -> Result<(), Errno> {
        loop {
            // SAFETY: the argument is of the type that the request is made from, and
            // outlives the call.
            let result = unsafe { libc::ioctl(self.line.as_raw_fd(), request, argument) };
            match (result, last_error()) {
                (0.., _) => return Ok(()),
                (_, Errno::INTR) => {}
                (_, errno) => return Err(errno),
            }
        }
    }
}

/// The kernel demands that what it fills is empty.
const EMPTY_NOTIFICATION: libc::seccomp_notif = libc::seccomp_notif {
    id: 0,
    pid: 0,
    flags: 0,
    data: libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] },
};

#[expect(clippy::cast_possible_truncation, reason = "the upper half means nothing to the kernel")]
fn low_i32(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

impl ConnectRequest {
    /// Reads the address out of the caller's memory: here and nowhere else.
    pub(super) fn read_address(&self) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0u8; self.length.min(MAX_ADDRESS_LEN)];
        let place = usize::try_from(self.at).map_err(|_| Errno::FAULT)?;
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let theirs =
            libc::iovec { iov_base: std::ptr::without_provenance_mut(place), iov_len: bytes.len() };
        // SAFETY: our part is as long as is said; the kernel judges theirs.
        let n_read = unsafe {
            libc::process_vm_readv(self.pid()?, &raw const ours, 1, &raw const theirs, 1, 0)
        };
        match usize::try_from(n_read) {
            Ok(n_read) if n_read == bytes.len() => Ok(bytes),
            Ok(_) => Err(Errno::FAULT),
            Err(_) => Err(last_error()),
        }
    }

    /// A handle of the caller's socket, to look at.
    pub(super) fn duplicate_socket(&self) -> Result<OwnedFd, Errno> {
        let thread = Pid::from_raw(self.pid()?).ok_or(Errno::SRCH)?;
        let process = match rustix::process::pidfd_open(thread, PIDFD_THREAD) {
            Err(Errno::INVAL) => {
                let leader =
                    self.read_thread_group_leader().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
                rustix::process::pidfd_open(leader, PidfdFlags::empty())
            }
            other => other,
        }?;
        rustix::process::pidfd_getfd(process, self.number, PidfdGetfdFlags::empty())
    }

    /// How the caller has its socket open. Whether it is closed on exec belongs to
    /// the caller's number for it, and stands nowhere else.
    pub(super) fn read_socket_flags(&self, socket: BorrowedFd<'_>) -> Result<OFlags, Errno> {
        let opened = rustix::fs::fcntl_getfl(socket)?;
        let path = format!("/proc/{}/fdinfo/{}", self.thread, self.number);
        let text = fs::read_to_string(path).map_err(|_| Errno::BADF)?;
        let line = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = line.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        let flags = OFlags::from_bits_retain(flags.ok_or(Errno::BADF)?);
        Ok((opened & OFlags::NONBLOCK) | (flags & OFlags::CLOEXEC))
    }

    /// Where the caller is, to whom a path may be relative.
    pub(super) fn read_cwd(&self) -> Result<PathBuf, Errno> {
        let link = format!("/proc/{}/cwd", self.thread);
        fs::read_link(link).map_err(|_| Errno::PERM)
    }

    fn pid(&self) -> Result<i32, Errno> {
        // None of ours has the number 0, which stands for a process out of our sight.
        i32::try_from(self.thread).ok().filter(|pid| *pid > 0).ok_or(Errno::SRCH)
    }

    /// The first thread of the caller's process, for kernels that make handles of
    /// those only.
    fn read_thread_group_leader(&self) -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
    }
}
