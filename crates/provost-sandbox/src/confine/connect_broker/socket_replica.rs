//! A socket like the caller's, to be connected in its place.
//!
//! Options that programs usually set before they connect are copied. A socket that is
//! bound cannot be replicated and is refused.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use libc::{
    IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, SO_KEEPALIVE, SO_LINGER, SO_OOBINLINE, SO_PASSCRED,
    SO_PRIORITY, SO_RCVBUF, SO_RCVLOWAT, SO_RCVTIMEO, SO_SNDBUF, SO_SNDTIMEO, SOL_SOCKET, TCP_CORK,
    TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_MAXSEG, TCP_NODELAY, TCP_QUICKACK,
    TCP_USER_TIMEOUT, c_int,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

/// Returns a pidfd of the peer; the libc crate does not define it yet.
const SO_PEERPIDFD: c_int = 77;

/// An option of a socket, by the numbers of the C library.
#[derive(Clone, Copy, Debug)]
struct SocketOption {
    level: c_int,
    name: c_int,
}

const fn option(level: c_int, name: c_int) -> SocketOption {
    SocketOption { level, name }
}

/// The options that are copied. None of them affects where a connection leads.
const COPIED_OPTIONS: &[SocketOption] = &[
    option(SOL_SOCKET, SO_KEEPALIVE),
    option(SOL_SOCKET, SO_LINGER),
    option(SOL_SOCKET, SO_OOBINLINE),
    option(SOL_SOCKET, SO_PASSCRED),
    option(SOL_SOCKET, SO_PRIORITY),
    option(SOL_SOCKET, SO_RCVBUF),
    option(SOL_SOCKET, SO_RCVLOWAT),
    option(SOL_SOCKET, SO_RCVTIMEO),
    option(SOL_SOCKET, SO_SNDBUF),
    option(SOL_SOCKET, SO_SNDTIMEO),
    option(IPPROTO_TCP, TCP_CORK),
    option(IPPROTO_TCP, TCP_KEEPCNT),
    option(IPPROTO_TCP, TCP_KEEPIDLE),
    option(IPPROTO_TCP, TCP_KEEPINTVL),
    option(IPPROTO_TCP, TCP_MAXSEG),
    option(IPPROTO_TCP, TCP_NODELAY),
    option(IPPROTO_TCP, TCP_QUICKACK),
    option(IPPROTO_TCP, TCP_USER_TIMEOUT),
    option(IPPROTO_IP, libc::IP_TOS),
    option(IPPROTO_IPV6, libc::IPV6_TCLASS),
    option(IPPROTO_IPV6, libc::IPV6_V6ONLY),
];

/// Replicates a TCP socket that is neither bound nor connected.
pub(super) fn replicate_tcp_socket(
    socket: BorrowedFd<'_>,
    to: SocketAddr,
) -> Result<OwnedFd, Errno> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let is_tcp = sockopt::socket_type(socket)? == SocketType::STREAM
        && sockopt::socket_protocol(socket)? == Some(ipproto::TCP);
    if !is_tcp {
        return Err(Errno::PERM);
    }
    if sockopt::socket_domain(socket)? != family {
        return Err(Errno::AFNOSUPPORT);
    }
    if sockopt::socket_acceptconn(socket)? || rustix::net::getpeername(socket).is_ok() {
        return Err(Errno::ISCONN);
    }
    let bound = SocketAddr::try_from(rustix::net::getsockname(socket)?);
    if bound.map_err(|_| Errno::PERM)?.port() != 0 {
        return Err(Errno::PERM);
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let replica = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    COPIED_OPTIONS.iter().try_for_each(|option| copy_socket_option(*option, socket, &replica))?;
    Ok(replica)
}

