//! Attacks on the ports of Provost.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::Attack;

const IP_LOCAL_PORT_RANGE: i32 = 51;

/// How often a thread tries to be faster.
const RACES: usize = 4000;

pub(super) fn attack(name: &str, args: &[&str]) -> Option<Attack> {
    Some(match (name, args) {
        ("listen-at", [address, port]) => {
            TcpListener::bind((*address, port.parse().unwrap())).map(|_| "listening".into())
        }
        ("share-at", [address, port]) => share(&parse(address, port)),
        ("bind-at", [address, port]) => {
            let address = parse(address, port);
            tcp(&address).and_then(|socket| bind(&socket, &address)).map(|()| "bound".into())
        }
        ("udp-at", [address, port]) => {
            UdpSocket::bind((*address, port.parse().unwrap())).map(|_| "bound".into())
        }
        ("listen-unbound", [port]) => listen_unbound(port.parse().unwrap(), |_| Ok(())),
        ("listen-chosen", [port]) => {
            listen_unbound(port.parse().unwrap(), |socket| bind(socket, &parse("127.0.0.2", "0")))
        }
        ("listen-late", [port]) => listen_unbound(port.parse().unwrap(), |socket| {
            let set = option(socket, libc::IP_BIND_ADDRESS_NO_PORT, 1);
            set.and_then(|()| bind(socket, &parse("127.0.0.2", "0")))
        }),
        ("listen-twice", []) => listen_twice(),
        ("bind-wrongly", []) => bind_wrongly(),
        ("swap-port", [port]) => swap_port(port.parse().unwrap()),
        ("swap-socket", [port]) => swap_socket(port.parse().unwrap()),
        _ => return None,
    })
}

fn parse(address: &str, port: &str) -> SocketAddr {
    SocketAddr::new(address.parse::<IpAddr>().unwrap(), port.parse().unwrap())
}

fn tcp(address: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(rustix::net::socket(family, SocketType::STREAM, None)?)
}

fn bind(socket: &OwnedFd, address: &SocketAddr) -> io::Result<()> {
    Ok(rustix::net::bind(socket, address)?)
}

fn share(address: &SocketAddr) -> Attack {
    let socket = tcp(address)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, address)?;
    rustix::net::listen(&socket, 8)?;
    Ok("listening".into())
}

