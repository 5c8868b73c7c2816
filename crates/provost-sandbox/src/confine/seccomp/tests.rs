//! The filter, run by a small interpreter of the kernel's instructions.

use std::collections::BTreeSet;

use super::socket_rules::rules_for_access as sockets;
use super::syscall_rules::{ArgCondition, COMMON_RULES, CONFINED_RULES, SyscallRule};
use super::*;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// The result of the filter for a call.
fn interpret_filter(program: &[sock_filter], call: i64, arguments: [u64; 6]) -> u32 {
    let arch: u32 = if cfg!(target_arch = "x86_64") { 0xC000_003E } else { 0xC000_00B7 };
    let mut data = Vec::new();
    data.extend(u32::try_from(call).unwrap().to_le_bytes());
    data.extend(arch.to_le_bytes());
    data.extend(0u64.to_le_bytes());
    data.extend(arguments.iter().flat_map(|argument| argument.to_le_bytes()));
    let (mut at, mut value) = (0, 0u32);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let branch = |taken: bool| usize::from(if taken { jt } else { jf });
        match code {
            0x20 => value = u32::from_le_bytes(data[k as usize..][..4].try_into().unwrap()),
            0x15 => at += branch(value == k),
            0x35 => at += branch(value >= k),
            0x45 => at += branch(value & k != 0),
            0x05 => at += k as usize,
            0x54 => value &= k,
            0x06 => return k,
            other => panic!("no such instruction: {other:#x}"),
        }
    }
}

fn filter_errno(program: &[sock_filter], call: i64, arguments: &[u64]) -> Option<i32> {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    let result = interpret_filter(program, call, all);
    (result != ALLOW).then(|| i32::try_from(result & 0xffff).unwrap())
}

/// Arguments on which the rule must deny.
fn example_arguments(rule: &SyscallRule) -> Vec<u64> {
    let mut arguments = vec![0; 6];
    let mut set = |index: u8, value: u32| arguments[usize::from(index)] = u64::from(value);
    match rule.when {
        ArgCondition::Always => {}
        ArgCondition::Equals(index, value) | ArgCondition::HasAnyBit(index, value) => {
            set(index, value);
        }
        ArgCondition::NotIn(index, _) => set(index, 0x7777),
        ArgCondition::BothEqual((first, bits), (second, others))
        | ArgCondition::BothHaveBits((first, bits), (second, others)) => {
            set(first, bits);
            set(second, others);
        }
        ArgCondition::EqualsAndNotIn((first, value), (second, mask), _) => {
            set(first, value);
            set(second, 0x7777_7777 & mask);
        }
    }
    arguments
}

/// A run with neither namespaces nor cgroups.
const SHARED: SharedResources = SharedResources { processes: true, ipc: true, memory: true };

#[test]
fn every_rule_denies_what_it_says_and_none_is_redundant() {
    for kind in [
        SocketAccess::None,
        SocketAccess::Isolated,
        SocketAccess::Listen,
        SocketAccess::ListenWithBroker,
        SocketAccess::Internet,
        SocketAccess::InternetWithBroker,
    ] {
        let table: Vec<SyscallRule> = COMMON_RULES
            .iter()
            .chain(CONFINED_RULES)
            .chain(SHARED.rules())
            .copied()
            .chain(sockets(kind))
            .collect();
        let whole = compile_confined(kind, SHARED);
        for (index, rule) in table.iter().enumerate() {
            let arguments = example_arguments(rule);
            assert!(filter_errno(&whole, rule.call, &arguments).is_some(), "{rule:?}");
            assert!(!rule.reason.is_empty(), "{rule:?}");
            let mut without = table.clone();
            without.remove(index);
            let still = filter_errno(
                &super::bpf_assembler::assemble_program(&without),
                rule.call,
                &arguments,
            );
            // Two rules of one call may overlap in the example; they must not be equal.
            let duplicate = without.iter().any(|other| {
                other.call == rule.call && format!("{:?}", other.when) == format!("{:?}", rule.when)
            });
            assert!(!duplicate, "duplicate rule: {rule:?}");
            if matches!(
                rule.when,
                ArgCondition::Always | ArgCondition::HasAnyBit(..) | ArgCondition::Equals(..)
            ) {
                assert_eq!(still, None, "redundant: {rule:?}");
            }
        }
    }
}

#[test]
fn calls_outside_the_table_pass() {
    let program = compile_confined(SocketAccess::None, SHARED);
    let rules = COMMON_RULES.iter().chain(CONFINED_RULES).chain(SHARED.rules()).copied();
    let table: BTreeSet<i64> =
        rules.chain(sockets(SocketAccess::None)).map(|rule| rule.call).collect();
    for call in (0..600).filter(|call| !table.contains(call)) {
        assert_eq!(filter_errno(&program, call, &[]), None, "call {call}");
    }
}

type Case<'a> = (&'a [sock_filter], i64, &'a [u64], Option<i32>);

