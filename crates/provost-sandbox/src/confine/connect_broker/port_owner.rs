//! Who owns a port: the run, nobody, or others.
//!
//! A run owns a port if every socket that could accept a connection to it is open in a
//! process of the run. One of them is not enough: with `SO_REUSEPORT` two may listen
//! on the same port, and Linux distributes connections. The supervisor does not count:
//! until it has closed what it inherited, it has our own sockets open.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::listening_ports::socket_diag::{ConnectionEnd, SocketDiag, TcpSocketInfo};
use crate::listening_ports::{list_open_sockets, list_process_tree, read_socket_inode};

/// How many sockets are cached; then the cache is cleared.
const MAX_CACHED_SOCKETS: usize = 1024;

/// How often the other end of a connection is looked up.
const MAX_PEER_CHECKS: usize = 4;

/// The owner of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortOwner {
    /// Only processes of the run.
    ThisRun,
    /// Nobody listens there.
    Nobody,
    /// Other processes, alone or as well.
    Others,
}

/// Resolves the owners of ports for one run.
#[derive(Debug)]
pub(super) struct PortOwnerResolver {
    supervisor: u32,
    diag: SocketDiag,
    /// Where a socket of the run was open: the process and its descriptor.
    cache: HashMap<u32, (u32, u32)>,
}

impl PortOwnerResolver {
    pub(super) fn new(supervisor: u32) -> io::Result<Self> {
        Ok(Self { supervisor, diag: SocketDiag::new()?, cache: HashMap::new() })
    }

    /// The current owner of the port at this address.
    pub(super) fn resolve_owner(&mut self, to: SocketAddr) -> io::Result<PortOwner> {
        match self.resolve_owner_once(to)? {
            // A socket that is being closed may still be listed, and is open nowhere any more.
            PortOwner::Others => self.resolve_owner_once(to),
            certain @ (PortOwner::ThisRun | PortOwner::Nobody) => Ok(certain),
        }
    }

    fn resolve_owner_once(&mut self, to: SocketAddr) -> io::Result<PortOwner> {
        let mut sockets = self.query_diag(|diag| diag.list_listeners(Some(to.port())))?;
        sockets.retain(|socket| could_accept(socket.address, to.ip()));
        if sockets.is_empty() {
            return Ok(PortOwner::Nobody);
        }
        if !self.are_cached_and_open(&sockets) {
            self.cache_socket_owners(&sockets);
        }
        Ok(if self.are_cached_and_open(&sockets) { PortOwner::ThisRun } else { PortOwner::Others })
    }

    /// Whether a connection from `client` leads to the run: its other end is open in one
    /// of its processes, or waits to be accepted by one. `None` if there is no other end
    /// on this machine, or not any more.
    pub(super) fn check_peer_in_run(
        &mut self,
        to: SocketAddr,
        client: SocketAddr,
    ) -> io::Result<Option<bool>> {
        for _ in 0..MAX_PEER_CHECKS {
            match self.query_diag(|diag| diag.find_server_end(to, client))? {
                None => return Ok(None),
                Some(ConnectionEnd::Open(inode)) if self.has_socket_open(inode) => {
                    return Ok(Some(true));
                }
                Some(ConnectionEnd::Unaccepted) if self.is_queued_for_run(to, client)? => {
                    return Ok(Some(true));
                }
                // It was accepted meanwhile, or is being closed; otherwise the result is the same.
                Some(ConnectionEnd::Open(_) | ConnectionEnd::Unaccepted) => {}
            }
        }
        Ok(Some(false))
    }

    /// Whether it waits to be accepted only by the run. It is in the queue of a listening
    /// socket while it waits, so that socket existed when all of them were the run's.
    fn is_queued_for_run(&mut self, to: SocketAddr, client: SocketAddr) -> io::Result<bool> {
        let ours = self.resolve_owner(to)? == PortOwner::ThisRun;
        Ok(ours
            && self.query_diag(|diag| diag.find_server_end(to, client))?
                == Some(ConnectionEnd::Unaccepted))
    }

    /// Whether a process of the run has this socket open; most likely one that listens.
    fn has_socket_open(&self, inode: u32) -> bool {
        let is_there = |pid: u32| list_open_sockets(pid).iter().any(|(_, other)| *other == inode);
        let likely: BTreeSet<u32> = self.cache.values().map(|(pid, _)| *pid).collect();
        likely.into_iter().any(is_there) || self.list_run_processes().any(is_there)
    }

    /// Whether this process is one of the run.
    pub(super) fn is_run_process(&self, pid: u32) -> bool {
        self.list_run_processes().any(|other| other == pid)
    }

    fn list_run_processes(&self) -> impl Iterator<Item = u32> + use<> {
        let supervisor = self.supervisor;
        list_process_tree(supervisor).into_iter().filter(move |pid| *pid != supervisor)
    }

    /// Queries, with a new netlink socket next time if this one fails.
    fn query_diag<T>(&mut self, question: impl Fn(&SocketDiag) -> io::Result<T>) -> io::Result<T> {
        let answer = question(&self.diag);
        if answer.is_err() {
            self.diag = SocketDiag::new()?;
        }
        answer
    }

    /// Whether all of these are still open where the cache says.
    fn are_cached_and_open(&self, sockets: &[TcpSocketInfo]) -> bool {
        sockets.iter().all(|socket| {
            let location = self.cache.get(&socket.inode);
            location
                .is_some_and(|(pid, number)| read_socket_inode(*pid, *number) == Some(socket.inode))
        })
    }

    /// Searches for these in all processes of the run, and caches the result.
    fn cache_socket_owners(&mut self, sockets: &[TcpSocketInfo]) {
        if self.cache.len() > MAX_CACHED_SOCKETS {
            self.cache.clear();
        }
        let is_wanted = |inode: u32| sockets.iter().any(|socket| socket.inode == inode);
        for pid in self.list_run_processes() {
            for (number, inode) in list_open_sockets(pid) {
                if is_wanted(inode) {
                    self.cache.insert(inode, (pid, number));
                }
            }
        }
    }
}

/// Whether a socket bound to this address could accept a connection to `to`. One that
/// is bound to the unspecified IPv6 address may accept IPv4 too.
fn could_accept(bound: IpAddr, to: IpAddr) -> bool {
    let bound = bound.to_canonical();
    bound == to || (bound.is_unspecified() && (bound.is_ipv6() || to.is_ipv4()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_could_answer_where_the_kernel_would_ask_it() {
        let table = [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("0.0.0.0", "127.0.0.1", true),
            ("0.0.0.0", "::1", false),
            ("::", "127.0.0.1", true),
            ("::", "::1", true),
            ("::1", "127.0.0.1", false),
            ("::ffff:127.0.0.1", "127.0.0.1", true),
            ("::ffff:0.0.0.0", "127.0.0.1", true),
            ("192.168.0.7", "127.0.0.1", false),
        ];
        for (bound, to, expected) in table {
            let found = could_accept(bound.parse().unwrap(), to.parse().unwrap());
            assert_eq!(found, expected, "{bound} for {to}");
        }
    }

    #[test]
    fn what_the_supervisor_inherited_does_not_belong_to_the_run() {
        // We stand in for a supervisor that has not closed our sockets yet.
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut owners = PortOwnerResolver::new(std::process::id()).unwrap();
        assert_eq!(owners.resolve_owner(ours.local_addr().unwrap()).unwrap(), PortOwner::Others);
        let address = ours.local_addr().unwrap();
        drop(ours);
        assert_eq!(owners.resolve_owner(address).unwrap(), PortOwner::Nobody);
    }
}
