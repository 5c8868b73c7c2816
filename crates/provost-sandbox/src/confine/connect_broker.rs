//! Connections from a run to itself.
//!
//! A command that may listen may not call: Landlock knows ports and not whose they
//! are, and cannot be widened later. So the filter asks us about each `connect`,
//! and the caller stands still meanwhile. Only what goes to this machine's
//! loopback, to a port on which nobody but a process of the same run listens, is
//! connected, or to a socket with a path in the project or in the run's folder for
//! temporary files ([`named`]); everything else is refused as it was before.
//!
//! ```text
//! caller ── connect(fd, address) ──▶ exchange (a thread of ours, outside of the wall)
//!   │ stands still                     reads the address, once
//!   │                                  asks the kernel who listens there  ── others ─▶ EPERM
//!   │                                  connects a socket of its own       ── nobody ─▶ ECONNREFUSED
//!   │                                  asks whose the other end is
//!   └◀── the socket, in place of fd ───┘
//! ```
//!
//! The caller's own call never goes on, so that nothing it changes in the meantime
//! is looked at again; and the caller's own socket is never connected, so that there
//! is no moment in which it could write to somebody whom we did not look at yet: a
//! port that changed hands, or one whose packets the machine sends elsewhere. The
//! price is that what a program did to its socket before is done again only where it
//! is usual ([`twin`]).
//!
//! The thread ends when the last process of the run has. It waits for nothing but
//! its descriptors: what does not connect at once waits beside, for a bounded time
//! and in a bounded number.

mod address;
mod port_owner;
mod seccomp_listener;
mod socket_replica;
mod unix_sockets;

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use super::SandboxError;
use port_owner::{PortOwner, PortOwnerResolver};
use seccomp_listener::{ConnectRequest, SeccompListener};
pub(super) use unix_sockets::UnixSocketDirs;

/// The name of the thread, at most 15 bytes.
pub(super) const BROKER_THREAD_NAME: &str = "provost-calls";

/// How much stack it gets; it keeps its buffers elsewhere.
const BROKER_STACK_SIZE: usize = 256 * 1024;

/// Connections that may wait for a server whose queue is full.
const MAX_PENDING_CONNECTIONS: usize = 64;

/// How long a caller waits for such a server; one that asked not to wait gets the
/// little that a connection takes on a busy machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const NONBLOCKING_CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

/// How often a caller knocks again where the queue is full. Nothing tells of room in it.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Takes the calls of a run that has just begun, of which this is the warden.
pub(super) fn start_broker_thread(
    control: BorrowedFd<'_>,
    warden: u32,
    named: UnixSocketDirs,
) -> Result<(), SandboxError> {
    let desk = SeccompListener::new(
        receive_listener_fd(control).map_err(SandboxError::wrap_errno("hear the run's calls"))?,
    );
    let owners = PortOwnerResolver::new(warden)
        .map_err(SandboxError::wrap_io("ask for listening sockets"))?;
    let exchange = ConnectBroker { desk, owners, named, waiting: Vec::new() };
    std::thread::Builder::new()
        .name(BROKER_THREAD_NAME.to_owned())
        .stack_size(BROKER_STACK_SIZE)
        .spawn(move || exchange.run())
        .map(drop)
        .map_err(SandboxError::wrap_io("start a thread"))
}

/// The line that the child sent before it became the command.
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
    desk: SeccompListener,
    owners: PortOwnerResolver,
    named: UnixSocketDirs,
    waiting: Vec<PendingConnection>,
}

/// A connection on its way, and who waits for it.
struct PendingConnection {
    call: ConnectRequest,
    socket: OwnedFd,
    to: ConnectTarget,
    /// How the caller has its socket open.
    flags: OFlags,
    until: Instant,
}

/// Where a connection was to lead.
enum ConnectTarget {
    Port(SocketAddr),
    Path,
    /// The socket of a path, whose queue was full.
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

    /// Waits for a call or for a connection; whether there is a call, or `None` when
    /// nobody is left who could call.
    fn wait_for_events(&self) -> Option<bool> {
        let knocks = |one: &&PendingConnection| matches!(one.to, ConnectTarget::PathBacklogFull(_));
        let next = self.waiting.iter().map(|waiting| waiting.until).min();
        let knock = self
            .waiting
            .iter()
            .any(|one| knocks(&one))
            .then(|| Instant::now() + CONNECT_RETRY_INTERVAL);
        let next = next.into_iter().chain(knock).min();
        let left = next.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut lines = vec![PollFd::new(&self.desk, PollFlags::IN)];
        let sockets = self.waiting.iter().filter(|one| !knocks(one));
        let sockets = sockets.map(|one| PollFd::new(&one.socket, PollFlags::OUT));
        lines.extend(sockets);
        match rustix::event::poll(&mut lines, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let said = lines.first()?.revents();
        if said.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return None;
        }
        Some(said.contains(PollFlags::IN))
    }

