//! Files that tell a program which addresses to fetch: `curl -K FILE`, `wget -i FILE`.

use super::{option_value, resolve_in_project, run_program_name};
use crate::action::RelPath;
use crate::command::{CommandAnalysis, CommandEffect, OpaqueReason};

/// The programs, the letter of the option that names such a file, and the beginnings of its long
/// names, which can be abbreviated.
const FETCHING_PROGRAMS: &[(&str, char, &[&str])] = &[
    ("curl", 'K', &["--conf"]),
    ("wget", 'i', &["--inp", "--conf"]),
    ("wget2", 'i', &["--inp", "--conf"]),
    ("aria2c", 'i', &["--inp", "--conf"]),
];

/// Such files inside the project, as far as the words of a line name them. What the line reads
/// and passes on is among them.
pub(in crate::decide) fn address_list_paths(
    analysis: &CommandAnalysis,
    cwd: &str,
    root: &str,
) -> Vec<RelPath> {
    let mut found = Vec::new();
    let mut fetches = false;
    for effect in &analysis.effects {
        let CommandEffect::Run(run) = effect else { continue };
        let program = run_program_name(run);
        let Some((_, letter, long)) = FETCHING_PROGRAMS.iter().find(|(name, ..)| *name == program)
        else {
            continue;
        };
        fetches = true;
        for name in find_option_values(run.argv.get(1..).unwrap_or_default(), *letter, long) {
            for folder in &run.folders {
                found.extend(resolve_in_project(&[cwd, folder, name], root));
            }
        }
    }
    if fetches {
        for effect in &analysis.effects {
            if let CommandEffect::Read { path } | CommandEffect::ReadOperand { path } = effect {
                found.extend(resolve_in_project(&[cwd, path], root));
            }
        }
        let inputs =
            analysis.opaque.iter().filter(|part| part.why == OpaqueReason::CommandsFromInput);
        for word in inputs.flat_map(|part| part.text.split_whitespace()) {
            found.extend(resolve_in_project(&[cwd, option_value(word)], root));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The values of an option, in the same word or in the next.
fn find_option_values<'a>(words: &'a [String], letter: char, long: &[&str]) -> Vec<&'a str> {
    let is_long = |word: &str| long.iter().any(|start| word.starts_with(start));
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map(String::as_str);
        let value = match word.strip_prefix('-') {
            Some(_) if is_long(word) => word.split_once('=').map(|(_, value)| value).or(next),
            // Options of one letter can be joined: `-sSKfile`.
            Some(letters) if !letters.starts_with('-') => {
                let end = letters.split_once(letter).map(|(_, end)| end);
                end.and_then(|end| if end.is_empty() { next } else { Some(end) })
            }
            Some(_) | None => None,
        };
        found.extend(value);
    }
    found
}