fn option(socket: &OwnedFd, name: i32, value: u32) -> io::Result<()> {
    // SAFETY: the value is valid for its length.
    let result = unsafe {
        let value = (&raw const value).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, name, value, 4)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has Linux choose the port, from a range of one.
fn listen_unbound(port: u16, before: impl Fn(&OwnedFd) -> io::Result<()>) -> Attack {
    let socket = tcp(&parse("127.0.0.1", "0"))?;
    option(&socket, IP_LOCAL_PORT_RANGE, (u32::from(port) << 16) | u32::from(port))?;
    let prepared = before(&socket);
    // Also after it was refused.
    rustix::net::listen(&socket, 8)?;
    prepared?;
    is_at(&socket, port).then(|| "listening".into()).ok_or_else(|| io::Error::other("elsewhere"))
}

fn is_at(socket: &OwnedFd, port: u16) -> bool {
    let address = rustix::net::getsockname(socket).unwrap();
    SocketAddr::try_from(address).unwrap().port() == port
}

/// A socket that listens accepts another backlog, and its port is reported as used.
fn listen_twice() -> Attack {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let socket = OwnedFd::from(listener);
    rustix::net::listen(&socket, 1)?;
    let again = TcpListener::bind(address).unwrap_err();
    assert_eq!(again.raw_os_error(), Some(libc::EADDRINUSE));
    let rebound = bind(&socket, &parse("127.0.0.1", "0")).unwrap_err();
    assert_eq!(rebound.raw_os_error(), Some(libc::EINVAL));
    Ok("as ever".into())
}

/// The errors are those of Linux.
fn bind_wrongly() -> Attack {
    let socket = tcp(&parse("127.0.0.1", "0"))?;
    let bind = |fd, at: *const libc::sockaddr, length| {
        // SAFETY: Linux checks the address.
        unsafe { libc::bind(fd, at, length) };
        io::Error::last_os_error().raw_os_error().unwrap()
    };
    // SAFETY: all zero is a value of it.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let at = (&raw const address).cast();
    assert_eq!(bind(socket.as_raw_fd(), at, 1), libc::EINVAL);
    assert_eq!(bind(socket.as_raw_fd(), std::ptr::dangling(), 16), libc::EFAULT);
    assert_eq!(bind(999, at, 16), libc::EBADF);
    assert_eq!(bind(-1, at, 16), libc::EBADF);
    assert_eq!(bind(i32::MIN, at, 16), libc::EBADF);
    assert_eq!(bind(2, at, 16), libc::ENOTSOCK);
    address.sin_family = 1;
    assert_eq!(bind(socket.as_raw_fd(), (&raw const address).cast(), 16), libc::EAFNOSUPPORT);
    address.sin_family = 2;
    address.sin_addr.s_addr = u32::from_ne_bytes([192, 0, 2, 1]);
    assert_eq!(bind(socket.as_raw_fd(), (&raw const address).cast(), 16), libc::EADDRNOTAVAIL);
    Ok("as ever".into())
}

fn never() -> Attack {
    Err(io::Error::other("never"))
}

/// Writes the port into the address while it is checked.
fn swap_port(port: u16) -> Attack {
    let mut address = libc::sockaddr_in {
        sin_family: 2,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 2]) },
        sin_zero: [0; 8],
    };
    let at = (&raw mut address).cast::<u16>();
    // SAFETY: the port lies at this place of the address, which outlives both threads;
    // all later writes to it are atomic.
    let place = unsafe { AtomicU16::from_ptr(at.add(1)) };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                place.store(port.to_be(), Ordering::Relaxed);
                place.store(0, Ordering::Relaxed);
            }
        });
        let won = (0..RACES).any(|_| {
            let socket = tcp(&parse("127.0.0.1", "0")).unwrap();
            // SAFETY: the address is valid for its length.
            unsafe { libc::bind(socket.as_raw_fd(), at.cast(), 16) };
            is_at(&socket, port)
        });
        done.store(true, Ordering::Relaxed);
        if won { Ok("bound".into()) } else { never() }
    })
}

/// Puts an internet socket in place of a Unix socket, whose calls are its own, and an
/// internet address in place of a path.
fn swap_socket(port: u16) -> Attack {
    let kind = SocketType::STREAM;
    let Ok(unix) = rustix::net::socket(AddressFamily::UNIX, kind, None) else { return never() };
    // SAFETY: all zero is a value of it.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    let at = (&raw mut address).cast::<u16>();
    // SAFETY: the family and the port lie at these places of the address, which outlives
    // both threads; all later writes to them are atomic.
    let (family, place) = unsafe { (AtomicU16::from_ptr(at), AtomicU16::from_ptr(at.add(1))) };
    // SAFETY: a number of our own that nobody else uses.
    let slot = unsafe { libc::fcntl(unix.as_raw_fd(), libc::F_DUPFD, 100) };
    for _ in 0..RACES / 4 {
        let internet = tcp(&parse("127.0.0.1", "0"))?;
        let unix = rustix::net::socket(AddressFamily::UNIX, kind, None)?;
        let fill = |family_value: u16, port: u16, socket: &OwnedFd| {
            family.store(family_value, Ordering::Relaxed);
            place.store(port, Ordering::Relaxed);
            // SAFETY: both are open.
            unsafe { libc::dup2(socket.as_raw_fd(), slot) };
        };
        let done = AtomicBool::new(false);
        let won = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // A name that no other socket has, of the file system's or abstract.
                    fill(1, 0, &unix);
                    fill(2, port.to_be(), &internet);
                }
            });
            for _ in 0..4 {
                // SAFETY: the address is valid for its length.
                unsafe {
                    libc::bind(slot, at.cast(), 16);
                    libc::listen(slot, 1);
                }
            }
            done.store(true, Ordering::Relaxed);
            is_at(&internet, port)
        });
        if won {
            return Ok("bound".into());
        }
    }
    // SAFETY: it is ours.
    drop(unsafe { OwnedFd::from_raw_fd(slot) });
    never()
}
