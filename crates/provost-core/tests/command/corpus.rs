//! The corpus: lines with their analyses.
//!
//! `corpus.txt` consists of blocks: a line after `$`, then all effects and all opaque parts
//! (`OPEN` where any program may run), or why the line is refused. Run with `UPDATE_EXPECT=1` to
//! write the current analyses, and review the difference.

use std::fmt::Write as _;
use std::slice::from_ref;

use provost_core::command::{CommandAnalysis, CommandEffect, Uncertainty, analyze_line};

/// An analysis in the form of the corpus.
fn render(analysis: &CommandAnalysis) -> String {
    let mut out = String::new();
    for effect in &analysis.effects {
        match effect {
            CommandEffect::Run(run) => {
                write!(out, "  run {}", words(&run.argv)).unwrap();
                if !run.through.is_empty() {
                    write!(out, " | through {}", run.through.join(", ")).unwrap();
                }
                for (name, value) in &run.assignments {
                    write!(out, " | with {name}={value:?}").unwrap();
                }
                if run.folders != [""] {
                    write!(out, " | in {:?}", run.folders).unwrap();
                }
                if !run.hosts.is_empty() {
                    write!(out, " | to {}", run.hosts.join(", ")).unwrap();
                }
                out.push('\n');
            }
            CommandEffect::Write { path, .. } => {
                writeln!(out, "  write {}", words(from_ref(path))).unwrap();
            }
            CommandEffect::Read { path } => {
                writeln!(out, "  read {}", words(from_ref(path))).unwrap();
            }
            CommandEffect::ReadOperand { path } => {
                writeln!(out, "  given {}", words(from_ref(path))).unwrap();
            }
        }
    }
    for opaque in &analysis.opaque {
        let word = match opaque.uncertainty {
            Uncertainty::Arguments => "OPAQUE",
            Uncertainty::Programs => "OPEN",
        };
        writeln!(out, "  {word} {:?} {}", opaque.why, words(from_ref(&opaque.text))).unwrap();
    }
    if out.is_empty() { "  nothing\n".to_owned() } else { out }
}

/// Words with quotes around those that need them.
fn words(argv: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'))
    };
    let word = |word: &String| if plain(word) { word.clone() } else { format!("{word:?}") };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A line of the corpus: `\n` and `\u{…}` stand for characters.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\u{").into_iter().chain(rest.find("\\n")).min() {
        out.push_str(&rest[..at]);
        if let Some(after) = rest[at..].strip_prefix("\\n") {
            out.push('\n');
            rest = after;
        } else {
            let (code, after) = rest[at + 3..].split_once('}').unwrap();
            out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
            rest = after;
        }
    }
    out + rest
}

#[test]
fn every_line_of_the_corpus_is_read_as_it_says() {
    let corpus = include_str!("corpus.txt");
    let mut now = String::new();
    let mut n_lines = 0;
    for line in corpus.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            n_lines += 1;
            writeln!(now, "{line}").unwrap();
            match analyze_line(&unescape(command)) {
                Ok(analysis) => now.push_str(&render(&analysis)),
                Err(refused) => writeln!(now, "  REFUSED {refused}").unwrap(),
            }
        } else if !line.starts_with("  ") {
            writeln!(now, "{line}").unwrap();
        }
    }
    expect_test::expect_file!["corpus.txt"].assert_eq(&now);
    assert!(n_lines >= 220, "the corpus has only {n_lines} lines");
}
