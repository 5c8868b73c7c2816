//! The search terms of `git`, which are not paths.

use crate::command::effects::read_operands::is_pattern_option;

/// Subcommands that show history and can search it.
const HISTORY_SUBCOMMANDS: &[&str] =
    &["log", "show", "diff", "whatchanged", "format-patch", "shortlog", "rev-list", "reflog"];

/// Options of these whose value is a search term.
const SEARCH_OPTIONS: &[&str] =
    &["-S", "-G", "--grep", "--author", "--committer", "--since", "--until", "--after", "--before"];

/// The indices of search terms among the arguments of `git`.
pub(crate) fn search_term_positions(arguments: &[String]) -> Vec<usize> {
    let Some(start) = subcommand_index(arguments) else { return Vec::new() };
    let words = &arguments[start + 1..];
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let found = match arguments[start].as_str() {
        "grep" => grep_pattern_positions(&words[..end]),
        name if HISTORY_SUBCOMMANDS.contains(&name) => history_term_positions(words),
        _ => Vec::new(),
    };
    found.into_iter().map(|at| start + 1 + at).collect()
}

/// The index of the subcommand, if everything before it is known.
fn subcommand_index(arguments: &[String]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        match word.as_str() {
            "-C" | "-c" => at += 2,
            "-P" | "--no-pager" => at += 1,
            word if word.starts_with('-') => return None,
            _ => return Some(at),
        }
    }
    None
}

/// `git grep PATTERN PATHS`, `git grep -e PATTERN PATHS`.
fn grep_pattern_positions(words: &[String]) -> Vec<usize> {
    let given: Vec<usize> = (0..words.len()).filter(|at| words[*at] == "-e").collect();
    if !given.is_empty() {
        return given.into_iter().map(|at| at + 1).collect();
    }
    if words.iter().any(|word| is_pattern_option(word)) {
        return Vec::new();
    }
    words.iter().position(|word| !word.starts_with('-')).into_iter().collect()
}

/// `git log -S WORD`, `-SWORD`, `--grep=WORD`.
fn history_term_positions(words: &[String]) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        if word == "--" {
            break;
        }
        if SEARCH_OPTIONS.contains(&word.as_str()) {
            at += 1;
            found.push(at);
        } else {
            let joined = word.starts_with("-S") || word.starts_with("-G");
            let named =
                word.split_once('=').is_some_and(|(name, _)| SEARCH_OPTIONS.contains(&name));
            if joined || named {
                found.push(at);
            }
        }
        at += 1;
    }
    found
}
