//! The rules for sockets, one table for each kind of access.
//!
//! Packets, vsock, Bluetooth, the crypto API …: no program in a sandbox needs them,
//! and each is a way out or into Linux. Of netlink, only route queries are allowed to
//! servers, which print the machine's addresses; several servers exit without them.
//!
//! Landlock up to ABI 8 does not restrict Unix sockets (docker's, an SSH agent's), so
//! their family is denied, except to runs whose connections go through the broker.
//! Unnamed pairs are allowed, as long as they cannot send elsewhere.

use libc::{EAFNOSUPPORT, ENOPROTOOPT, EPERM};

use super::syscall_rules::ArgCondition::{Always, BothEqual, EqualsAndNotIn, HasAnyBit, NotIn};
use super::syscall_rules::{SyscallRule, deny, notify};

/// Which sockets a child may create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::confine) enum SocketAccess {
    /// Only unnamed pairs.
    None,
    /// Internet sockets, because the network namespace is isolated.
    Isolated,
    /// TCP sockets to listen on.
    Listen,
    /// The same, and each connection goes through the broker.
    ListenWithBroker,
    /// Internet sockets with access to the network.
    Internet,
    /// The same, and each port goes through the broker.
    InternetWithBroker,
}

const INET: u32 = libc::AF_INET as u32;
const INET6: u32 = libc::AF_INET6 as u32;
const NETLINK: u32 = libc::AF_NETLINK as u32;
const ROUTE_PROTOCOLS: &[u32] = &[libc::NETLINK_ROUTE as u32];
const UNIX: u32 = libc::AF_UNIX as u32;
const STREAM: u32 = libc::SOCK_STREAM as u32;
const DGRAM: u32 = libc::SOCK_DGRAM as u32;
/// Types whose pairs only reach each other. Datagrams can be sent to any name.
const PAIR_TYPES: &[u32] = &[STREAM, libc::SOCK_SEQPACKET as u32];
/// The bits of the type of a socket, without its flags.
const SOCKET_TYPE_MASK: u32 = 0xf;
/// Protocols that Landlock treats as TCP: the default one and TCP itself.
const TCP_PROTOCOLS: &[u32] = &[0, libc::IPPROTO_TCP as u32];
/// The level and the names of options of internet sockets, of both families.
const IP_LEVEL: u32 = libc::IPPROTO_IP as u32;
const IP_BIND_ADDRESS_NO_PORT: u32 = libc::IP_BIND_ADDRESS_NO_PORT as u32;
/// The libc crate does not define it.
const IP_LOCAL_PORT_RANGE: u32 = 51;
const FASTOPEN: u32 = libc::MSG_FASTOPEN as u32;

/// No named sockets.
#[rustfmt::skip]
const NO_SOCKET_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, Always, EAFNOSUPPORT, "no network, no sockets with a name"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// Any internet socket: the network namespace is isolated.
#[rustfmt::skip]
const ISOLATED_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6]), EAFNOSUPPORT, "only internet sockets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET6), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// Internet sockets and route queries.
#[rustfmt::skip]
const INTERNET_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6, NETLINK]), EAFNOSUPPORT, "only internet sockets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, NETLINK), (2, u32::MAX), ROUTE_PROTOCOLS), EPERM, "servers ask for the machine's addresses, nothing else"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, INET6), (1, SOCKET_TYPE_MASK), &[STREAM, DGRAM]), EPERM, "raw packets"),
    deny(libc::SYS_socketpair, NotIn(0, &[UNIX]), EAFNOSUPPORT, "pairs are for processes of the sandbox"),
    deny(libc::SYS_socketpair, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), PAIR_TYPES), EPERM, "datagrams go to any name"),
];

/// TCP only, without ways to connect other than `connect`.
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

/// Without `connect` as well.
#[rustfmt::skip]
const DENY_CONNECT_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6, NETLINK]), EAFNOSUPPORT, "only internet sockets"),
    deny(libc::SYS_connect, Always, EPERM, "it may listen, not connect"),
];

/// With `connect` through the broker, also for Unix sockets.
#[rustfmt::skip]
const BROKERED_CONNECT_RULES: &[SyscallRule] = &[
    deny(libc::SYS_socket, NotIn(0, &[INET, INET6, NETLINK, UNIX]), EAFNOSUPPORT, "only these can be brokered"),
    deny(libc::SYS_socket, EqualsAndNotIn((0, UNIX), (1, SOCKET_TYPE_MASK), &[STREAM]), EPERM, "datagrams go to any name without connect"),
    notify(libc::SYS_connect, "it may connect to itself, which a filter cannot check"),
    deny(libc::SYS_setsockopt, BothEqual((1, IP_LEVEL), (2, IP_BIND_ADDRESS_NO_PORT)), ENOPROTOOPT, "a port that is chosen later was not checked"),
    deny(libc::SYS_setsockopt, BothEqual((1, IP_LEVEL), (2, IP_LOCAL_PORT_RANGE)), ENOPROTOOPT, "chooses the port of a socket that has none"),
];

/// No port of Provost.
#[rustfmt::skip]
const BROKERED_BIND_RULES: &[SyscallRule] = &[
    notify(libc::SYS_bind, "not to a port of Provost, which a filter cannot see"),
    notify(libc::SYS_listen, "Linux chooses a port for a socket that has none"),
];

/// The rules for this kind of access.
pub(super) fn rules_for_access(sockets: SocketAccess) -> Vec<SyscallRule> {
    match sockets {
        SocketAccess::None => NO_SOCKET_RULES.to_vec(),
        SocketAccess::Isolated => ISOLATED_RULES.to_vec(),
        SocketAccess::Listen => [LISTEN_RULES, DENY_CONNECT_RULES].concat(),
        SocketAccess::ListenWithBroker => {
            [LISTEN_RULES, BROKERED_CONNECT_RULES, BROKERED_BIND_RULES].concat()
        }
        SocketAccess::Internet => INTERNET_RULES.to_vec(),
        SocketAccess::InternetWithBroker => [INTERNET_RULES, BROKERED_BIND_RULES].concat(),
    }
}
