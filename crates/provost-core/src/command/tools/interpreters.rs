//! Interpreters of other languages: a script has a name, code has not.

use super::super::reader::Reader;
use super::super::{Loads, Why};
use super::options::{has, letter_of};
use super::table::Interpreter;
use super::{Run, never, plain, unknown, unknown_program};

/// What the words of an interpreter have it run.
enum Told {
    /// The script at this place.
    Script(usize),
    /// What an option names, or finds by itself; or nothing.
    Named,
    /// Code that an option loads first: the words of that option.
    Loads(Loads, String),
    /// Code in its words.
    Code,
    /// It depends on this option.
    Unknown(String),
    /// What it reads.
    Input,
}

/// What one word says.
enum Says {
    /// Nothing about what runs; so many words are taken.
    Nothing(usize),
    Told(Told),
}

/// `python SCRIPT` is plain, `python -c CODE` and `python` are not.
pub(super) fn look(reader: &mut Reader, run: Run, interpreter: &Interpreter) {
    match interpreter.told(&run.argv) {
        // What is a script there, nobody could look at.
        Told::Script(at) if run.unknown.iter().any(|place| *place <= at) => {
            never(reader, run, Why::Input);
        }
        Told::Script(_) | Told::Named => plain(reader, run),
        Told::Loads(how, text) => {
            reader.open(Why::Loads(how), text);
            plain(reader, run);
        }
        Told::Code => never(reader, run, Why::Code),
        Told::Unknown(option) => unknown(reader, run, option),
        Told::Input => never(reader, run, Why::Input),
    }
}

/// The place of the script, if there is one.
pub(super) fn script(argv: &[String], interpreter: &Interpreter) -> Option<usize> {
    if let Told::Script(at) = interpreter.told(argv) { Some(at) } else { None }
}

impl Interpreter {
    fn told(&self, argv: &[String]) -> Told {
        let (mut at, mut finds) = (1, false);
        while let Some(word) = argv.get(at) {
            if argv.len() == 2 && has(self.alone, word) {
                return Told::Named;
            }
            if word == "-" || word.starts_with("/dev/") || word.starts_with("/proc/") {
                return Told::Input;
            }
            if !word.starts_with('-') {
                return Told::Script(at);
            }
            if word == "--" {
                return argv.get(at + 1).map_or(Told::Input, |_| Told::Script(at + 1));
            }
            finds |= has(self.finds, word);
            match self.says(argv, at, word) {
                Says::Nothing(n_words) => at += n_words,
                Says::Told(told) => return told,
            }
        }
        if finds { Told::Named } else { Told::Input }
    }

    fn says(&self, argv: &[String], at: usize, word: &str) -> Says {
        if has(self.flags, word) || (self.words)(word) {
            return Says::Nothing(1);
        }
        if has(self.named, word) {
            return Says::Told(Told::Named);
        }
        let (name, joined) = word.split_once('=').unwrap_or((word, ""));
        let text = |taken: bool| {
            let next = argv.get(at + 1).filter(|_| !taken).map(|next| format!(" {next}"));
            format!("{word}{}", next.unwrap_or_default())
        };
        if let Some((_, how)) = self.loads.iter().find(|(options, _)| has(options, name)) {
            return Says::Told(Told::Loads(*how, text(!joined.is_empty())));
        }
        if word.starts_with("--") {
            let code = word.starts_with("--eval") || word.starts_with("--print");
            return Says::Told(if code { Told::Code } else { Told::Unknown(word.to_owned()) });
        }
        for (place, letter) in word.char_indices().skip(1) {
            let rest = &word[place + letter.len_utf8()..];
            let of = |(options, _): &&(&'static str, Loads)| letter_of(options, letter);
            if let Some((_, how)) = self.loads.iter().find(of) {
                return Says::Told(Told::Loads(*how, text(!rest.is_empty())));
            }
            if letter_of(self.named, letter) {
                return Says::Told(Told::Named);
            }
            if let Some((_, is_harmless)) = self.valued.iter().find(|it| letter_of(it.0, letter)) {
                let value = if rest.is_empty() { argv.get(at + 1) } else { None };
                let value = value.map_or(rest, String::as_str);
                return if is_harmless(value) {
                    Says::Nothing(if rest.is_empty() { 2 } else { 1 })
                } else {
                    Says::Told(Told::Loads(Loads::Modules, text(!rest.is_empty())))
                };
            }
            if !letter_of(self.flags, letter) {
                // Code, or an option that could take the next word.
                return Says::Told(Told::Code);
            }
        }
        Says::Nothing(1)
    }
}

/// `java [OPTIONS] CLASS`, `java -jar FILE`.
pub(super) fn java(reader: &mut Reader, run: Run) {
    const LOADING: &[&str] = &[
        "-javaagent",
        "-agentlib",
        "-agentpath",
        "-Xbootclasspath",
        "-Xrun",
        "-XX:OnError",
        "-XX:OnOutOfMemoryError",
        "-XX:Flags",
        "-XX:VMOptionsFile",
        "-Djava.system.class.loader",
        "--patch-module",
        "--upgrade-module-path",
        "@",
    ];
    let loads = |word: &&String| LOADING.iter().any(|start| word.starts_with(start));
    if let Some(option) = run.argv.iter().skip(1).find(loads) {
        reader.open(Why::Loads(Loads::Preload), option.clone());
    }
    unknown_program(reader, run);
}
