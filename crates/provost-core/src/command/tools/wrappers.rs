//! Wrappers with more to them than options.

use super::super::Why;
use super::super::reader::Reader;
use super::options::{End, Grammar, any_of};
use super::{Run, inner, line, never, plain, unknown};

/// `env [OPTIONS] [NAME=VALUE…] COMMAND`.
pub(super) fn env(reader: &mut Reader, run: Run) {
    const ENV: Grammar = Grammar {
        flags: "-i -0 -v --ignore-environment --null --debug",
        valued: "-u --unset",
        operands: 0,
    };
    match ENV.options(&run.argv) {
        End::At(at) => variables(reader, run, at),
        // `-S` splits a string into arguments, `-C` changes the folder.
        End::Unknown(option) => unknown(reader, run, option),
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
        reader.variable(&name);
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
        End::At(at) if at < run.argv.len() => line(reader, &run, &run.argv[at..].join(" ")),
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
        (Some("-c" | "--command"), Some(text)) if run.argv.len() == at + 2 => {
            line(reader, &run, text);
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
    let subcommand = run.argv[1..].iter().find(|word| !word.starts_with('-'));
    match subcommand {
        Some(word) if RUNNING.contains(&word.as_str()) => never(reader, run, Why::Code),
        Some(_) | None => plain(reader, run),
    }
}

/// `make`: the file says what runs, unless the arguments do.
pub(super) fn make(reader: &mut Reader, run: Run) {
    const CODE: &str = "-f -E -I -C --file --makefile --eval --include-dir --directory";
    if let Some(option) = any_of(&run.argv, CODE) {
        reader.opaque(Why::Code, option.clone());
    }
    if let Some(variable) = run.argv[1..].iter().find(|word| word.contains('=')) {
        reader.opaque(Why::Code, variable.clone());
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
    // `host:file` is fetched from there, by a program that it starts.
    if let Some(remote) = run.argv[1..].iter().find(|word| word.contains(':')) {
        reader.opaque(Why::Elsewhere, remote.clone());
    }
    plain(reader, run);
}
