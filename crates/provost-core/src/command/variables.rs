//! Which variables change what programs do.

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
    Unknown,
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
];

/// Whether it gives a program other settings, which can name any command: an alias,
/// a pager, a hook, a way to reach a remote.
pub(super) fn opens(name: &str) -> bool {
    const NAMES: [&str; 4] = ["GIT_EXEC_PATH", "GIT_DIR", "GIT_COMMON_DIR", "GIT_TEMPLATE_DIR"];
    let known = name.to_ascii_uppercase();
    NAMES.contains(&&*known) || known.starts_with("GIT_CONFIG")
}

/// Whether what it is set to is run, by a program or by the shell.
pub(super) fn names_a_command(name: &str) -> bool {
    let known = name.to_ascii_uppercase();
    COMMANDS.iter().any(|end| known.ends_with(end)) || ["CC", "CXX", "LD", "AR"].contains(&&*known)
}

/// Whether setting it can make a program do something else than it was asked to.
pub(super) fn governs(name: &str) -> bool {
    let known = name.to_ascii_uppercase();
    run_command::governs(name)
        || NAMES.contains(&&*known)
        || PREFIXES.iter().any(|prefix| known.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| known.ends_with(suffix))
}
