//! The table for sockets, one for each kind of access.
//!
//! Packets, vsock, Bluetooth, the crypto interface …: no program we run for
//! others needs them, and each is a way out or into the kernel. Of netlink, only
//! the question for the machine's addresses is left to servers, which print them;
//! several end themselves without an answer.
//!
//! Sockets with a path (docker's, an agent's) pass Landlock up to interface 8, so their
//! family is denied whole, but to those whose connections are asked for. Pairs without
//! a name stay, as long as they cannot send elsewhere.

use libc::{EAFNOSUPPORT, EPERM};

use super::syscall_rules::ArgCondition::{Always, EqualsAndNotIn, HasAnyBit, NotIn};
use super::syscall_rules::{SyscallRule, deny, notify};

/// Which sockets a child may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::confine) enum SocketAccess {
    /// None but unnamed pairs.
    None,
    /// Internet sockets, because the network namespace leads nowhere.
    Isolated,
    /// TCP sockets to listen on.
    Listen,
    /// The same, and each connection is asked for.
    ListenWithBroker,
    /// Internet sockets with the network behind them.
    Internet,
}

const INET: u32 = libc::AF_INET as u32;
const INET6: u32 = libc::AF_INET6 as u32;
const NETLINK: u32 = libc::AF_NETLINK as u32;
const ROUTE_PROTOCOLS: &[u32] = &[libc::NETLINK_ROUTE as u32];
const UNIX: u32 = libc::AF_UNIX as u32;
const STREAM: u32 = libc::SOCK_STREAM as u32;
const DGRAM: u32 = libc::SOCK_DGRAM as u32;
/// Pairs that lead to each other and nowhere else. Datagrams can be sent to any name.
const PAIR_TYPES: &[u32] = &[STREAM, libc::SOCK_SEQPACKET as u32];
/// The type of a socket without its flags.
const SOCKET_TYPE_MASK: u32 = 0xf;
/// Protocols that Landlock takes for TCP: the default one and TCP itself.
const TCP_PROTOCOLS: &[u32] = &[0, libc::IPPROTO_TCP as u32];
const FASTOPEN: u32 = libc::MSG_FASTOPEN as u32;

/// No socket with a name at all.
#[rustfmt::skip]
const NO_SOCKET_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, Always, EAFNOSUPPORT, "no network, no sockets with a name"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// Any internet socket: the network namespace leads nowhere.
#[rustfmt::skip]
const ISOLATED_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6]), EAFNOSUPPORT, "only internet sockets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET6), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// Internet sockets, and the question for the addresses.
#[rustfmt::skip]
const INTERNET_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6, NETLINK]), EAFNOSUPPORT, "only internet sockets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, NETLINK), (2, u32::MAX), ROUTE_PROTOCOLS), EPERM, "servers ask for the machine's addresses, nothing else"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET6), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// TCP, without a way to call out but `connect`.
#[rustfmt::skip]
const LISTEN_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, EqualsAndNotIn((0, NETLINK), (2, u32::MAX), ROUTE_PROTOCOLS), EPERM, "servers ask for the machine's addresses, nothing else"),
    deny(libc::SYS_socket, NotIn(2, TCP_PROTOCOLS), EPERM, "Landlock takes other stream protocols for harmless"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET), (1, SOCKET_TYPE_MASK), &[STREAM]), EPERM, "UDP carries data out past Landlock"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET6), (1, SOCKET_TYPE_MASK), &[STREAM]), EPERM, "UDP carries data out past Landlock"),
    deny(libc::SYS_sendto, HasAnyBit(3, FASTOPEN), EPERM, "connects without connect"),
    deny(libc::SYS_sendmsg, HasAnyBit(2, FASTOPEN), EPERM, "connects without connect"),
    deny(libc::SYS_sendmmsg, HasAnyBit(3, FASTOPEN), EPERM, "connects without connect"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// And without that.
#[rustfmt::skip]
const DENY_CONNECT_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6, NETLINK]), EAFNOSUPPORT, "only internet sockets"),
    deny(libc::SYS_connect, Always, EPERM, "it may listen, not call"),
];

/// Or with that asked for, also of sockets with a path.
#[rustfmt::skip]
const BROKERED_CONNECT_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6, NETLINK, UNIX]), EAFNOSUPPORT, "only these can be asked for"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), &[STREAM]), EPERM, "datagrams go to any name without connect"),
    notify(libc::SYS_connect, "it may call itself, which a filter cannot tell"),
];

/// The rules for this kind.
pub(super) fn rules_for_access(sockets: SocketAccess) -> Vec<SyscallRule> {
    match sockets {
        SocketAccess::None => NO_SOCKET_RULES.to_vec(),
        SocketAccess::Isolated => ISOLATED_RULES.to_vec(),
        SocketAccess::Listen => [LISTEN_RULES, DENY_CONNECT_RULES].concat(),
        SocketAccess::ListenWithBroker => [LISTEN_RULES, BROKERED_CONNECT_RULES].concat(),
        SocketAccess::Internet => INTERNET_RULES.to_vec(),
    }
}
