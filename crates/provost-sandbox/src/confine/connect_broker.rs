//! Connections from a run to itself.
//!
//! A command that may listen may not connect: Landlock knows ports but not their
//! owners, and its rules cannot be widened later. So the seccomp filter notifies us of
//! each `connect`, and the caller is suspended meanwhile. We connect only to a
//! loopback port on which nobody but processes of the same run listen, or to a Unix
//! socket in the project or in the run's folder for temporary files
//! ([`unix_sockets`]); everything else is denied.
//!
//! ```text
//! caller ── connect(fd, address) ──▶ broker (a thread of ours, outside the sandbox)
//!   │ suspended                        reads the address, once
//!   │                                  asks Linux who listens there       ── others ─▶ EPERM
//!   │                                  connects a socket of its own       ── nobody ─▶ ECONNREFUSED
//!   │                                  asks who owns the other end
//!   └◀── the socket, in place of fd ───┘
//! ```
//!
//! The caller's own system call never continues, so memory that it changes meanwhile
//! is never read again. The caller's own socket is never connected, so there is no
//! moment in which it could write to a peer that was not checked: a port that changed
//! hands, or one whose packets are routed elsewhere. The price: what a program did to
//! its socket before is repeated only for common options ([`socket_replica`]).
//!
//! `bind` and `listen` come here as well, so that no run takes a port of Provost
//! ([`port_binding`]); a run with full access to the network is notified of these alone.
//!
//! The thread ends with the last process of the run. It only waits for its
//! descriptors: connections that do not complete at once are pending, for a bounded
//! time and in a bounded number.

mod address;
mod port_binding;
mod port_owner;
mod seccomp_listener;
mod socket_replica;
mod unix_sockets;

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use super::SandboxError;
use super::reserved_ports::ReservedPorts;
use port_binding::BindOutcome;
use port_owner::{PortOwner, PortOwnerResolver};
use seccomp_listener::{SeccompListener, SocketCall, SocketCallKind};
pub(super) use unix_sockets::UnixSocketDirs;

/// The name of the thread, at most 15 bytes.
pub(super) const BROKER_THREAD_NAME: &str = "provost-calls";

/// Its stack size, in bytes; buffers are on the heap.
const BROKER_STACK_SIZE: usize = 256 * 1024;

/// Connections that may be pending because a server's backlog is full.
const MAX_PENDING_CONNECTIONS: usize = 64;

/// How long a caller waits for such a server; a nonblocking caller gets the short
/// time that a connection takes on a busy machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const NONBLOCKING_CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

/// Retry interval while a backlog is full; there is no event for free space in it.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Starts the broker of a run that has just begun, given its supervisor.
pub(super) fn start_broker_thread(
    control: BorrowedFd<'_>,
    supervisor: u32,
    unix_sockets: UnixSocketDirs,
    reserved_ports: Arc<ReservedPorts>,
) -> Result<(), SandboxError> {
    let listener = SeccompListener::new(
        receive_listener_fd(control)
            .map_err(SandboxError::wrap_errno("receive the seccomp listener"))?,
    );
    let owners = PortOwnerResolver::new(supervisor)
        .map_err(SandboxError::wrap_io("query listening sockets"))?;
    let broker =
        ConnectBroker { listener, owners, unix_sockets, reserved_ports, pending: Vec::new() };
    std::thread::Builder::new()
        .name(BROKER_THREAD_NAME.to_owned())
        .stack_size(BROKER_STACK_SIZE)
        .spawn(move || broker.run())
        .map(drop)
        .map_err(SandboxError::wrap_io("start a thread"))
}

/// The listener descriptor that the child sent before its exec.
fn receive_listener_fd(control: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut sent = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0; 1];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    rustix::net::recvmsg(control, &mut [IoSliceMut::new(&mut word)], &mut sent, flags)?;
    let fds = sent.drain().filter_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message { fds.next() } else { None }
    });
    fds.last().ok_or(Errno::NOMSG)
}

struct ConnectBroker {
    listener: SeccompListener,
    owners: PortOwnerResolver,
    unix_sockets: UnixSocketDirs,
    reserved_ports: Arc<ReservedPorts>,
    pending: Vec<PendingConnection>,
}

