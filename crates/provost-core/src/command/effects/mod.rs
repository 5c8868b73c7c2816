//! The effects of a command: the programs it runs, the files it reads and writes, folders, hosts
//! and stdin.

pub(crate) mod embedded_commands;
pub(crate) mod hosts;
pub(crate) mod possible_folders;
pub(crate) mod read_operands;
pub(crate) mod stdin_interpretation;
pub(crate) mod write_operands;

/// One thing that a command line would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEffect {
    /// One simple command, unquoted, without its wrappers.
    Run(CommandInvocation),
    /// A redirection or a known operand that writes this path, unquoted.
    ///
    /// After `cd web`, there is one for each folder that the line may be in.
    Write {
        /// Absolute, or relative to where the line starts.
        path: String,
        /// Whether it is deleted rather than changed, for people: both need the same permission.
        deletes: bool,
    },
    /// A redirection that reads this path.
    Read {
        /// Absolute, or relative to where the line starts.
        path: String,
    },
    /// An operand that a well-known program reads: `cat PATH`.
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
    /// The wrappers around it, outermost first: `["sudo", "env"]`.
    pub through: Vec<String>,
    /// Variables set for it: `A=1 cmd`.
    pub assignments: Vec<(String, String)>,
    /// Hosts named in its arguments (URLs, `user@host:path`), lower case.
    pub hosts: Vec<String>,
    /// The folders it may run in, relative to where the line starts, which is `""`.
    pub folders: Vec<String>,
    /// The indices in `argv` of unknown words, in order. Each may expand to none or many; an
    /// index behind the last means that more words follow.
    pub unknown: Vec<usize>,
    /// The commands that its words may contain, if the program is unknown.
    pub carried: EmbeddedCommands,
    /// The paths that its words may name, if it is unknown what the program reads. Absolute, or
    /// relative to where the line starts.
    pub named: Vec<String>,
}

/// The commands that the words of a program may contain: for `mywrap git push`, `git push`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbeddedCommands {
    /// The indices in `argv` at which one may start.
    pub starts: Vec<usize>,
    /// Those inside one word: `--run=git`, `'cd x; git push'`.
    pub texts: Vec<CommandInvocation>,
}

/// The most words of a command that the words of another may contain.
const MAX_EMBEDDED_WORDS: usize = 64;

impl CommandInvocation {
    /// Whether an unknown word may expand to an option. What `find` inserts begins with a folder,
    /// and so do most globs.
    pub fn may_gain_options(&self) -> bool {
        let end = self.argv.iter().position(|word| word == "--").unwrap_or(self.argv.len());
        self.unknown.iter().any(|at| match self.argv.get(*at) {
            None => end == self.argv.len(),
            Some(word) => *at < end && word.starts_with(['$', '`', '"']),
        })
    }
}

impl CommandInvocation {
    /// The command that starts at this index. Of a long one, the first words are known and more
    /// follow: thousands of words may each start a command.
    pub(crate) fn invocation_from(&self, start: usize) -> Self {
        let end = self.argv.len().min(start.saturating_add(MAX_EMBEDDED_WORDS));
        let first = self.unknown.partition_point(|at| *at < start);
        let unknown = self.unknown.iter().skip(first).take_while(|at| **at < end);
        let cut = (end < self.argv.len()).then_some(end - start);
        // An index behind the last word means that more words follow.
        let behind = self.unknown.last().filter(|at| **at >= self.argv.len() && cut.is_none());
        Self {
            argv: self.argv.get(start..end).unwrap_or_default().to_vec(),
            unknown: unknown.chain(behind).map(|at| at - start).chain(cut).collect(),
            folders: self.folders.clone(),
            ..Self::default()
        }
    }

    /// The variables that are set for it, as `NAME=value`.
    pub fn format_assignments(&self) -> Vec<String> {
        self.assignments.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}
