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

mod analyzer;
mod brace_expansion;
mod builtin;
mod code_injection;
mod describe;
mod expansion;
mod hosts;
mod line_validation;
#[cfg(test)]
mod parser_agreement;
mod placeholders;
mod plain_line_parser;
mod possible_folders;
mod programs;
mod shell_word;
mod simple_command;
mod stdin_interpretation;
mod variables;

pub use builtin::is_builtin;
pub use code_injection::CodeInjection;
pub use describe::describe_analysis;
pub(crate) use line_validation::is_lookalike;
pub use line_validation::{MAX_COMMAND_BYTES, MAX_COMMAND_DEPTH, UnreadableCommand};
pub use stdin_interpretation::{StdinInterpretation, classify_stdin};

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

/// One thing that a command line would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEffect {
    /// One simple command, quotes removed, wrappers looked through.
    Run(CommandInvocation),
    /// A redirection or a known operand that writes this path, as written but unquoted.
    ///
    /// After `cd web`, there is one for each folder that the line may be in.
    Write {
        /// Absolute, or relative to where the line starts.
        path: String,
    },
    /// A redirection that reads this path.
    Read {
        /// Absolute, or relative to where the line starts.
        path: String,
    },
    /// A file that a well-known program is given to read: `cat PATH`.
    ReadOperand {
        /// Absolute, or relative to where the line starts.
        path: String,
    },
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandInvocation {
    /// Program and arguments, unquoted; never empty.
    pub argv: Vec<String>,
    /// The wrappers it was found in, outermost first: `["sudo", "env"]`.
    pub through: Vec<String>,
    /// Variables set for it: `A=1 cmd`.
    pub assignments: Vec<(String, String)>,
    /// Hosts named in its arguments (URLs, `user@host:path`), lower case.
    pub hosts: Vec<String>,
    /// The folders it may run in, relative to where the line starts, which is `""`.
    pub folders: Vec<String>,
    /// The places in `argv` whose words are not known, in order. Each may be none
    /// or many; the place behind the last means that more words follow.
    pub unknown: Vec<usize>,
    /// The commands that its words may be, if nobody knows what the program does with them.
    pub carried: EmbeddedCommands,
    /// What of its words may be a path that it reads, if nobody knows what it does with
    /// them. Absolute, or relative to where the line starts.
    pub named: Vec<String>,
}

/// The commands that the words of a program may be: of `mywrap git push`, `git push`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbeddedCommands {
    /// The places in `argv` from which on its words may be one.
    pub starts: Vec<usize>,
    /// Those that stand within one word: `--run=git`, `'cd x; git push'`.
    pub texts: Vec<CommandInvocation>,
}

impl CommandInvocation {
    /// Whether a word that is not known may turn out to be an option. What `find`
    /// puts in begins with a folder, and so do most globs.
    pub fn may_gain_options(&self) -> bool {
        let end = self.argv.iter().position(|word| word == "--").unwrap_or(self.argv.len());
        self.unknown.iter().any(|at| match self.argv.get(*at) {
            None => end == self.argv.len(),
            Some(word) => *at < end && word.starts_with(['$', '`', '"']),
        })
    }
}

impl CommandInvocation {
    /// The command that its words from this place on would be.
    pub(crate) fn invocation_from(&self, start: usize) -> Self {
        Self {
            argv: self.argv.get(start..).unwrap_or_default().to_vec(),
            unknown: self.unknown.iter().filter_map(|at| at.checked_sub(start)).collect(),
            folders: self.folders.clone(),
            ..Self::default()
        }
    }

    /// The variables that are set for it, as they are written.
    pub fn format_assignments(&self) -> Vec<String> {
        self.assignments.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

/// The place of the script among the words of an interpreter, if they tell it.
pub(crate) fn find_script_index(argv: &[String]) -> Option<usize> {
    programs::find_script_index(argv)
}

/// The name of a program without its folder.
pub(crate) fn program_basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// A part that cannot be read for certain, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaquePart {
    /// What kind of thing it is.
    pub why: OpaqueReason,
    /// The part, as written.
    pub text: String,
    /// How much it leaves open.
    pub extent: Uncertainty,
}

/// How much a part that cannot be read leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Uncertainty {
    /// Which programs run is known; some of their arguments, or what the files
    /// they are given say, is not.
    Arguments,
    /// Any program may run.
    Programs,
}

/// Why a part of a command line cannot be read for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum OpaqueReason {
    /// `$(…)` or backquotes.
    #[error("is what another command prints")]
    Substitution,
    /// `<(…)` or `>(…)`.
    #[error("is a pipe to another command")]
    ProcessSubstitution,
    /// `$x`, `${x}`, `$1`.
    #[error("stands for a value that is not known yet")]
    Expansion,
    /// `$((…))`, `((…))`, `let`, an array.
    #[error("is arithmetic, which can run commands")]
    Arithmetic,
    /// `*`, `?`, `[…]`.
    #[error("stands for whichever files match")]
    Glob,
    /// `{a,b}`.
    #[error("stands for several words")]
    Braces,
    /// `~`.
    #[error("stands for a home folder")]
    Tilde,
    /// `!!`.
    #[error("stands for an earlier command")]
    History,
    /// `$'…'` or `$"…"`.
    #[error("is quoted in a way that shells read differently")]
    Quoting,
    /// `[[ … ]]`.
    #[error("is a test that can evaluate what it compares")]
    ExtendedTest,
    /// A function, or a coprocess.
    #[error("gives commands a meaning of their own")]
    Function,
    /// `eval`, `source`, `trap`, `alias`, …
    #[error("changes what the shell does, or runs text as commands")]
    ShellStateChange,
    /// A variable by which programs run something else.
    #[error("sets a variable that changes what programs do")]
    Variable,
    /// A variable or an option that has code run which the line does not show.
    #[error("{0}")]
    CodeInjection(CodeInjection),
    /// Code in another language, or an option that names a command.
    #[error("is code, or runs a command of its own")]
    Code,
    /// A program that takes its commands from what it reads.
    #[error("takes commands or arguments from what it reads")]
    CommandsFromInput,
    /// An option that is not known of a program that starts others.
    #[error("is an option whose meaning is not known")]
    UnknownOption,
    /// `sudo`, `su`, `chroot`, …
    #[error("runs with other rights, or in another root")]
    ChangedPrivileges,
    /// `ssh`, `docker run`, …
    #[error("runs somewhere else")]
    RemoteExecution,
    /// `at`, `crontab`, `systemd-run`.
    #[error("runs later, or outside of what is watched")]
    DeferredExecution,
    /// `cd -`, `pushd`, or too many ways.
    #[error("leaves open in which folder what follows runs")]
    UnknownFolder,
    /// `/dev/tcp/host/port`.
    #[error("is a network connection")]
    Socket,
    /// A program whose name is not ASCII or empty, or `./sudo`.
    #[error("is a name that can be mistaken for another")]
    MisleadingName,
    /// Too many wrappers, or lines in lines.
    #[error("is wrapped too often")]
    TooDeep,
    /// The line of an inner shell.
    #[error("is no line that could be read")]
    Unreadable,
}

/// Reads a command line as bash would.
pub fn analyze_line(line: &str) -> Result<CommandAnalysis, UnreadableCommand> {
    let mut reader = analyzer::CommandAnalyzer::new();
    reader.analyze_line(line)?;
    reader.finish()
}

/// Reads a program and its arguments, for which no shell is needed.
pub fn analyze_argv(argv: &[String]) -> CommandAnalysis {
    let mut reader = analyzer::CommandAnalyzer::new();
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
