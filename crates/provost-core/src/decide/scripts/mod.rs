//! The files that a command takes instructions from, as far as its words name them. Their hashes
//! are pinned with an approval, so that a script that is edited afterwards needs a new one.
//!
//! It lists too many rather than too few: every word that could be such a file is one, and what
//! is not a file is not pinned. It cannot see files that a script reads in turn, nor files that
//! an installed tool finds under names that are not listed here. Where it sees that code runs but
//! not which, as for a glob or a variable, [`unpinned_reason`] says so.

mod address_lists;
mod loaded_files;
mod script_programs;

use provost_proto::PinnedFile;

use crate::action::RelPath;
use crate::command::{
    CommandAnalysis, CommandEffect, CommandInvocation, OpaquePart, OpaqueReason, find_script_index,
};
pub(super) use address_lists::address_list_paths;
use script_programs::{BUILD_TOOLS, INSTRUCTION_READERS, INTERPRETERS, TEST_RUNNERS};

/// The files inside the project that this line takes instructions from.
pub(super) fn named_script_paths(
    analysis: &CommandAnalysis,
    cwd: &str,
    root: &str,
) -> Vec<RelPath> {
    let effects = &analysis.effects;
    let runs = || {
        effects.iter().filter_map(|effect| match effect {
            CommandEffect::Run(run) => Some(run),
            CommandEffect::Write { .. }
            | CommandEffect::Read { .. }
            | CommandEffect::ReadOperand { .. } => None,
        })
    };
    let inputs =
        || analysis.opaque.iter().filter(|part| part.why == OpaqueReason::CommandsFromInput);
    // In `cat build.sh | sh`, the shell reads the files that the others name; so does `xargs`.
    let interprets = runs().any(runs_script_file) || inputs().next().is_some();
    let mut found = Vec::new();
    // `xargs -a FILE curl` is analyzed as `curl`, so the file is only in the text.
    for word in inputs().flat_map(|part| part.text.split_whitespace()) {
        found.extend(resolve_in_project(&[cwd, option_value(word)], root));
    }
    for run in runs() {
        for name in script_names(run, interprets) {
            for folder in &run.folders {
                found.extend(resolve_in_project(&[cwd, folder, &name], root));
            }
        }
    }
    for effect in effects {
        if let CommandEffect::Read { path } = effect {
            found.extend(resolve_in_project(&[cwd, path], root));
        }
    }
    for (folder, name) in loaded_files::loaded_file_names(analysis) {
        found.extend(resolve_in_project(&[cwd, &folder, &name], root));
    }
    found.sort();
    found.dedup();
    found
}

/// Of the pinned files, those that these effects run: a program by its path, and the first file
/// that is passed to an interpreter. The command may well write the others, as `npm install`
/// writes `package.json`.
pub(super) fn pinned_programs(
    effects: &[CommandEffect],
    cwd: &str,
    root: &str,
    pins: &[PinnedFile],
) -> Vec<String> {
    let is_pinned = |path: &RelPath| pins.iter().any(|pin| pin.path == path.as_str());
    let mut found = Vec::new();
    for effect in effects {
        let CommandEffect::Run(run) = effect else { continue };
        let Some((program, words)) = run.argv.split_first() else { continue };
        // Option values can be files too: `python3 -W x.py run.py`.
        let first = find_script_index(&run.argv).map_or(0, |at| at - 1);
        let words = if is_interpreter(run_program_name(run)) { &words[first..] } else { &[] };
        for folder in &run.folders {
            let at = |name: &str| resolve_in_project(&[cwd, folder, name], root).filter(is_pinned);
            found.extend(program.contains('/').then(|| at(program)).flatten());
            found.extend(words.iter().find_map(|word| at(option_value(word))));
        }
    }
    found.sort();
    found.dedup();
    found.iter().map(|path| path.as_str().to_owned()).collect()
}

