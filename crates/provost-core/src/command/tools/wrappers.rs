//! Wrappers with more to them than options.

use super::super::filled::Filled;
use super::super::reader::Reader;
use super::super::variables::Value;
use super::super::{Demand, Loads, Why};
use super::options::{End, Grammar, any_of};
use super::{Run, inner, line, never, plain, unknown};

/// `env [OPTIONS] [NAME=VALUE…] COMMAND`.
pub(super) fn env(reader: &mut Reader, run: Run) {
    const ENV: Grammar = Grammar {
        flags: "-i -0 -v --ignore-environment --null --debug",
        valued: "-u -C --unset --chdir",
        operands: 0,
    };
    match ENV.options(&run.argv) {
        End::At(at) => {
            let here = reader.folders.clone();
            if let Some(folder) = folder(&run, at) {
                reader.folders.enter(&folder);
            }
            variables(reader, run, at);
            reader.folders = here;
        }
        // `-S` splits a string into arguments, which is certain for plain words.
        End::Unknown(option) => match split(&run) {
            Some(run) => env(reader, run),
            None => unknown(reader, run, option),
        },
    }
}

/// The folder of `env -C FOLDER`, among the options before a place. What is not known is
/// written as it stands there, and is a folder that nobody knows.
fn folder(run: &Run, end: usize) -> Option<String> {
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
fn split(run: &Run) -> Option<Run> {
    let word = run.argv.get(1)?;
    let (text, taken) = match word.strip_prefix("-S").or(word.strip_prefix("--split-string=")) {
        Some("") => (run.argv.get(2)?.as_str(), 3),
        Some(text) => (text, 2),
        None if word == "--split-string" => (run.argv.get(2)?.as_str(), 3),
        None => return None,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_./,+@%:=".contains(c);
    if !text.chars().all(plain) || run.unknown.iter().any(|place| *place < taken) {
        return None;
    }
    let mut split = run.clone();
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let more = words.len();
    split.argv.splice(1..taken, words);
    split.unknown.iter_mut().for_each(|place| *place = *place + 1 + more - taken);
    Some(split)
}

/// `xargs [OPTIONS] COMMAND`: what it reads is added, or takes the place of a word.
pub(super) fn xargs(reader: &mut Reader, mut run: Run) {
    const XARGS: Grammar = Grammar {
        flags: "-0 -r -t -x -p -o --null --no-run-if-empty --verbose --exit --interactive \
                --open-tty",
        valued: "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs \
                 --max-chars --max-lines",
        operands: 0,
    };
    reader.opaque(Why::Input, run.argv.join(" "));
    let at = match XARGS.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => return unknown(reader, run, option),
    };
    let options = &run.argv[1..at.min(run.argv.len())];
    // `-a FILE`, `-aFILE`, `--arg-file=FILE`: its lines become words.
    let files = options.iter().enumerate().filter_map(|(place, word)| {
        let rest = word.strip_prefix("--arg-file").or_else(|| word.strip_prefix("-a"))?;
        let joined = rest.strip_prefix('=').unwrap_or(rest);
        if joined.is_empty() { options.get(place + 1).cloned() } else { Some(joined.to_owned()) }
    });
    for file in files.collect::<Vec<_>>() {
        for path in reader.folders.places(&file) {
            reader.demand(Demand::Operand { path });
        }
    }
    let replaced = options.iter().enumerate().find_map(|(place, word)| {
        let rest = word.strip_prefix("-I")?;
        if rest.is_empty() { options.get(place + 1).cloned() } else { Some(rest.to_owned()) }
    });
    match &replaced {
        Some(mark) => {
            let held = (at..run.argv.len()).filter(|place| run.argv[*place].contains(mark));
            let held: Vec<usize> = held.chain(run.unknown.iter().copied()).collect();
            run.unknown = held;
            run.unknown.sort_unstable();
            run.unknown.dedup();
        }
        None if at < run.argv.len() => run.unknown.push(run.argv.len()),
        None => {}
    }
    let marks = replaced.iter().map(|mark| Filled::by_input(mark)).collect();
    reader.filling(marks, |reader| inner(reader, run, at));
}

/// The loader of programs: `ld.so [OPTIONS] PROGRAM`.
pub(super) fn loader(reader: &mut Reader, run: Run) {
    const LOADER: Grammar = Grammar {
        flags: "--list --verify",
        valued: "--library-path --argv0 --preload --audit",
        operands: 0,
    };
    let at = match LOADER.options(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => return unknown(reader, run, option),
    };
    let options = &run.argv[..at.min(run.argv.len())];
    if any_of(options, "--library-path --preload --audit").is_some() {
        reader.open(Why::Loads(Loads::Preload), options[1..].join(" "));
    }
    inner(reader, run, at);
}

/// `ip netns exec NAME COMMAND`; everything else only looks or sets.
pub(super) fn ip(reader: &mut Reader, run: Run) {
    let words = run.argv.iter().enumerate().skip(1).filter(|(_, word)| !word.starts_with('-'));
    let words: Vec<(usize, &str)> = words.map(|(at, word)| (at, word.as_str())).collect();
    match words.as_slice() {
        [(_, space), (_, exec), (at, _), ..]
            if "netns".starts_with(space) && space.len() > 3 && "exec".starts_with(exec) =>
        {
            let at = at + 1;
            reader.opaque(Why::Rights, run.argv.join(" "));
            inner(reader, run, at);
        }
        [(_, "vrf"), ..] => never(reader, run, Why::Rights),
        [..] if any_of(&run.argv, "-b --batch -batch -force").is_some() => {
            never(reader, run, Why::Input);
        }
        [..] => plain(reader, run),
    }
}

/// `sudo [OPTIONS] [NAME=VALUE…] COMMAND`.
pub(super) fn sudo(reader: &mut Reader, run: Run) {
    const SUDO: Grammar = Grammar {
        flags: "-A -b -E -H -k -n -P -S --askpass --background --preserve-env --set-home \
                --non-interactive --stdin",
        valued: "-C -g -p -u -T --group --prompt --user --close-from --command-timeout",
        operands: 0,
    };
    reader.opaque(Why::Rights, run.argv.join(" "));
    match SUDO.options(&run.argv) {
        End::At(at) => variables(reader, run, at),
        End::Unknown(option) => unknown(reader, run, option),
    }
}

/// Takes variables, then the command.
fn variables(reader: &mut Reader, mut run: Run, mut at: usize) {
    // `env -` means `env -i`.
    if run.argv.get(at).is_some_and(|word| word == "-") {
        at += 1;
    }
    while let Some((name, value)) = run.argv.get(at).and_then(|word| word.split_once('=')) {
        let (name, value) = (name.to_owned(), value.to_owned());
        let known = !run.unknown.contains(&at);
        reader.variable(&name, Value::new(&value, known));
        run.assignments.push((name, value));
        at += 1;
    }
    inner(reader, run, at);
}

/// `command`, `builtin`, `exec`.
pub(super) fn builtin(reader: &mut Reader, run: Run) {
    const BUILTIN: Grammar = Grammar { flags: "-p", valued: "", operands: 0 };
    const EXEC: Grammar = Grammar { flags: "-c -l", valued: "-a", operands: 0 };
    // `command -v` only asks.
    if run.argv[0] == "command" && run.argv.get(1).is_some_and(|word| word == "-v" || word == "-V")
    {
        return plain(reader, run);
    }
    let grammar = if run.argv[0] == "exec" { EXEC } else { BUILTIN };
    match grammar.options(&run.argv) {
        End::At(at) => inner(reader, run, at),
        End::Unknown(option) => unknown(reader, run, option),
    }
}

/// `watch [OPTIONS] WORDS…`: the words are joined and given to a shell.
pub(super) fn watch(reader: &mut Reader, run: Run) {
    const WATCH: Grammar = Grammar {
        flags: "-b -c -C -d -e -g -p -t -w --beep --color --differences --errexit --chgexit \
                --precise --no-title --no-wrap",
        valued: "-n -q --interval --equexit",
        operands: 0,
    };
    match WATCH.options(&run.argv) {
        End::At(at) if at < run.argv.len() => line(reader, &run, at..run.argv.len()),
        End::At(_) => plain(reader, run),
        End::Unknown(option) => unknown(reader, run, option),
    }
}

/// `flock [OPTIONS] FILE COMMAND`, or `flock FILE -c LINE`.
pub(super) fn flock(reader: &mut Reader, run: Run) {
    const FLOCK: Grammar = Grammar {
        flags: "-e -F -n -o -s -u -x --exclusive --no-fork --nonblock --close --shared --unlock",
        valued: "-E -w --conflict-exit-code --timeout",
        operands: 1,
    };
    let at = match FLOCK.command(&run.argv) {
        End::At(at) => at,
        End::Unknown(option) => return unknown(reader, run, option),
    };
    if let Some(file) = run.argv.get(at - 1).filter(|_| at > 1) {
        let file = file.clone();
        reader.writes(&file);
    }
    match (run.argv.get(at).map(String::as_str), run.argv.get(at + 1)) {
        (Some("-c" | "--command"), Some(_)) if run.argv.len() == at + 2 => {
            line(reader, &run, at + 1..at + 2);
        }
        (Some(option), _) if option.starts_with('-') => {
            let option = option.to_owned();
            unknown(reader, run, option);
        }
        (Some(_) | None, _) => inner(reader, run, at),
    }
}

/// `docker run`, `kubectl exec`, …: elsewhere; what only looks is plain.
pub(super) fn container(reader: &mut Reader, run: Run) {
    const LOOKING: &[&str] = &[
        "ps", "images", "version", "info", "inspect", "get", "describe", "history", "port", "top",
        "stats", "search",
    ];
    match run.argv.get(1) {
        Some(word) if LOOKING.contains(&word.as_str()) => plain(reader, run),
        Some(word) if word == "--version" || word == "--help" => plain(reader, run),
        Some(_) | None => never(reader, run, Why::Elsewhere),
    }
}

/// `npm`, `npx` and the like: plain, but for options that are code or name a shell.
pub(super) fn packages(reader: &mut Reader, run: Run) {
    const CODE: &str = "-c -e -p -r --call --eval --print --require --import --script-shell \
                        --node-options --shell-mode --shell --globalconfig --userconfig --prefix \
                        --node-arg --env-file --python --exec --with-editable --config";
    const RUNNING: &[&str] = &["exec", "eval", "repl", "config", "set", "edit", "explore", "x"];
    // What follows `--` is for the script, which is what its file says.
    let end = run.argv.iter().position(|word| word == "--").unwrap_or(run.argv.len());
    if let Some(option) =
        any_of(&run.argv[..end], &CODE.split_whitespace().collect::<Vec<_>>().join(" "))
    {
        reader.opaque(Why::Code, option.clone());
    }
    if run.argv.iter().any(|word| word == "-") {
        reader.opaque(Why::Input, "-");
    }
    let arguments = &run.argv[1..];
    let runs = |at: usize| RUNNING.contains(&arguments[at].as_str());
    if super::carried::subcommands(arguments).into_iter().any(runs) {
        never(reader, run, Why::Code);
    // `npm x` is a word of its own, where `yarn x` runs whatever is called so.
    } else if run.argv[0] == "npm" {
        plain(reader, run);
    } else {
        let carried = super::carried::by_package_tool(&run);
        plain(reader, Run { carried, ..run });
    }
}

/// `make`: the file says what runs, unless the arguments do.
pub(super) fn make(reader: &mut Reader, run: Run) {
    const CODE: &str = "-f -E -I -C --file --makefile --eval --include-dir --directory";
    if let Some(option) = any_of(&run.argv, CODE) {
        reader.opaque(Why::Code, option.clone());
    }
    for (at, word) in run.argv.iter().enumerate().skip(1) {
        let Some((name, value)) = word.split_once('=') else { continue };
        reader.opaque(Why::Code, word.clone());
        // `CC:=x`, `CFLAGS+=x`: what it runs is told by it as by a variable.
        let name = name.trim_end_matches([':', '+', '?', '!']);
        reader.variable(name, Value::new(value, !run.unknown.contains(&at)));
    }
    plain(reader, run);
}

/// `tar`: its first word may be options without a dash.
pub(super) fn tar(reader: &mut Reader, run: Run) {
    const CODE: &str = "-I -F --use-compress-program --info-script --new-volume-script \
                        --checkpoint-action --to-command --rsh-command --rmt-command";
    let options: Vec<&str> = CODE.split_whitespace().collect();
    let bundled =
        run.argv.get(1).is_some_and(|word| !word.starts_with('-') && word.contains(['I', 'F']));
    if bundled {
        reader.opaque(Why::Code, run.argv[1].clone());
    } else if let Some(option) = any_of(&run.argv, &options.join(" ")) {
        reader.opaque(Why::Code, option.clone());
    }
    super::may_gain(reader, &run, Why::Code);
    // `host:file` is fetched from there, by a program that it starts.
    if let Some(remote) = run.argv[1..].iter().find(|word| word.contains(':')) {
        reader.opaque(Why::Elsewhere, remote.clone());
    }
    plain(reader, run);
}
