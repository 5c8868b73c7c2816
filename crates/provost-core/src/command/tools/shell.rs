//! Shells and what they do themselves.

use super::super::reader::Reader;
use super::super::variables::Value;
use super::super::{Loads, Why};
use super::options::{End, Grammar};
use super::{Run, line, never, plain, unclear};

/// Options that change how a shell ends or what it prints, not what it reads.
const SHELL: Grammar = Grammar {
    flags: "-e -u -x -v -f -n -c -l --login --norc --noprofile",
    valued: "-o",
    operands: 0,
};

/// `sh -c LINE`, `sh SCRIPT`, `sh`.
pub(super) fn look(reader: &mut Reader, run: Run) {
    let end = match SHELL.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => return super::unknown(reader, run, option),
    };
    let options = &run.argv[1..end];
    let is_line = options
        .iter()
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'));
    match run.argv.get(end).cloned() {
        // `-o` may itself be given `-c`, or a name with a `c`; only what is certain is read.
        Some(_)
            if options.iter().any(|word| {
                word.contains('o')
                    && word.starts_with('-')
                    && word != "-o"
                    && !word.starts_with("--")
            }) =>
        {
            never(reader, run, Why::UnknownOption);
        }
        Some(text) if is_line && !text.starts_with('+') => line(reader, &run, end..end + 1),
        // What is a script there, nobody could look at.
        Some(_) if run.unknown.iter().any(|place| *place <= end) => {
            never(reader, run, Why::Input);
        }
        // Input and the terminal are no scripts that a person could look at.
        Some(script)
            if script == "-" || script.starts_with("/dev/") || script.starts_with("/proc/") =>
        {
            never(reader, run, Why::Input);
        }
        // `+x` is an option too, and another may follow.
        Some(option) if option.starts_with('+') => super::unknown(reader, run, option),
        Some(_) => plain(reader, run),
        None => never(reader, run, Why::Input),
    }
}

/// The place of the script in `sh [OPTIONS] SCRIPT`.
pub(super) fn script(argv: &[String]) -> Option<usize> {
    match SHELL.options(argv) {
        End::At(at) if at < argv.len() => Some(at),
        End::At(_) | End::Unknown(_) => None,
    }
}

/// `source FILE`: it does what the file says, as a script does, in this very shell.
pub(super) fn source(reader: &mut Reader, run: Run) {
    let file = run.argv.get(1).map_or("", String::as_str);
    // What is a script there, nobody could look at.
    let seen =
        !run.unknown.contains(&1) && !file.starts_with("/dev/") && !file.starts_with("/proc/");
    if seen { unclear(reader, run, Why::Shell) } else { never(reader, run, Why::Input) }
}

/// `cd FOLDER`: what follows is somewhere else.
pub(super) fn cd(reader: &mut Reader, run: Run) {
    const CD: Grammar = Grammar { flags: "-P -L -e", valued: "", operands: 0 };
    let folder = match CD.options(&run.argv) {
        End::At(at) if at + 1 == run.argv.len() => run.argv.get(at).cloned(),
        End::At(_) | End::Unknown(_) => None,
    };
    match folder {
        Some(folder) if !folder.is_empty() && folder != "-" && !reader.in_loop() => {
            plain(reader, run);
            reader.folders.enter(&folder);
        }
        Some(_) | None => {
            unclear(reader, run, Why::Folder);
            // Wherever that is: for what follows it is a folder that nobody knows.
            reader.folders.enter(SOMEWHERE);
        }
    }
}

/// `pushd`, `popd`: what follows is somewhere else.
pub(super) fn elsewhere(reader: &mut Reader, run: Run) {
    unclear(reader, run, Why::Folder);
    reader.folders.enter(SOMEWHERE);
}

