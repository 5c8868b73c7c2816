//! Shells and what they do themselves.

use super::super::Why;
use super::super::reader::Reader;
use super::options::{End, Grammar};
use super::{Run, line, never, plain};

/// Options that change how a shell ends or what it prints, not what it reads.
const SHELL: Grammar =
    Grammar { flags: "-e -u -x -v -f -n -c --norc --noprofile", valued: "-o", operands: 0 };

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
        Some(text) if is_line && !text.starts_with('+') => line(reader, &run, &text),
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
        Some(_) | None => never(reader, run, Why::Folder),
    }
}

/// `export NAME=VALUE`.
pub(super) fn export(reader: &mut Reader, run: Run) {
    for word in &run.argv[1..] {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let plain_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if plain_name {
            reader.variable(name);
        } else {
            // An option, `+=`, or an array, whose index is evaluated.
            reader.opaque(Why::Variable, word.clone());
        }
    }
    plain(reader, run);
}
