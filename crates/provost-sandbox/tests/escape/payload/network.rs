//! Attacks by sockets.

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};

use super::{Attack, call, number};

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("udp", [to]) => UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(b"secret", to))
            .map(|_| "sent".into()),
        ("tcp", [to]) => TcpStream::connect(to).map(|_| "connected".into()),
        ("fastopen", [to]) => fast_open(to),
        ("mptcp", [to]) => mptcp(to),
        ("listen", []) => TcpListener::bind("127.0.0.1:0").map(|_| "listening".into()),
        ("self-talk", []) => self_talk(),
        ("abstract", [name]) => SocketAddr::from_abstract_name(name)
            .and_then(|address| UnixStream::connect_addr(&address))
            .map(|_| "connected".into()),
        ("unix", [path]) => UnixStream::connect(path).map(|_| "connected".into()),
        ("socket", [family, kind]) => {
            call(libc::SYS_socket, [number(family), number(kind), 0, 0, 0])
        }
        _ => return None,
    })
}

fn tcp_socket(protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers; the descriptor is owned at once.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, protocol);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

fn address(to: &str) -> libc::sockaddr_in {
    let port = to.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    libc::sockaddr_in {
        sin_family: 2,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    }
}

/// Connects with the first data, without the call that Landlock checks.
fn fast_open(to: &str) -> Attack {
    let socket = tcp_socket(0)?;
    let to = address(to);
    // SAFETY: the address and the data are valid for their lengths.
    let result = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            c"secret".as_ptr().cast(),
            6,
            libc::MSG_FASTOPEN,
            (&raw const to).cast(),
            16,
        )
    };
    if result >= 0 { Ok("sent".into()) } else { Err(io::Error::last_os_error()) }
}

/// A stream protocol that Landlock does not treat as TCP.
fn mptcp(to: &str) -> Attack {
    let socket = tcp_socket(libc::IPPROTO_MPTCP)?;
    let to = address(to);
    // SAFETY: the address is valid for its length.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const to).cast(), 16) };
    if result == 0 { Ok("connected".into()) } else { Err(io::Error::last_os_error()) }
}

fn self_talk() -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect(listener.local_addr()?).map(|_| "connected".into())
}
