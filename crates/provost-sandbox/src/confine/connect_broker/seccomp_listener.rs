//! The seccomp listener: receives and answers notifications about sockets.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

/// The longest address that is read: that of a Unix socket.
const MAX_ADDRESS_LEN: usize = size_of::<libc::sockaddr_un>();

/// Opens the pidfd of a thread, where supported (`PIDFD_THREAD`).
const PIDFD_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());

/// The listener of a filter.
#[derive(Debug)]
pub(super) struct SeccompListener {
    fd: OwnedFd,
}

/// The calls that the filter notifies us of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketCallKind {
    Connect,
    Bind,
    Listen,
}

/// One call on a socket, suspended until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketCall {
    pub(super) kind: SocketCallKind,
    id: u64,
    /// The calling thread, in our pid namespace.
    thread: u32,
    /// The caller's descriptor of its socket.
    number: RawFd,
    /// The address of the socket address in its memory; of `listen`, the backlog.
    second: u64,
    /// The length of the socket address.
    length: usize,
}

impl AsFd for SeccompListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl SeccompListener {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// The next request. Fails if the caller gave up before it was received.
    pub(super) fn receive_request(&self) -> Result<SocketCall, Errno> {
        let mut heard = EMPTY_NOTIFICATION;
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard)?;
        let [number, second, length, ..] = heard.data.args;
        let kind = match i64::from(heard.data.nr) {
            libc::SYS_bind => SocketCallKind::Bind,
            libc::SYS_listen => SocketCallKind::Listen,
            _ => SocketCallKind::Connect,
        };
        Ok(SocketCall {
            kind,
            id: heard.id,
            thread: heard.pid,
            // Linux uses 32 bits of each.
            number: low_i32(number),
            second,
            length: usize::try_from(low_i32(length)).unwrap_or(0),
        })
    }

    /// Whether the caller still waits for the answer. While it does, its pid and
    /// descriptors are valid.
    pub(super) fn is_pending(&self, call: &SocketCall) -> bool {
        let mut id = call.id;
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
    }

    /// Makes the call fail. If the caller is gone, nothing happens.
    pub(super) fn fail_request(&self, call: &SocketCall, errno: Errno) {
        let _ = self.send_response(call, -errno.raw_os_error(), 0);
    }

    /// Makes the call succeed: we have made it for the caller.
    pub(super) fn complete_request(&self, call: &SocketCall) {
        let _ = self.send_response(call, 0, 0);
    }

    /// Lets the caller make the call itself. By then it may have put another socket and
    /// another address in place of those that we saw.
    pub(super) fn continue_request(&self, call: &SocketCall) {
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(0);
        let _ = self.send_response(call, 0, flags);
    }

    /// Replaces the caller's socket by a connected one with these flags, and makes the
    /// call succeed.
    pub(super) fn complete_with_socket(
        &self,
        call: &SocketCall,
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
        self.send_response(call, 0, 0)
    }

    fn send_response(&self, call: &SocketCall, error: i32, flags: u32) -> Result<(), Errno> {
        let mut response = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response)
    }

    fn ioctl<T>(&self, request: libc::Ioctl, argument: *mut T) -> Result<(), Errno> {
        loop {
            // SAFETY: the argument has the type that the request is made from, and outlives the
            // call.
            let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), request, argument) };
            match (result, last_error()) {
                (0.., _) => return Ok(()),
                (_, Errno::INTR) => {}
                (_, errno) => return Err(errno),
            }
        }
    }
}

/// Must be zeroed before a receive.
const EMPTY_NOTIFICATION: libc::seccomp_notif = libc::seccomp_notif {
    id: 0,
    pid: 0,
    flags: 0,
    data: libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] },
};

#[expect(clippy::cast_possible_truncation, reason = "Linux ignores the upper half")]
fn low_i32(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

pub(super) fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

impl SocketCall {
    /// The backlog of a `listen`.
    pub(super) fn backlog(&self) -> i32 {
        low_i32(self.second)
    }

    /// Reads the address from the caller's memory, exactly once.
    pub(super) fn read_address(&self) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0u8; self.length.min(MAX_ADDRESS_LEN)];
        let remote_address = usize::try_from(self.second).map_err(|_| Errno::FAULT)?;
        let ours = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let theirs = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(remote_address),
            iov_len: bytes.len(),
        };
        // SAFETY: our buffer has the given length; Linux checks the remote one.
        let n_read = unsafe {
            libc::process_vm_readv(self.pid()?, &raw const ours, 1, &raw const theirs, 1, 0)
        };
        match usize::try_from(n_read) {
            Ok(n_read) if n_read == bytes.len() => Ok(bytes),
            Ok(_) => Err(Errno::FAULT),
            Err(_) => Err(last_error()),
        }
    }

    /// Duplicates the caller's socket, to inspect it.
    pub(super) fn duplicate_socket(&self) -> Result<OwnedFd, Errno> {
        if self.number < 0 {
            return Err(Errno::BADF);
        }
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

    /// The flags of the caller's socket. Close-on-exec is a flag of the caller's
    /// descriptor, and only `/proc` shows it.
    pub(super) fn read_socket_flags(&self, socket: BorrowedFd<'_>) -> Result<OFlags, Errno> {
        let opened = rustix::fs::fcntl_getfl(socket)?;
        let path = format!("/proc/{}/fdinfo/{}", self.thread, self.number);
        let text = fs::read_to_string(path).map_err(|_| Errno::BADF)?;
        let fd = text.lines().find_map(|fd| fd.strip_prefix("flags:"));
        let flags = fd.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        let flags = OFlags::from_bits_retain(flags.ok_or(Errno::BADF)?);
        Ok((opened & OFlags::NONBLOCK) | (flags & OFlags::CLOEXEC))
    }

    /// The caller's working directory, for relative paths.
    pub(super) fn read_cwd(&self) -> Result<PathBuf, Errno> {
        let link = format!("/proc/{}/cwd", self.thread);
        fs::read_link(link).map_err(|_| Errno::PERM)
    }

    fn pid(&self) -> Result<i32, Errno> {
        // 0 stands for a process outside our pid namespace.
        i32::try_from(self.thread).ok().filter(|pid| *pid > 0).ok_or(Errno::SRCH)
    }

    /// The first thread of the caller's process, for Linux versions that open pidfds of
    /// those only.
    fn read_thread_group_leader(&self) -> Option<i32> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        status.lines().find_map(|fd| fd.strip_prefix("Tgid:"))?.trim().parse().ok()
    }
}
