//! Which variables change what programs do, and what of it is read.

use super::loads::{self, Loads};
use super::reader::Reader;
use super::{Analysis, Demand, Run, Why, tools};
use crate::action::run_command;

/// Beside those that no command may be given: variables that name a program to
/// run, a file to load or options to add. No such list is complete, so names
/// are also judged by how they end.
const NAMES: &[&str] = &[
    "BROWSER",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "SHELL",
    "HOME",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "LESS",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "MAKE",
    "CC",
    "CXX",
    "LD",
    "AR",
    "RUSTC",
    "RUSTDOC",
    "CARGO",
    "OPENSSL_CONF",
    "PERL5LIB",
    "PERL5DB",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "RUBYLIB",
    "INPUTRC",
    "TERMINFO",
    "HISTFILE",
    "FUNCNEST",
    "POSIXLY_CORRECT",
    "PS0",
    "PS1",
    "PS2",
    "NODE_REPL_EXTERNAL_MODULE",
    "GOROOT",
    "TAR_OPTIONS",
    "RSYNC_RSH",
    "CVS_RSH",
    "ENV",
    "EXECIGNORE",
    "GLOBIGNORE",
    "BASH_CMDS",
    "BASH_ALIASES",
    "BASH_XTRACEFD",
    "TIMEFORMAT",
    "EMACS",
    "HOSTALIASES",
    "LOCALDOMAIN",
];

/// Programs whose every variable is theirs to obey.
const PREFIXES: &[&str] = &[
    "GIT_",
    "SSH_",
    "NPM_",
    "YARN_",
    "PNPM_",
    "PIP_",
    "UV_",
    "CARGO_",
    "RUSTUP_",
    "DOCKER_",
    "XDG_",
    "BASH_",
    "KUBE",
    "AWS_",
    "MALLOC_",
    "LUA_",
    "BUNDLE_",
    "GEM_",
    "COMPOSER_",
];

/// What the name of such a variable ends in.
const SUFFIXES: &[&str] = &[
    "PATH", "OPTIONS", "OPTS", "OPT", "FLAGS", "EDITOR", "PAGER", "WRAPPER", "COMMAND", "CMD",
    "SHELL", "PRELOAD", "PROXY", "HOOK", "HOOKS", "CONFIG", "RC", "RUNNER", "LINKER", "PROGRAM",
    "EXEC", "BIN", "DIR", "ROOT", "HOME", "ASKPASS", "ARGS",
];

/// What a variable is set to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Known(&'a str),
    /// As it is written; empty where nothing is.
    Unknown(&'a str),
}

impl<'a> Value<'a> {
    /// What is written, known or not.
    pub(super) fn new(text: &'a str, is_known: bool) -> Self {
        if is_known { Self::Known(text) } else { Self::Unknown(text) }
    }
}

/// What the name of a variable is or ends in that holds a command.
const COMMANDS: &[&str] = &[
    "COMMAND",
    "CMD",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "SHELL",
    "WRAPPER",
    "LAUNCHER",
    "ASKPASS",
    "RUNNER",
    "LINKER",
    "EXEC",
    "PROGRAM",
    "BROWSER",
    "RSH",
    "SSH",
    "HOOK",
    "HOOKS",
    "MAKE",
    "RUSTC",
    "RUSTDOC",
    "CARGO",
    "LESSOPEN",
    "LESSCLOSE",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "EXTERNAL_DIFF",
    "CREDENTIAL_PROVIDER",
    "CREDENTIAL_HELPER",
    "CACHEPROG",
    "FCEDIT",
    "PKG_CONFIG",
];

/// The same, only as the whole name.
const TOOLS: &[&str] = &[
    "CC", "CXX", "LD", "AR", "AS", "NM", "CPP", "FC", "STRIP", "RANLIB", "OBJCOPY", "YACC", "LEX",
    "PYTHON", "NODE", "RUBY", "PERL", "JAVACMD",
];

