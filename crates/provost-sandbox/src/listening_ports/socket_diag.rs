//! Queries Linux about TCP sockets (`NETLINK_SOCK_DIAG`).
//!
//! A query takes a tenth of a millisecond where reading `/proc/net/tcp` takes many.
//! Only sockets of our own network namespace are returned.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// How long an answer may take.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(1);

const REQUEST_LEN: usize = 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_ONE: u16 = 0x1;
const REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const TCP: u8 = 6;
/// The requested states, as bits: LISTEN is 10.
const LISTEN_STATE_MASK: u32 = 1 << 10;
/// The states of an end whose other end is open: `ESTABLISHED`, `SYN_RECV` and, when it
/// was shut down first, `FIN_WAIT1` and 2. An end in another state is left over from an
/// earlier connection with the same addresses.
const ALIVE_STATES: [u8; 2] = [1, 3];
const SHUTDOWN_STATES: [u8; 2] = [4, 5];
const NLMSG_HEADER_LEN: usize = 16;
const DIAG_MESSAGE_LEN: usize = 72;

/// A netlink socket. After an error it must not be used again: the rest of an answer
/// would be read as the next one.
#[derive(Debug)]
pub(crate) struct SocketDiag {
    socket: OwnedFd,
}

/// A socket, as reported by Linux.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSocketInfo {
    pub(crate) port: u16,
    pub(crate) address: IpAddr,
    pub(crate) inode: u32,
    state: u8,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// It was not accepted yet.
    Unaccepted,
    /// It is open, with this inode.
    Open(u32),
}

impl SocketDiag {
    pub(crate) fn new() -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(RECEIVE_TIMEOUT))?;
        Ok(Self { socket })
    }

    /// The listening sockets, on this port or on any.
    pub(crate) fn list_listeners(&self, port: Option<u16>) -> io::Result<Vec<TcpSocketInfo>> {
        let mut sockets = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            send(&self.socket, &build_listeners_request(family, port), SendFlags::empty())?;
            while !self.receive_chunk(&mut sockets)? {}
        }
        // Older Linux versions treat the port as a hint.
        sockets.retain(|socket| port.is_none_or(|port| socket.port == port));
        Ok(sockets)
    }

    /// The end at `server` of a connection with `client`. `None` if it is closed, or not
    /// here: in another network namespace, to which the packets are forwarded.
    /// Neither address may be an IPv4-mapped IPv6 address.
    pub(crate) fn find_server_end(
        &self,
        server: SocketAddr,
        client: SocketAddr,
    ) -> io::Result<Option<ConnectionEnd>> {
        send(&self.socket, &build_connection_request(server, client), SendFlags::empty())?;
        let mut sockets = Vec::new();
        match self.receive_chunk(&mut sockets) {
            Ok(_) => Ok(sockets.first().and_then(TcpSocketInfo::connection_end)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads one part of the answer; returns whether it was the last.
    fn receive_chunk(&self, sockets: &mut Vec<TcpSocketInfo>) -> io::Result<bool> {
        let mut buffer = vec![0; 32 * 1024];
        let (n_read, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
        Ok(n_read == 0 || parse_messages(buffer.get(..n_read).unwrap_or_default(), sockets)?)
    }
}

impl TcpSocketInfo {
    /// The end of a connection. Without one, Linux returns the listening socket, which
    /// does not count.
    fn connection_end(&self) -> Option<ConnectionEnd> {
        match (self.inode, self.state) {
            (0, state) => ALIVE_STATES.contains(&state).then_some(ConnectionEnd::Unaccepted),
            (inode, state) => [ALIVE_STATES, SHUTDOWN_STATES]
                .concat()
                .contains(&state)
                .then_some(ConnectionEnd::Open(inode)),
        }
    }
}

/// `nlmsghdr` and `inet_diag_req_v2` in their memory layout.
fn build_request(family: AddressFamily, flags: u16) -> [u8; REQUEST_LEN] {
    let mut bytes = [0; REQUEST_LEN];
    bytes[..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes[NLMSG_HEADER_LEN] = u8::try_from(family.as_raw()).unwrap_or(0);
    bytes[NLMSG_HEADER_LEN + 1] = TCP;
    bytes
}

fn build_listeners_request(family: AddressFamily, port: Option<u16>) -> [u8; REQUEST_LEN] {
    let mut bytes = build_request(family, REQUEST_DUMP);
    bytes[NLMSG_HEADER_LEN + 4..NLMSG_HEADER_LEN + 8]
        .copy_from_slice(&LISTEN_STATE_MASK.to_ne_bytes());
    bytes[NLMSG_HEADER_LEN + 8..NLMSG_HEADER_LEN + 10]
        .copy_from_slice(&port.unwrap_or(0).to_be_bytes());
    bytes
}

fn build_connection_request(server: SocketAddr, client: SocketAddr) -> [u8; REQUEST_LEN] {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut bytes = build_request(family, REQUEST_ONE);
    bytes[NLMSG_HEADER_LEN + 8..NLMSG_HEADER_LEN + 10]
        .copy_from_slice(&server.port().to_be_bytes());
    bytes[NLMSG_HEADER_LEN + 10..NLMSG_HEADER_LEN + 12]
        .copy_from_slice(&client.port().to_be_bytes());
    bytes[NLMSG_HEADER_LEN + 12..NLMSG_HEADER_LEN + 28]
        .copy_from_slice(&address_to_bytes(server.ip()));
    bytes[NLMSG_HEADER_LEN + 28..NLMSG_HEADER_LEN + 44]
        .copy_from_slice(&address_to_bytes(client.ip()));
    // Matches any cookie.
    bytes[NLMSG_HEADER_LEN + 48..NLMSG_HEADER_LEN + 56].fill(0xff);
    bytes
}

fn address_to_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(four) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&four.octets());
            bytes
        }
        IpAddr::V6(six) => six.octets(),
    }
}

