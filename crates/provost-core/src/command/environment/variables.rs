//! Which variables change what programs do, and how their values are analyzed.

use super::code_injection::{self, CodeInjection};
use crate::action::run_command;
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::{CommandAnalysis, CommandEffect, CommandInvocation, OpaqueReason, tools};

/// In addition to those that are refused for every command: variables that name a program to run,
/// a file to load or options to add. No such list is complete, so suffixes count as well.
const BEHAVIOR_NAMES: &[&str] = &[
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

/// Prefixes of programs that are controlled by all of their variables.
const BEHAVIOR_PREFIXES: &[&str] = &[
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

/// Suffixes of such variables.
const BEHAVIOR_SUFFIXES: &[&str] = &[
    "PATH", "OPTIONS", "OPTS", "OPT", "FLAGS", "EDITOR", "PAGER", "WRAPPER", "COMMAND", "CMD",
    "SHELL", "PRELOAD", "PROXY", "HOOK", "HOOKS", "CONFIG", "RC", "RUNNER", "LINKER", "PROGRAM",
    "EXEC", "BIN", "DIR", "ROOT", "HOME", "ASKPASS", "ARGS",
];

/// The value of a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) enum VariableValue<'a> {
    Known(&'a str),
    /// As written, possibly empty.
    Unknown(&'a str),
}

impl<'a> VariableValue<'a> {
    /// The text, known or not.
    pub(crate) fn new(text: &'a str, is_known: bool) -> Self {
        if is_known { Self::Known(text) } else { Self::Unknown(text) }
    }
}

/// Names and suffixes of variables that hold a command.
const COMMAND_SUFFIXES: &[&str] = &[
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
const TOOL_VARIABLES: &[&str] = &[
    "CC", "CXX", "LD", "AR", "AS", "NM", "CPP", "FC", "STRIP", "RANLIB", "OBJCOPY", "YACC", "LEX",
    "PYTHON", "NODE", "RUBY", "PERL", "JAVACMD",
];

/// Compilers and the like, which run only what they build.
const BUILD_PROGRAMS: &str = "cc gcc g++ c++ clang clang++ cpp ld lld ld.lld mold gold ar nm as strip ranlib \
     objcopy rustc rustdoc cargo make gmake ninja sccache ccache distcc bison flex yacc pkg-config \
     delta bat";

/// Whether a program or the shell runs its value.
fn holds_command(name: &str) -> bool {
    (COMMAND_SUFFIXES.iter().any(|end| name.ends_with(end)) || TOOL_VARIABLES.contains(&name))
        && !name.contains("WEBHOOK")
}

/// A common value that names an interpreter: `PYTHON=python3`.
fn holds_known_interpreter(name: &str, value: &str) -> bool {
    const SHELLS: [&str; 7] =
        ["sh", "bash", "dash", "/bin/sh", "/bin/bash", "/usr/bin/sh", "/usr/bin/bash"];
    match name {
        "SHELL" | "CONFIG_SHELL" => SHELLS.contains(&value),
        // Many dev servers then open no browser.
        "BROWSER" => value == "none",
        "PYTHON" | "NODE" | "RUBY" | "PERL" | "JAVACMD" => {
            value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
        }
        _ => false,
    }
}

/// Whether setting it can make a program do something else.
fn changes_program_behavior(known: &str) -> bool {
    run_command::is_refused_variable(known)
        || BEHAVIOR_NAMES.contains(&known)
        || BEHAVIOR_PREFIXES.iter().any(|prefix| known.starts_with(prefix))
        || BEHAVIOR_SUFFIXES.iter().any(|suffix| known.ends_with(suffix))
}

impl CommandAnalyzer {
    /// Analyzes a variable that is set, for one command or for all that follow. A value that is a
    /// command is analyzed as one.
    pub(crate) fn analyze_variable(&mut self, name: &str, value: VariableValue<'_>) {
        let known = name.to_ascii_uppercase();
        let (text, is_known) = match value {
            VariableValue::Known(text) => (text, true),
            VariableValue::Unknown(text) => (text, false),
        };
        // The previous path counts as known, unless it is in quotes.
        let is_path = known == "PATH" && is_known != text.contains('$');
        let value_if_known = (is_path || is_known && known != "PATH").then_some(text);
        if let Some(how) = code_injection::find_code_injection(&known, value_if_known) {
            return self.mark_programs_uncertain(
                OpaqueReason::CodeInjection(how),
                format_assignment(name, text),
            );
        }
        // `GIT_TRACE=/path` writes to that path.
        if is_known && known.starts_with("GIT_TRACE") && text.starts_with('/') {
            self.add_written_path(text);
        }
        if !holds_command(&known) {
            if changes_program_behavior(&known) {
                self.mark_arguments_uncertain(OpaqueReason::Variable, name);
            }
            return;
        }
        if is_known && holds_known_interpreter(&known, text) {
            return self.mark_arguments_uncertain(OpaqueReason::Variable, name);
        }
        if is_known && self.analyze_harmless_command(text) {
            return self.mark_arguments_uncertain(OpaqueReason::Variable, name);
        }
        self.mark_programs_uncertain(
            OpaqueReason::CodeInjection(CodeInjection::Command),
            format_assignment(name, text),
        );
    }

    /// Analyzes a command that another program will run; returns whether it runs only harmless
    /// programs.
    fn analyze_harmless_command(&mut self, line: &str) -> bool {
        let (n_demands, n_opaque) = (self.effects().len(), self.opaque_count());
        let before = self.folders.clone();
        self.analyze_nested_line(line.trim_start_matches('!'));
        self.folders = before;
        let plain = |run: &CommandInvocation| {
            let name = run.argv.first().map_or("", String::as_str);
            let building = || BUILD_PROGRAMS.split_ascii_whitespace().any(|known| known == name);
            run.through == self.through && (tools::is_harmless_program(name) || building())
        };
        self.opaque_count() == n_opaque
            && self.effects()[n_demands..].iter().all(|effect| match effect {
                CommandEffect::Run(run) => plain(run),
                CommandEffect::Write { .. }
                | CommandEffect::Read { .. }
                | CommandEffect::ReadOperand { .. } => true,
            })
    }
}

impl CommandAnalysis {
    /// Adds a variable to the analysis: a value that is a command runs too.
    pub(crate) fn with_variable(self, name: &str, value: &str) -> Self {
        let mut reader = CommandAnalyzer::from_analysis(self);
        reader.analyze_variable(name, VariableValue::Known(value));
        reader.into_analysis()
    }
}

/// A variable with its value, as far as it is written.
fn format_assignment(name: &str, text: &str) -> String {
    if text.is_empty() { name.to_owned() } else { format!("{name}={text}") }
}
