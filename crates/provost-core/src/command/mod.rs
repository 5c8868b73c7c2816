//! What a command line would do, read without running it.
//!
//! A line becomes demands: one for each simple command in it, whatever holds
//! it (a list, a pipe, a loop, `sudo`, `sh -c`), and one for each file that a
//! redirection reads or writes. Rules are matched against demands, and people
//! are shown them.
//!
//! The reading is a convenience: the boundary is the sandbox. But it never
//! makes a line look more harmless than it is. Whatever is not known for
//! certain (an expansion, a glob, code in another language, an option that we
//! do not know of a program that starts others) is listed in
//! [`CommandAnalysis::opaque`], and an opaque line matches no rule that allows. Its
//! demands are still listed as far as they can be seen, so that a rule that
//! denies can match them.
//!
//! What is not certain has an [`Uncertainty`]: of `ls $X` only the words are open, of
//! `$X` and `eval "$X"` the programs are, and then no rule can be shown not to
//! be about it.
//!
//! What is decided here and could be decided otherwise:
//! - A glob or a tilde is opaque wherever it stands: it can become an option,
//!   or the very file that a rule denies.
//! - A program is looked through only under its bare name or in the system's
//!   folders; `./env` is a program of the project, and opaque for its name.
//! - `sudo` and whatever else changes user, root or machine is looked through,
//!   and opaque nevertheless.
//! - Writing to `/dev/null`, `/dev/stdout` and `/dev/stderr` is no demand.

mod describe;
mod effects;
mod environment;
mod opaque;
mod parse;
mod tools;

pub use describe::describe_analysis;
pub use effects::stdin_interpretation::{StdinInterpretation, classify_stdin};
pub use effects::{CommandEffect, CommandInvocation, EmbeddedCommands};
pub use environment::code_injection::CodeInjection;
pub use opaque::{OpaquePart, OpaqueReason, Uncertainty};
pub(crate) use parse::line_validation::is_lookalike;
pub use parse::line_validation::{MAX_COMMAND_BYTES, MAX_COMMAND_DEPTH, UnreadableCommand};
pub(crate) use tools::find_script_index;
pub use tools::is_builtin;

use parse::analyzer::CommandAnalyzer;
use parse::simple_command;

/// What a command line would do, as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandAnalysis {
    /// In the order in which they stand.
    pub demands: Vec<CommandEffect>,
    /// What could not be read for certain; not empty = the whole line is opaque.
    pub opaque: Vec<OpaquePart>,
}

impl CommandAnalysis {
    /// Whether some of it could not be read for certain, so that nothing may allow it but a person.
    pub fn is_opaque(&self) -> bool {
        !self.opaque.is_empty()
    }

    /// Whether it is not known which programs it runs.
    pub fn may_run_any_program(&self) -> bool {
        self.opaque.iter().any(|part| part.extent == Uncertainty::Programs)
    }

    /// The same line, given something to read: unless all that it runs takes that
    /// for data, it may be commands.
    pub(crate) fn with_stdin(mut self) -> Self {
        let takes_commands = self.demands.iter().find_map(|demand| match demand {
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
                extent: Uncertainty::Arguments,
            });
        }
        self
    }
}

/// The name of a program without its folder.
pub(crate) fn program_basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Reads a command line as bash would.
pub fn analyze_line(line: &str) -> Result<CommandAnalysis, UnreadableCommand> {
    let mut reader = CommandAnalyzer::new();
    reader.analyze_line(line)?;
    reader.finish()
}

/// Reads a program and its arguments, for which no shell is needed.
pub fn analyze_argv(argv: &[String]) -> CommandAnalysis {
    let mut reader = CommandAnalyzer::new();
    reader.analyze_argv(argv);
    match reader.finish() {
        Ok(analysis) => analysis,
        // What is refused in a line is opaque here: there is no line to point into.
        Err(_) => CommandAnalysis {
            demands: vec![CommandEffect::Run(CommandInvocation {
                argv: argv.to_vec(),
                folders: vec![String::new()],
                ..CommandInvocation::default()
            })],
            opaque: vec![OpaquePart {
                why: OpaqueReason::MisleadingName,
                text: argv.join(" "),
                extent: Uncertainty::Programs,
            }],
        },
    }
}