/// Compilers and the like, which run what they are given to build and nothing else that
/// their words name.
const BUILDING: &str = "cc gcc g++ c++ clang clang++ cpp ld lld ld.lld mold gold ar nm as strip ranlib \
     objcopy rustc rustdoc cargo make gmake ninja sccache ccache distcc bison flex yacc pkg-config \
     delta bat";

/// Whether what it is set to is run, by a program or by the shell.
fn names_a_command(name: &str) -> bool {
    (COMMANDS.iter().any(|end| name.ends_with(end)) || TOOLS.contains(&name))
        && !name.contains("WEBHOOK")
}

/// A word of the shell or of a language that many a build is told by: `PYTHON=python3`.
fn names_an_interpreter(name: &str, value: &str) -> bool {
    const SHELLS: [&str; 7] =
        ["sh", "bash", "dash", "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash"];
    match name {
        "SHELL" | "CONFIG_SHELL" => SHELLS.contains(&value),
        // Many a dev server opens none then.
        "BROWSER" => value == "none",
        "PYTHON" | "NODE" | "RUBY" | "PERL" | "JAVACMD" => {
            value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        }
        _ => false,
    }
}

/// Whether setting it can make a program do something else than it was asked to.
fn governs(known: &str) -> bool {
    run_command::governs(known)
        || NAMES.contains(&known)
        || PREFIXES.iter().any(|prefix| known.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| known.ends_with(suffix))
}

impl Reader {
    /// A variable that is set, for one command or for all that follow. What one
    /// that names a command holds is read as that command.
    pub(super) fn variable(&mut self, name: &str, value: Value<'_>) {
        let known = name.to_ascii_uppercase();
        let (text, is_known) = match value {
            Value::Known(text) => (text, true),
            Value::Unknown(text) => (text, false),
        };
        // What the path was before is known well enough, where it is not a name in quotes.
        let is_path = known == "PATH" && is_known != text.contains('$');
        let judged = (is_path || is_known && known != "PATH").then_some(text);
        if let Some(how) = loads::of(&known, judged) {
            return self.open(Why::Loads(how), set(name, text));
        }
        // `GIT_TRACE=/path` writes there.
        if is_known && known.starts_with("GIT_TRACE") && text.starts_with('/') {
            self.writes(text);
        }
        if !names_a_command(&known) {
            if governs(&known) {
                self.opaque(Why::Variable, name);
            }
            return;
        }
        if is_known && names_an_interpreter(&known, text) {
            return self.opaque(Why::Variable, name);
        }
        if is_known && self.is_harmless_command(text) {
            return self.opaque(Why::Variable, name);
        }
        self.open(Why::Loads(Loads::Command), set(name, text));
    }

    /// Reads a command that another program will run; says whether it runs nothing but
    /// programs that do what they are for.
    fn is_harmless_command(&mut self, line: &str) -> bool {
        let (n_demands, n_opaque) = (self.demands().len(), self.n_opaque());
        let before = self.folders.clone();
        self.nested(line.trim_start_matches('!'));
        self.folders = before;
        let plain = |run: &Run| {
            let name = run.argv.first().map_or("", String::as_str);
            let building = || BUILDING.split_ascii_whitespace().any(|known| known == name);
            run.through == self.through && (tools::is_harmless(name) || building())
        };
        self.n_opaque() == n_opaque
            && self.demands()[n_demands..].iter().all(|demand| match demand {
                Demand::Run(run) => plain(run),
                Demand::Write { .. } | Demand::Read { .. } | Demand::Operand { .. } => true,
            })
    }
}

impl Analysis {
    /// The same line with a variable: what one that names a command holds is run too.
    pub(crate) fn given(self, name: &str, value: &str) -> Self {
        let mut reader = Reader::over(self);
        reader.variable(name, Value::Known(value));
        reader.into_found()
    }
}

/// A variable and what it is set to, as far as it is written.
fn set(name: &str, text: &str) -> String {
    if text.is_empty() { name.to_owned() } else { format!("{name}={text}") }
}
