//! The time of a decision grows with the length of the line, not with its square.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::*;

/// The time that this thread has run: others on the machine do not count.
fn read_cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

/// The shortest of some decisions about a line of this many bytes.
fn time_decision(rules: &PolicyRules, start: &str, unit: &str, bytes: usize) -> Duration {
    let command = format!("{start}{}", unit.repeat((bytes - start.len()) / unit.len()));
    let decide_once = || {
        let started = read_cpu_time();
        let bound = requested(line(&command));
        let role = able();
        let context = policy_context(rules, ProjectMode::Auto);
        std::hint::black_box(decide(bound, ActingRole::Trusted(&role), &context));
        read_cpu_time().saturating_sub(started)
    };
    (0..5).map(|_| decide_once()).min().unwrap()
}

#[test]
fn four_times_the_line_takes_about_four_times_as_long() {
    let builtin =
        PolicyRules::new(Policy::builtin().unwrap(), Policy::empty(RuleLayer::User), None);
    for (start, unit) in [
        ("mytool", " git push"),
        ("mytool", " git status"),
        ("mytool", " rm x"),
        ("mytool", " sudo x"),
        ("mytool", " a=git"),
        ("mytool", " 'git push'"),
        ("mytool", " .env"),
        ("eval $x", " git push"),
        ("eval $x", "; git status"),
        ("echo a", "; git push"),
        ("echo a", " && ls"),
        ("echo", " $((i+1))"),
        ("echo", " $x"),
        ("echo", " *"),
        ("cat", " a.txt"),
        ("rm", " a.txt"),
    ] {
        let short = time_decision(&builtin, start, unit, 4 * 1024);
        let long = time_decision(&builtin, start, unit, 16 * 1024);
        // The square would be 16 times; what takes only milliseconds is allowed to vary.
        let limit = short.max(Duration::from_millis(20)) * 10;
        assert!(long < limit, "{start}{unit}…: {short:?} for 4 KiB, {long:?} for 16 KiB");
    }
}
