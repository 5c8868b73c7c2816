//! `bind` and `listen`, without the ports of Provost.
//!
//! The broker copies the address once and binds its own duplicate of the caller's
//! socket, so nothing that the caller changes meanwhile has an effect. The address does
//! not matter, only the port: a browser that looks for Provost may try any of them.
//!
//! The caller makes the call itself only for a Unix socket: its path is resolved with the
//! caller's rights, and `listen` records who listens. It could put an internet socket in
//! its place; that it can bind no port is then up to Landlock (ABI 4), and the filter
//! takes the options from it by which a socket without a port chooses one.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::LazyLock;

use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, sockopt};

use super::seccomp_listener::{SeccompListener, SocketCall, SocketCallKind, last_error};
use crate::confine::reserved_ports::ReservedPorts;

/// What became of a call that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindOutcome {
    /// We made it.
    Done,
    /// The caller makes it itself.
    LeftToCaller,
}

/// How often a free port is looked for: there are at most as many reserved ones as this.
const MAX_PORT_TRIES: usize = 80;

/// The first port for which no capability is needed. Runs have none; we may.
static FIRST_UNPRIVILEGED_PORT: LazyLock<u16> = LazyLock::new(|| {
    let setting = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    setting.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
});

/// Makes the call on a duplicate of the caller's socket, unless it is about a reserved
/// port: that is reported as in use, so that servers try another one.
pub(super) fn execute(
    listener: &SeccompListener,
    call: &SocketCall,
    reserved: &ReservedPorts,
) -> Result<BindOutcome, Errno> {
    let address = match call.kind {
        SocketCallKind::Bind => call.read_address()?,
        SocketCallKind::Listen | SocketCallKind::Connect => Vec::new(),
    };
    let socket = call.duplicate_socket()?;
    // Process id and descriptor are valid only while the caller waits.
    if !listener.is_pending(call) {
        return Err(Errno::PERM);
    }
    let family = sockopt::socket_domain(&socket)?;
    if family == AddressFamily::UNIX {
        return Ok(BindOutcome::LeftToCaller);
    }
    let is_internet = family == AddressFamily::INET || family == AddressFamily::INET6;
    match (call.kind, is_internet) {
        (SocketCallKind::Bind, true) => bind_port(&socket, &address, reserved),
        (SocketCallKind::Bind, false) => bind(&socket, &address),
        (SocketCallKind::Listen, true) => listen_on_port(&socket, call.backlog(), reserved),
        (SocketCallKind::Listen, false) => rustix::net::listen(&socket, call.backlog()),
        (SocketCallKind::Connect, _) => Err(Errno::PERM),
    }?;
    Ok(BindOutcome::Done)
}

fn bind_port(socket: &OwnedFd, address: &[u8], reserved: &ReservedPorts) -> Result<(), Errno> {
    // At the same place in both kinds of addresses.
    let port = address.get(2..4).and_then(|port| port.try_into().ok()).ok_or(Errno::INVAL)?;
    let port = u16::from_be_bytes(port);
    if port != 0 && port < *FIRST_UNPRIVILEGED_PORT {
        return Err(Errno::ACCESS);
    }
    if reserved.contains(port) {
        return Err(Errno::ADDRINUSE);
    }
    if port == 0 { bind_free_port(socket, address, reserved) } else { bind(socket, address) }
}

/// Binds to a port that Linux chooses: with a socket of ours first, because the caller's
/// cannot be unbound again.
fn bind_free_port(socket: &OwnedFd, address: &[u8], reserved: &ReservedPorts) -> Result<(), Errno> {
    let (family, kind) = (sockopt::socket_domain(socket)?, sockopt::socket_type(socket)?);
    let protocol = sockopt::socket_protocol(socket)?;
    // Kept until the end, so that the next one gets another port.
    let mut taken = Vec::new();
    for _ in 0..MAX_PORT_TRIES {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let probe = rustix::net::socket_with(family, kind, flags, protocol)?;
        bind(&probe, address)?;
        let port = read_port(&probe)?;
        if port == 0 || reserved.contains(port) {
            taken.push(probe);
            continue;
        }
        drop(probe);
        let mut chosen = address.to_vec();
        chosen.get_mut(2..4).ok_or(Errno::INVAL)?.copy_from_slice(&port.to_be_bytes());
        match bind(socket, &chosen) {
            // Another program was faster.
            Err(Errno::ADDRINUSE) => {}
            outcome => return outcome,
        }
    }
    Err(Errno::ADDRINUSE)
}

fn listen_on_port(socket: &OwnedFd, backlog: i32, reserved: &ReservedPorts) -> Result<(), Errno> {
    if read_port(socket)? == 0 {
        let address = unspecified_address(socket)?;
        bind_free_port(socket, &address, reserved)?;
    }
    if reserved.contains(read_port(socket)?) {
        return Err(Errno::ADDRINUSE);
    }
    rustix::net::listen(socket, backlog)?;
    // Another thread may have connected and disconnected it meanwhile, and so changed its
    // port.
    if reserved.contains(read_port(socket)?) {
        rustix::net::shutdown(socket, Shutdown::Both)?;
        return Err(Errno::ADDRINUSE);
    }
    Ok(())
}

/// The address of an unbound socket of this family, as Linux reads it.
fn unspecified_address(socket: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let family = sockopt::socket_domain(socket)?;
    let length = if family == AddressFamily::INET6 {
        size_of::<libc::sockaddr_in6>()
    } else {
        size_of::<libc::sockaddr_in>()
    };
    let mut address = vec![0; length];
    address[..2].copy_from_slice(&family.as_raw().to_ne_bytes());
    Ok(address)
}

fn read_port(socket: &OwnedFd) -> Result<u16, Errno> {
    let address = rustix::net::getsockname(socket.as_fd())?;
    Ok(SocketAddr::try_from(address).map_err(|_| Errno::PERM)?.port())
}

/// Binds to an address as the caller wrote it.
fn bind(socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    let length = libc::socklen_t::try_from(address.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the address is valid for its length, and Linux copies it whatever it holds.
    let result = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), length) };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}
