//! The files that tell a command what to do, as far as its words name them.
//! What they hold is pinned with an answer, so that a script that is edited
//! after the question is another question.
//!
//! It rather names too many than too few: every word that could be such a file
//! is one, and what is no file is not pinned. What it cannot see: files that a
//! script reads in its turn, and what an installed tool looks for under names
//! that are not here. Where it sees that code runs and not which, as for a glob
//! or a variable, [`unpinned`] says so.

mod loaded;
mod table;

use provost_proto::PinnedFile;

use crate::action::RelPath;
use crate::command::{Analysis, Demand, Opaque, Run, Why, script};
use table::{BUILDERS, INTERPRETERS, RUNNERS};

/// The files beneath the project that this line names as what to do.
pub(super) fn named(analysis: &Analysis, cwd: &str, root: &str) -> Vec<RelPath> {
    let demands = &analysis.demands;
    let runs = || {
        demands.iter().filter_map(|demand| match demand {
            Demand::Run(run) => Some(run),
            Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => None,
        })
    };
    // `cat build.sh | sh`: then what the others name is what it reads.
    let interprets = runs().any(interprets);
    let mut found = Vec::new();
    for run in runs() {
        for name in names(run, interprets) {
            for folder in &run.folders {
                found.extend(place(&[cwd, folder, &name], root));
            }
        }
    }
    for demand in demands {
        if let Demand::Read { path } = demand {
            found.extend(place(&[cwd, path], root));
        }
    }
    for (folder, name) in loaded::names(analysis) {
        found.extend(place(&[cwd, &folder, &name], root));
    }
    found.sort();
    found.dedup();
    found
}

/// Of the files that are pinned, those that these demands run: a program by its
/// path, and the first file that is named to an interpreter. What else is named
/// may well be written by the command, as `package.json` is by `npm install`.
pub(super) fn programs(
    demands: &[Demand],
    cwd: &str,
    root: &str,
    pins: &[PinnedFile],
) -> Vec<String> {
    let is_pinned = |path: &RelPath| pins.iter().any(|pin| pin.path == path.as_str());
    let mut found = Vec::new();
    for demand in demands {
        let Demand::Run(run) = demand else { continue };
        let Some((program, words)) = run.argv.split_first() else { continue };
        // Options may have values that are files too: `python3 -W x.py run.py`.
        let first = script(&run.argv).map_or(0, |at| at - 1);
        let words = if is_interpreter(base(run)) { &words[first..] } else { &[] };
        for folder in &run.folders {
            let at = |name: &str| place(&[cwd, folder, name], root).filter(is_pinned);
            found.extend(program.contains('/').then(|| at(program)).flatten());
            found.extend(words.iter().find_map(|word| at(value(word))));
        }
    }
    found.sort();
    found.dedup();
    found.iter().map(|path| path.as_str().to_owned()).collect()
}

fn names(run: &Run, all: bool) -> Vec<String> {
    let Some((program, words)) = run.argv.split_first() else { return Vec::new() };
    let files = told_by(base(run));
    let mut names = Vec::new();
    if program.contains('/') {
        names.push(program.clone());
    }
    let told = files.unwrap_or_default();
    names.extend(told.iter().map(|&file| file.to_owned()));
    if all || files.is_some() {
        for value in words.iter().map(|word| value(word)) {
            // `tests/a.py::test_x` names a test in a file.
            let value = value.split("::").next().unwrap_or(value);
            names.push(value.to_owned());
            // It may be a folder: `make -C web`.
            names.extend(told.iter().map(|file| format!("{value}/{file}")));
        }
    }
    names.extend(modules(run));
    names
}

/// The files of a fixed name that a program is told by.
fn told_by(program: &str) -> Option<&'static [&'static str]> {
    let known = BUILDERS.iter().chain(RUNNERS).find(|(name, _)| *name == program);
    known.map(|(_, files)| *files)
}

/// The files that a name without its ending stands for: `python3 -m a.b`, `node .`.
fn modules(run: &Run) -> Vec<String> {
    let program = plain_name(base(run));
    let words = run.argv.get(1..).unwrap_or_default();
    let mut found = Vec::new();
    match program {
        "python" | "pypy" | "ipython" => {
            for (at, word) in words.iter().enumerate() {
                let joined = word.strip_prefix("-m").filter(|rest| !rest.is_empty());
                let next = (word == "-m").then(|| words.get(at + 1).map(String::as_str)).flatten();
                for module in joined.into_iter().chain(next) {
                    found.extend(of_python(module));
                }
                found.push(format!("{word}/__main__.py"));
            }
        }
        "node" | "nodejs" | "tsx" | "ts-node" | "bun" | "deno" | "electron" => {
            const ENDINGS: [&str; 7] =
                [".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.ts", "/package.json"];
            for word in words.iter().map(|word| value(word)) {
                found.extend(ENDINGS.iter().map(|ending| format!("{word}{ending}")));
            }
        }
        _ => {}
    }
    found
}

