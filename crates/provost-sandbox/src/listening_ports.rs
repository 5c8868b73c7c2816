//! The ports on which a process tree listens.
//!
//! Linux is asked for the listening sockets only, see [`socket_diag`]. The owner of a
//! socket is found in `/proc/<pid>/fd`, once per socket.
//! Only sockets of our own network namespace are found, which is where the profile
//! `serve` runs: it has no network namespace.

pub(crate) mod socket_diag;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::net::IpAddr;

use socket_diag::{SocketDiag, TcpSocketInfo};

/// How many processes of a tree are inspected.
const MAX_TREE_PROCESSES: usize = 4096;

/// How many lookups are made before a socket counts as outside the tree for good: a
/// list of children that is read while one of them exits may miss another.
const MAX_OWNER_LOOKUPS: u8 = 20;

/// A socket on which a process of the tree listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListeningSocket {
    /// The port.
    pub port: u16,
    /// The address it is bound to.
    pub address: IpAddr,
    /// The process that has it open; one of them, if there are several.
    pub pid: u32,
    /// The inode of the socket: a reopened one has another.
    pub inode: u32,
}

/// Scans the listeners of one tree repeatedly.
#[derive(Debug)]
pub struct ListenerScanner {
    root: u32,
    diag: SocketDiag,
    /// The owners of the sockets that were found before.
    owners_by_inode: HashMap<u32, SocketOwner>,
}

#[derive(Clone, Copy, Debug)]
enum SocketOwner {
    /// A process of the tree.
    InTree(u32),
    /// None of the tree, after this many lookups.
    OutsideTree(u8),
}

impl ListenerScanner {
    /// For this process and all its descendants.
    pub fn new(root: u32) -> io::Result<Self> {
        Ok(Self { root, diag: SocketDiag::new()?, owners_by_inode: HashMap::new() })
    }

    /// The current listeners, by port and address.
    pub fn scan(&mut self) -> io::Result<Vec<ListeningSocket>> {
        let sockets = self.diag.list_listeners(None)?;
        let is_there = |inode: &u32| sockets.iter().any(|socket| socket.inode == *inode);
        self.owners_by_inode.retain(|inode, _| is_there(inode));
        let needs_lookup = |socket: &TcpSocketInfo| match self.owners_by_inode.get(&socket.inode) {
            None => true,
            Some(SocketOwner::OutsideTree(looks)) => *looks < MAX_OWNER_LOOKUPS,
            Some(SocketOwner::InTree(_)) => false,
        };
        if sockets.iter().any(needs_lookup) {
            self.cache_socket_owners(&sockets);
        }
        let mut found: Vec<ListeningSocket> = sockets
            .iter()
            .filter_map(|socket| match self.owners_by_inode.get(&socket.inode)? {
                SocketOwner::InTree(pid) => Some(ListeningSocket {
                    port: socket.port,
                    address: socket.address,
                    pid: *pid,
                    inode: socket.inode,
                }),
                SocketOwner::OutsideTree(_) => None,
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Looks up the owners of the sockets.
    fn cache_socket_owners(&mut self, sockets: &[TcpSocketInfo]) {
        let mut owners = BTreeMap::new();
        for pid in list_process_tree(self.root) {
            for (_, inode) in list_open_sockets(pid) {
                owners.entry(inode).or_insert(pid);
            }
        }
        for TcpSocketInfo { inode, .. } in sockets {
            let owner = match (owners.get(inode), self.owners_by_inode.get(inode)) {
                (Some(pid), _) => SocketOwner::InTree(*pid),
                (None, Some(SocketOwner::OutsideTree(looks))) => {
                    SocketOwner::OutsideTree(looks.saturating_add(1))
                }
                (None, Some(SocketOwner::InTree(_)) | None) => SocketOwner::OutsideTree(1),
            };
            self.owners_by_inode.insert(*inode, owner);
        }
    }
}

/// A process and its descendants, as far as they are alive. Orphans are reparented to
/// the root of the tree, which is a subreaper.
pub fn list_process_tree(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        for child in list_children(pid) {
            if found.len() < MAX_TREE_PROCESSES && !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found
}

/// The children of all threads of a process.
fn list_children(pid: u32) -> Vec<u32> {
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

/// The sockets that a process has open: descriptor and inode.
pub(crate) fn list_open_sockets(pid: u32) -> Vec<(u32, u32)> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let numbers = files
        .filter_map(Result::ok)
        .filter_map(|file| file.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(|number| Some((number, read_socket_inode(pid, number)?))).collect()
}

/// The inode of the socket behind a descriptor of a process.
pub(crate) fn read_socket_inode(pid: u32, number: u32) -> Option<u32> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn what_a_process_listens_on_is_found_and_nothing_else() {
        let mut scanner = ListenerScanner::new(std::process::id()).unwrap();
        let v4 = TcpListener::bind("127.0.0.1:0").unwrap();
        let any = TcpListener::bind("0.0.0.0:0").unwrap();
        let _connected = TcpStream::connect(v4.local_addr().unwrap()).unwrap();
        let mut expected = vec![v4.local_addr().unwrap(), any.local_addr().unwrap()];
        let v6 = TcpListener::bind("[::1]:0");
        expected.extend(v6.iter().map(|v6| v6.local_addr().unwrap()));
        let found = scanner.scan().unwrap();
        for address in &expected {
            let one = found.iter().find(|found| found.port == address.port()).unwrap();
            assert_eq!((one.address, one.pid), (address.ip(), std::process::id()));
        }
        let inode = |found: &[ListeningSocket], address: &std::net::SocketAddr| {
            found.iter().find(|found| found.port == address.port()).map(|found| found.inode)
        };
        let first = inode(&found, &expected[1]);
        drop(any);
        assert_eq!(inode(&scanner.scan().unwrap(), &expected[1]), None, "it is closed");
        let _again = TcpListener::bind(expected[1]).unwrap();
        let again = inode(&scanner.scan().unwrap(), &expected[1]);
        assert!(again.is_some() && again != first, "another socket on the same port: {again:?}");
    }

    #[test]
    fn a_listener_of_somebody_else_is_not_found() {
        let _ours = TcpListener::bind("127.0.0.1:0").unwrap();
        // No process has this pid.
        let mut scanner = ListenerScanner::new(u32::MAX).unwrap();
        assert_eq!(scanner.scan().unwrap(), []);
        assert_eq!(scanner.scan().unwrap(), [], "also with a cached result");
    }

    #[test]
    fn the_tree_holds_the_process_itself() {
        assert_eq!(list_process_tree(std::process::id())[0], std::process::id());
    }
}
