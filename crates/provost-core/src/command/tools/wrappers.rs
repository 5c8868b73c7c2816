//! Wrappers that need more than an option grammar.

use super::option_grammar::{OptionGrammar, OptionsEnd, find_any_option};
use super::{
    CommandInvocation, add_invocation, add_unbounded_invocation, add_unknown_option,
    analyze_shell_argument, analyze_wrapped_command,
};
use crate::command::effects::embedded_commands;
use crate::command::environment::variables::VariableValue;
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::parse::placeholders::PlaceholderValues;
use crate::command::{CodeInjection, CommandEffect, OpaqueReason};

/// `env [OPTIONS] [NAME=VALUE…] COMMAND`.
pub(super) fn analyze_env(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const ENV: OptionGrammar = OptionGrammar {
        flags: "-i -0 -v --ignore-environment --null --debug",
        valued: "-u -C --unset --chdir",
        operands: 0,
    };
    match ENV.find_options_end(&run.argv) {
        OptionsEnd::At(at) => {
            let here = reader.folders.clone();
            if let Some(folder) = env_chdir_folder(&run, at) {
                reader.folders.change_folder(&folder);
            }
            analyze_assignments_then_command(reader, run, at);
            reader.folders = here;
        }
        // `-S` splits a string into arguments, which is certain for plain words.
        OptionsEnd::UnknownOption(option) => match split_env_string(&run) {
            Some(run) => analyze_env(reader, run),
            None => add_unknown_option(reader, run, option),
        },
    }
}

/// The folder of `env -C FOLDER`, among the options before an index. An unknown word remains as
/// written and means an unknown folder.
fn env_chdir_folder(run: &CommandInvocation, end: usize) -> Option<String> {
    let options = run.argv.get(1..end.min(run.argv.len()))?;
    options.iter().enumerate().find_map(|(at, word)| {
        let rest = match word.strip_prefix("--chdir") {
            Some(rest) => rest.strip_prefix('=').unwrap_or(rest),
            None if word.starts_with("--") => return None,
            None => word.strip_prefix('-')?.split_once('C')?.1,
        };
        if rest.is_empty() { options.get(at + 1).cloned() } else { Some(rest.to_owned()) }
    })
}

