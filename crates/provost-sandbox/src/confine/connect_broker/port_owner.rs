//! Whose a port is: the run's own, nobody's, or somebody's.
//!
//! A port is the run's own if every socket that could get a connection to it is
//! open in a process of the run. One of them is not enough: with `SO_REUSEPORT`
//! two may listen at the same place, and the kernel deals connections out. The
//! warden does not count: until it has closed what it inherited, it has our own
//! sockets open.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::listening_ports::socket_diag::{ConnectionEnd, SocketDiag, TcpSocketInfo};
use crate::listening_ports::{list_open_sockets, list_process_tree, read_socket_inode};

/// Sockets that are remembered, at most; then all are looked up anew.
const MAX_CACHED_SOCKETS: usize = 1024;

/// How often one looks where a connection leads.
const MAX_PEER_CHECKS: usize = 4;

/// Whose a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PortOwner {
    /// Of processes of the run, and of no one else.
    ThisRun,
    /// Nobody listens there.
    Nobody,
    /// Also, or only, of others.
    Others,
}

/// Finds out whose ports are, for one run.
#[derive(Debug)]
pub(super) struct PortOwnerResolver {
    warden: u32,
    diag: SocketDiag,
    /// Where a socket of the run was open: in this process, under this number.
    known: HashMap<u32, (u32, u32)>,
}

impl PortOwnerResolver {
    pub(super) fn new(warden: u32) -> io::Result<Self> {
        Ok(Self { warden, diag: SocketDiag::new()?, known: HashMap::new() })
    }

    /// Whose the port at this address is, now.
    pub(super) fn resolve_owner(&mut self, to: SocketAddr) -> io::Result<PortOwner> {
        match self.resolve_owner_once(to)? {
            // One that is being closed was still told of, and is open nowhere any more.
            PortOwner::Others => self.resolve_owner_once(to),
            certain @ (PortOwner::ThisRun | PortOwner::Nobody) => Ok(certain),
        }
    }

    fn resolve_owner_once(&mut self, to: SocketAddr) -> io::Result<PortOwner> {
        let mut seen = self.query_diag(|diag| diag.list_listeners(Some(to.port())))?;
        seen.retain(|seen| could_accept(seen.address, to.ip()));
        if seen.is_empty() {
            return Ok(PortOwner::Nobody);
        }
        if !self.are_cached_and_open(&seen) {
            self.cache_socket_owners(&seen);
        }
        Ok(if self.are_cached_and_open(&seen) { PortOwner::ThisRun } else { PortOwner::Others })
    }

    /// Whether a connection with `client` leads to the run: its other end is open in
    /// one of its processes, or waits to be accepted by one. `None` if there is no
    /// other end here, or not any more.
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
                // It was accepted meanwhile, or is being closed; else we shall see the same.
                Some(ConnectionEnd::Open(_) | ConnectionEnd::Unaccepted) => {}
            }
        }
        Ok(Some(false))
    }

    /// Whether it waits for nobody but the run. It is in the queue of a socket that
    /// listens as long as it waits, so that one was there when all of those were ours.
    fn is_queued_for_run(&mut self, to: SocketAddr, client: SocketAddr) -> io::Result<bool> {
        let ours = self.resolve_owner(to)? == PortOwner::ThisRun;
        Ok(ours
            && self.query_diag(|diag| diag.find_server_end(to, client))?
                == Some(ConnectionEnd::Unaccepted))
    }

    /// Whether a process of the run has this socket open; most likely one that listens.
    fn has_socket_open(&self, inode: u32) -> bool {
        let is_there = |pid: u32| list_open_sockets(pid).iter().any(|(_, other)| *other == inode);
        let likely: BTreeSet<u32> = self.known.values().map(|(pid, _)| *pid).collect();
        likely.into_iter().any(is_there) || self.list_run_processes().any(is_there)
    }

    /// Whether this process is one of the run.
    pub(super) fn is_run_process(&self, pid: u32) -> bool {
        self.list_run_processes().any(|other| other == pid)
    }

    fn list_run_processes(&self) -> impl Iterator<Item = u32> + use<> {
        let warden = self.warden;
        list_process_tree(warden).into_iter().filter(move |pid| *pid != warden)
    }

    /// Asks, on a new line next time if this one fails.
    fn query_diag<T>(&mut self, question: impl Fn(&SocketDiag) -> io::Result<T>) -> io::Result<T> {
        let answer = question(&self.diag);
        if answer.is_err() {
            self.diag = SocketDiag::new()?;
        }
        answer
    }

    /// Whether all of these are open where they were seen to be.
    fn are_cached_and_open(&self, seen: &[TcpSocketInfo]) -> bool {
        seen.iter().all(|seen| {
            let place = self.known.get(&seen.inode);
            place.is_some_and(|(pid, number)| read_socket_inode(*pid, *number) == Some(seen.inode))
        })
    }

    /// Looks for these in all processes of the run.
    fn cache_socket_owners(&mut self, seen: &[TcpSocketInfo]) {
        if self.known.len() > MAX_CACHED_SOCKETS {
            self.known.clear();
        }
        let is_wanted = |inode: u32| seen.iter().any(|seen| seen.inode == inode);
        for pid in self.list_run_processes() {
            for (number, inode) in list_open_sockets(pid) {
                if is_wanted(inode) {
                    self.known.insert(inode, (pid, number));
                }
            }
        }
    }
}

/// Whether a socket bound here could get a connection to this address. One that
/// is bound to any IPv6 address may take IPv4 too.
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
    fn what_the_warden_inherited_is_not_the_runs() {
        // We stand for a warden that has not closed our sockets yet.
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut owners = PortOwnerResolver::new(std::process::id()).unwrap();
        assert_eq!(owners.resolve_owner(ours.local_addr().unwrap()).unwrap(), PortOwner::Others);
        let address = ours.local_addr().unwrap();
        drop(ours);
        assert_eq!(owners.resolve_owner(address).unwrap(), PortOwner::Nobody);
    }
}
