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
mod desk;
mod named;
mod owners;
mod twin;

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
use desk::{Call, Desk};
pub(super) use named::Named;
use owners::{Owners, Whose};

/// The name of the thread, at most 15 bytes.
pub(super) const NAME: &str = "provost-calls";

/// How much stack it gets; it keeps its buffers elsewhere.
const STACK: usize = 256 * 1024;

/// Connections that may wait for a server whose queue is full.
const WAITING: usize = 64;

/// How long a caller waits for such a server; one that asked not to wait gets the
/// little that a connection takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(100);

/// How often a caller knocks again where the queue is full. Nothing tells of room in it.
const KNOCK: Duration = Duration::from_millis(5);

/// Takes the calls of a run that has just begun, of which this is the warden.
pub(super) fn attend(
    control: BorrowedFd<'_>,
    warden: u32,
    named: Named,
) -> Result<(), SandboxError> {
    let desk = Desk::new(receive(control).map_err(SandboxError::os("hear the run's calls"))?);
    let owners = Owners::new(warden).map_err(SandboxError::io("ask for listening sockets"))?;
    let exchange = Exchange { desk, owners, named, waiting: Vec::new() };
    std::thread::Builder::new()
        .name(NAME.to_owned())
        .stack_size(STACK)
        .spawn(move || exchange.attend())
        .map(drop)
        .map_err(SandboxError::io("start a thread"))
}

/// The line that the child sent before it became the command.
fn receive(control: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
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

struct Exchange {
    desk: Desk,
    owners: Owners,
    named: Named,
    waiting: Vec<Connecting>,
}

/// A connection on its way, and who waits for it.
struct Connecting {
    call: Call,
    socket: OwnedFd,
    to: To,
    /// How the caller has its socket open.
    flags: OFlags,
    until: Instant,
}

/// Where a connection was to lead.
enum To {
    Port(SocketAddr),
    Path,
    /// The socket of a path, whose queue was full.
    Full(OwnedFd),
}

impl Exchange {
    fn attend(mut self) {
        while let Some(ready) = self.wait() {
            self.settle();
            if ready {
                self.answer();
            }
        }
    }

    /// Waits for a call or for a connection; whether there is a call, or `None` when
    /// nobody is left who could call.
    fn wait(&self) -> Option<bool> {
        let knocks = |one: &&Connecting| matches!(one.to, To::Full(_));
        let next = self.waiting.iter().map(|waiting| waiting.until).min();
        let knock = self.waiting.iter().any(|one| knocks(&one)).then(|| Instant::now() + KNOCK);
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
    fn answer(&mut self) {
        let Ok(call) = self.desk.next() else { return };
        match self.connect(call) {
            Ok(connecting) => {
                self.waiting.push(connecting);
                // On this machine it is there already, as a rule.
                self.settle();
            }
            Err(errno) => self.desk.refuse(&call, errno),
        }
    }

    /// Begins the connection that is asked for, if it may be.
    fn connect(&mut self, call: Call) -> Result<Connecting, Errno> {
        let said = call.address()?;
        let taken = call.socket()?;
        let flags = call.flags(taken.as_fd())?;
        let path = address::path(&said)?.map(|path| Ok(call.folder()?.join(path))).transpose()?;
        // The numbers of process and socket meant the caller as long as it waits.
        if !self.desk.still_waits(&call) {
            return Err(Errno::PERM);
        }
        let (socket, to) = match path {
            Some(path) => self.call_path(taken.as_fd(), &path, flags)?,
            None => self.call_port(taken.as_fd(), &said)?,
        };
        let patience = if flags.contains(OFlags::NONBLOCK) { MOMENT } else { PATIENCE };
        Ok(Connecting { call, socket, to, flags, until: Instant::now() + patience })
    }

    /// Begins a connection to a socket by its path.
    fn call_path(
        &self,
        taken: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
    ) -> Result<(OwnedFd, To), Errno> {
        let (socket, found) = self.named.ends(taken, path)?;
        match named::connect(&socket, &found) {
            Ok(()) => Ok((socket, To::Path)),
            // Whoever asked not to wait is told so.
            Err(Errno::AGAIN) if !flags.contains(OFlags::NONBLOCK) => {
                if self.waiting.len() >= WAITING {
                    return Err(Errno::AGAIN);
                }
                Ok((socket, To::Full(found)))
            }
            Err(errno) => Err(errno),
        }
    }

    /// Begins a connection to a port.
    fn call_port(&mut self, taken: BorrowedFd<'_>, said: &[u8]) -> Result<(OwnedFd, To), Errno> {
        let to = address::loopback(said)?;
        match self.owners.whose(to.canonical) {
            Ok(Whose::Ours) => {}
            Ok(Whose::Nobodys) => return Err(Errno::CONNREFUSED),
            Ok(Whose::Others) | Err(_) => return Err(Errno::PERM),
        }
        if self.waiting.len() >= WAITING {
            return Err(Errno::TIMEDOUT);
        }
        let socket = twin::of(taken, to.asked)?;
        match rustix::net::connect(&socket, &to.asked) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok((socket, To::Port(to.canonical))),
            Err(errno) => Err(errno),
        }
    }

    /// Answers whoever waits for a connection that is there by now, or never will be.
    fn settle(&mut self) {
        let (mut still, all) = (Vec::new(), std::mem::take(&mut self.waiting));
        for mut connecting in all {
            match connecting.outcome() {
                Some(Ok(())) => self.hand_over(&connecting),
                Some(Err(errno)) => self.desk.refuse(&connecting.call, errno),
                // A caller that was killed waits for nothing.
                None if self.desk.still_waits(&connecting.call) => still.push(connecting),
                None => {}
            }
        }
        self.waiting = still;
    }

    /// Gives the caller its connection, if it leads where it was to lead.
    fn hand_over(&mut self, connecting: &Connecting) {
        let Connecting { call, socket, flags, .. } = connecting;
        let given = self.verify(connecting).and_then(|()| self.desk.give(call, socket, *flags));
        if let Err(errno) = given {
            self.desk.refuse(call, errno);
        }
    }

    /// Whether the other end is the run's.
    fn verify(&mut self, connecting: &Connecting) -> Result<(), Errno> {
        let to = match connecting.to {
            To::Port(to) => to,
            // Who put the socket there need not be of the run, though it lies in its folders.
            To::Path | To::Full(_) => {
                let listener = twin::Listener::of(&connecting.socket).ok_or(Errno::PERM)?;
                // Its number is its own as long as it lives: that is asked last.
                let is_ours = self.owners.is_ours(listener.pid) && listener.lives();
                return is_ours.then_some(()).ok_or(Errno::PERM);
            }
        };
        let own = rustix::net::getsockname(&connecting.socket)?;
        let own = SocketAddr::try_from(own).map_err(|_| Errno::PERM)?;
        let own = SocketAddr::new(own.ip().to_canonical(), own.port());
        match self.owners.leads(to, own) {
            Ok(Some(true)) => Ok(()),
            Ok(None) => Err(Errno::CONNRESET),
            Ok(Some(false)) | Err(_) => Err(Errno::PERM),
        }
    }
}

impl Connecting {
    /// What became of it, if it is over.
    fn outcome(&mut self) -> Option<Result<(), Errno>> {
        if let To::Full(found) = &self.to {
            match named::connect(&self.socket, found) {
                Ok(()) => self.to = To::Path,
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