/// `env -S "COMMAND ARGUMENTS" MORE` without the option, if the words are plain.
fn split_env_string(run: &CommandInvocation) -> Option<CommandInvocation> {
    let word = run.argv.get(1)?;
    let (text, taken) = match word.strip_prefix("-S").or(word.strip_prefix("--split-string=")) {
        Some("") => (run.argv.get(2)?.as_str(), 3),
        Some(text) => (text, 2),
        None if word == "--split-string" => (run.argv.get(2)?.as_str(), 3),
        None => return None,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_./,+@%:=".contains(c);
    if !text.chars().all(plain) || run.unknown.iter().any(|index| *index < taken) {
        return None;
    }
    let mut split = run.clone();
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let more = words.len();
    split.argv.splice(1..taken, words);
    split.unknown.iter_mut().for_each(|index| *index = *index + 1 + more - taken);
    Some(split)
}

/// `xargs [OPTIONS] COMMAND`: its input is appended, or replaces a placeholder.
pub(super) fn analyze_xargs(reader: &mut CommandAnalyzer, mut run: CommandInvocation) {
    const XARGS: OptionGrammar = OptionGrammar {
        flags: "-0 -r -t -x -p -o --null --no-run-if-empty --verbose --exit --interactive \
                --open-tty",
        valued: "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs \
                 --max-chars --max-lines",
        operands: 0,
    };
    reader.mark_arguments_uncertain(OpaqueReason::CommandsFromInput, run.argv.join(" "));
    let at = match XARGS.find_options_end(&run.argv) {
        OptionsEnd::At(at) => at,
        OptionsEnd::UnknownOption(option) => return add_unknown_option(reader, run, option),
    };
    let options = &run.argv[1..at.min(run.argv.len())];
    // `-a FILE`, `-aFILE`, `--arg-file=FILE`: its lines become arguments.
    let files = options.iter().enumerate().filter_map(|(index, word)| {
        let rest = word.strip_prefix("--arg-file").or_else(|| word.strip_prefix("-a"))?;
        let joined = rest.strip_prefix('=').unwrap_or(rest);
        if joined.is_empty() { options.get(index + 1).cloned() } else { Some(joined.to_owned()) }
    });
    for file in files.collect::<Vec<_>>() {
        for path in reader.folders.resolve_path(&file) {
            reader.add_effect(CommandEffect::ReadOperand { path });
        }
    }
    let replaced = options.iter().enumerate().find_map(|(index, word)| {
        let rest = word.strip_prefix("-I")?;
        if rest.is_empty() { options.get(index + 1).cloned() } else { Some(rest.to_owned()) }
    });
    match &replaced {
        Some(mark) => {
            let held = (at..run.argv.len()).filter(|index| run.argv[*index].contains(mark));
            let held: Vec<usize> = held.chain(run.unknown.iter().copied()).collect();
            run.unknown = held;
            run.unknown.sort_unstable();
            run.unknown.dedup();
        }
        None if at < run.argv.len() => run.unknown.push(run.argv.len()),
        None => {}
    }
    let marks = replaced.iter().map(|mark| PlaceholderValues::from_input(mark)).collect();
    reader.with_placeholders(marks, |reader| analyze_wrapped_command(reader, run, at));
}

/// The dynamic loader: `ld.so [OPTIONS] PROGRAM`.
pub(super) fn analyze_dynamic_loader(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const LOADER: OptionGrammar = OptionGrammar {
        flags: "--list --verify",
        valued: "--library-path --argv0 --preload --audit",
        operands: 0,
    };
    let at = match LOADER.find_options_end(&run.argv) {
        OptionsEnd::At(at) => at,
        OptionsEnd::UnknownOption(option) => return add_unknown_option(reader, run, option),
    };
    let options = &run.argv[..at.min(run.argv.len())];
    if find_any_option(options, "--library-path --preload --audit").is_some() {
        reader.mark_programs_uncertain(
            OpaqueReason::CodeInjection(CodeInjection::Preload),
            options[1..].join(" "),
        );
    }
    analyze_wrapped_command(reader, run, at);
}

/// `ip netns exec NAME COMMAND`; the other subcommands run nothing.
pub(super) fn analyze_ip(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let words = run.argv.iter().enumerate().skip(1).filter(|(_, word)| !word.starts_with('-'));
    let words: Vec<(usize, &str)> = words.map(|(at, word)| (at, word.as_str())).collect();
    match words.as_slice() {
        [(_, space), (_, exec), (at, _), ..]
            if "netns".starts_with(space) && space.len() > 3 && "exec".starts_with(exec) =>
        {
            let at = at + 1;
            reader.mark_arguments_uncertain(OpaqueReason::ChangedPrivileges, run.argv.join(" "));
            analyze_wrapped_command(reader, run, at);
        }
        [(_, "vrf"), ..] => add_unbounded_invocation(reader, run, OpaqueReason::ChangedPrivileges),
        [..] if find_any_option(&run.argv, "-b --batch -batch -force").is_some() => {
            add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput);
        }
        [..] => add_invocation(reader, run),
    }
}

/// `sudo [OPTIONS] [NAME=VALUE…] COMMAND`.
pub(super) fn analyze_sudo(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const SUDO: OptionGrammar = OptionGrammar {
        flags: "-A -b -E -H -k -n -P -S --askpass --background --preserve-env --set-home \
                --non-interactive --stdin",
        valued: "-C -g -p -u -T --group --prompt --user --close-from --command-timeout",
        operands: 0,
    };
    reader.mark_arguments_uncertain(OpaqueReason::ChangedPrivileges, run.argv.join(" "));
    match SUDO.find_options_end(&run.argv) {
        OptionsEnd::At(at) => analyze_assignments_then_command(reader, run, at),
        OptionsEnd::UnknownOption(option) => add_unknown_option(reader, run, option),
    }
}

