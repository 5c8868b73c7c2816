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

use crate::ports::diag::{Diag, End, Seen};
use crate::ports::{socket_at, sockets_of, tree};

/// Sockets that are remembered, at most; then all are looked up anew.
const KNOWN: usize = 1024;

/// How often one looks where a connection leads.
const LOOKS: usize = 4;

/// Whose a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Of processes of the run, and of no one else.
    Ours,
    /// Nobody listens there.
    Nobodys,
    /// Also, or only, of others.
    Others,
}

/// Finds out whose ports are, for one run.
#[derive(Debug)]
pub(super) struct Owners {
    warden: u32,
    diag: Diag,
    /// Where a socket of the run was open: in this process, under this number.
    known: HashMap<u32, (u32, u32)>,
}

impl Owners {
    pub(super) fn new(warden: u32) -> io::Result<Self> {
        Ok(Self { warden, diag: Diag::new()?, known: HashMap::new() })
    }

    /// Whose the port at this address is, now.
    pub(super) fn whose(&mut self, to: SocketAddr) -> io::Result<Whose> {
        match self.look(to)? {
            // One that is being closed was still told of, and is open nowhere any more.
            Whose::Others => self.look(to),
            certain @ (Whose::Ours | Whose::Nobodys) => Ok(certain),
        }
    }

    fn look(&mut self, to: SocketAddr) -> io::Result<Whose> {
        let mut seen = self.ask(|diag| diag.listeners(Some(to.port())))?;
        seen.retain(|seen| could_answer(seen.address, to.ip()));
        if seen.is_empty() {
            return Ok(Whose::Nobodys);
        }
        if !self.are_known(&seen) {
            self.learn(&seen);
        }
        Ok(if self.are_known(&seen) { Whose::Ours } else { Whose::Others })
    }

    /// Whether a connection with `client` leads to the run: its other end is open in
    /// one of its processes, or waits to be accepted by one. `None` if there is no
    /// other end here, or not any more.
    pub(super) fn leads(&mut self, to: SocketAddr, client: SocketAddr) -> io::Result<Option<bool>> {
        for _ in 0..LOOKS {
            match self.ask(|diag| diag.end(to, client))? {
                None => return Ok(None),
                Some(End::Open(inode)) if self.has(inode) => return Ok(Some(true)),
                Some(End::Waiting) if self.waits(to, client)? => return Ok(Some(true)),
                // It was accepted meanwhile, or is being closed; else we shall see the same.
                Some(End::Open(_) | End::Waiting) => {}
            }
        }
        Ok(Some(false))
    }

    /// Whether it waits for nobody but the run. It is in the queue of a socket that
    /// listens as long as it waits, so that one was there when all of those were ours.
    fn waits(&mut self, to: SocketAddr, client: SocketAddr) -> io::Result<bool> {
        let ours = self.whose(to)? == Whose::Ours;
        Ok(ours && self.ask(|diag| diag.end(to, client))? == Some(End::Waiting))
    }

    /// Whether a process of the run has this socket open; most likely one that listens.
    fn has(&self, inode: u32) -> bool {
        let is_there = |pid: u32| sockets_of(pid).iter().any(|(_, other)| *other == inode);
        let likely: BTreeSet<u32> = self.known.values().map(|(pid, _)| *pid).collect();
        likely.into_iter().any(is_there) || self.processes().any(is_there)
    }

    /// Whether this process is one of the run.
    pub(super) fn is_ours(&self, pid: u32) -> bool {
        self.processes().any(|other| other == pid)
    }

    fn processes(&self) -> impl Iterator<Item = u32> + use<> {
        let warden = self.warden;
        tree(warden).into_iter().filter(move |pid| *pid != warden)
    }

    /// Asks, on a new line next time if this one fails.
    fn ask<T>(&mut self, question: impl Fn(&Diag) -> io::Result<T>) -> io::Result<T> {
        let answer = question(&self.diag);
        if answer.is_err() {
            self.diag = Diag::new()?;
        }
        answer
    }

    /// Whether all of these are open where they were seen to be.
    fn are_known(&self, seen: &[Seen]) -> bool {
        seen.iter().all(|seen| {
            let place = self.known.get(&seen.inode);
            place.is_some_and(|(pid, number)| socket_at(*pid, *number) == Some(seen.inode))
        })
    }

    /// Looks for these in all processes of the run.
    fn learn(&mut self, seen: &[Seen]) {
        if self.known.len() > KNOWN {
            self.known.clear();
        }
        let is_wanted = |inode: u32| seen.iter().any(|seen| seen.inode == inode);
        for pid in self.processes() {
            for (number, inode) in sockets_of(pid) {
                if is_wanted(inode) {
                    self.known.insert(inode, (pid, number));
                }
            }
        }
    }
}

/// Whether a socket bound here could get a connection to this address. One that
/// is bound to any IPv6 address may take IPv4 too.
fn could_answer(bound: IpAddr, to: IpAddr) -> bool {
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
            let found = could_answer(bound.parse().unwrap(), to.parse().unwrap());
            assert_eq!(found, expected, "{bound} for {to}");
        }
    }

    #[test]
    fn what_the_warden_inherited_is_not_the_runs() {
        // We stand for a warden that has not closed our sockets yet.
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut owners = Owners::new(std::process::id()).unwrap();
        assert_eq!(owners.whose(ours.local_addr().unwrap()).unwrap(), Whose::Others);
        let address = ours.local_addr().unwrap();
        drop(ours);
        assert_eq!(owners.whose(address).unwrap(), Whose::Nobodys);
    }
}
