//! Analyzers for programs that run others or interpret code. What they cannot analyze exactly is
//! opaque.

mod awk;
mod builtins;
mod find;
mod git;
mod git_config;
pub(crate) mod git_search;
mod harmless_programs;
mod interpreter_options;
mod interpreters;
mod option_grammar;
mod program_kind;
mod program_table;
mod risky_options;
mod sed;
mod shell;
mod wrappers;

use crate::command::effects::{embedded_commands, hosts, read_operands, write_operands};
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::{CommandEffect, CommandInvocation, OpaqueReason, program_basename};

pub use builtins::is_builtin;
use option_grammar::{OptionGrammar, OptionsEnd, find_any_option};
use program_kind::{ProgramKind, SpecialProgram};

/// The most nested wrappers that are analyzed.
const MAX_WRAPPERS: usize = 8;

/// Folders whose programs are trusted to be what their names say.
const SYSTEM_PROGRAM_FOLDERS: [&str; 10] = [
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/sbin/",
    // Contains the dynamic loader, which runs the program that it is given.
    "/lib64/",
    "/lib/",
    "/usr/lib64/",
    "/usr/lib/",
];

/// Analyzes a program and adds its effects.
pub(crate) fn analyze_program(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let Some(name) = system_program_name(&run.argv) else {
        return analyze_path_program(reader, run);
    };
    let Some(tool) = program_kind::find_program(name) else {
        let harmless = harmless_programs::is_harmless(name);
        return if harmless {
            add_invocation(reader, run);
        } else {
            analyze_unknown_program(reader, run);
        };
    };
    match &tool.how {
        ProgramKind::Wrapper(grammar) => analyze_wrapper(reader, run, grammar, None),
        ProgramKind::OpaqueWrapper(grammar, why) => {
            analyze_wrapper(reader, run, grammar, Some(*why));
        }
        ProgramKind::Unbounded(why) => add_unbounded_invocation(reader, run, *why),
        ProgramKind::Opaque(why) => add_opaque_invocation(reader, run, *why),
        ProgramKind::RiskyOptions(options, why) => {
            analyze_risky_options(reader, run, options, *why);
        }
        ProgramKind::Interpreter(grammar) => {
            interpreters::analyze_interpreter(reader, run, grammar);
        }
        ProgramKind::Special(own) => analyze_special_program(reader, run, *own),
    }
}

/// A program with a folder in its name: only its file determines what it does.
///
/// An interpreter is analyzed like the one of the same name, since virtual environments contain
/// such. A name of a wrapper is misleading.
fn analyze_path_program(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let program = run.argv.first().map(String::as_str).unwrap_or_default();
    match program.rsplit('/').next().and_then(program_kind::find_program).map(|tool| &tool.how) {
        Some(ProgramKind::Interpreter(grammar)) => {
            interpreters::analyze_interpreter(reader, run, grammar);
        }
        Some(ProgramKind::RiskyOptions(options, why)) => {
            analyze_risky_options(reader, run, options, *why);
        }
        Some(
            ProgramKind::Wrapper(_)
            | ProgramKind::OpaqueWrapper(..)
            | ProgramKind::Unbounded(_)
            | ProgramKind::Opaque(_)
            | ProgramKind::Special(_),
        ) => {
            reader.mark_programs_uncertain(OpaqueReason::MisleadingName, program);
            add_invocation(reader, run);
        }
        None => analyze_unknown_program(reader, run),
    }
}

/// An unknown program: its words may contain a command.
fn analyze_unknown_program(reader: &mut CommandAnalyzer, mut run: CommandInvocation) {
    run.carried = embedded_commands::find_embedded_commands(&run);
    if run.carried.texts.len() > embedded_commands::MAX_TEXT_WORDS {
        reader.mark_programs_uncertain(OpaqueReason::Code, run.argv.join(" "));
    }
    let own = run.argv.first().and_then(|program| program_basename(program).strip_prefix("git-"));
    if let Some(subcommand) = own.map(str::to_owned) {
        return git::analyze_git_executable(reader, run, &subcommand);
    }
    add_invocation(reader, run);
}

/// Whether a program of this name runs nothing that its words name.
pub(crate) fn is_harmless_program(name: &str) -> bool {
    harmless_programs::is_harmless(name) && program_kind::find_program(name).is_none()
}

/// Whether a program of this name is an interpreter of another language than a shell's.
pub(crate) fn is_interpreter(program: &str) -> bool {
    program_kind::find_program(program_basename(program))
        .is_some_and(|entry| matches!(entry.how, ProgramKind::Interpreter(_)))
}

/// The index of the script of an interpreter, if it can be determined.
pub(crate) fn find_script_index(argv: &[String]) -> Option<usize> {
    match &program_kind::find_program(program_basename(argv.first()?))?.how {
        ProgramKind::Interpreter(interpreter) => {
            interpreters::interpreter_script_index(argv, interpreter)
        }
        ProgramKind::Special(SpecialProgram::Shell) => shell::shell_script_index(argv),
        ProgramKind::Wrapper(_)
        | ProgramKind::OpaqueWrapper(..)
        | ProgramKind::Unbounded(_)
        | ProgramKind::Opaque(_)
        | ProgramKind::RiskyOptions(..)
        | ProgramKind::Special(_) => None,
    }
}

