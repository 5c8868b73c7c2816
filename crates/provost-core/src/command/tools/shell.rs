//! Shells and their builtins.

use super::option_grammar::{OptionGrammar, OptionsEnd};
use super::{
    CommandInvocation, add_invocation, add_opaque_invocation, add_unbounded_invocation,
    analyze_shell_argument,
};
use crate::command::environment::variables::VariableValue;
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::{CodeInjection, OpaqueReason};

/// Options that change error handling or output, not what runs.
const SHELL_OPTIONS: OptionGrammar = OptionGrammar {
    flags: "-e -u -x -v -f -n -c -l --login --norc --noprofile",
    valued: "-o",
    operands: 0,
};

/// `sh -c LINE`, `sh SCRIPT`, `sh`.
pub(super) fn analyze_shell(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let end = match SHELL_OPTIONS.find_options_end(&run.argv) {
        OptionsEnd::At(at) => at,
        OptionsEnd::UnknownOption(option) => return super::add_unknown_option(reader, run, option),
    };
    let options = &run.argv[1..end];
    let is_line = options
        .iter()
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'));
    match run.argv.get(end).cloned() {
        // `-o` may take `-c` or a name with a `c` as its value; only certain cases are analyzed.
        Some(_)
            if options.iter().any(|word| {
                word.contains('o')
                    && word.starts_with('-')
                    && word != "-o"
                    && !word.starts_with("--")
            }) =>
        {
            add_unbounded_invocation(reader, run, OpaqueReason::UnknownOption);
        }
        Some(text) if is_line && !text.starts_with('+') => {
            analyze_shell_argument(reader, &run, end..end + 1);
        }
        // The script is unknown, so nobody can review it.
        Some(_) if run.unknown.iter().any(|index| *index <= end) => {
            add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput);
        }
        // Nobody can review input or a terminal as a script.
        Some(script)
            if script == "-" || script.starts_with("/dev/") || script.starts_with("/proc/") =>
        {
            add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput);
        }
        // `+x` is an option too, and more may follow.
        Some(option) if option.starts_with('+') => super::add_unknown_option(reader, run, option),
        Some(_) => add_invocation(reader, run),
        None => add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput),
    }
}

/// The index of the script in `sh [OPTIONS] SCRIPT`.
pub(super) fn shell_script_index(argv: &[String]) -> Option<usize> {
    match SHELL_OPTIONS.find_options_end(argv) {
        OptionsEnd::At(at) if at < argv.len() => Some(at),
        OptionsEnd::At(_) | OptionsEnd::UnknownOption(_) => None,
    }
}

/// `source FILE`: runs the file like a script, but in this shell.
pub(super) fn analyze_source(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let file = run.argv.get(1).map_or("", String::as_str);
    // The script is unknown, so nobody can review it.
    let seen =
        !run.unknown.contains(&1) && !file.starts_with("/dev/") && !file.starts_with("/proc/");
    if seen {
        add_opaque_invocation(reader, run, OpaqueReason::ShellStateChange);
    } else {
        add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput);
    }
}

/// `cd FOLDER`: what follows runs in another folder.
pub(super) fn analyze_cd(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const CD: OptionGrammar = OptionGrammar { flags: "-P -L -e", valued: "", operands: 0 };
    let folder = match CD.find_options_end(&run.argv) {
        OptionsEnd::At(at) if at + 1 == run.argv.len() => run.argv.get(at).cloned(),
        OptionsEnd::At(_) | OptionsEnd::UnknownOption(_) => None,
    };
    match folder {
        Some(folder) if !folder.is_empty() && folder != "-" && !reader.is_in_loop() => {
            add_invocation(reader, run);
            reader.folders.change_folder(&folder);
        }
        Some(_) | None => {
            add_opaque_invocation(reader, run, OpaqueReason::UnknownFolder);
            // An unknown folder, for everything that follows.
            reader.folders.change_folder(UNKNOWN_FOLDER);
        }
    }
}

/// `pushd`, `popd`: what follows runs in another folder.
pub(super) fn analyze_directory_stack(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    add_opaque_invocation(reader, run, OpaqueReason::UnknownFolder);
    reader.folders.change_folder(UNKNOWN_FOLDER);
}

/// `eval WORDS…`: the words are joined to a line for this shell.
pub(super) fn analyze_eval(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    if run.argv.get(1).is_some_and(|word| word.starts_with('-') && word != "--") {
        return add_unbounded_invocation(reader, run, OpaqueReason::ShellStateChange);
    }
    let start = if run.argv.get(1).is_some_and(|word| word == "--") { 2 } else { 1 };
    let text = run.argv[start.min(run.argv.len())..].join(" ");
    if !run.unknown.is_empty() || run.through.len() >= super::MAX_WRAPPERS {
        return add_unbounded_invocation(reader, run, OpaqueReason::ShellStateChange);
    }
    let mut through = run.through.clone();
    through.push("eval".to_owned());
    let outer = std::mem::replace(&mut reader.through, through);
    let assigned = std::mem::replace(&mut reader.assigned, run.assignments.clone());
    reader.analyze_nested_line(&text);
    reader.through = outer;
    reader.assigned = assigned;
}

