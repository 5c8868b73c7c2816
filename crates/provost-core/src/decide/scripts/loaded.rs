//! The files that variables and options have programs load: `BASH_ENV=x.sh`,
//! `NODE_OPTIONS='--require ./x.js'`, `PATH=bin:…`.

use crate::command::{Analysis, Demand, Loads, Run, Why};

/// Names that are looked at; what has more is answered once in any case.
const MOST: usize = 64;

/// What may be left out of a name.
const ENDINGS: [&str; 6] = ["", ".js", ".mjs", ".cjs", ".rb", ".py"];

/// The folders and names of what may be such files.
pub(super) fn names(analysis: &Analysis) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in &analysis.opaque {
        let Why::Loads(how) = part.why else { continue };
        for name in parts(&part.text) {
            match how {
                // There, programs of these names are looked for.
                Loads::Path => found.extend(programs(analysis).map(|it| format!("{name}/{it}"))),
                Loads::Startup
                | Loads::Modules
                | Loads::Preload
                | Loads::Command
                | Loads::Settings => {
                    found.extend(ENDINGS.iter().map(|ending| format!("{name}{ending}")));
                }
            }
        }
    }
    found.truncate(MOST * ENDINGS.len());
    let folders = folders(analysis);
    let each = |name: String| folders.iter().map(move |folder| (folder.clone(), name.clone()));
    found.into_iter().flat_map(each).collect()
}

/// The parts of a text that may be the name of a file.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', '\t', '\n', ':', ';', ',', '=', '@', '\'', '"']);
    words.take(MOST).flat_map(|word| [word, super::value(word)]).filter(|name| !name.is_empty())
}

fn runs(analysis: &Analysis) -> impl Iterator<Item = &Run> {
    analysis.demands.iter().filter_map(|demand| match demand {
        Demand::Run(run) => Some(run),
        Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => None,
    })
}

/// The programs that are looked for.
fn programs(analysis: &Analysis) -> impl Iterator<Item = &String> {
    runs(analysis).filter_map(|run| run.argv.first()).filter(|name| !name.contains('/'))
}

/// Where the line may be when it runs something; it starts in the first.
fn folders(analysis: &Analysis) -> Vec<String> {
    let mut folders = vec![String::new()];
    for folder in runs(analysis).flat_map(|run| &run.folders) {
        if !folders.contains(folder) {
            folders.push(folder.clone());
        }
    }
    folders
}