/// A connection in progress, and the caller that waits for it.
struct PendingConnection {
    request: SocketCall,
    socket: OwnedFd,
    to: ConnectTarget,
    /// The flags of the caller's socket.
    flags: OFlags,
    until: Instant,
}

/// The target of a connection.
enum ConnectTarget {
    Port(SocketAddr),
    Path,
    /// A Unix socket whose backlog was full.
    PathBacklogFull(OwnedFd),
}

impl ConnectBroker {
    fn run(mut self) {
        while let Some(ready) = self.wait_for_events() {
            self.complete_pending();
            if ready {
                self.handle_next_request();
            }
        }
    }

    /// Waits for a request or a connection; returns whether there is a request, or
    /// `None` when no process of the run is left.
    fn wait_for_events(&self) -> Option<bool> {
        let knocks = |one: &&PendingConnection| matches!(one.to, ConnectTarget::PathBacklogFull(_));
        let next = self.pending.iter().map(|pending| pending.until).min();
        let knock = self
            .pending
            .iter()
            .any(|one| knocks(&one))
            .then(|| Instant::now() + CONNECT_RETRY_INTERVAL);
        let next = next.into_iter().chain(knock).min();
        let left = next.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut poll_fds = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let sockets = self.pending.iter().filter(|one| !knocks(one));
        let sockets = sockets.map(|one| PollFd::new(&one.socket, PollFlags::OUT));
        poll_fds.extend(sockets);
        match rustix::event::poll(&mut poll_fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let events = poll_fds.first()?.revents();
        if events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return None;
        }
        Some(events.contains(PollFlags::IN))
    }

    /// Handles the next request.
    fn handle_next_request(&mut self) {
        let Ok(request) = self.listener.receive_request() else { return };
        match request.kind {
            SocketCallKind::Connect => self.handle_connect(request),
            SocketCallKind::Bind | SocketCallKind::Listen => {
                match port_binding::execute(&self.listener, &request, &self.reserved_ports) {
                    Ok(BindOutcome::Done) => self.listener.complete_request(&request),
                    Ok(BindOutcome::LeftToCaller) => self.listener.continue_request(&request),
                    Err(errno) => self.listener.fail_request(&request, errno),
                }
            }
        }
    }

    fn handle_connect(&mut self, request: SocketCall) {
        match self.begin_connection(request) {
            Ok(connection) => {
                self.pending.push(connection);
                // On loopback it is usually complete already.
                self.complete_pending();
            }
            Err(errno) => self.listener.fail_request(&request, errno),
        }
    }

    /// Begins the requested connection, if it is allowed.
    fn begin_connection(&mut self, request: SocketCall) -> Result<PendingConnection, Errno> {
        let address_bytes = request.read_address()?;
        let caller_socket = request.duplicate_socket()?;
        let flags = request.read_socket_flags(caller_socket.as_fd())?;
        let path = address::parse_unix_path(&address_bytes)?
            .map(|path| Ok(request.read_cwd()?.join(path)))
            .transpose()?;
        // Process id and descriptor are valid only while the caller waits.
        if !self.listener.is_pending(&request) {
            return Err(Errno::PERM);
        }
        let (socket, to) = match path {
            Some(path) => self.connect_to_path(caller_socket.as_fd(), &path, flags)?,
            None => self.connect_to_port(caller_socket.as_fd(), &address_bytes)?,
        };
        let patience = if flags.contains(OFlags::NONBLOCK) {
            NONBLOCKING_CONNECT_TIMEOUT
        } else {
            CONNECT_TIMEOUT
        };
        Ok(PendingConnection { request, socket, to, flags, until: Instant::now() + patience })
    }

    /// Begins a connection to a Unix socket.
    fn connect_to_path(
        &self,
        caller_socket: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
    ) -> Result<(OwnedFd, ConnectTarget), Errno> {
        let (socket, found) = self.unix_sockets.open_endpoints(caller_socket, path)?;
        match unix_sockets::connect_unix(&socket, &found) {
            Ok(()) => Ok((socket, ConnectTarget::Path)),
            // A nonblocking caller gets the error.
            Err(Errno::AGAIN) if !flags.contains(OFlags::NONBLOCK) => {
                if self.pending.len() >= MAX_PENDING_CONNECTIONS {
                    return Err(Errno::AGAIN);
                }
                Ok((socket, ConnectTarget::PathBacklogFull(found)))
            }
            Err(errno) => Err(errno),
        }
    }