fn script_names(run: &CommandInvocation, all: bool) -> Vec<String> {
    let Some((program, words)) = run.argv.split_first() else { return Vec::new() };
    let files = config_files(run_program_name(run));
    let mut names = Vec::new();
    if program.contains('/') {
        names.push(program.clone());
    }
    let config_names = files.unwrap_or_default();
    names.extend(config_names.iter().map(|&file| file.to_owned()));
    let reads_instructions = INSTRUCTION_READERS.contains(&run_program_name(run));
    if all || reads_instructions || files.is_some() {
        for value in words.iter().map(|word| option_value(word)) {
            // `tests/a.py::test_x` names a test in a file.
            let value = value.split("::").next().unwrap_or(value);
            names.push(value.to_owned());
            // It may be a folder: `make -C web`.
            names.extend(config_names.iter().map(|file| format!("{value}/{file}")));
        }
    }
    names.extend(module_files(run));
    names
}

/// The files of fixed names that configure a program.
fn config_files(program: &str) -> Option<&'static [&'static str]> {
    let known = BUILD_TOOLS.iter().chain(TEST_RUNNERS).find(|(name, _)| *name == program);
    known.map(|(_, files)| *files)
}

/// The files that a module name stands for: `python3 -m a.b`, `node .`.
fn module_files(run: &CommandInvocation) -> Vec<String> {
    let program = plain_name(run_program_name(run));
    let words = run.argv.get(1..).unwrap_or_default();
    let mut found = Vec::new();
    match program {
        "python" | "pypy" | "ipython" => {
            for (at, word) in words.iter().enumerate() {
                let joined = word.strip_prefix("-m").filter(|rest| !rest.is_empty());
                let next = (word == "-m").then(|| words.get(at + 1).map(String::as_str)).flatten();
                for module in joined.into_iter().chain(next) {
                    found.extend(python_module_files(module));
                }
                found.push(format!("{word}/__main__.py"));
            }
        }
        "node" | "nodejs" | "tsx" | "ts-node" | "bun" | "deno" | "electron" => {
            const ENDINGS: [&str; 7] =
                [".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.ts", "/package.json"];
            for word in words.iter().map(|word| option_value(word)) {
                found.extend(ENDINGS.iter().map(|ending| format!("{word}{ending}")));
            }
        }
        _ => {}
    }
    found
}

/// The files that a Python module may be, and those that are loaded before it.
fn python_module_files(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let mut found = vec![format!("{path}.py"), format!("{path}/__main__.py")];
    for (at, _) in path.match_indices('/') {
        found.push(format!("{}/__init__.py", &path[..at]));
    }
    found.push(format!("{path}/__init__.py"));
    // `python3 -m pytest` is configured by the same files as `pytest`.
    found.extend(config_files(module).unwrap_or_default().iter().map(|&file| file.to_owned()));
    found
}

/// The manifests whose `main` is the file that runs: `node .`.
pub(super) fn manifests(effects: &[CommandEffect], cwd: &str, root: &str) -> Vec<RelPath> {
    let mut found = Vec::new();
    for effect in effects {
        let CommandEffect::Run(run) = effect else { continue };
        if !matches!(plain_name(run_program_name(run)), "node" | "nodejs" | "electron") {
            continue;
        }
        for word in run.argv.iter().skip(1).filter(|word| !word.starts_with('-')) {
            let manifest = format!("{word}/package.json");
            found.extend(
                run.folders.iter().filter_map(|at| resolve_in_project(&[cwd, at, &manifest], root)),
            );
        }
    }
    found
}

/// Why the code that runs can change after it was pinned, if it can: code of the project runs,
/// and it is unknown which, or none of it is pinned.
pub(super) fn unpinned_reason(
    analysis: &CommandAnalysis,
    cwd: &str,
    root: &str,
    pins: &[PinnedFile],
) -> Option<String> {
    let is_pinned = |path: &RelPath| pins.iter().any(|pin| pin.path == path.as_str());
    // Of the files that a variable or an option loads, only those that are named are pinned.
    let loads =
        analysis.opaque.iter().find(|part| matches!(part.why, OpaqueReason::CodeInjection(_)));
    if let Some(part) = loads {
        return Some(format!("{} {}", crate::action::text::excerpt(&part.text), part.why));
    }
    for effect in &analysis.effects {
        let CommandEffect::Run(run) = effect else { continue };
        let program = run_program_name(run);
        let runs_tests_or_builds = TEST_RUNNERS.iter().any(|(name, _)| *name == program)
            || is_module_runner(run)
            || finds_tests(run);
        if !runs_script_file(run) && !runs_tests_or_builds {
            continue;
        }
        let shown = run.argv.join(" ");
        let shown = crate::action::text::excerpt(&shown);
        if script_is_unknown(run) {
            return Some(format!("which file {shown} runs is known only when it runs"));
        }
        let at = |name: &String| {
            run.folders
                .iter()
                .any(|at| resolve_in_project(&[cwd, at, name], root).is_some_and(|p| is_pinned(&p)))
        };
        let files = operands(run);
        if runs_tests_or_builds && !files.iter().any(at) {
            return Some(format!("{shown} runs whatever tests there are by then"));
        }
    }
    let reads = |part: &OpaquePart| {
        part.why == OpaqueReason::CommandsFromInput || part.why == OpaqueReason::Substitution
    };
    let input = analysis
        .opaque
        .iter()
        .find(|part| reads(part))
        .filter(|_| pins.is_empty() && analysis.may_run_any_program())?;
    let text = crate::action::text::excerpt(&input.text);
    Some(format!("{text} {}", input.why))
}

