//! The files that variables and options make programs load: `BASH_ENV=x.sh`,
//! `NODE_OPTIONS='--require ./x.js'`, `PATH=bin:…`.

use crate::command::{
    CodeInjection, CommandAnalysis, CommandEffect, CommandInvocation, OpaqueReason,
};

/// The most names that are examined; a line with more is approved only once in any case.
const MAX_LOADED_NAMES: usize = 64;

/// Extensions that a name may omit.
const ENDINGS: [&str; 6] = ["", ".js", ".mjs", ".cjs", ".rb", ".py"];

/// The folders and names that may be such files.
pub(super) fn loaded_file_names(analysis: &CommandAnalysis) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in &analysis.opaque {
        let OpaqueReason::CodeInjection(how) = part.why else { continue };
        for name in split_file_names(&part.text) {
            match how {
                // Programs of these names are searched in it.
                CodeInjection::Path => {
                    found.extend(searched_programs(analysis).map(|it| format!("{name}/{it}")));
                }
                CodeInjection::Startup
                | CodeInjection::Modules
                | CodeInjection::Preload
                | CodeInjection::Command
                | CodeInjection::Settings => {
                    found.extend(ENDINGS.iter().map(|ending| format!("{name}{ending}")));
                }
            }
        }
    }
    found.truncate(MAX_LOADED_NAMES * ENDINGS.len());
    let folders = folders(analysis);
    let each = |name: String| folders.iter().map(move |folder| (folder.clone(), name.clone()));
    found.into_iter().flat_map(each).collect()
}

/// The parts of a text that may be a file name.
fn split_file_names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', '\t', '\n', ':', ';', ',', '=', '@', '\'', '"']);
    words
        .take(MAX_LOADED_NAMES)
        .flat_map(|word| [word, super::option_value(word)])
        .filter(|name| !name.is_empty())
}

fn runs(analysis: &CommandAnalysis) -> impl Iterator<Item = &CommandInvocation> {
    analysis.effects.iter().filter_map(|effect| match effect {
        CommandEffect::Run(run) => Some(run),
        CommandEffect::Write { .. }
        | CommandEffect::Read { .. }
        | CommandEffect::ReadOperand { .. } => None,
    })
}

/// The names of the programs that are searched.
fn searched_programs(analysis: &CommandAnalysis) -> impl Iterator<Item = &String> {
    runs(analysis).filter_map(|run| run.argv.first()).filter(|name| !name.contains('/'))
}

/// The folders in which the line may run something; it starts in the first.
fn folders(analysis: &CommandAnalysis) -> Vec<String> {
    let mut folders = vec![String::new()];
    for folder in runs(analysis).flat_map(|run| &run.folders) {
        if !folders.contains(folder) {
            folders.push(folder.clone());
        }
    }
    folders
}
