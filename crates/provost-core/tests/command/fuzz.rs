//! No input panics, overflows the stack or takes long.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use provost_core::command::{MAX_COMMAND_BYTES, analyze_argv, analyze_line, describe_analysis};

use super::tokens;

/// Longer than any line should take, even unoptimized and in parallel with other tests.
const LONG: Duration = Duration::from_secs(5);

/// Analyzes a line; the stack of a test is 2 MiB, as that of the daemon's threads.
fn read(line: &str) {
    let start = Instant::now();
    if let Ok(analysis) = analyze_line(line) {
        assert!(!describe_analysis(&analysis).is_empty());
    }
    let took = start.elapsed();
    assert!(took < LONG, "{took:?} for {} bytes: {line:.200}", line.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_or_refused(line in "(?s).{0,400}") {
        read(&line);
    }

    #[test]
    fn any_line_of_shell_is_read_or_refused(line in tokens::line(60)) {
        read(&line);
    }

    #[test]
    fn any_line_of_commands_is_read_or_refused(line in tokens::commands()) {
        read(&line);
    }

    #[test]
    fn any_arguments_are_read(argv in prop::collection::vec(tokens::line(4), 0..8)) {
        let programs = ["env", "sudo", "find", "git", "sh", "sed", "awk", "tar", "xargs", "timeout"];
        for program in programs {
            let mut whole = vec![program.to_owned()];
            whole.extend(argv.iter().map(|word| word.trim().to_owned()));
            let analysis = analyze_argv(&whole);
            prop_assert!(!analysis.effects.is_empty() || analysis.is_opaque());
        }
    }
}

#[test]
fn the_longest_lines_do_not_take_long() {
    for token in tokens::TOKENS {
        for gap in ["", " ", "; x "] {
            let piece = format!("{token}{gap}");
            read(&piece.repeat(MAX_COMMAND_BYTES / piece.len()));
        }
    }
}

#[test]
fn nesting_up_to_the_bound_does_not_take_long() {
    let nests = [
        ("(", ")"),
        ("{ ", ";}"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("((", "))"),
        ("<(", ")"),
        ("if a; then ", ";fi"),
        ("for a in b; do ", ";done"),
        ("case a in b) ", ";;esac"),
        ("${a:-", "}"),
        ("$((", "))"),
        ("! ", ""),
        ("time ", ""),
        ("coproc ", ""),
        ("a() { ", ";}"),
        ("while ", ";do a;done"),
        ("[[ ", " ]]"),
        ("`", "`"),
        ("[[ ( ", " ) ]]"),
        ("$[", "]"),
        ("env ", ""),
        ("sudo nice ", ""),
        ("eval ", ""),
        ("((((", "))))"),
        ("( (", ") )"),
    ];
    for (open, close) in nests {
        for depth in 1..40 {
            read(&format!("{}ls{}", open.repeat(depth), close.repeat(depth)));
            read(&format!("echo {}ls{}", open.repeat(depth), close.repeat(depth)));
            read(&format!("{}ls", open.repeat(depth)));
        }
    }
}

#[test]
fn shells_in_shells_end() {
    let mut line = "ls".to_owned();
    for _ in 0..12 {
        line = format!("sh -c '{}'", line.replace('\'', r"'\''"));
        if line.len() > MAX_COMMAND_BYTES {
            break;
        }
        read(&line);
    }
}

#[test]
fn a_line_that_the_parser_gives_up_on_is_refused() {
    let line = "$(x=(<<E<<E aa)\nE\n\nE\n";
    read(line);
    assert!(analyze_line(line).is_err());
}
