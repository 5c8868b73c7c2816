//! Programs that run others, or take code: looked through exactly, or opaque.

mod awk;
mod by_option;
mod carried;
mod find;
mod git;
mod git_config;
mod git_search;
mod harmless;
mod interpreters;
mod languages;
mod options;
mod reads;
mod rows;
mod sed;
mod shell;
mod table;
mod wrappers;
mod writes;

use super::reader::Reader;
use super::{Demand, Run, Why, base, host};
use options::{End, Grammar, any_of};
use table::{How, Own};

/// How many wrappers are looked through.
const WRAPPERS: usize = 8;

/// Folders whose programs are what their names say.
const SYSTEM: [&str; 10] = [
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/sbin/",
    // The loader of programs lies here, and runs what it is given.
    "/lib64/",
    "/lib/",
    "/usr/lib64/",
    "/usr/lib/",
];

/// Reads what a program would do, and adds it to the demands.
pub(super) fn look(reader: &mut Reader, run: Run) {
    let Some(name) = name(&run.argv) else { return own_program(reader, run) };
    let Some(tool) = table::tool(name) else {
        let harmless = harmless::is_harmless(name);
        return if harmless { plain(reader, run) } else { unknown_program(reader, run) };
    };
    match &tool.how {
        How::Wraps(grammar) => through(reader, run, grammar, None),
        How::Marked(grammar, why) => through(reader, run, grammar, Some(*why)),
        How::Never(why) => never(reader, run, *why),
        How::Unclear(why) => unclear(reader, run, *why),
        How::Unless(options, why) => unless(reader, run, options, *why),
        How::Interprets(grammar) => interpreters::look(reader, run, grammar),
        How::Own(own) => special(reader, run, *own),
    }
}

/// A program with a folder in its name: what it does, only its file says.
///
/// An interpreter is read like the one it is named after, which an environment
/// of the project puts there. What is named after a wrapper is not what it seems.
fn own_program(reader: &mut Reader, run: Run) {
    let program = run.argv.first().map(String::as_str).unwrap_or_default();
    match program.rsplit('/').next().and_then(table::tool).map(|tool| &tool.how) {
        Some(How::Interprets(grammar)) => interpreters::look(reader, run, grammar),
        Some(How::Unless(options, why)) => unless(reader, run, options, *why),
        Some(How::Wraps(_) | How::Marked(..) | How::Never(_) | How::Unclear(_) | How::Own(_)) => {
            reader.open(Why::Name, program);
            plain(reader, run);
        }
        None => unknown_program(reader, run),
    }
}

/// A program that nobody told us of: its words may be a command.
fn unknown_program(reader: &mut Reader, mut run: Run) {
    run.carried = carried::by(&run);
    if run.carried.texts.len() > carried::TEXTS {
        reader.open(Why::Code, run.argv.join(" "));
    }
    let own = run.argv.first().and_then(|program| base(program).strip_prefix("git-"));
    if let Some(subcommand) = own.map(str::to_owned) {
        return git::by_its_name(reader, run, &subcommand);
    }
    plain(reader, run);
}

/// Whether a program of this name runs nothing that its words name.
pub(super) fn is_harmless(name: &str) -> bool {
    harmless::is_harmless(name) && table::tool(name).is_none()
}

/// The place of the script that an interpreter is given, if the words tell it.
pub(crate) fn script(argv: &[String]) -> Option<usize> {
    match &table::tool(base(argv.first()?))?.how {
        How::Interprets(interpreter) => interpreters::script(argv, interpreter),
        How::Own(Own::Shell) => shell::script(argv),
        How::Wraps(_)
        | How::Marked(..)
        | How::Never(_)
        | How::Unclear(_)
        | How::Unless(..)
        | How::Own(_) => None,
    }
}

/// Whether a program of this name takes what it reads, or its words, for commands or code.
pub(super) fn takes_code(name: &str) -> bool {
    match table::tool(name).map(|tool| &tool.how) {
        Some(
            How::Interprets(_) | How::Never(_) | How::Own(Own::Shell | Own::Xargs | Own::Eval),
        ) => true,
        Some(How::Wraps(_) | How::Marked(..) | How::Unclear(_) | How::Unless(..) | How::Own(_))
        | None => false,
    }
}

fn special(reader: &mut Reader, run: Run, own: Own) {
    match own {
        Own::Awk => awk::look(reader, run),
        Own::Builtin => wrappers::builtin(reader, run),
        Own::Cd => shell::cd(reader, run),
        Own::Container => wrappers::container(reader, run),
        Own::Elsewhere => shell::elsewhere(reader, run),
        Own::Env => wrappers::env(reader, run),
        Own::Eval => shell::eval(reader, run),
        Own::Export => shell::export(reader, run),
        Own::Fd => find::fd(reader, run),
        Own::Find => find::look(reader, run),
        Own::Flock => wrappers::flock(reader, run),
        Own::Git => git::look(reader, run),
        Own::Ip => wrappers::ip(reader, run),
        Own::Java => interpreters::java(reader, run),
        Own::Loader => wrappers::loader(reader, run),
        Own::Names => shell::names(reader, run),
        Own::Set => shell::set(reader, run),
        Own::Trap => shell::trap(reader, run),
        Own::Xargs => wrappers::xargs(reader, run),
        Own::Make => wrappers::make(reader, run),
        Own::Packages => wrappers::packages(reader, run),
        Own::Sed => sed::look(reader, run),
        Own::Shell => shell::look(reader, run),
        Own::Source => shell::source(reader, run),
        Own::Sudo => wrappers::sudo(reader, run),
        Own::Tar => wrappers::tar(reader, run),
        Own::Watch => wrappers::watch(reader, run),
    }
}