/// Replicates a Unix socket that is neither bound nor connected.
pub(super) fn replicate_unix_socket(socket: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    if sockopt::socket_domain(socket)? != AddressFamily::UNIX {
        return Err(Errno::INVAL);
    }
    if sockopt::socket_type(socket)? != SocketType::STREAM {
        return Err(Errno::PERM);
    }
    if sockopt::socket_acceptconn(socket)? || rustix::net::getpeername(socket).is_ok() {
        return Err(Errno::ISCONN);
    }
    // The address of an unbound socket is only the family.
    if usize::try_from(rustix::net::getsockname(socket)?.addr_len()) != Ok(size_of::<u16>()) {
        return Err(Errno::PERM);
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let replica = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    COPIED_OPTIONS.iter().try_for_each(|option| copy_socket_option(*option, socket, &replica))?;
    Ok(replica)
}

/// The process that listens on the socket that ours is connected to.
pub(super) struct ListenerProcess {
    pub(super) pid: u32,
    /// Its pidfd, which never refers to another process.
    process: OwnedFd,
}

impl ListenerProcess {
    /// `None` if it has ended, is not visible, or Linux cannot tell (before 6.5).
    pub(super) fn from_connected_socket(socket: &OwnedFd) -> Option<Self> {
        let who = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let pid = get_peer_option(socket, libc::SO_PEERCRED, who)?.pid;
        let number = get_peer_option(socket, SO_PEERPIDFD, -1)?;
        // SAFETY: the call just returned the descriptor, and nobody else owns it.
        let process = (number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number) })?;
        Some(Self { pid: u32::try_from(pid).ok().filter(|pid| *pid > 0)?, process })
    }

    /// Whether it has not ended.
    pub(super) fn is_alive(&self) -> bool {
        let mut poll_fds = [PollFd::new(&self.process, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut poll_fds, Some(&at_once)), Ok(0))
    }
}

/// Reads a socket option about the peer.
fn get_peer_option<T: Copy>(socket: &OwnedFd, name: c_int, mut value: T) -> Option<T> {
    let mut length = libc::socklen_t::try_from(size_of::<T>()).ok()?;
    // SAFETY: the buffer has the given length, and any bytes are a value of the two
    // types that are used.
    let result = unsafe {
        let buffer = (&raw mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), SOL_SOCKET, name, buffer, &raw mut length)
    };
    (result == 0).then_some(value)
}

fn copy_socket_option(
    option: SocketOption,
    from: BorrowedFd<'_>,
    to: &OwnedFd,
) -> Result<(), Errno> {
    let (wanted, has) =
        (get_socket_option(option, from.as_raw_fd()), get_socket_option(option, to.as_raw_fd()));
    match wanted {
        Some(value) if has != wanted => set_socket_option(option, to, value),
        // It is the default, or the option does not exist for this family.
        Some(_) | None => Ok(()),
    }
}

/// The longest value of these: a time with two parts.
type SocketOptionValue = ([u8; 16], usize);

