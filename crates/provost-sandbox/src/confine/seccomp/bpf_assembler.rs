//! Compiles the table to a BPF program.
//!
//! Linux compiles the filter when it is installed and evaluates it once for each
//! system call number; measured, every instruction costs 0.25 µs and every step of
//! those evaluations 4 µs. So the shape matters: numbers are found by binary search,
//! weighted by the size of the ranges, and all results are shared.

use std::collections::BTreeMap;

use libc::sock_filter;

use super::syscall_rules::{ArgCondition, SeccompAction, SyscallRule};

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

/// Offsets of number, architecture and arguments.
const NR_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
const ARGS_OFFSET: u32 = 16;

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;
/// Calls of the x32 ABI have this bit and would match no rule.
const X32_SYSCALL_BIT: u32 = 0x4000_0000;

/// The program for these rules. If they could not be assembled, it would be one that
/// denies everything; the tests assemble all tables.
pub(super) fn assemble_program(rules: &[SyscallRule]) -> Vec<sock_filter> {
    let mut calls: BTreeMap<u32, Vec<SyscallRule>> = BTreeMap::new();
    for rule in rules {
        // System call numbers are small and positive.
        calls.entry(u32::try_from(rule.call).unwrap_or(u32::MAX)).or_default().push(*rule);
    }
    let mut tree = SyscallDecisionTree::default();
    let ranges = split_into_ranges(&calls, &mut tree.answers);
    tree.build_subtree(&ranges);
    let mut program = vec![
        statement(LOAD, ARCH_OFFSET),
        // Another architecture has other numbers: kill.
        jump(EQUAL, AUDIT_ARCH, 1, 0),
        statement(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        statement(LOAD, NR_OFFSET),
        jump(AT_LEAST, X32_SYSCALL_BIT, 0, 1),
        return_action(SeccompAction::Errno(libc::ENOSYS)),
    ];
    match tree.emit_instructions() {
        Some(code) => program.extend(code),
        None => return vec![statement(RETURN, libc::SECCOMP_RET_KILL_PROCESS)],
    }
    program
}

/// Numbers from `first` up to the next range that have the same result.
struct SyscallRange {
    first: u32,
    answer: usize,
}

/// The end of the last range, only for weighting.
const MAX_SYSCALL_NUMBER: u32 = 480;

/// Splits the numbers into ranges with the same result.
fn split_into_ranges(
    calls: &BTreeMap<u32, Vec<SyscallRule>>,
    answers: &mut Vec<Vec<sock_filter>>,
) -> Vec<SyscallRange> {
    let mut shared = |code: Vec<sock_filter>| {
        let same = |other: &Vec<sock_filter>| {
            let key = |code: &[sock_filter]| -> Vec<_> {
                code.iter().map(|op| (op.code, op.jt, op.jf, op.k)).collect()
            };
            key(other) == key(&code)
        };
        answers.iter().position(same).unwrap_or_else(|| {
            answers.push(code);
            answers.len() - 1
        })
    };
    let allowed = shared(vec![return_allow()]);
    let mut all = vec![SyscallRange { first: 0, answer: allowed }];
    for (number, rules) in calls {
        let denied = shared(compile_syscall_rules(rules));
        all.push(SyscallRange { first: *number, answer: denied });
        all.push(SyscallRange { first: number + 1, answer: allowed });
    }
    // An empty range is replaced by the one after it.
    let mut cut: Vec<SyscallRange> = Vec::new();
    for stretch in all {
        if cut.last().is_some_and(|last| last.first == stretch.first) {
            cut.pop();
        }
        if cut.last().is_none_or(|last| last.answer != stretch.answer) {
            cut.push(stretch);
        }
    }
    cut
}

/// The target of a jump.
#[derive(Clone, Copy)]
enum JumpTarget {
    Test(usize),
    Action(usize),
}

/// The search tree, and the results at its leaves.
#[derive(Default)]
struct SyscallDecisionTree {
    tests: Vec<(u32, JumpTarget, JumpTarget)>,
    answers: Vec<Vec<sock_filter>>,
}

impl SyscallDecisionTree {
    /// Splits where both sides have about as many numbers.
    fn build_subtree(&mut self, ranges: &[SyscallRange]) -> JumpTarget {
        let [first, .., last] = ranges else {
            return JumpTarget::Action(ranges.first().map_or(0, |only| only.answer));
        };
        let end = last.first.max(MAX_SYSCALL_NUMBER.min(last.first + 64));
        let middle = first.first.midpoint(end);
        let split = ranges.partition_point(|stretch| stretch.first <= middle);
        let (low, high) = ranges.split_at(split.clamp(1, ranges.len() - 1));
        let index = self.tests.len();
        self.tests.push((high[0].first, JumpTarget::Test(0), JumpTarget::Test(0)));
        let below = self.build_subtree(low);
        let above = self.build_subtree(high);
        self.tests[index] = (high[0].first, above, below);
        JumpTarget::Test(index)
    }

    /// All tests, then all results; `None` if a jump is too far.
    fn emit_instructions(&self) -> Option<Vec<sock_filter>> {
        let mut positions = Vec::new();
        let mut next = self.tests.len();
        for answer in &self.answers {
            positions.push(next);
            next += answer.len();
        }
        let mut code = Vec::with_capacity(next);
        for (position, (first, above, below)) in self.tests.iter().enumerate() {
            let reach = |target: &JumpTarget| {
                let target_position = match *target {
                    JumpTarget::Test(index) => index,
                    JumpTarget::Action(index) => positions[index],
                };
                u8::try_from(target_position.checked_sub(position + 1)?).ok()
            };
            code.push(jump(AT_LEAST, *first, reach(above)?, reach(below)?));
        }
        code.extend(self.answers.iter().flatten());
        Some(code)
    }
}

/// All rules of one call in sequence; if none matches, the call is allowed.
fn compile_syscall_rules(rules: &[SyscallRule]) -> Vec<sock_filter> {
    if let [SyscallRule { when: ArgCondition::Always, answer: always, .. }] = rules {
        return vec![return_action(*always)];
    }
    let mut code: Vec<sock_filter> = rules.iter().flat_map(compile_rule).collect();
    code.push(return_allow());
    code
}

/// Returns the result if the rule matches, else continues after its last instruction.
fn compile_rule(rule: &SyscallRule) -> Vec<sock_filter> {
    let deny = return_action(rule.answer);
    match rule.when {
        ArgCondition::Always => vec![deny],
        ArgCondition::Equals(argument, value) => {
            vec![load_argument(argument), jump(EQUAL, value, 0, 1), deny]
        }
        ArgCondition::HasAnyBit(argument, bits) => {
            vec![load_argument(argument), jump(ANY_BIT, bits, 0, 1), deny]
        }
        ArgCondition::NotIn(argument, values) => {
            let mut code = vec![load_argument(argument)];
            code.extend(jump_if_none_of(values));
            code.push(deny);
            code
        }
        ArgCondition::BothEqual((first, value), (second, other)) => vec![
            load_argument(first),
            jump(EQUAL, value, 0, 3),
            load_argument(second),
            jump(EQUAL, other, 0, 1),
            deny,
        ],
        ArgCondition::BothHaveBits((first, bits), (second, others)) => vec![
            load_argument(first),
            jump(ANY_BIT, bits, 0, 3),
            load_argument(second),
            jump(ANY_BIT, others, 0, 1),
            deny,
        ],
        ArgCondition::EqualsAndNotIn((first, value), (second, mask), values) => {
            let mut inner = vec![load_argument(second), statement(AND, mask)];
            inner.extend(jump_if_none_of(values));
            inner.push(deny);
            let mut code = vec![load_argument(first), jump(EQUAL, value, 0, jump_offset(&inner))];
            code.extend(inner);
            code
        }
    }
}

/// Continues with the next instruction if the loaded value is none of these, else
/// skips it.
fn jump_if_none_of(values: &'static [u32]) -> impl Iterator<Item = sock_filter> {
    let n_values = u8::try_from(values.len()).unwrap_or(u8::MAX);
    (1u8..)
        .zip(values)
        .map(move |(position, value)| jump(EQUAL, *value, n_values - position + 1, 0))
}

fn load_argument(argument: u8) -> sock_filter {
    // The lower half comes first on little-endian machines, the only ones supported.
    statement(LOAD, ARGS_OFFSET + 8 * u32::from(argument))
}

fn return_allow() -> sock_filter {
    statement(RETURN, libc::SECCOMP_RET_ALLOW)
}

fn return_action(answer: SeccompAction) -> sock_filter {
    match answer {
        SeccompAction::Errno(errno) => {
            statement(RETURN, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs())
        }
        SeccompAction::Notify => statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
    }
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn jump_offset(code: &[sock_filter]) -> u8 {
    u8::try_from(code.len()).unwrap_or(u8::MAX)
}
