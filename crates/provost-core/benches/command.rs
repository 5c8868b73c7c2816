//! Benchmark of analyzing a command line: part of `cargo xtask bench core`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for a person at a terminal")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use provost_core::command::analyze_line;

/// How often each line is analyzed.
const TIMES: usize = 20_000;

fn main() {
    // No line is analyzed twice, so that no cache can help.
    let six = |n: usize| {
        format!("cd web{n} && npm ci && npm run build | tee out.log; git status -sb; ls -la src")
    };
    measure("six commands", six);
    measure("one command", |n| format!("git log --oneline -{n}"));
    measure("quoted words", |n| {
        format!("git commit -m 'fix: the {n}th \"thing\"' --author \"a b\"")
    });
    measure("a line in a line", |n| format!("timeout {n} env A=1 bash -c 'ls && cat a > b'"));
    measure("opaque", |n| format!("for x in a b; do rm -rf \"$x{n}\" $(id) `who`; done"));
}

fn measure(name: &str, line: impl Fn(usize) -> String) {
    let mut took: Vec<Duration> = (0..TIMES)
        .map(|n| {
            let line = line(n);
            let start = Instant::now();
            black_box(analyze_line(black_box(&line)).unwrap());
            start.elapsed()
        })
        .collect();
    took.sort_unstable();
    println!("{name}: p50 {:?}, p99 {:?}", took[TIMES / 2], took[TIMES * 99 / 100]);
}