fn get_socket_option(option: SocketOption, socket: c_int) -> Option<SocketOptionValue> {
    let SocketOption { level, name } = option;
    let mut value = [0; 16];
    let mut length: libc::socklen_t = 16;
    // SAFETY: the buffer has the given length.
    let result = unsafe {
        libc::getsockopt(socket, level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    (result == 0).then_some((value, usize::try_from(length).unwrap_or(0).min(16)))
}

fn set_socket_option(
    option: SocketOption,
    socket: &OwnedFd,
    value: SocketOptionValue,
) -> Result<(), Errno> {
    let SocketOption { level, name } = option;
    let (mut value, length) = value;
    if level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF) {
        // Linux reports twice the value that was set.
        let size = i32::from_ne_bytes([value[0], value[1], value[2], value[3]]) / 2;
        value[..4].copy_from_slice(&size.to_ne_bytes());
    }
    let length = libc::socklen_t::try_from(length).map_err(|_| Errno::INVAL)?;
    // SAFETY: the buffer is at least as long as given.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::SocketAddrUnix;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
    use std::time::Duration;

    fn plain(family: AddressFamily) -> OwnedFd {
        rustix::net::socket(family, SocketType::STREAM, None).unwrap()
    }

    #[test]
    fn a_twin_has_what_was_set() {
        let socket = plain(AddressFamily::INET6);
        sockopt::set_tcp_nodelay(&socket, true).unwrap();
        sockopt::set_socket_keepalive(&socket, true).unwrap();
        sockopt::set_tcp_keepidle(&socket, Duration::from_secs(77)).unwrap();
        sockopt::set_ipv6_v6only(&socket, true).unwrap();
        sockopt::set_socket_recv_buffer_size(&socket, 64 * 1024).unwrap();
        let wait = Some(Duration::from_millis(1500));
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, wait).unwrap();
        let replica = replicate_tcp_socket(socket.as_fd(), "[::1]:80".parse().unwrap()).unwrap();
        for option in COPIED_OPTIONS {
            let (original, copied) = (
                get_socket_option(*option, socket.as_raw_fd()),
                get_socket_option(*option, replica.as_raw_fd()),
            );
            assert_eq!(original, copied, "{option:?}");
        }
    }

    #[test]
    fn what_is_no_fresh_socket_for_paths_has_no_twin() {
        let of = |socket: BorrowedFd<'_>| replicate_unix_socket(socket).map(drop);
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("a")).unwrap();
        assert_eq!(of(listener.as_fd()), Err(Errno::ISCONN));
        let stream = UnixStream::connect(folder.path().join("a")).unwrap();
        assert_eq!(of(stream.as_fd()), Err(Errno::ISCONN));
        let listens = ListenerProcess::from_connected_socket(&stream.into()).unwrap();
        assert_eq!((listens.pid, listens.is_alive()), (std::process::id(), true));
        let datagram = UnixDatagram::bind(folder.path().join("b")).unwrap();
        assert_eq!(of(datagram.as_fd()), Err(Errno::PERM));
        let bound = plain(AddressFamily::UNIX);
        rustix::net::bind(&bound, &SocketAddrUnix::new(folder.path().join("c")).unwrap()).unwrap();
        assert_eq!(of(bound.as_fd()), Err(Errno::PERM));
        assert_eq!(of(plain(AddressFamily::INET).as_fd()), Err(Errno::INVAL));
        assert_eq!(of(plain(AddressFamily::UNIX).as_fd()), Ok(()));
    }

    #[test]
    fn who_began_to_listen_and_ended_is_nobody_though_the_socket_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = SocketAddrUnix::new(folder.path().join("a")).unwrap();
        let socket = plain(AddressFamily::UNIX);
        rustix::net::bind(&socket, &path).unwrap();
        // SAFETY: the child makes two system calls and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::listen(socket.as_raw_fd(), 1);
                libc::_exit(0);
            }
        }
        let child = rustix::process::Pid::from_raw(child).unwrap();
        let wait = |options| {
            rustix::process::waitid(rustix::process::WaitId::Pid(child), options).unwrap()
        };
        let options = rustix::process::WaitIdOptions::EXITED;
        wait(options | rustix::process::WaitIdOptions::NOWAIT);
        let stream = plain(AddressFamily::UNIX);
        rustix::net::connect(&stream, &path).unwrap();
        let lives = || {
            ListenerProcess::from_connected_socket(&stream)
                .is_some_and(|listener| listener.is_alive())
        };
        assert!(!lives(), "it has ended, and its pid is not reused");
        wait(options);
        assert!(!lives(), "its pid may be reused");
    }

    #[test]
    fn what_is_no_fresh_tcp_socket_has_no_twin() {
        let to: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let of = |socket: BorrowedFd<'_>| replicate_tcp_socket(socket, to).map(drop);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(of(listener.as_fd()), Err(Errno::ISCONN));
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(of(stream.as_fd()), Err(Errno::ISCONN));
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(of(udp.as_fd()), Err(Errno::PERM));
        let bound = plain(AddressFamily::INET);
        let anywhere: SocketAddr = "127.0.0.1:0".parse().unwrap();
        rustix::net::bind(&bound, &anywhere).unwrap();
        assert_eq!(of(bound.as_fd()), Err(Errno::PERM));
        assert_eq!(of(plain(AddressFamily::INET6).as_fd()), Err(Errno::AFNOSUPPORT));
        assert_eq!(of(plain(AddressFamily::INET).as_fd()), Ok(()));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(of(file.as_fd()), Err(Errno::NOTSOCK));
    }
}
