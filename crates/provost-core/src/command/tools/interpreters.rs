//! Interpreters of other languages: a script has a name, code has not.

use super::super::Why;
use super::super::reader::Reader;
use super::table::Interpreter;
use super::{Run, never, plain, unknown};

/// `python SCRIPT` is plain, `python -c CODE` and `python` are not.
pub(super) fn look(reader: &mut Reader, run: Run, interpreter: &Interpreter) {
    let has = |options: &str, word: &str| options.split(' ').any(|known| known == word);
    for word in &run.argv[1..] {
        if has(interpreter.named, word) || run.argv.len() == 2 && has(interpreter.alone, word) {
            return plain(reader, run);
        }
        if word == "-" || word.starts_with("/dev/") || word.starts_with("/proc/") {
            return never(reader, run, Why::Input);
        }
        if !word.starts_with('-') {
            // What is a script there, nobody could look at.
            if run.argv.iter().position(|other| other == word) >= run.unknown.first().copied()
                && !run.unknown.is_empty()
            {
                return never(reader, run, Why::Input);
            }
            return plain(reader, run);
        }
        if has(interpreter.flags, word) {
            continue;
        }
        // Code, or an option that could take the next word or load a module.
        let option = word.clone();
        if option.starts_with("--")
            && !option.starts_with("--eval")
            && !option.starts_with("--print")
        {
            return unknown(reader, run, option);
        }
        return never(reader, run, Why::Code);
    }
    never(reader, run, Why::Input);
}
