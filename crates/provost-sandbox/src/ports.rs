//! The ports on which a tree of processes listens.
//!
//! The kernel is asked for the listening sockets alone, see `diag`. Whose a socket
//! is stands in `/proc/<pid>/fd`; it is looked up once per socket.
//! Only sockets of our own network namespace are seen, which is where the profile
//! `serve` runs: it has no network of its own.

pub(crate) mod diag;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::net::IpAddr;

use diag::{Diag, Seen};

/// Processes of a tree that are looked at, at most.
const TREE: usize = 4096;

/// How often it is looked up whose a socket is before it is somebody else's for
/// good: a list of children that is read while one of them ends may miss another.
const LOOKS: u8 = 20;

/// A socket on which someone of the tree listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Listener {
    /// The port.
    pub port: u16,
    /// The address it is bound to.
    pub address: IpAddr,
    /// The process that has it; one of them, if there are several.
    pub pid: u32,
    /// The kernel's number of the socket: one that is opened anew has another.
    pub inode: u32,
}

/// Finds the listeners of one tree, again and again.
#[derive(Debug)]
pub struct Finder {
    root: u32,
    diag: Diag,
    /// Whose the sockets are that were seen.
    known: HashMap<u32, Owner>,
}

#[derive(Clone, Copy, Debug)]
enum Owner {
    /// This process of the tree.
    Ours(u32),
    /// Nobody of the tree, as far as was seen so often.
    Other(u8),
}

impl Finder {
    /// For the tree below this process, and the process itself.
    pub fn new(root: u32) -> io::Result<Self> {
        Ok(Self { root, diag: Diag::new()?, known: HashMap::new() })
    }

    /// Who listens now, by port and address.
    pub fn look(&mut self) -> io::Result<Vec<Listener>> {
        let seen = self.diag.listeners(None)?;
        let is_there = |inode: &u32| seen.iter().any(|seen| seen.inode == *inode);
        self.known.retain(|inode, _| is_there(inode));
        let doubtful = |seen: &Seen| match self.known.get(&seen.inode) {
            None => true,
            Some(Owner::Other(looks)) => *looks < LOOKS,
            Some(Owner::Ours(_)) => false,
        };
        if seen.iter().any(doubtful) {
            self.learn(&seen);
        }
        let mut found: Vec<Listener> = seen
            .iter()
            .filter_map(|seen| match self.known.get(&seen.inode)? {
                Owner::Ours(pid) => Some(Listener {
                    port: seen.port,
                    address: seen.address,
                    pid: *pid,
                    inode: seen.inode,
                }),
                Owner::Other(_) => None,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Finds out whose the sockets are.
    fn learn(&mut self, seen: &[Seen]) {
        let mut owners = BTreeMap::new();
        for pid in tree(self.root) {
            for (_, inode) in sockets_of(pid) {
                owners.entry(inode).or_insert(pid);
            }
        }
        for Seen { inode, .. } in seen {
            let owner = match (owners.get(inode), self.known.get(inode)) {
                (Some(pid), _) => Owner::Ours(*pid),
                (None, Some(Owner::Other(looks))) => Owner::Other(looks.saturating_add(1)),
                (None, Some(Owner::Ours(_)) | None) => Owner::Other(1),
            };
            self.known.insert(*inode, owner);
        }
    }
}

/// A process and all below it, as far as they are there. Whoever left its parent
/// has fallen to the top of the tree, which takes up orphans.
pub fn tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        for child in children(pid) {
            if found.len() < TREE && !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let lists = tasks
        .filter_map(Result::ok)
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// The sockets that a process has open: its number for each, and the kernel's.
pub(crate) fn sockets_of(pid: u32) -> Vec<(u32, u32)> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let numbers = files
        .filter_map(Result::ok)
        .filter_map(|file| file.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(|number| Some((number, socket_at(pid, number)?))).collect()
}

/// The kernel's number of the socket that a process has open under this one.
pub(crate) fn socket_at(pid: u32, number: u32) -> Option<u32> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_a_process_listens_on_is_found_and_nothing_else() {
        let mut finder = Finder::new(std::process::id()).unwrap();
        let v4 = TcpListener::bind("127.0.0.1:0").unwrap();
        let any = TcpListener::bind("0.0.0.0:0").unwrap();
        let _connected = TcpStream::connect(v4.local_addr().unwrap()).unwrap();
        let mut expected = vec![v4.local_addr().unwrap(), any.local_addr().unwrap()];
        let v6 = TcpListener::bind("[::1]:0");
        expected.extend(v6.iter().map(|v6| v6.local_addr().unwrap()));
        let found = finder.look().unwrap();
        for address in &expected {
            let one = found.iter().find(|found| found.port == address.port()).unwrap();
            assert_eq!((one.address, one.pid), (address.ip(), std::process::id()));
        }
        let inode = |found: &[Listener], address: &std::net::SocketAddr| {
            found.iter().find(|found| found.port == address.port()).map(|found| found.inode)
        };
        let first = inode(&found, &expected[1]);
        drop(any);
        assert_eq!(inode(&finder.look().unwrap(), &expected[1]), None, "it is closed");
        let _again = TcpListener::bind(expected[1]).unwrap();
        let again = inode(&finder.look().unwrap(), &expected[1]);
        assert!(again.is_some() && again != first, "another socket on the same port: {again:?}");
    }

    #[test]
    fn a_listener_of_somebody_else_is_not_found() {
        let _ours = TcpListener::bind("127.0.0.1:0").unwrap();
        // No process has this number.
        let mut finder = Finder::new(u32::MAX).unwrap();
        assert_eq!(finder.look().unwrap(), []);
        assert_eq!(finder.look().unwrap(), [], "also when it was seen before");
    }

    #[test]
    fn the_tree_holds_the_process_itself() {
        assert_eq!(tree(std::process::id())[0], std::process::id());
    }
}