/// The name under which a program is known, if it is one of the system's.
fn name(argv: &[String]) -> Option<&str> {
    let program = argv.first()?.as_str();
    if !program.contains('/') {
        return Some(program);
    }
    let rest = SYSTEM.iter().find_map(|folder| program.strip_prefix(folder))?;
    (!rest.contains('/')).then_some(rest)
}

/// A program that is what it says.
fn plain(reader: &mut Reader, mut run: Run) {
    run.hosts = host::hosts(&run.argv);
    run.folders = reader.folders.to_vec();
    let program = run.argv.first().map_or("", |program| base(program));
    let given = reader.given(&run);
    let read = reads::read(program, &given);
    let named = reads::named(program, &given);
    let written = name(&run.argv).map(|name| writes::written(name, &given));
    run.named = named.iter().flat_map(|path| reader.folders.places(path)).collect();
    reader.demand(Demand::Run(run));
    for path in written.unwrap_or_default() {
        reader.writes(&path);
    }
    for path in read {
        for path in reader.folders.places(&path) {
            reader.demand(Demand::Operand { path });
        }
    }
}

/// A program that may run any other, whatever its arguments.
fn never(reader: &mut Reader, run: Run, why: Why) {
    reader.open(why, run.argv.join(" "));
    plain(reader, run);
}

/// A program that does what a file says, as a script does, or that changes the
/// shell in a way that starts nothing.
fn unclear(reader: &mut Reader, run: Run, why: Why) {
    reader.opaque(why, run.argv.join(" "));
    plain(reader, run);
}

/// A program that is plain but for some options.
fn unless(reader: &mut Reader, run: Run, options: &str, why: Why) {
    if let Some(option) = any_of(&run.argv, options) {
        let extent = if why == Why::Arithmetic { Reader::open } else { Reader::opaque };
        extent(reader, why, with_value(&run.argv, option));
    }
    // `gcc @file` takes more words from there.
    if let Some(words) = run.argv.iter().skip(1).find(|word| word.starts_with('@')) {
        reader.opaque(Why::Input, words.clone());
    }
    may_gain(reader, &run, why);
    plain(reader, run);
}

/// An option with the word behind it, which may be its value.
fn with_value(argv: &[String], option: &String) -> String {
    let next = argv.iter().skip_while(|word| *word != option).nth(1);
    let next = next.filter(|next| !option.contains('=') && !next.starts_with('-'));
    next.map_or_else(|| option.clone(), |next| format!("{option} {next}"))
}

/// What is not known may be one of the options that run something.
fn may_gain(reader: &mut Reader, run: &Run, why: Why) {
    if why != Why::Arithmetic && run.may_gain_options() {
        reader.opaque(Why::Code, run.argv.join(" "));
    }
}

/// A wrapper whose options are known.
fn through(reader: &mut Reader, run: Run, grammar: &Grammar, why: Option<Why>) {
    if let Some(why) = why {
        reader.opaque(why, run.argv.join(" "));
    }
    match grammar.command(&run.argv) {
        End::At(at) => inner(reader, run, at),
        End::Unknown(option) => unknown(reader, run, option),
    }
}

/// An option that we do not know: what it does and how long it is, is open.
fn unknown(reader: &mut Reader, run: Run, option: String) {
    reader.open(Why::UnknownOption, option);
    plain(reader, run);
}

/// The command that begins at this place in the arguments.
fn inner(reader: &mut Reader, mut run: Run, at: usize) {
    if at >= run.argv.len() {
        return plain(reader, run);
    }
    if run.through.len() >= WRAPPERS {
        return never(reader, run, Why::TooDeep);
    }
    let outer = name(&run.argv).unwrap_or_default().to_owned();
    shift(&mut run, at);
    run.through.push(outer);
    reader.run(run);
}

/// Takes words away from the front. What may have been many words, and is gone,
/// leaves open where the command begins.
fn shift(run: &mut Run, at: usize) {
    run.argv.drain(..at);
    let lost = run.unknown.first().is_some_and(|place| *place < at);
    run.unknown.retain(|place| *place >= at);
    run.unknown.iter_mut().for_each(|place| *place -= at);
    if lost && run.unknown.first() != Some(&0) {
        run.unknown.insert(0, 0);
    }
}

/// A line for a shell in the arguments, made of these words.
fn line(reader: &mut Reader, run: &Run, words: std::ops::Range<usize>) {
    let text = run.argv[words.clone()].join(" ");
    if run.unknown.iter().any(|place| *place < words.end) {
        reader.open(Why::Code, text.clone());
    }
    if run.through.len() >= WRAPPERS {
        reader.open(Why::TooDeep, text);
        return;
    }
    let mut through = run.through.clone();
    through.push(name(&run.argv).unwrap_or_default().to_owned());
    let around = std::mem::replace(&mut reader.through, through);
    let assigned = std::mem::replace(&mut reader.assigned, run.assignments.clone());
    let here = reader.folders.clone();
    reader.nested(&text);
    // It moved in a shell of its own.
    reader.folders = here;
    reader.through = around;
    reader.assigned = assigned;
}