/// `python3 -m pytest`: it runs more than the module.
fn is_module_runner(run: &CommandInvocation) -> bool {
    let module = run.argv.iter().position(|word| word == "-m").and_then(|at| run.argv.get(at + 1));
    runs_script_file(run)
        && module.is_some_and(|module| {
            module == "unittest" || TEST_RUNNERS.iter().any(|(name, _)| name == module)
        })
}

/// `node --test` without a file runs everything that looks like a test.
fn finds_tests(run: &CommandInvocation) -> bool {
    matches!(plain_name(run_program_name(run)), "node" | "nodejs")
        && run.argv.iter().any(|word| word == "--test")
}

/// The words that may be files, without what follows `::`.
fn operands(run: &CommandInvocation) -> Vec<String> {
    let words = run.argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    words.map(|word| word.split("::").next().unwrap_or(word).to_owned()).collect()
}

/// Whether the script, or a word before it, is unknown.
fn script_is_unknown(run: &CommandInvocation) -> bool {
    let words = || run.argv.iter().enumerate().skip(1);
    let first = words().find(|(at, word)| !word.starts_with('-') && !run.unknown.contains(at));
    let first = first.map_or(run.argv.len(), |(at, _)| at);
    let first = find_script_index(&run.argv).map_or(first, |at| at.max(first));
    run.unknown.iter().any(|at| *at <= first)
}

/// The part of a word that can be a file: `-fother.mk`, `--file=other.mk`.
fn option_value(word: &str) -> &str {
    match (word.strip_prefix('-'), word.split_once('=')) {
        (Some(_), Some((_, value))) => value,
        (Some(option), None) if !option.starts_with('-') => option.get(1..).unwrap_or_default(),
        (Some(_) | None, _) => word,
    }
}

/// Whether it takes instructions from a file that its words name.
fn runs_script_file(run: &CommandInvocation) -> bool {
    let from_file = |word: &String| {
        word.starts_with("--file")
            || !word.starts_with("--") && word.starts_with('-') && word.contains('f')
    };
    match run_program_name(run) {
        "sed" | "gsed" => run.argv.iter().skip(1).any(from_file),
        program => is_interpreter(program),
    }
}

fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program) || INTERPRETERS.contains(&plain_name(program))
}

/// A program name without its version.
fn plain_name(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

fn run_program_name(run: &CommandInvocation) -> &str {
    let program = run.argv.first().map_or("", String::as_str);
    crate::command::program_basename(program)
}

/// The path relative to the project, if it is inside: `..` resolved, and an absolute path
/// relative to `root`. Each part is relative to the one before it.
fn resolve_in_project(parts: &[&str], root: &str) -> Option<RelPath> {
    let absolute = parts.iter().rposition(|part| part.starts_with('/'));
    let parts = &parts[absolute.unwrap_or(0)..];
    let mut names: Vec<&str> = Vec::new();
    let above: Vec<&str> = root.split('/').filter(|name| !name.is_empty()).collect();
    if absolute.is_none() {
        names.clone_from(&above);
    }
    for name in parts.iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let beneath = names.strip_prefix(above.as_slice())?;
    RelPath::new(&beneath.join("/")).ok().filter(|path| !path.is_root())
}
