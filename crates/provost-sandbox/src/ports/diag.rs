//! Asking the kernel about TCP sockets (`NETLINK_SOCK_DIAG`).
//!
//! It takes a tenth of a millisecond where reading `/proc/net/tcp` takes many. Only
//! sockets of our own network namespace are seen.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// How long the kernel may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

const REQUEST: usize = 72;
const BY_FAMILY: u16 = 20;
const ONE: u16 = 0x1;
const DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const TCP: u8 = 6;
/// The states that are wanted, as bits: LISTEN is 10.
const LISTENING: u32 = 1 << 10;
/// The states of an end whose other end is open: `ESTABLISHED`, `SYN_RECV` and, when
/// it was shut first, `FIN_WAIT1` and 2. One in another is left over from a connection
/// that had the same numbers before.
const ALIVE: [u8; 2] = [1, 3];
const SHUT: [u8; 2] = [4, 5];
const HEAD: usize = 16;
const MESSAGE: usize = 72;

/// A line to the kernel. After an error it must not be used again: what is left of
/// an answer would be taken for the next one.
#[derive(Debug)]
pub(crate) struct Diag {
    socket: OwnedFd,
}

/// A socket, as the kernel tells of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) port: u16,
    pub(crate) address: IpAddr,
    pub(crate) inode: u32,
    state: u8,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody has accepted it yet.
    Waiting,
    /// Somebody has it open, under this number of the kernel's.
    Open(u32),
}

impl Diag {
    pub(crate) fn new() -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket })
    }

    /// Who listens, on this port or on any.
    pub(crate) fn listeners(&self, port: Option<u16>) -> io::Result<Vec<Seen>> {
        let mut seen = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            send(&self.socket, &about_listeners(family, port), SendFlags::empty())?;
            while !self.hear(&mut seen)? {}
        }
        // Older kernels take the port for a hint.
        seen.retain(|seen| port.is_none_or(|port| seen.port == port));
        Ok(seen)
    }

    /// The end at `server` of a connection with `client`. `None` if it is closed, or
    /// not here: in another network, to which the packets of this one are sent on.
    /// Neither address is an IPv4 one in IPv6 clothes.
    pub(crate) fn end(&self, server: SocketAddr, client: SocketAddr) -> io::Result<Option<End>> {
        send(&self.socket, &about_connection(server, client), SendFlags::empty())?;
        let mut seen = Vec::new();
        match self.hear(&mut seen) {
            Ok(_) => Ok(seen.first().and_then(Seen::end)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads one piece of the answer; true if that was all.
    fn hear(&self, seen: &mut Vec<Seen>) -> io::Result<bool> {
        let mut buffer = vec![0; 32 * 1024];
        let (n_read, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
        Ok(n_read == 0 || read(buffer.get(..n_read).unwrap_or_default(), seen)?)
    }
}

impl Seen {
    /// What is told of a connection. Without one, the kernel tells of the socket that
    /// listens, which is none.
    fn end(&self) -> Option<End> {
        match (self.inode, self.state) {
            (0, state) => ALIVE.contains(&state).then_some(End::Waiting),
            (inode, state) => [ALIVE, SHUT].concat().contains(&state).then_some(End::Open(inode)),
        }
    }
}

/// `nlmsghdr` and `inet_diag_req_v2`, as they lie in memory.
fn question(family: AddressFamily, flags: u16) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes[HEAD] = u8::try_from(family.as_raw()).unwrap_or(0);
    bytes[HEAD + 1] = TCP;
    bytes
}

fn about_listeners(family: AddressFamily, port: Option<u16>) -> [u8; REQUEST] {
    let mut bytes = question(family, DUMP);
    bytes[HEAD + 4..HEAD + 8].copy_from_slice(&LISTENING.to_ne_bytes());
    bytes[HEAD + 8..HEAD + 10].copy_from_slice(&port.unwrap_or(0).to_be_bytes());
    bytes
}

fn about_connection(server: SocketAddr, client: SocketAddr) -> [u8; REQUEST] {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut bytes = question(family, ONE);
    bytes[HEAD + 8..HEAD + 10].copy_from_slice(&server.port().to_be_bytes());
    bytes[HEAD + 10..HEAD + 12].copy_from_slice(&client.port().to_be_bytes());
    bytes[HEAD + 12..HEAD + 28].copy_from_slice(&sixteen(server.ip()));
    bytes[HEAD + 28..HEAD + 44].copy_from_slice(&sixteen(client.ip()));
    // Any cookie.
    bytes[HEAD + 48..HEAD + 56].fill(0xff);
    bytes
}

fn sixteen(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(four) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&four.octets());
            bytes
        }
        IpAddr::V6(six) => six.octets(),
    }
}

/// Reads what the kernel sent; true if that was all.
fn read(mut bytes: &[u8], seen: &mut Vec<Seen>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (number(bytes, 0), short(bytes, 4)) {
        let length = usize::try_from(length).unwrap_or(0).clamp(HEAD, bytes.len().max(HEAD));
        let message = bytes.get(HEAD..length).unwrap_or_default();
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let errno = number(message, 0).unwrap_or(0).cast_signed().wrapping_neg();
                return Err(io::Error::from_raw_os_error(errno));
            }
            BY_FAMILY => seen.extend(socket(message)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// `inet_diag_msg`: the port and the address are in network order.
fn socket(message: &[u8]) -> Option<Seen> {
    let message: &[u8; MESSAGE] = message.get(..MESSAGE)?.try_into().ok()?;
    let port = u16::from_be_bytes([message[4], message[5]]);
    let source: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let address = if message[0] == u8::try_from(AddressFamily::INET.as_raw()).ok()? {
        IpAddr::V4(Ipv4Addr::new(source[0], source[1], source[2], source[3]))
    } else {
        IpAddr::V6(Ipv6Addr::from(source))
    };
    Some(Seen { port, address, inode: number(message, 68)?, state: message[1] })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn the_other_end_of_a_connection_is_found_before_and_after_it_is_accepted() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let server = listener.local_addr().unwrap();
            let diag = Diag::new().unwrap();
            let stream = TcpStream::connect(server).unwrap();
            let client = stream.local_addr().unwrap();
            assert_eq!(diag.end(server, client).unwrap(), Some(End::Waiting), "{address}");
            let (accepted, _) = listener.accept().unwrap();
            let number = u32::try_from(accepted.as_raw_fd()).unwrap();
            let inode = crate::ports::socket_at(std::process::id(), number).unwrap();
            assert_eq!(diag.end(server, client).unwrap(), Some(End::Open(inode)), "{address}");
            accepted.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(diag.end(server, client).unwrap(), Some(End::Open(inode)), "{address}");
            let nobody = SocketAddr::new(client.ip(), 1);
            assert_eq!(diag.end(server, nobody).unwrap(), None, "{address}: only the listener");
            drop((listener, accepted));
            assert_eq!(diag.end(server, client).unwrap(), None, "{address}: closed");
            let nobody = SocketAddr::new(server.ip(), 1);
            assert_eq!(diag.end(nobody, client).unwrap(), None, "{address}: nothing at all");
        }
    }

    #[test]
    fn listeners_of_one_port_are_asked_for_alone() {
        let (one, other) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let (one, _other) = (one.unwrap(), other.unwrap());
        let port = one.local_addr().unwrap().port();
        let found = Diag::new().unwrap().listeners(Some(port)).unwrap();
        assert_eq!(found.iter().map(|seen| seen.port).collect::<Vec<_>>(), [port]);
    }
}
