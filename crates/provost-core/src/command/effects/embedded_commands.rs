//! The commands that the words of a program may be, if it is a wrapper that
//! nobody told us of: `mywrap git push`.
//!
//! Only what denies, asks or gates looks at them, and then a person decides.

use crate::command::{CommandInvocation, EmbeddedCommands};

/// How many words that are more than one are looked at; with more, it may be anything.
pub(crate) const MAX_TEXT_WORDS: usize = 16;

/// All that the words may be: from each of them on, a command; and what stands
/// in one of them behind `=`, or as a line.
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
            let after = run.unknown.iter().filter(|place| **place > at);
            let unknown = after.map(|place| place - at).collect();
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

/// What follows the first operand, or the one behind a word that only says that
/// something is run, or where: `yarn git push`, `uv run git push`, `yarn workspace x git push`.
pub(crate) fn find_package_tool_commands(run: &CommandInvocation) -> EmbeddedCommands {
    const RUN: &[&str] = &["run", "x", "exec", "dlx", "tool", "task", "workspace", "workspaces"];
    let mut operands =
        (1..run.argv.len()).filter(|at| !run.argv[*at].starts_with('-') && *at < run.argv.len());
    let mut starts = Vec::new();
    for at in operands.by_ref() {
        starts.push(at);
        // The value of an option that is not known may stand before it.
        let is_value = run.argv[at - 1].starts_with('-') || run.argv[at - 1] == "workspace";
        if !is_value && !RUN.contains(&run.argv[at].as_str()) {
            break;
        }
    }
    EmbeddedCommands { starts, texts: Vec::new() }
}

/// The places of the arguments that may be the subcommand: the first operand, and those
/// before it that may be the value of an option.
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

/// The commands of a text, if it is a line: what stands between `;`, `&`, `|` and
/// the like. It need not be exact, since nothing is allowed by it.
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
