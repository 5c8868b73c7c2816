//! From the table to a program for the kernel.
//!
//! The kernel runs every filter once for each system call number when it is
//! installed, so the shape matters: numbers are found by halving, in about six
//! steps, instead of one after the other. That makes installing it several times
//! cheaper, and starting a command is what people wait for.

use std::collections::BTreeMap;

use libc::sock_filter;

use super::rules::{Rule, When};

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

/// Where the kernel puts number, architecture and arguments.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;
/// Calls of the x32 interface have this bit and would miss every rule.
const X32: u32 = 0x4000_0000;

/// The program for these rules.
pub(super) fn program(rules: &[Rule]) -> Vec<sock_filter> {
    let mut calls: BTreeMap<u32, Vec<Rule>> = BTreeMap::new();
    for rule in rules {
        // Numbers of calls are small and positive.
        calls.entry(u32::try_from(rule.call).unwrap_or(u32::MAX)).or_default().push(*rule);
    }
    let leaves: Vec<(u32, Vec<sock_filter>)> =
        calls.into_iter().map(|(number, rules)| (number, body(&rules))).collect();
    let mut program = vec![
        op(LOAD, ARCH),
        // Code of another architecture has other numbers: nothing could be judged.
        test(EQUAL, AUDIT_ARCH, 1, 0),
        op(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        op(LOAD, NUMBER),
        test(AT_LEAST, X32, 0, 1),
        answer(libc::ENOSYS),
    ];
    program.extend(search(&leaves));
    program
}

/// Finds the number by halving.
fn search(leaves: &[(u32, Vec<sock_filter>)]) -> Vec<sock_filter> {
    match leaves {
        [] => vec![allow()],
        [(number, body)] => {
            let mut code = vec![test(EQUAL, *number, 1, 0), allow()];
            code.extend(body);
            code
        }
        _ => {
            let (low, high) = leaves.split_at(leaves.len() / 2);
            let left = search(low);
            // The jump is an instruction of its own, because the two targets of
            // a test reach only 255 instructions far.
            let mut code = vec![test(AT_LEAST, high[0].0, 0, 1), op(JUMP, length(&left))];
            code.extend(left);
            code.extend(search(high));
            code
        }
    }
}

/// All rules of one call, one after the other; none matching allows.
fn body(rules: &[Rule]) -> Vec<sock_filter> {
    let mut code: Vec<sock_filter> = rules.iter().flat_map(check).collect();
    code.push(allow());
    code
}

/// Answers if the rule matches, else goes on after its last instruction.
fn check(rule: &Rule) -> Vec<sock_filter> {
    let deny = answer(rule.errno);
    match rule.when {
        When::Always => vec![deny],
        When::Is(argument, value) => vec![load(argument), test(EQUAL, value, 0, 1), deny],
        When::Has(argument, bits) => vec![load(argument), test(ANY_BIT, bits, 0, 1), deny],
        When::NotIn(argument, values) => {
            let mut code = vec![load(argument)];
            code.extend(none_of(values));
            code.push(deny);
            code
        }
        When::HasBoth((first, bits), (second, others)) => vec![
            load(first),
            test(ANY_BIT, bits, 0, 3),
            load(second),
            test(ANY_BIT, others, 0, 1),
            deny,
        ],
        When::IsAndNotIn((first, value), (second, mask), values) => {
            let mut inner = vec![load(second), op(AND, mask)];
            inner.extend(none_of(values));
            inner.push(deny);
            let mut code = vec![load(first), test(EQUAL, value, 0, short(&inner))];
            code.extend(inner);
            code
        }
    }
}

/// Passes to the next instruction if the loaded value is none of these, else
/// over it.
fn none_of(values: &'static [u32]) -> impl Iterator<Item = sock_filter> {
    let n_values = u8::try_from(values.len()).unwrap_or(u8::MAX);
    (1u8..)
        .zip(values)
        .map(move |(position, value)| test(EQUAL, *value, n_values - position + 1, 0))
}

fn load(argument: u8) -> sock_filter {
    // The lower half comes first on the little-endian machines we build for.
    op(LOAD, ARGUMENTS + 8 * u32::from(argument))
}

fn allow() -> sock_filter {
    op(RETURN, libc::SECCOMP_RET_ALLOW)
}

fn answer(errno: i32) -> sock_filter {
    op(RETURN, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs())
}

fn op(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn test(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn length(code: &[sock_filter]) -> u32 {
    u32::try_from(code.len()).unwrap_or(u32::MAX)
}

fn short(code: &[sock_filter]) -> u8 {
    u8::try_from(code.len()).unwrap_or(u8::MAX)
}
