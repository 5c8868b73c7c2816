//! Interpreters of other languages: a script file can be analyzed by name, inline code cannot.

use super::option_grammar::{contains_option, contains_short_option};
use super::program_kind::InterpreterOptions;
use super::{
    CommandInvocation, add_invocation, add_unbounded_invocation, add_unknown_option,
    analyze_unknown_program,
};
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::{CodeInjection, OpaqueReason};

/// What an interpreter runs.
enum InterpretedSource {
    /// The script at this index.
    Script(usize),
    /// What an option names or finds; or nothing.
    NamedByOption,
    /// Code that an option loads first, with the words of that option.
    CodeInjection(CodeInjection, String),
    /// Code in its arguments.
    InlineCode,
    /// Unknown because of this option.
    UnknownOption(String),
    /// Its stdin.
    Stdin,
}

/// The meaning of one word.
enum OptionMeaning {
    /// It does not affect what runs; takes this many words.
    Irrelevant(usize),
    Source(InterpretedSource),
}

/// `python SCRIPT` is transparent, `python -c CODE` and `python` are not.
pub(super) fn analyze_interpreter(
    reader: &mut CommandAnalyzer,
    run: CommandInvocation,
    interpreter: &InterpreterOptions,
) {
    match interpreter.classify_source(&run.argv) {
        // The script is unknown, so nobody can review it.
        InterpretedSource::Script(at) if run.unknown.iter().any(|index| *index <= at) => {
            add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput);
        }
        InterpretedSource::Script(_) | InterpretedSource::NamedByOption => {
            add_invocation(reader, run);
        }
        InterpretedSource::CodeInjection(how, text) => {
            reader.mark_programs_uncertain(OpaqueReason::CodeInjection(how), text);
            add_invocation(reader, run);
        }
        InterpretedSource::InlineCode => add_unbounded_invocation(reader, run, OpaqueReason::Code),
        InterpretedSource::UnknownOption(option) => add_unknown_option(reader, run, option),
        InterpretedSource::Stdin => {
            add_unbounded_invocation(reader, run, OpaqueReason::CommandsFromInput);
        }
    }
}

/// The index of the script, if there is one.
pub(super) fn interpreter_script_index(
    argv: &[String],
    interpreter: &InterpreterOptions,
) -> Option<usize> {
    if let InterpretedSource::Script(at) = interpreter.classify_source(argv) {
        Some(at)
    } else {
        None
    }
}

impl InterpreterOptions {
    fn classify_source(&self, argv: &[String]) -> InterpretedSource {
        let (mut at, mut finds) = (1, false);
        while let Some(word) = argv.get(at) {
            if argv.len() == 2 && contains_option(self.alone, word) {
                return InterpretedSource::NamedByOption;
            }
            if word == "-" || word.starts_with("/dev/") || word.starts_with("/proc/") {
                return InterpretedSource::Stdin;
            }
            if !word.starts_with('-') {
                return InterpretedSource::Script(at);
            }
            if word == "--" {
                return argv
                    .get(at + 1)
                    .map_or(InterpretedSource::Stdin, |_| InterpretedSource::Script(at + 1));
            }
            finds |= contains_option(self.finds, word);
            match self.classify_option(argv, at, word) {
                OptionMeaning::Irrelevant(n_words) => at += n_words,
                OptionMeaning::Source(source) => return source,
            }
        }
        if finds { InterpretedSource::NamedByOption } else { InterpretedSource::Stdin }
    }

    fn classify_option(&self, argv: &[String], at: usize, word: &str) -> OptionMeaning {
        if contains_option(self.flags, word) || (self.words)(word) {
            return OptionMeaning::Irrelevant(1);
        }
        if contains_option(self.named, word) {
            return OptionMeaning::Source(InterpretedSource::NamedByOption);
        }
        let (name, joined) = word.split_once('=').unwrap_or((word, ""));
        let text = |taken: bool| {
            let next = argv.get(at + 1).filter(|_| !taken).map(|next| format!(" {next}"));
            format!("{word}{}", next.unwrap_or_default())
        };
        if let Some((_, how)) =
            self.loads.iter().find(|(options, _)| contains_option(options, name))
        {
            return OptionMeaning::Source(InterpretedSource::CodeInjection(
                *how,
                text(!joined.is_empty()),
            ));
        }
        if word.starts_with("--") {
            let code = word.starts_with("--eval") || word.starts_with("--print");
            return OptionMeaning::Source(if code {
                InterpretedSource::InlineCode
            } else {
                InterpretedSource::UnknownOption(word.to_owned())
            });
        }
        for (index, letter) in word.char_indices().skip(1) {
            let rest = &word[index + letter.len_utf8()..];
            let of = |(options, _): &&(&'static str, CodeInjection)| {
                contains_short_option(options, letter)
            };
            if let Some((_, how)) = self.loads.iter().find(of) {
                return OptionMeaning::Source(InterpretedSource::CodeInjection(
                    *how,
                    text(!rest.is_empty()),
                ));
            }
            if contains_short_option(self.named, letter) {
                return OptionMeaning::Source(InterpretedSource::NamedByOption);
            }
            if let Some((_, is_harmless)) =
                self.valued.iter().find(|it| contains_short_option(it.0, letter))
            {
                let value = if rest.is_empty() { argv.get(at + 1) } else { None };
                let value = value.map_or(rest, String::as_str);
                return if is_harmless(value) {
                    OptionMeaning::Irrelevant(if rest.is_empty() { 2 } else { 1 })
                } else {
                    OptionMeaning::Source(InterpretedSource::CodeInjection(
                        CodeInjection::Modules,
                        text(!rest.is_empty()),
                    ))
                };
            }
            if !contains_short_option(self.flags, letter) {
                // Code, or an option that could take the next word.
                return OptionMeaning::Source(InterpretedSource::InlineCode);
            }
        }
        OptionMeaning::Irrelevant(1)
    }
}

/// `java [OPTIONS] CLASS`, `java -jar FILE`.
pub(super) fn analyze_java(reader: &mut CommandAnalyzer, run: CommandInvocation) {
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
        reader.mark_programs_uncertain(
            OpaqueReason::CodeInjection(CodeInjection::Preload),
            option.clone(),
        );
    }
    analyze_unknown_program(reader, run);
}