    /// Begins a connection to a port.
    fn connect_to_port(
        &mut self,
        caller_socket: BorrowedFd<'_>,
        address_bytes: &[u8],
    ) -> Result<(OwnedFd, ConnectTarget), Errno> {
        let to = address::parse_loopback(address_bytes)?;
        match self.owners.resolve_owner(to.canonical) {
            Ok(PortOwner::ThisRun) => {}
            Ok(PortOwner::Nobody) => return Err(Errno::CONNREFUSED),
            Ok(PortOwner::Others) | Err(_) => return Err(Errno::PERM),
        }
        if self.pending.len() >= MAX_PENDING_CONNECTIONS {
            return Err(Errno::TIMEDOUT);
        }
        let socket = socket_replica::replicate_tcp_socket(caller_socket, to.requested)?;
        match rustix::net::connect(&socket, &to.requested) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok((socket, ConnectTarget::Port(to.canonical))),
            Err(errno) => Err(errno),
        }
    }

    /// Answers callers whose connection is complete or has failed.
    fn complete_pending(&mut self) {
        let (mut still_pending, all) = (Vec::new(), std::mem::take(&mut self.pending));
        for mut connection in all {
            match connection.poll_outcome() {
                Some(Ok(())) => self.deliver_socket(&connection),
                Some(Err(errno)) => self.listener.fail_request(&connection.request, errno),
                // A caller that was killed waits no more.
                None if self.listener.is_pending(&connection.request) => {
                    still_pending.push(connection);
                }
                None => {}
            }
        }
        self.pending = still_pending;
    }

    /// Gives the caller its socket, if the connection leads to the run.
    fn deliver_socket(&mut self, connection: &PendingConnection) {
        let PendingConnection { request, socket, flags, .. } = connection;
        let given = self
            .verify_peer(connection)
            .and_then(|()| self.listener.complete_with_socket(request, socket, *flags));
        if let Err(errno) = given {
            self.listener.fail_request(request, errno);
        }
    }

    /// Checks that the other end belongs to the run.
    fn verify_peer(&mut self, connection: &PendingConnection) -> Result<(), Errno> {
        let to = match connection.to {
            ConnectTarget::Port(to) => to,
            // The socket is in the run's folders, but its creator need not be of the run.
            ConnectTarget::Path | ConnectTarget::PathBacklogFull(_) => {
                let listener =
                    socket_replica::ListenerProcess::from_connected_socket(&connection.socket)
                        .ok_or(Errno::PERM)?;
                // The pid stays its own while it lives, so this is checked last.
                let is_ours = self.owners.is_run_process(listener.pid) && listener.is_alive();
                return is_ours.then_some(()).ok_or(Errno::PERM);
            }
        };
        let own = rustix::net::getsockname(&connection.socket)?;
        let own = SocketAddr::try_from(own).map_err(|_| Errno::PERM)?;
        let own = SocketAddr::new(own.ip().to_canonical(), own.port());
        match self.owners.check_peer_in_run(to, own) {
            Ok(Some(true)) => Ok(()),
            Ok(None) => Err(Errno::CONNRESET),
            Ok(Some(false)) | Err(_) => Err(Errno::PERM),
        }
    }
}

impl PendingConnection {
    /// The result of the connection, if it is complete.
    fn poll_outcome(&mut self) -> Option<Result<(), Errno>> {
        if let ConnectTarget::PathBacklogFull(found) = &self.to {
            match unix_sockets::connect_unix(&self.socket, found) {
                Ok(()) => self.to = ConnectTarget::Path,
                Err(Errno::AGAIN) if Instant::now() < self.until => return None,
                Err(errno) => return Some(Err(errno)),
            }
        }
        let mut poll_fds = [PollFd::new(&self.socket, PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut poll_fds, Some(&at_once)) {
            Ok(0) | Err(Errno::INTR) if Instant::now() < self.until => None,
            Ok(0) | Err(Errno::INTR) => Some(Err(Errno::TIMEDOUT)),
            Ok(_) => match rustix::net::sockopt::socket_error(&self.socket) {
                Ok(outcome) => Some(outcome),
                Err(errno) => Some(Err(errno)),
            },
            Err(errno) => Some(Err(errno)),
        }
    }
}