/// The files that a module of Python may be, and those that are loaded before it.
fn of_python(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let mut found = vec![format!("{path}.py"), format!("{path}/__main__.py")];
    for (at, _) in path.match_indices('/') {
        found.push(format!("{}/__init__.py", &path[..at]));
    }
    found.push(format!("{path}/__init__.py"));
    // `python3 -m pytest` is told by the same as `pytest`.
    found.extend(told_by(module).unwrap_or_default().iter().map(|&file| file.to_owned()));
    found
}

/// The manifests whose `main` is what runs: `node .`.
pub(super) fn manifests(demands: &[Demand], cwd: &str, root: &str) -> Vec<RelPath> {
    let mut found = Vec::new();
    for demand in demands {
        let Demand::Run(run) = demand else { continue };
        if !matches!(plain_name(base(run)), "node" | "nodejs" | "electron") {
            continue;
        }
        for word in run.argv.iter().skip(1).filter(|word| !word.starts_with('-')) {
            let manifest = format!("{word}/package.json");
            found.extend(run.folders.iter().filter_map(|at| place(&[cwd, at, &manifest], root)));
        }
    }
    found
}

/// Why what runs can change after it was pinned, if it can: code of the project runs, and
/// which is not known, or none of it is pinned.
pub(super) fn unpinned(
    analysis: &Analysis,
    cwd: &str,
    root: &str,
    pins: &[PinnedFile],
) -> Option<String> {
    let is_pinned = |path: &RelPath| pins.iter().any(|pin| pin.path == path.as_str());
    // Of what a variable or an option has loaded, only what is named is pinned.
    let loads = analysis.opaque.iter().find(|part| matches!(part.why, Why::Loads(_)));
    if let Some(part) = loads {
        return Some(format!("{} {}", crate::action::text::excerpt(&part.text), part.why));
    }
    for demand in &analysis.demands {
        let Demand::Run(run) = demand else { continue };
        let program = base(run);
        let told = RUNNERS.iter().any(|(name, _)| *name == program)
            || is_module_runner(run)
            || finds_tests(run);
        if !interprets(run) && !told {
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
                .any(|at| place(&[cwd, at, name], root).is_some_and(|p| is_pinned(&p)))
        };
        let files = operands(run);
        if told && !files.iter().any(at) {
            return Some(format!("{shown} runs whatever tests there are by then"));
        }
    }
    let reads = |part: &Opaque| part.why == Why::Input || part.why == Why::Substitution;
    let input = analysis
        .opaque
        .iter()
        .find(|part| reads(part))
        .filter(|_| pins.is_empty() && analysis.is_open())?;
    let text = crate::action::text::excerpt(&input.text);
    Some(format!("{text} {}", input.why))
}

/// `python3 -m pytest`: what runs is not the module alone.
fn is_module_runner(run: &Run) -> bool {
    let module = run.argv.iter().position(|word| word == "-m").and_then(|at| run.argv.get(at + 1));
    interprets(run)
        && module.is_some_and(|module| {
            module == "unittest" || RUNNERS.iter().any(|(name, _)| name == module)
        })
}

/// `node --test`: without a file, it runs all that look like tests.
fn finds_tests(run: &Run) -> bool {
    matches!(plain_name(base(run)), "node" | "nodejs")
        && run.argv.iter().any(|word| word == "--test")
}

/// The words that may name files, without what follows `::`.
fn operands(run: &Run) -> Vec<String> {
    let words = run.argv.iter().skip(1).filter(|word| !word.starts_with('-'));
    words.map(|word| word.split("::").next().unwrap_or(word).to_owned()).collect()
}

/// Whether the place of the script, or what may come before it, is not known.
fn script_is_unknown(run: &Run) -> bool {
    let words = || run.argv.iter().enumerate().skip(1);
    let first = words().find(|(at, word)| !word.starts_with('-') && !run.unknown.contains(at));
    let first = first.map_or(run.argv.len(), |(at, _)| at);
    let first = script(&run.argv).map_or(first, |at| at.max(first));
    run.unknown.iter().any(|at| *at <= first)
}

/// The part of a word that can name a file: `-fother.mk`, `--file=other.mk`.
fn value(word: &str) -> &str {
    match (word.strip_prefix('-'), word.split_once('=')) {
        (Some(_), Some((_, value))) => value,
        (Some(option), None) if !option.starts_with('-') => option.get(1..).unwrap_or_default(),
        (Some(_) | None, _) => word,
    }
}

/// Whether it takes what to do from a file that its words name.
fn interprets(run: &Run) -> bool {
    let from_file = |word: &String| {
        word.starts_with("--file")
            || !word.starts_with("--") && word.starts_with('-') && word.contains('f')
    };
    match base(run) {
        "sed" | "gsed" => run.argv.iter().skip(1).any(from_file),
        program => is_interpreter(program),
    }
}

fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program) || INTERPRETERS.contains(&plain_name(program))
}

/// A name without the version that may be part of it.
fn plain_name(program: &str) -> &str {
    program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

fn base(run: &Run) -> &str {
    let program = run.argv.first().map_or("", String::as_str);
    crate::command::base(program)
}

/// Where a path lies beneath the project, if it does: `..` taken away, and an
/// absolute one seen from `root`. Each part counts from the one before it.
fn place(parts: &[&str], root: &str) -> Option<RelPath> {
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