/// Whether a program of this name interprets its stdin or its words as commands or code.
pub(crate) fn takes_code(name: &str) -> bool {
    match program_kind::find_program(name).map(|tool| &tool.how) {
        Some(
            ProgramKind::Interpreter(_)
            | ProgramKind::Unbounded(_)
            | ProgramKind::Special(
                SpecialProgram::Shell | SpecialProgram::Xargs | SpecialProgram::Eval,
            ),
        ) => true,
        Some(
            ProgramKind::Wrapper(_)
            | ProgramKind::OpaqueWrapper(..)
            | ProgramKind::Opaque(_)
            | ProgramKind::RiskyOptions(..)
            | ProgramKind::Special(_),
        )
        | None => false,
    }
}

fn analyze_special_program(
    reader: &mut CommandAnalyzer,
    run: CommandInvocation,
    own: SpecialProgram,
) {
    match own {
        SpecialProgram::Awk => awk::analyze_awk(reader, run),
        SpecialProgram::CommandBuiltin => wrappers::analyze_command_builtin(reader, run),
        SpecialProgram::Cd => shell::analyze_cd(reader, run),
        SpecialProgram::Container => wrappers::analyze_container(reader, run),
        SpecialProgram::DirectoryStack => shell::analyze_directory_stack(reader, run),
        SpecialProgram::Env => wrappers::analyze_env(reader, run),
        SpecialProgram::Eval => shell::analyze_eval(reader, run),
        SpecialProgram::Export => shell::analyze_export(reader, run),
        SpecialProgram::Fd => find::analyze_fd(reader, run),
        SpecialProgram::Find => find::analyze_find(reader, run),
        SpecialProgram::Flock => wrappers::analyze_flock(reader, run),
        SpecialProgram::Git => git::analyze_git(reader, run),
        SpecialProgram::Ip => wrappers::analyze_ip(reader, run),
        SpecialProgram::Java => interpreters::analyze_java(reader, run),
        SpecialProgram::DynamicLoader => wrappers::analyze_dynamic_loader(reader, run),
        SpecialProgram::DeclaredNames => shell::analyze_declared_names(reader, run),
        SpecialProgram::Set => shell::analyze_set(reader, run),
        SpecialProgram::Trap => shell::analyze_trap(reader, run),
        SpecialProgram::Xargs => wrappers::analyze_xargs(reader, run),
        SpecialProgram::Make => wrappers::analyze_make(reader, run),
        SpecialProgram::PackageManager => wrappers::analyze_package_manager(reader, run),
        SpecialProgram::Sed => sed::analyze_sed(reader, run),
        SpecialProgram::Shell => shell::analyze_shell(reader, run),
        SpecialProgram::Source => shell::analyze_source(reader, run),
        SpecialProgram::Sudo => wrappers::analyze_sudo(reader, run),
        SpecialProgram::Tar => wrappers::analyze_tar(reader, run),
        SpecialProgram::Watch => wrappers::analyze_watch(reader, run),
    }
}

/// The bare name of a program, if it is a system program.
fn system_program_name(argv: &[String]) -> Option<&str> {
    let program = argv.first()?.as_str();
    if !program.contains('/') {
        return Some(program);
    }
    let rest = SYSTEM_PROGRAM_FOLDERS.iter().find_map(|folder| program.strip_prefix(folder))?;
    (!rest.contains('/')).then_some(rest)
}

/// Adds a program without hidden effects.
fn add_invocation(reader: &mut CommandAnalyzer, mut run: CommandInvocation) {
    run.hosts = hosts::find_hosts(&run.argv);
    run.folders = reader.folders.to_vec();
    let program = run.argv.first().map(|program| program_basename(program).to_owned());
    let program = program.as_deref().unwrap_or_default();
    let given = reader.substituted_arguments(&run);
    let read = read_operands::find_read_paths(program, &given);
    let named = read_operands::possible_read_paths(program, &given);
    let written =
        system_program_name(&run.argv).map(|name| write_operands::find_written_paths(name, &given));
    run.named = named.iter().flat_map(|path| reader.folders.resolve_path(path)).collect();
    reader.add_effect(CommandEffect::Run(run));
    let deletes = write_operands::deletes_operands(program);
    for path in written.unwrap_or_default() {
        if deletes {
            reader.add_deleted_path(&path);
        } else {
            reader.add_written_path(&path);
        }
    }
    for path in read {
        for path in reader.folders.resolve_path(&path) {
            reader.add_effect(CommandEffect::ReadOperand { path });
        }
    }
}

/// Adds a program that may run any other, whatever its arguments.
fn add_unbounded_invocation(
    reader: &mut CommandAnalyzer,
    run: CommandInvocation,
    why: OpaqueReason,
) {
    reader.mark_programs_uncertain(why, run.argv.join(" "));
    add_invocation(reader, run);
}

