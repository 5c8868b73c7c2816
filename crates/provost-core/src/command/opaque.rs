//! What an analysis could not determine, and why.

use super::CodeInjection;

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
