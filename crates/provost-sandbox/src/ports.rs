//! The ports on which a tree of processes listens.
//!
//! The kernel is asked for the listening sockets alone (`NETLINK_SOCK_DIAG`),
//! which takes a tenth of a millisecond where reading `/proc/net/tcp` takes many.
//! Whose a socket is stands in `/proc/<pid>/fd`; it is looked up once per socket.
//! Only sockets of our own network namespace are seen, which is where the profile
//! `serve` runs: it has no network of its own.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// How long the kernel may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

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
}

/// Finds the listeners of one tree, again and again.
#[derive(Debug)]
pub struct Finder {
    root: u32,
    socket: OwnedFd,
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

/// A listening socket, as the kernel tells of it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    port: u16,
    address: IpAddr,
    inode: u32,
}

impl Finder {
    /// For the tree below this process, and the process itself.
    pub fn new(root: u32) -> io::Result<Self> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = socket_with(family, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { root, socket, known: HashMap::new() })
    }

    /// Who listens now, by port and address.
    pub fn look(&mut self) -> io::Result<Vec<Listener>> {
        let mut seen = Vec::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            self.ask(family, &mut seen)?;
        }
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
                Owner::Ours(pid) => {
                    Some(Listener { port: seen.port, address: seen.address, pid: *pid })
                }
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
            for inode in sockets_of(pid) {
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

    fn ask(&self, family: AddressFamily, seen: &mut Vec<Seen>) -> io::Result<()> {
        send(&self.socket, &question(family), SendFlags::empty())?;
        let mut buffer = vec![0; 32 * 1024];
        loop {
            let (n_read, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            if n_read == 0 || read(buffer.get(..n_read).unwrap_or_default(), seen)? {
                return Ok(());
            }
        }
    }
}

const REQUEST: usize = 72;
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const TCP: u8 = 6;
/// The states that are wanted, as bits: LISTEN is 10.
const LISTENING: u32 = 1 << 10;
const HEAD: usize = 16;
const MESSAGE: usize = 72;

/// `nlmsghdr` and `inet_diag_req_v2`, as they lie in memory.
fn question(family: AddressFamily) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    bytes[HEAD] = u8::try_from(family.as_raw()).unwrap_or(0);
    bytes[HEAD + 1] = TCP;
    bytes[HEAD + 4..HEAD + 8].copy_from_slice(&LISTENING.to_ne_bytes());
    bytes
}

/// Reads what the kernel sent; true if that was all.
fn read(mut bytes: &[u8], seen: &mut Vec<Seen>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (number(bytes, 0), short(bytes, 4)) {
        let length = usize::try_from(length).unwrap_or(0).clamp(HEAD, bytes.len().max(HEAD));
        let message = bytes.get(HEAD..length).unwrap_or_default();
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let errno = number(message, 0).unwrap_or(0).cast_signed().wrapping_neg();
                return Err(io::Error::from_raw_os_error(errno));
            }
            BY_FAMILY => seen.extend(socket(message)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// `inet_diag_msg`: the port and the address are in network order.
fn socket(message: &[u8]) -> Option<Seen> {
    let message: &[u8; MESSAGE] = message.get(..MESSAGE)?.try_into().ok()?;
    let port = u16::from_be_bytes([message[4], message[5]]);
    let source: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let address = if message[0] == u8::try_from(AddressFamily::INET.as_raw()).ok()? {
        IpAddr::V4(Ipv4Addr::new(source[0], source[1], source[2], source[3]))
    } else {
        IpAddr::V6(Ipv6Addr::from(source))
    };
    Some(Seen { port, address, inode: number(message, 68)? })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
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

fn sockets_of(pid: u32) -> Vec<u32> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    files
        .filter_map(Result::ok)
        .filter_map(|file| {
            let link = fs::read_link(file.path()).ok()?;
            link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        })
        .collect()
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
        drop(any);
        let found = finder.look().unwrap();
        assert!(!found.iter().any(|found| found.port == expected[1].port()), "it is closed");
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