/// Adds a program that runs what a file says, or that changes the shell without starting
/// anything.
fn add_opaque_invocation(reader: &mut CommandAnalyzer, run: CommandInvocation, why: OpaqueReason) {
    reader.mark_arguments_uncertain(why, run.argv.join(" "));
    add_invocation(reader, run);
}

/// A program that is transparent except with some options.
fn analyze_risky_options(
    reader: &mut CommandAnalyzer,
    run: CommandInvocation,
    options: &str,
    why: OpaqueReason,
) {
    if let Some(option) = find_any_option(&run.argv, options) {
        let uncertainty = if why == OpaqueReason::Arithmetic {
            CommandAnalyzer::mark_programs_uncertain
        } else {
            CommandAnalyzer::mark_arguments_uncertain
        };
        uncertainty(reader, why, option_with_value(&run.argv, option));
    }
    // `gcc @file` reads more arguments from the file.
    if let Some(words) = run.argv.iter().skip(1).find(|word| word.starts_with('@')) {
        reader.mark_arguments_uncertain(OpaqueReason::CommandsFromInput, words.clone());
    }
    mark_possible_options(reader, &run, why);
    add_invocation(reader, run);
}

/// An option with the next word, which may be its value.
fn option_with_value(argv: &[String], option: &String) -> String {
    let next = argv.iter().skip_while(|word| *word != option).nth(1);
    let next = next.filter(|next| !option.contains('=') && !next.starts_with('-'));
    next.map_or_else(|| option.clone(), |next| format!("{option} {next}"))
}

/// An unknown word may be one of the options that run something.
fn mark_possible_options(reader: &mut CommandAnalyzer, run: &CommandInvocation, why: OpaqueReason) {
    if why != OpaqueReason::Arithmetic && run.may_gain_options() {
        reader.mark_arguments_uncertain(OpaqueReason::Code, run.argv.join(" "));
    }
}

/// A wrapper whose options are known.
fn analyze_wrapper(
    reader: &mut CommandAnalyzer,
    run: CommandInvocation,
    grammar: &OptionGrammar,
    why: Option<OpaqueReason>,
) {
    if let Some(why) = why {
        reader.mark_arguments_uncertain(why, run.argv.join(" "));
    }
    match grammar.find_command_start(&run.argv) {
        OptionsEnd::At(at) => analyze_wrapped_command(reader, run, at),
        OptionsEnd::UnknownOption(option) => add_unknown_option(reader, run, option),
    }
}

/// An unknown option: neither its meaning nor its length is known.
fn add_unknown_option(reader: &mut CommandAnalyzer, run: CommandInvocation, option: String) {
    reader.mark_programs_uncertain(OpaqueReason::UnknownOption, option);
    add_invocation(reader, run);
}

/// Analyzes the command that starts at this index of the arguments.
fn analyze_wrapped_command(reader: &mut CommandAnalyzer, mut run: CommandInvocation, at: usize) {
    if at >= run.argv.len() {
        return add_invocation(reader, run);
    }
    if run.through.len() >= MAX_WRAPPERS {
        return add_unbounded_invocation(reader, run, OpaqueReason::TooDeep);
    }
    let outer = system_program_name(&run.argv).unwrap_or_default().to_owned();
    drop_leading_words(&mut run, at);
    run.through.push(outer);
    reader.analyze_invocation(run);
}

/// Removes words from the front. If one of them was unknown, it is uncertain where the command
/// begins.
fn drop_leading_words(run: &mut CommandInvocation, at: usize) {
    run.argv.drain(..at);
    let lost = run.unknown.first().is_some_and(|index| *index < at);
    run.unknown.retain(|index| *index >= at);
    run.unknown.iter_mut().for_each(|index| *index -= at);
    if lost && run.unknown.first() != Some(&0) {
        run.unknown.insert(0, 0);
    }
}

/// Analyzes a line for a shell that consists of these arguments.
fn analyze_shell_argument(
    reader: &mut CommandAnalyzer,
    run: &CommandInvocation,
    words: std::ops::Range<usize>,
) {
    let text = run.argv[words.clone()].join(" ");
    if run.unknown.iter().any(|index| *index < words.end) {
        reader.mark_programs_uncertain(OpaqueReason::Code, text.clone());
    }
    if run.through.len() >= MAX_WRAPPERS {
        reader.mark_programs_uncertain(OpaqueReason::TooDeep, text);
        return;
    }
    let mut through = run.through.clone();
    through.push(system_program_name(&run.argv).unwrap_or_default().to_owned());
    let outer = std::mem::replace(&mut reader.through, through);
    let assigned = std::mem::replace(&mut reader.assigned, run.assignments.clone());
    let here = reader.folders.clone();
    reader.analyze_nested_line(&text);
    // `cd` in the inner shell does not affect this one.
    reader.folders = here;
    reader.through = outer;
    reader.assigned = assigned;
}