/// Takes assignments, then the command.
fn analyze_assignments_then_command(
    reader: &mut CommandAnalyzer,
    mut run: CommandInvocation,
    mut at: usize,
) {
    // `env -` means `env -i`.
    if run.argv.get(at).is_some_and(|word| word == "-") {
        at += 1;
    }
    while let Some((name, value)) = run.argv.get(at).and_then(|word| word.split_once('=')) {
        let (name, value) = (name.to_owned(), value.to_owned());
        let known = !run.unknown.contains(&at);
        reader.analyze_variable(&name, VariableValue::new(&value, known));
        run.assignments.push((name, value));
        at += 1;
    }
    analyze_wrapped_command(reader, run, at);
}

/// `command`, `builtin`, `exec`.
pub(super) fn analyze_command_builtin(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const BUILTIN: OptionGrammar = OptionGrammar { flags: "-p", valued: "", operands: 0 };
    const EXEC: OptionGrammar = OptionGrammar { flags: "-c -l", valued: "-a", operands: 0 };
    // `command -v` only looks up a name.
    if run.argv[0] == "command" && run.argv.get(1).is_some_and(|word| word == "-v" || word == "-V")
    {
        return add_invocation(reader, run);
    }
    let grammar = if run.argv[0] == "exec" { EXEC } else { BUILTIN };
    match grammar.find_options_end(&run.argv) {
        OptionsEnd::At(at) => analyze_wrapped_command(reader, run, at),
        OptionsEnd::UnknownOption(option) => add_unknown_option(reader, run, option),
    }
}

/// `watch [OPTIONS] WORDS…`: the words are joined to a line for a shell.
pub(super) fn analyze_watch(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const WATCH: OptionGrammar = OptionGrammar {
        flags: "-b -c -C -d -e -g -p -t -w --beep --color --differences --errexit --chgexit \
                --precise --no-title --no-wrap",
        valued: "-n -q --interval --equexit",
        operands: 0,
    };
    match WATCH.find_options_end(&run.argv) {
        OptionsEnd::At(at) if at < run.argv.len() => {
            analyze_shell_argument(reader, &run, at..run.argv.len());
        }
        OptionsEnd::At(_) => add_invocation(reader, run),
        OptionsEnd::UnknownOption(option) => add_unknown_option(reader, run, option),
    }
}

/// `flock [OPTIONS] FILE COMMAND`, or `flock FILE -c LINE`.
pub(super) fn analyze_flock(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const FLOCK: OptionGrammar = OptionGrammar {
        flags: "-e -F -n -o -s -u -x --exclusive --no-fork --nonblock --close --shared --unlock",
        valued: "-E -w --conflict-exit-code --timeout",
        operands: 1,
    };
    let at = match FLOCK.find_command_start(&run.argv) {
        OptionsEnd::At(at) => at,
        OptionsEnd::UnknownOption(option) => return add_unknown_option(reader, run, option),
    };
    if let Some(file) = run.argv.get(at - 1).filter(|_| at > 1) {
        let file = file.clone();
        reader.add_written_path(&file);
    }
    match (run.argv.get(at).map(String::as_str), run.argv.get(at + 1)) {
        (Some("-c" | "--command"), Some(_)) if run.argv.len() == at + 2 => {
            analyze_shell_argument(reader, &run, at + 1..at + 2);
        }
        (Some(option), _) if option.starts_with('-') => {
            let option = option.to_owned();
            add_unknown_option(reader, run, option);
        }
        (Some(_) | None, _) => analyze_wrapped_command(reader, run, at),
    }
}