#[test]
fn arguments_decide_where_they_should() {
    let none = compile_confined(SocketAccess::None, SHARED);
    let listen = compile_confined(SocketAccess::Listen, SHARED);
    let asking = compile_confined(SocketAccess::ListenWithBroker, SHARED);
    let isolated = compile_confined(SocketAccess::Isolated, SHARED);
    let flags = u64::try_from(libc::CLONE_VM | libc::CLONE_THREAD | libc::SIGCHLD).unwrap();
    let user = u64::try_from(libc::CLONE_NEWUSER).unwrap();
    let cloexec = u64::try_from(libc::SOCK_STREAM | libc::SOCK_CLOEXEC).unwrap();
    let (inet, inet6, unix, netlink) = (2, 10, 1, 16);
    let (socket, pair) = (libc::SYS_socket, libc::SYS_socketpair);
    let table: &[Case<'_>] = &[
        (&none, libc::SYS_clone, &[flags], None),
        (&none, libc::SYS_clone, &[flags | user], Some(libc::EPERM)),
        (&none, libc::SYS_clone3, &[], Some(libc::ENOSYS)),
        (&none, libc::SYS_prlimit64, &[0, 7], None),
        (&none, libc::SYS_prlimit64, &[1234, 7], Some(libc::EPERM)),
        (&none, libc::SYS_setpriority, &[0, 0, 5], None),
        (&none, libc::SYS_setpriority, &[2, 0, 5], Some(libc::EPERM)),
        (&none, libc::SYS_ioctl, &[0, 0x5401], None),
        (&none, libc::SYS_ioctl, &[0, 0x5412], Some(libc::EPERM)),
        // Linux reads 32 bits of a request; so must the filter.
        (&none, libc::SYS_ioctl, &[0, 0xdead_0000_5412], Some(libc::EPERM)),
        (&none, libc::SYS_personality, &[0xffff_ffff], None),
        (&none, libc::SYS_personality, &[0x0040_0000], Some(libc::EPERM)),
        (&none, libc::SYS_openat, &[0, 0, 0o100, 0o644], None),
        (&none, libc::SYS_openat, &[0, 0, 0o101, 0o4755], Some(libc::EPERM)),
        (&none, libc::SYS_openat, &[0, 0, 0, 0o4755], None),
        (&none, libc::SYS_fchmodat, &[0, 0, 0o755], None),
        (&none, pair, &[unix, 1], None),
        (&none, pair, &[unix, cloexec], None),
        (&none, pair, &[unix, 5], None),
        (&none, pair, &[unix, 2], Some(libc::EPERM)),
        // Linux treats raw ones as datagrams.
        (&none, pair, &[unix, 3], Some(libc::EPERM)),
        (&none, socket, &[inet, 1], Some(libc::EAFNOSUPPORT)),
        (&listen, socket, &[inet, cloexec], None),
        (&listen, socket, &[inet6, 1, 6], None),
        (&listen, socket, &[inet, 2], Some(libc::EPERM)),
        (&listen, socket, &[inet, 1, 262], Some(libc::EPERM)),
        (&listen, socket, &[unix, 1], Some(libc::EAFNOSUPPORT)),
        (&listen, socket, &[netlink, 3], None),
        (&listen, socket, &[netlink, 3, 9], Some(libc::EPERM)),
        (&listen, libc::SYS_sendto, &[3, 0, 0, 0x2000_0000], Some(libc::EPERM)),
        (&listen, libc::SYS_sendto, &[3, 0, 0, 0x4000], None),
        (&listen, libc::SYS_connect, &[3], Some(libc::EPERM)),
        (&asking, socket, &[inet, 2], Some(libc::EPERM)),
        (&asking, socket, &[unix, cloexec], None),
        (&asking, socket, &[unix, 2], Some(libc::EPERM)),
        (&asking, socket, &[unix, 5], Some(libc::EPERM)),
        (&asking, socket, &[17, 3], Some(libc::EAFNOSUPPORT)),
        (&asking, libc::SYS_sendto, &[3, 0, 0, 0x2000_0000], Some(libc::EPERM)),
        (&isolated, socket, &[inet, 2], None),
        (&isolated, socket, &[inet, 3], Some(libc::EPERM)),
        (&isolated, socket, &[netlink, 3], Some(libc::EAFNOSUPPORT)),
        (&isolated, libc::SYS_connect, &[3], None),
    ];
    for (program, call, arguments, expected) in table {
        assert_eq!(filter_errno(program, *call, arguments), *expected, "{call} {arguments:?}");
    }
}

#[test]
fn only_sockets_of_the_machines_network_are_brokered() {
    let notifying_calls = |kind| {
        let program = compile_confined(kind, SHARED);
        let notifies =
            |call: &i64| interpret_filter(&program, *call, [0; 6]) == libc::SECCOMP_RET_USER_NOTIF;
        (0..600).filter(notifies).collect::<Vec<_>>()
    };
    let mut ports = [libc::SYS_bind, libc::SYS_listen];
    ports.sort_unstable();
    assert_eq!(notifying_calls(SocketAccess::InternetWithBroker), ports);
    let mut all = [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];
    all.sort_unstable();
    assert_eq!(notifying_calls(SocketAccess::ListenWithBroker), all);
    for kind in
        [SocketAccess::None, SocketAccess::Isolated, SocketAccess::Listen, SocketAccess::Internet]
    {
        assert!(notifying_calls(kind).is_empty(), "{kind:?}");
    }
}

#[test]
fn calls_of_another_interface_do_not_slip_through() {
    let program = compile_confined(SocketAccess::None, SHARED);
    let x32 = libc::SYS_ptrace + 0x4000_0000;
    assert_eq!(filter_errno(&program, x32, &[]), Some(libc::ENOSYS));
}
