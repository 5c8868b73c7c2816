//! From the table to a program for the kernel.
//!
//! The kernel translates the filter and runs it once for each system call number
//! when it is installed; measured, every instruction costs 0.25 µs and every step
//! of those runs 4 µs. So the shape matters: numbers are found by halving, the
//! wide stretches of allowed ones first, and all answers are shared.

use std::collections::BTreeMap;

use libc::sock_filter;

use super::rules::{Answer, Rule, When};

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
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

/// The program for these rules. Should they ever not fit together, it is one
/// that lets nothing run; the tests assemble all tables there are.
pub(super) fn program(rules: &[Rule]) -> Vec<sock_filter> {
    let mut calls: BTreeMap<u32, Vec<Rule>> = BTreeMap::new();
    for rule in rules {
        // Numbers of calls are small and positive.
        calls.entry(u32::try_from(rule.call).unwrap_or(u32::MAX)).or_default().push(*rule);
    }
    let mut tree = Tree::default();
    let stretches = stretches(&calls, &mut tree.answers);
    tree.grow(&stretches);
    let mut program = vec![
        op(LOAD, ARCH),
        // Code of another architecture has other numbers: nothing could be judged.
        test(EQUAL, AUDIT_ARCH, 1, 0),
        op(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        op(LOAD, NUMBER),
        test(AT_LEAST, X32, 0, 1),
        answer(Answer::Error(libc::ENOSYS)),
    ];
    match tree.layout() {
        Some(code) => program.extend(code),
        None => return vec![op(RETURN, libc::SECCOMP_RET_KILL_PROCESS)],
    }
    program
}

/// Numbers from `first` on, up to the next stretch, that get the same answer.
struct Stretch {
    first: u32,
    answer: usize,
}

/// Beyond this no call has a number; only for weighing the last stretch.
const NUMBERS: u32 = 480;

/// The number line, cut where the answer changes.
fn stretches(
    calls: &BTreeMap<u32, Vec<Rule>>,
    answers: &mut Vec<Vec<sock_filter>>,
) -> Vec<Stretch> {
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
    let allowed = shared(vec![allow()]);
    let mut all = vec![Stretch { first: 0, answer: allowed }];
    for (number, rules) in calls {
        let denied = shared(body(rules));
        all.push(Stretch { first: *number, answer: denied });
        all.push(Stretch { first: number + 1, answer: allowed });
    }
    // A stretch of no numbers gives way to the one that follows it.
    let mut cut: Vec<Stretch> = Vec::new();
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

/// Where a test leads.
#[derive(Clone, Copy)]
enum Target {
    Test(usize),
    Answer(usize),
}

/// The tests that find a number's stretch, and the answers they lead to.
#[derive(Default)]
struct Tree {
    tests: Vec<(u32, Target, Target)>,
    answers: Vec<Vec<sock_filter>>,
}

impl Tree {
    /// Splits where both sides hold about as many numbers.
    fn grow(&mut self, stretches: &[Stretch]) -> Target {
        let [first, .., last] = stretches else {
            return Target::Answer(stretches.first().map_or(0, |only| only.answer));
        };
        let end = last.first.max(NUMBERS.min(last.first + 64));
        let middle = first.first.midpoint(end);
        let split = stretches.partition_point(|stretch| stretch.first <= middle);
        let (low, high) = stretches.split_at(split.clamp(1, stretches.len() - 1));
        let index = self.tests.len();
        self.tests.push((high[0].first, Target::Test(0), Target::Test(0)));
        let below = self.grow(low);
        let above = self.grow(high);
        self.tests[index] = (high[0].first, above, below);
        Target::Test(index)
    }

    /// All tests, then all answers; `None` if one cannot be reached.
    fn layout(&self) -> Option<Vec<sock_filter>> {
        let mut places = Vec::new();
        let mut next = self.tests.len();
        for answer in &self.answers {
            places.push(next);
            next += answer.len();
        }
        let mut code = Vec::with_capacity(next);
        for (position, (first, above, below)) in self.tests.iter().enumerate() {
            let reach = |target: &Target| {
                let place = match *target {
                    Target::Test(index) => index,
                    Target::Answer(index) => places[index],
                };
                u8::try_from(place.checked_sub(position + 1)?).ok()
            };
            code.push(test(AT_LEAST, *first, reach(above)?, reach(below)?));
        }
        code.extend(self.answers.iter().flatten());
        Some(code)
    }
}

/// All rules of one call, one after the other; none matching allows.
fn body(rules: &[Rule]) -> Vec<sock_filter> {
    if let [Rule { when: When::Always, answer: always, .. }] = rules {
        return vec![answer(*always)];
    }
    let mut code: Vec<sock_filter> = rules.iter().flat_map(check).collect();
    code.push(allow());
    code
}

/// Answers if the rule matches, else goes on after its last instruction.
fn check(rule: &Rule) -> Vec<sock_filter> {
    let deny = answer(rule.answer);
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

fn answer(answer: Answer) -> sock_filter {
    match answer {
        Answer::Error(errno) => op(RETURN, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs()),
        Answer::Asked => op(RETURN, libc::SECCOMP_RET_USER_NOTIF),
    }
}

fn op(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn test(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn short(code: &[sock_filter]) -> u8 {
    u8::try_from(code.len()).unwrap_or(u8::MAX)
}