/// `docker run`, `kubectl exec`, …: runs elsewhere; subcommands that only read are transparent.
pub(super) fn analyze_container(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const LOOKING: &[&str] = &[
        "ps", "images", "version", "info", "inspect", "get", "describe", "history", "port", "top",
        "stats", "search",
    ];
    match run.argv.get(1) {
        Some(word) if LOOKING.contains(&word.as_str()) => add_invocation(reader, run),
        Some(word) if word == "--version" || word == "--help" => add_invocation(reader, run),
        Some(_) | None => add_unbounded_invocation(reader, run, OpaqueReason::RemoteExecution),
    }
}

/// `npm`, `npx` and the like: transparent, except for options that are code or name a shell.
pub(super) fn analyze_package_manager(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const CODE: &str = "-c -e -p -r --call --eval --print --require --import --script-shell \
                        --node-options --shell-mode --shell --globalconfig --userconfig --prefix \
                        --node-arg --env-file --python --exec --with-editable --config";
    const RUNNING: &[&str] = &["exec", "eval", "repl", "config", "set", "edit", "explore", "x"];
    // What follows `--` are arguments of the script.
    let end = run.argv.iter().position(|word| word == "--").unwrap_or(run.argv.len());
    if let Some(option) =
        find_any_option(&run.argv[..end], &CODE.split_whitespace().collect::<Vec<_>>().join(" "))
    {
        reader.mark_arguments_uncertain(OpaqueReason::Code, option.clone());
    }
    if run.argv.iter().any(|word| word == "-") {
        reader.mark_arguments_uncertain(OpaqueReason::CommandsFromInput, "-");
    }
    let arguments = &run.argv[1..];
    let runs = |at: usize| RUNNING.contains(&arguments[at].as_str());
    if embedded_commands::possible_subcommands(arguments).into_iter().any(runs) {
        add_unbounded_invocation(reader, run, OpaqueReason::Code);
    // `npm x` is a subcommand, whereas `yarn x` runs any script or program `x`.
    } else if run.argv[0] == "npm" {
        add_invocation(reader, run);
    } else {
        let carried = embedded_commands::find_package_tool_commands(&run);
        add_invocation(reader, CommandInvocation { carried, ..run });
    }
}

/// `make`: the makefile determines what runs, unless the arguments do.
pub(super) fn analyze_make(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const CODE: &str = "-f -E -I -C --file --makefile --eval --include-dir --directory";
    if let Some(option) = find_any_option(&run.argv, CODE) {
        reader.mark_arguments_uncertain(OpaqueReason::Code, option.clone());
    }
    for (at, word) in run.argv.iter().enumerate().skip(1) {
        let Some((name, value)) = word.split_once('=') else { continue };
        reader.mark_arguments_uncertain(OpaqueReason::Code, word.clone());
        // `CC:=x`, `CFLAGS+=x`: has the effect of a variable.
        let name = name.trim_end_matches([':', '+', '?', '!']);
        reader.analyze_variable(name, VariableValue::new(value, !run.unknown.contains(&at)));
    }
    add_invocation(reader, run);
}

/// `tar`: its first word may be options without a dash.
pub(super) fn analyze_tar(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const CODE: &str = "-I -F --use-compress-program --info-script --new-volume-script \
                        --checkpoint-action --to-command --rsh-command --rmt-command";
    let options: Vec<&str> = CODE.split_whitespace().collect();
    let bundled =
        run.argv.get(1).is_some_and(|word| !word.starts_with('-') && word.contains(['I', 'F']));
    if bundled {
        reader.mark_arguments_uncertain(OpaqueReason::Code, run.argv[1].clone());
    } else if let Some(option) = find_any_option(&run.argv, &options.join(" ")) {
        reader.mark_arguments_uncertain(OpaqueReason::Code, option.clone());
    }
    super::mark_possible_options(reader, &run, OpaqueReason::Code);
    // `host:file` is fetched by a program that it starts.
    if let Some(remote) = run.argv[1..].iter().find(|word| word.contains(':')) {
        reader.mark_arguments_uncertain(OpaqueReason::RemoteExecution, remote.clone());
    }
    add_invocation(reader, run);
}
