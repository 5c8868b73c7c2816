//! What an analysis could not determine, and why.

use super::CodeInjection;

/// A part of a line that is uncertain, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaquePart {
    /// The reason.
    pub why: OpaqueReason,
    /// The part, as written.
    pub text: String,
    /// How much is unknown because of it.
    pub uncertainty: Uncertainty,
}

/// How much is unknown because of an uncertain part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Uncertainty {
    /// The programs are known; some of their arguments, or the content of files that they run, is
    /// not.
    Arguments,
    /// Any program may run.
    Programs,
}

/// Why a part of a command line is uncertain.
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
    /// A variable that makes programs run something else.
    #[error("sets a variable that changes what programs do")]
    Variable,
    /// A variable or an option that loads or runs code that is not in the line.
    #[error("{0}")]
    CodeInjection(CodeInjection),
    /// Code in another language, or an option that names a command.
    #[error("is code, or runs a command of its own")]
    Code,
    /// A program that reads its commands from stdin.
    #[error("takes commands or arguments from what it reads")]
    CommandsFromInput,
    /// An unknown option of a program that starts others.
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
    /// `cd -`, `pushd`, or too many possible folders.
    #[error("leaves open in which folder what follows runs")]
    UnknownFolder,
    /// `/dev/tcp/host/port`.
    #[error("is a network connection")]
    Socket,
    /// A program name that is empty or not ASCII, or `./sudo`.
    #[error("is a name that can be mistaken for another")]
    MisleadingName,
    /// Too many nested wrappers or lines.
    #[error("is wrapped too often")]
    TooDeep,
    /// An inner line that cannot be parsed.
    #[error("is no line that could be read")]
    Unreadable,
}