    /// Takes the next call.
    fn handle_next_request(&mut self) {
        let Ok(call) = self.desk.receive_request() else { return };
        match self.begin_connection(call) {
            Ok(connecting) => {
                self.waiting.push(connecting);
                // On this machine it is there already, as a rule.
                self.complete_pending();
            }
            Err(errno) => self.desk.fail_request(&call, errno),
        }
    }

    /// Begins the connection that is asked for, if it may be.
    fn begin_connection(&mut self, call: ConnectRequest) -> Result<PendingConnection, Errno> {
        let said = call.read_address()?;
        let taken = call.duplicate_socket()?;
        let flags = call.read_socket_flags(taken.as_fd())?;
        let path = address::parse_unix_path(&said)?
            .map(|path| Ok(call.read_cwd()?.join(path)))
            .transpose()?;
        // The numbers of process and socket meant the caller as long as it waits.
        if !self.desk.is_pending(&call) {
            return Err(Errno::PERM);
        }
        let (socket, to) = match path {
            Some(path) => self.connect_to_path(taken.as_fd(), &path, flags)?,
            None => self.connect_to_port(taken.as_fd(), &said)?,
        };
        let patience = if flags.contains(OFlags::NONBLOCK) {
            NONBLOCKING_CONNECT_TIMEOUT
        } else {
            CONNECT_TIMEOUT
        };
        Ok(PendingConnection { call, socket, to, flags, until: Instant::now() + patience })
    }

    /// Begins a connection to a socket by its path.
    fn connect_to_path(
        &self,
        taken: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
    ) -> Result<(OwnedFd, ConnectTarget), Errno> {
        let (socket, found) = self.named.open_endpoints(taken, path)?;
        match unix_sockets::connect_unix(&socket, &found) {
            Ok(()) => Ok((socket, ConnectTarget::Path)),
            // Whoever asked not to wait is told so.
            Err(Errno::AGAIN) if !flags.contains(OFlags::NONBLOCK) => {
                if self.waiting.len() >= MAX_PENDING_CONNECTIONS {
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
        taken: BorrowedFd<'_>,
        said: &[u8],
    ) -> Result<(OwnedFd, ConnectTarget), Errno> {
        let to = address::parse_loopback(said)?;
        match self.owners.resolve_owner(to.canonical) {
            Ok(PortOwner::ThisRun) => {}
            Ok(PortOwner::Nobody) => return Err(Errno::CONNREFUSED),
            Ok(PortOwner::Others) | Err(_) => return Err(Errno::PERM),
        }
        if self.waiting.len() >= MAX_PENDING_CONNECTIONS {
            return Err(Errno::TIMEDOUT);
        }
        let socket = socket_replica::replicate_tcp_socket(taken, to.asked)?;
        match rustix::net::connect(&socket, &to.asked) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok((socket, ConnectTarget::Port(to.canonical))),
            Err(errno) => Err(errno),
        }
    }

    /// Answers whoever waits for a connection that is there by now, or never will be.
    fn complete_pending(&mut self) {
        let (mut still, all) = (Vec::new(), std::mem::take(&mut self.waiting));
        for mut connecting in all {
            match connecting.poll_outcome() {
                Some(Ok(())) => self.deliver_socket(&connecting),
                Some(Err(errno)) => self.desk.fail_request(&connecting.call, errno),
                // A caller that was killed waits for nothing.
                None if self.desk.is_pending(&connecting.call) => still.push(connecting),
                None => {}
            }
        }
        self.waiting = still;
    }

    /// Gives the caller its connection, if it leads where it was to lead.
    fn deliver_socket(&mut self, connecting: &PendingConnection) {
        let PendingConnection { call, socket, flags, .. } = connecting;
        let given = self
            .verify_peer(connecting)
            .and_then(|()| self.desk.complete_with_socket(call, socket, *flags));
        if let Err(errno) = given {
            self.desk.fail_request(call, errno);
        }
    }

    /// Whether the other end is the run's.
    fn verify_peer(&mut self, connecting: &PendingConnection) -> Result<(), Errno> {
        let to = match connecting.to {
            ConnectTarget::Port(to) => to,
            // Who put the socket there need not be of the run, though it lies in its folders.
            ConnectTarget::Path | ConnectTarget::PathBacklogFull(_) => {
                let listener =
                    socket_replica::ListenerProcess::from_connected_socket(&connecting.socket)
                        .ok_or(Errno::PERM)?;
                // Its number is its own as long as it lives: that is asked last.
                let is_ours = self.owners.is_run_process(listener.pid) && listener.is_alive();
                return is_ours.then_some(()).ok_or(Errno::PERM);
            }
        };
        let own = rustix::net::getsockname(&connecting.socket)?;
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
    /// What became of it, if it is over.
    fn poll_outcome(&mut self) -> Option<Result<(), Errno>> {
        if let ConnectTarget::PathBacklogFull(found) = &self.to {
            match unix_sockets::connect_unix(&self.socket, found) {
                Ok(()) => self.to = ConnectTarget::Path,
                Err(Errno::AGAIN) if Instant::now() < self.until => return None,
                Err(errno) => return Some(Err(errno)),
            }
        }
        let mut lines = [PollFd::new(&self.socket, PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut lines, Some(&at_once)) {
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
