//! Compares with bash: it rejects what is not transparent, and runs nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use assert_cmd::Command;
use proptest::strategy::{Strategy, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use provost_core::command::{CommandAnalysis, CommandEffect, analyze_line};

use super::tokens;

/// Lines of a kind, the same in every run.
fn lines(strategy: &impl Strategy<Value = String>, n_lines: usize) -> Vec<String> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..n_lines).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

fn clear(line: &str) -> Option<CommandAnalysis> {
    analyze_line(line).ok().filter(|analysis| !analysis.is_opaque())
}

/// Runs a script in bash with NUL-terminated lines as input, and returns its output.
fn bash(script: &str, folder: &Path, lines: &[&String]) -> Vec<u8> {
    let input: String = lines.iter().flat_map(|line| [line.as_str(), "\0"]).collect();
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", script]).current_dir(folder).write_stdin(input);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn what_bash_refuses_is_never_clear() {
    let mut all = lines(&tokens::line(9), 3000);
    all.extend(lines(&tokens::commands(), 500));
    let clear: Vec<&String> = all.iter().filter(|line| clear(line).is_some()).collect();
    assert!(clear.len() > 200, "only {} of the lines are clear", clear.len());
    let script =
        "while IFS= read -r -d '' line; do bash -n -c -- \"$line\" 2>/dev/null; echo $?; done";
    let folder = tempfile::tempdir().unwrap();
    let printed = String::from_utf8(bash(script, folder.path(), &clear)).unwrap();
    let refused: Vec<&&String> = printed
        .lines()
        .zip(&clear)
        .filter(|(status, _)| *status != "0")
        .map(|(_, line)| line)
        .collect();
    assert_eq!(printed.lines().count(), clear.len());
    assert!(refused.is_empty(), "bash refuses: {refused:#?}");
}

/// Evaluates each line where no program exists, in a folder of its own, and prints the arguments
/// of every program that would have run.
const RECORD: &str = r#"
exec 9>&1 1>/dev/null 2>/dev/null
command_not_found_handle() { printf '%s\0' "$n" "$#" "$@" >&9; return "$status"; }
n=0
while IFS= read -r -d '' line; do
  for status in 0 1; do
    /bin/mkdir -p "$n"
    ( cd "$n" && PATH=/nonexistent && eval -- "$line" </dev/null; wait )
  done
  n=$((n + 1))
done
"#;

/// Parses the output of [`RECORD`]: for each line, the arguments of its programs.
fn records(printed: &[u8], n_lines: usize) -> Vec<BTreeSet<Vec<String>>> {
    let text = String::from_utf8(printed.to_vec()).unwrap();
    let mut fields = text.split('\0').map(str::to_owned);
    let mut found = vec![BTreeSet::new(); n_lines];
    while let Some(line) = fields.next().filter(|field| !field.is_empty()) {
        let count: usize = fields.next().unwrap().parse().unwrap();
        let argv: Vec<String> = fields.by_ref().take(count).collect();
        found[line.parse::<usize>().unwrap()].insert(argv);
    }
    found
}

#[test]
fn bash_runs_and_writes_nothing_that_a_clear_line_does_not_demand() {
    let mut all = lines(&tokens::line(7), 2000);
    all.extend(lines(&tokens::commands(), 500));
    let clear: Vec<(&String, CommandAnalysis)> =
        all.iter().filter_map(|line| Some((line, clear(line)?))).collect();
    let folder = tempfile::tempdir().unwrap();
    let texts: Vec<&String> = clear.iter().map(|(line, _)| *line).collect();
    let ran = records(&bash(RECORD, folder.path(), &texts), clear.len());
    assert!(ran.iter().filter(|ran| !ran.is_empty()).count() > 150);
    for (n, ((line, analysis), ran)) in clear.iter().zip(ran).enumerate() {
        let (mut runs, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for effect in &analysis.effects {
            match effect {
                CommandEffect::Run(run) => drop(runs.insert(run.argv.clone())),
                CommandEffect::Write { path, .. } => drop(writes.insert(path.clone())),
                CommandEffect::Read { .. } | CommandEffect::ReadOperand { .. } => {}
            }
        }
        let hidden: Vec<_> = ran.difference(&runs).collect();
        assert!(hidden.is_empty(), "{line:?} runs {hidden:?}, but demands {runs:?}");
        for entry in std::fs::read_dir(folder.path().join(n.to_string())).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(writes.contains(&name), "{line:?} writes {name:?}, but demands {writes:?}");
        }
    }
}