/// Parses the messages; returns whether the answer is complete.
fn parse_messages(mut bytes: &[u8], sockets: &mut Vec<TcpSocketInfo>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (read_u32(bytes, 0), read_u16(bytes, 4)) {
        let length = usize::try_from(length)
            .unwrap_or(0)
            .clamp(NLMSG_HEADER_LEN, bytes.len().max(NLMSG_HEADER_LEN));
        let message = bytes.get(NLMSG_HEADER_LEN..length).unwrap_or_default();
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let errno = read_u32(message, 0).unwrap_or(0).cast_signed().wrapping_neg();
                return Err(io::Error::from_raw_os_error(errno));
            }
            SOCK_DIAG_BY_FAMILY => sockets.extend(parse_socket_info(message)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// `inet_diag_msg`: port and address are in network byte order.
fn parse_socket_info(message: &[u8]) -> Option<TcpSocketInfo> {
    let message: &[u8; DIAG_MESSAGE_LEN] = message.get(..DIAG_MESSAGE_LEN)?.try_into().ok()?;
    let port = u16::from_be_bytes([message[4], message[5]]);
    let source: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let address = if message[0] == u8::try_from(AddressFamily::INET.as_raw()).ok()? {
        IpAddr::V4(Ipv4Addr::new(source[0], source[1], source[2], source[3]))
    } else {
        IpAddr::V6(Ipv6Addr::from(source))
    };
    Some(TcpSocketInfo { port, address, inode: read_u32(message, 68)?, state: message[1] })
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
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
            let diag = SocketDiag::new().unwrap();
            let stream = TcpStream::connect(server).unwrap();
            let client = stream.local_addr().unwrap();
            assert_eq!(
                diag.find_server_end(server, client).unwrap(),
                Some(ConnectionEnd::Unaccepted),
                "{address}"
            );
            let (accepted, _) = listener.accept().unwrap();
            let number = u32::try_from(accepted.as_raw_fd()).unwrap();
            let inode =
                crate::listening_ports::read_socket_inode(std::process::id(), number).unwrap();
            assert_eq!(
                diag.find_server_end(server, client).unwrap(),
                Some(ConnectionEnd::Open(inode)),
                "{address}"
            );
            accepted.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(
                diag.find_server_end(server, client).unwrap(),
                Some(ConnectionEnd::Open(inode)),
                "{address}"
            );
            let nobody = SocketAddr::new(client.ip(), 1);
            assert_eq!(
                diag.find_server_end(server, nobody).unwrap(),
                None,
                "{address}: only the listener"
            );
            drop((listener, accepted));
            assert_eq!(diag.find_server_end(server, client).unwrap(), None, "{address}: closed");
            let nobody = SocketAddr::new(server.ip(), 1);
            assert_eq!(
                diag.find_server_end(nobody, client).unwrap(),
                None,
                "{address}: nothing at all"
            );
        }
    }

    #[test]
    fn listeners_of_one_port_are_asked_for_alone() {
        let (one, other) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let (one, _other) = (one.unwrap(), other.unwrap());
        let port = one.local_addr().unwrap().port();
        let found = SocketDiag::new().unwrap().list_listeners(Some(port)).unwrap();
        assert_eq!(found.iter().map(|socket| socket.port).collect::<Vec<_>>(), [port]);
    }
}