/// `trap LINE SIGNALS…`: the line runs later, in an unknown folder.
pub(super) fn analyze_trap(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    reader.mark_arguments_uncertain(OpaqueReason::DeferredExecution, run.argv.join(" "));
    match run.argv.get(1).map(String::as_str) {
        None | Some("-" | "-l" | "-p" | "") => add_invocation(reader, run),
        Some(option) if option.starts_with('-') && option != "--" => {
            add_unbounded_invocation(reader, run, OpaqueReason::ShellStateChange);
        }
        Some(word) => {
            let at = if word == "--" { 2 } else { 1 };
            if at >= run.argv.len() {
                return add_invocation(reader, run);
            }
            let here = reader.folders.clone();
            reader.folders.change_folder(UNKNOWN_FOLDER);
            analyze_shell_argument(reader, &run, at..at + 1);
            reader.folders = here;
        }
    }
}

/// `set -e`, `set -o pipefail`: changes error handling or output, and runs nothing.
pub(super) fn analyze_set(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const NAMES: [&str; 6] = ["pipefail", "errexit", "nounset", "xtrace", "noclobber", "noglob"];
    let mut words = run.argv[1..].iter();
    let mut harmless = run.unknown.is_empty();
    while let Some(word) = words.next() {
        if word == "--" {
            // The rest are positional parameters, which are unknown where they are used.
            return add_opaque_invocation(reader, run, OpaqueReason::ShellStateChange);
        }
        let letters = word.strip_prefix(['-', '+']).unwrap_or("?");
        harmless &= !letters.is_empty() && letters.chars().all(|c| "euxfCo".contains(c));
        if letters.ends_with('o') {
            harmless &= words.next().is_some_and(|name| NAMES.contains(&name.as_str()));
        }
    }
    if harmless {
        add_invocation(reader, run);
    } else {
        add_unbounded_invocation(reader, run, OpaqueReason::ShellStateChange);
    }
}

/// `read NAME`, `local NAME=VALUE`: transparent for plain names; an index or an integer value is
/// evaluated.
pub(super) fn analyze_declared_names(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let fine = |word: &String| {
        if let Some(options) = word.strip_prefix('-') {
            return !options.is_empty() && options.chars().all(|c| "rxgaAst".contains(c));
        }
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        name.bytes().all(letter) && !value.contains('[')
    };
    for word in run.argv[1..].iter().filter(|word| !word.starts_with('-')) {
        match word.split_once('=') {
            Some((name, value)) => {
                reader.analyze_variable(name, VariableValue::new(value, run.unknown.is_empty()));
            }
            // Unsetting a variable is harmless, but without `PATH` the shell uses a default.
            None if run.argv[0] == "unset" && word != "PATH" => {}
            None => reader.analyze_variable(word, VariableValue::Unknown("")),
        }
    }
    let first_is_known = run.argv[1..].iter().all(fine);
    if first_is_known {
        add_opaque_invocation(reader, run, OpaqueReason::Arithmetic);
    } else {
        add_unbounded_invocation(reader, run, OpaqueReason::Arithmetic);
    }
}

/// Placeholder for an unknown folder, written like an expansion.
const UNKNOWN_FOLDER: &str = "$PWD";

/// `export NAME=VALUE`.
pub(super) fn analyze_export(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    for (at, word) in run.argv.iter().enumerate().skip(1) {
        let known = !run.unknown.contains(&at);
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let appended = name.strip_suffix('+');
        let is_name =
            |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match (word.contains('='), appended.unwrap_or(name)) {
            (true, name) if is_name(name) => {
                reader
                    .analyze_variable(name, VariableValue::new(value, known && appended.is_none()));
                if appended.is_some() {
                    reader.mark_arguments_uncertain(OpaqueReason::Variable, word.clone());
                }
            }
            // Its value was analyzed where it was set; `PATH` is always exported.
            (false, "PATH") => {
                reader.mark_arguments_uncertain(OpaqueReason::Variable, word.clone());
            }
            (false, name) if is_name(name) => {
                reader.analyze_variable(name, VariableValue::Unknown(""));
            }
            // It is unknown which variable it is.
            (true | false, _) if !known => {
                reader.mark_programs_uncertain(
                    OpaqueReason::CodeInjection(CodeInjection::Settings),
                    word.clone(),
                );
            }
            // An option, or an array, whose index is evaluated.
            (true | false, _) => {
                reader.mark_arguments_uncertain(OpaqueReason::Variable, word.clone());
            }
        }
    }
    add_invocation(reader, run);
}
