//! The files that tell a command what to do, as far as its words name them.
//! What they hold is pinned with an answer, so that a script that is edited
//! after the question is another question.
//!
//! It rather names too many than too few: every word that could be such a file
//! is one, and what is no file is not pinned. What it cannot see: files that a
//! script reads in its turn, what a glob or a variable stands for, what an
//! installed tool looks for under names that are not here (`jest.config.js`),
//! and modules by their names (`python3 -m pkg`).

use provost_proto::Pin;

use crate::action::RelPath;
use crate::command::{Demand, Run};

/// Programs that take what to do from a file that is named, without the version
/// that may be part of the name (`python3.12`).
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "fish",
    "nu",
    "pwsh",
    "busybox",
    "source",
    ".",
    "eval",
    "exec",
    "python",
    "pypy",
    "ipython",
    "node",
    "nodejs",
    "deno",
    "bun",
    "bunx",
    "npx",
    "tsx",
    "ts-node",
    "ruby",
    "perl",
    "php",
    "lua",
    "luajit",
    "Rscript",
    "R",
    "julia",
    "tclsh",
    "awk",
    "gawk",
    "mawk",
    "osascript",
    "expect",
    "guile",
    "elixir",
    "groovy",
    "java",
    "dotnet",
    "psql",
    "sqlite",
    "mysql",
    "gdb",
    "parallel",
    "entr",
];

/// Programs that take what to do from a file of a fixed name, here or in a
/// folder that is named.
const BUILDERS: &[(&str, &[&str])] = &[
    ("make", &["Makefile", "makefile", "GNUmakefile"]),
    ("gmake", &["Makefile", "makefile", "GNUmakefile"]),
    ("ninja", &["build.ninja"]),
    ("cmake", &["CMakeLists.txt", "CMakePresets.json"]),
    ("meson", &["meson.build"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
    ("bun", &["package.json"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("rake", &["Rakefile"]),
    ("bundle", &["Gemfile"]),
    ("cargo", &["Cargo.toml", "build.rs", ".cargo/config.toml"]),
    ("go", &["go.mod"]),
    ("gradle", &["build.gradle", "build.gradle.kts"]),
    ("gradlew", &["build.gradle", "build.gradle.kts"]),
    ("mvn", &["pom.xml"]),
    ("mvnw", &["pom.xml"]),
    ("tox", &["tox.ini"]),
    ("nox", &["noxfile.py"]),
    ("invoke", &["tasks.py"]),
    ("pip", &["setup.py", "pyproject.toml"]),
    ("pytest", &["conftest.py", "pytest.ini", "pyproject.toml"]),
];

/// The files beneath the project that these demands name as what to do.
pub(super) fn named(demands: &[Demand], cwd: &str, root: &str) -> Vec<RelPath> {
    let runs = || {
        demands.iter().filter_map(|demand| match demand {
            Demand::Run(run) => Some(run),
            Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => None,
        })
    };
    // `cat build.sh | sh`: then what the others name is what it reads.
    let interprets = runs().any(|run| is_interpreter(base(run)));
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
    found.sort();
    found.dedup();
    found
}

/// Of the files that are pinned, those that these demands run: a program by its
/// path, and the first file that is named to an interpreter. What else is named
/// may well be written by the command, as `package.json` is by `npm install`.
pub(super) fn programs(demands: &[Demand], cwd: &str, root: &str, pins: &[Pin]) -> Vec<String> {
    let is_pinned = |path: &RelPath| pins.iter().any(|pin| pin.path == path.as_str());
    let mut found = Vec::new();
    for demand in demands {
        let Demand::Run(run) = demand else { continue };
        let Some((program, words)) = run.argv.split_first() else { continue };
        let words = if is_interpreter(base(run)) { words } else { &[] };
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
    let base = base(run);
    let builder = BUILDERS.iter().find(|(name, _)| *name == base);
    let files = builder.map_or(&[][..], |(_, files)| files);
    let mut names = Vec::new();
    if program.contains('/') {
        names.push(program.clone());
    }
    names.extend(files.iter().map(|&file| file.to_owned()));
    if all || builder.is_some() {
        for value in words.iter().map(|word| value(word)) {
            names.push(value.to_owned());
            // It may be a folder: `make -C web`.
            names.extend(files.iter().map(|file| format!("{value}/{file}")));
        }
    }
    names
}

/// The part of a word that can name a file: `-fother.mk`, `--file=other.mk`.
fn value(word: &str) -> &str {
    match (word.strip_prefix('-'), word.split_once('=')) {
        (Some(_), Some((_, value))) => value,
        (Some(option), None) if !option.starts_with('-') => option.get(1..).unwrap_or_default(),
        (Some(_) | None, _) => word,
    }
}

fn is_interpreter(program: &str) -> bool {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&program) || INTERPRETERS.contains(&plain)
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
