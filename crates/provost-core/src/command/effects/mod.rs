//! What a simple command does beside running: files that it reads and writes, folders, hosts, stdin.

pub(crate) mod embedded_commands;
pub(crate) mod hosts;
pub(crate) mod possible_folders;
pub(crate) mod read_operands;
pub(crate) mod stdin_interpretation;
pub(crate) mod write_operands;

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
