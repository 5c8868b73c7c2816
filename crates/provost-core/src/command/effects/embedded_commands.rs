//! Commands that the words of an unknown program may contain, in case it is a wrapper: `mywrap
//! git push`.
//!
//! Only rules that deny or ask, and gates, consider them, and then a person decides.

use crate::command::{CommandInvocation, EmbeddedCommands};

/// The most words with several commands that are examined; beyond that it may be anything.
pub(crate) const MAX_TEXT_WORDS: usize = 16;

/// All commands that the words may contain: one starting at each word, and those inside a word,
/// after `=` or as a line.
pub(crate) fn find_embedded_commands(run: &CommandInvocation) -> EmbeddedCommands {
    let mut carried = EmbeddedCommands::default();
    for (at, word) in run.argv.iter().enumerate().skip(1) {
        if is_program_name(word) {
            carried.starts.push(at);
        }
        if carried.texts.len() > MAX_TEXT_WORDS {
            continue;
        }
        if word.contains(char::is_whitespace) {
            carried.texts.extend(split_commands(word));
        } else if let Some((_, value)) = word.split_once('=').filter(|(_, it)| is_program_name(it))
        {
            let mut argv = vec![value.to_owned()];
            argv.extend(run.argv[at + 1..].iter().cloned());
            let after = run.unknown.iter().filter(|index| **index > at);
            let unknown = after.map(|index| index - at).collect();
            carried.texts.push(CommandInvocation {
                argv,
                unknown,
                folders: run.folders.clone(),
                ..CommandInvocation::default()
            });
        }
    }
    carried
}

/// The command after the first operand, or after the one that follows a word such as `run`: `yarn
/// git push`, `uv run git push`, `yarn workspace x git push`.
pub(crate) fn find_package_tool_commands(run: &CommandInvocation) -> EmbeddedCommands {
    const RUN: &[&str] = &["run", "x", "exec", "dlx", "tool", "task", "workspace", "workspaces"];
    let mut operands =
        (1..run.argv.len()).filter(|at| !run.argv[*at].starts_with('-') && *at < run.argv.len());
    let mut starts = Vec::new();
    for at in operands.by_ref() {
        starts.push(at);
        // The value of an unknown option may precede it.
        let is_value = run.argv[at - 1].starts_with('-') || run.argv[at - 1] == "workspace";
        if !is_value && !RUN.contains(&run.argv[at].as_str()) {
            break;
        }
    }
    EmbeddedCommands { starts, texts: Vec::new() }
}

/// The indices of the arguments that may be the subcommand: the first operand, and earlier ones
/// that may be the value of an option.
pub(crate) fn possible_subcommands(arguments: &[String]) -> Vec<usize> {
    let operands = (0..arguments.len()).filter(|at| !arguments[*at].starts_with('-'));
    let after_option = |at: &usize| *at > 0 && arguments[at - 1].starts_with('-');
    let first = operands.clone().find(|at| !after_option(at));
    operands.take_while(after_option).chain(first).collect()
}

/// Whether a word can be the name of a program.
fn is_program_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"=*?[]{}()$`'\"<>|;&".contains(&byte))
}

/// The commands of a text, if it is a line: split at `;`, `&`, `|` and the like. It need not be
/// exact, since it never allows anything.
fn split_commands(text: &str) -> impl Iterator<Item = CommandInvocation> {
    text.split([';', '&', '|', '\n', '(', ')', '`']).filter_map(|line| {
        let bare = |word: &str| word.trim_matches(['\'', '"']).to_owned();
        let words = line.split_whitespace().map(bare);
        let argv: Vec<String> = words.skip_while(|word| word.contains('=')).collect();
        let is_line = argv.first().is_some_and(|word| is_program_name(word));
        is_line.then(|| CommandInvocation {
            argv,
            folders: vec![String::new()],
            ..CommandInvocation::default()
        })
    })
}