/// `eval WORDS…`: the words are joined, and are a line of this very shell.
pub(super) fn eval(reader: &mut Reader, run: Run) {
    if run.argv.get(1).is_some_and(|word| word.starts_with('-') && word != "--") {
        return never(reader, run, Why::Shell);
    }
    let start = if run.argv.get(1).is_some_and(|word| word == "--") { 2 } else { 1 };
    let text = run.argv[start.min(run.argv.len())..].join(" ");
    if !run.unknown.is_empty() || run.through.len() >= super::WRAPPERS {
        return never(reader, run, Why::Shell);
    }
    let mut through = run.through.clone();
    through.push("eval".to_owned());
    let around = std::mem::replace(&mut reader.through, through);
    let assigned = std::mem::replace(&mut reader.assigned, run.assignments.clone());
    reader.nested(&text);
    reader.through = around;
    reader.assigned = assigned;
}

/// `trap LINE SIGNALS…`: the line runs later, wherever the shell is by then.
pub(super) fn trap(reader: &mut Reader, run: Run) {
    reader.opaque(Why::Later, run.argv.join(" "));
    match run.argv.get(1).map(String::as_str) {
        None | Some("-" | "-l" | "-p" | "") => plain(reader, run),
        Some(option) if option.starts_with('-') && option != "--" => {
            never(reader, run, Why::Shell);
        }
        Some(word) => {
            let at = if word == "--" { 2 } else { 1 };
            if at >= run.argv.len() {
                return plain(reader, run);
            }
            let here = reader.folders.clone();
            reader.folders.enter(SOMEWHERE);
            line(reader, &run, at..at + 1);
            reader.folders = here;
        }
    }
}

/// `set -e`, `set -o pipefail`: the shell ends sooner or tells more, and runs nothing else.
pub(super) fn set(reader: &mut Reader, run: Run) {
    const NAMES: [&str; 6] = ["pipefail", "errexit", "nounset", "xtrace", "noclobber", "noglob"];
    let mut words = run.argv[1..].iter();
    let mut harmless = run.unknown.is_empty();
    while let Some(word) = words.next() {
        if word == "--" {
            // What follows are arguments, which are not known where they are used.
            return unclear(reader, run, Why::Shell);
        }
        let letters = word.strip_prefix(['-', '+']).unwrap_or("?");
        harmless &= !letters.is_empty() && letters.chars().all(|c| "euxfCo".contains(c));
        if letters.ends_with('o') {
            harmless &= words.next().is_some_and(|name| NAMES.contains(&name.as_str()));
        }
    }
    if harmless { plain(reader, run) } else { never(reader, run, Why::Shell) }
}

/// `read NAME`, `local NAME=VALUE`: fine for plain names; an index is evaluated,
/// and so is a value that is to be a number.
pub(super) fn names(reader: &mut Reader, run: Run) {
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
                reader.variable(name, Value::new(value, run.unknown.is_empty()));
            }
            // What is unset names nothing; but without a path, one is made up.
            None if run.argv[0] == "unset" && word != "PATH" => {}
            None => reader.variable(word, Value::Unknown("")),
        }
    }
    let first_is_known = run.argv[1..].iter().all(fine);
    if first_is_known {
        unclear(reader, run, Why::Arithmetic);
    } else {
        never(reader, run, Why::Arithmetic);
    }
}

/// Stands for a folder that is not known, in the way that what is not known is written.
const SOMEWHERE: &str = "$PWD";

/// `export NAME=VALUE`.
pub(super) fn export(reader: &mut Reader, run: Run) {
    for (at, word) in run.argv.iter().enumerate().skip(1) {
        let known = !run.unknown.contains(&at);
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let appended = name.strip_suffix('+');
        let is_name =
            |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match (word.contains('='), appended.unwrap_or(name)) {
            (true, name) if is_name(name) => {
                reader.variable(name, Value::new(value, known && appended.is_none()));
                if appended.is_some() {
                    reader.opaque(Why::Variable, word.clone());
                }
            }
            // It was judged where it was set; a path there is in any case.
            (false, "PATH") => reader.opaque(Why::Variable, word.clone()),
            (false, name) if is_name(name) => reader.variable(name, Value::Unknown("")),
            // Which variable it is, is not known.
            (true | false, _) if !known => {
                reader.open(Why::Loads(Loads::Settings), word.clone());
            }
            // An option, or an array, whose index is evaluated.
            (true | false, _) => reader.opaque(Why::Variable, word.clone()),
        }
    }
    plain(reader, run);
}
