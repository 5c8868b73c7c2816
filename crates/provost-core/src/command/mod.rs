//! Analyzes what a command line would do, without running it.
//!
//! The result is a list of effects: one for each simple command, wherever it is (in a list, a
//! pipe, a loop, `sudo`, `sh -c`), and one for each file that a redirection reads or writes.
//! Rules are matched against effects, and people are shown them.
//!
//! The analysis is a convenience: the boundary is the sandbox. But it never makes a line look
//! more harmless than it is. Whatever is uncertain (an expansion, a glob, code in another
//! language, an unknown option of a program that starts others) is listed in
//! [`CommandAnalysis::opaque`], and no rule allows an opaque line. Its effects are still listed
//! as far as they are known, so that a rule that denies can match them.
//!
//! An uncertain part has an [`Uncertainty`]: of `ls $X` only the arguments are unknown; of `$X`
//! and `eval "$X"` the programs are, and then no rule can be excluded.
//!
//! The stages are `parse` (line to simple commands), `tools` (what each program does with its
//! arguments), `effects` (paths, folders, hosts, stdin) and `environment` (variables).
//!
//! Choices that could have been made differently:
//! - A glob or a tilde is opaque everywhere: it can expand to an option, or to the file that a
//!   rule denies.
//! - A wrapper is recognized only by its bare name or in a system folder; `./env` is a program of
//!   the project, and opaque because of its name.
//! - The command behind `sudo`, and behind anything else that changes user, root or machine, is
//!   analyzed, and the line is opaque nevertheless.
//! - Writing to `/dev/null`, `/dev/stdout` and `/dev/stderr` is not an effect.

mod describe;
mod effects;
pub(crate) mod environment;
mod opaque;
mod parse;
mod tools;

pub use describe::describe_analysis;
pub use effects::hosts::find_hosts_in_text;
pub use effects::stdin_interpretation::{StdinInterpretation, classify_stdin};
pub use effects::{CommandEffect, CommandInvocation, EmbeddedCommands};
pub use environment::code_injection::CodeInjection;
pub use opaque::{OpaquePart, OpaqueReason, Uncertainty};
pub(crate) use parse::line_validation::is_lookalike;
pub use parse::line_validation::{MAX_COMMAND_BYTES, MAX_COMMAND_DEPTH, UnreadableCommand};
pub use tools::is_builtin;
pub(crate) use tools::{find_script_index, is_interpreter};

use parse::analyzer::CommandAnalyzer;
use parse::simple_command;

/// What a command line would do, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandAnalysis {
    /// The effects, in the order of the line.
    pub effects: Vec<CommandEffect>,
    /// The uncertain parts; if there are any, the whole line is opaque.
    pub opaque: Vec<OpaquePart>,
}

impl CommandAnalysis {
    /// Whether a part is uncertain, so that only a person may allow the line.
    pub fn is_opaque(&self) -> bool {
        !self.opaque.is_empty()
    }

    /// Whether it is unknown which programs it runs.
    pub fn may_run_any_program(&self) -> bool {
        self.opaque.iter().any(|part| part.uncertainty == Uncertainty::Programs)
    }

    /// The same line with input on stdin, which may be commands unless all programs read it as
    /// data.
    pub(crate) fn with_stdin(mut self) -> Self {
        let takes_commands = self.effects.iter().find_map(|effect| match effect {
            CommandEffect::Run(run) => {
                run.argv.first().filter(|name| !simple_command::reads_stdin_as_data(name))
            }
            CommandEffect::Write { .. }
            | CommandEffect::Read { .. }
            | CommandEffect::ReadOperand { .. } => None,
        });
        if let Some(text) = takes_commands.cloned() {
            self.opaque.push(OpaquePart {
                why: OpaqueReason::CommandsFromInput,
                text,
                uncertainty: Uncertainty::Arguments,
            });
        }
        self
    }
}

/// The name of a program without its folder.
pub(crate) fn program_basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Analyzes a command line as bash would interpret it.
pub fn analyze_line(line: &str) -> Result<CommandAnalysis, UnreadableCommand> {
    let mut reader = CommandAnalyzer::new();
    reader.analyze_line(line)?;
    reader.finish()
}

/// Analyzes a program with its arguments, without a shell.
pub fn analyze_argv(argv: &[String]) -> CommandAnalysis {
    let mut reader = CommandAnalyzer::new();
    reader.analyze_argv(argv);
    match reader.finish() {
        Ok(analysis) => analysis,
        // An error has no position here, so the whole is opaque instead.
        Err(_) => CommandAnalysis {
            effects: vec![CommandEffect::Run(CommandInvocation {
                argv: argv.to_vec(),
                folders: vec![String::new()],
                ..CommandInvocation::default()
            })],
            opaque: vec![OpaquePart {
                why: OpaqueReason::MisleadingName,
                text: argv.join(" "),
                uncertainty: Uncertainty::Programs,
            }],
        },
    }
}
