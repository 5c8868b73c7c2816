//! The builtins of bash, which run no program.

use crate::command::CommandInvocation;

/// All builtins of bash 5.
const BASH_BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Wrappers that run their words in the same shell or in one that they start.
const SHELL_WRAPPERS: &[&str] = &["bash", "sh", "builtin", "command", "eval", "time"];

/// Whether a command is a builtin. `in_shell` is whether a shell interprets the line at all; `env
/// cd` looks for a program, `bash -c cd` does not.
pub fn is_builtin(run: &CommandInvocation, in_shell: bool) -> bool {
    let read_by_shell = match run.through.as_slice() {
        [] => in_shell,
        wrappers => {
            wrappers.iter().all(|name| SHELL_WRAPPERS.contains(&name.as_str()))
                && (in_shell || wrappers.iter().any(|name| name == "bash" || name == "sh"))
        }
    };
    let builtin = run.argv.first().is_some_and(|name| BASH_BUILTINS.contains(&name.as_str()));
    read_by_shell && builtin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_shell_is_one_where_a_shell_reads_it() {
        for (argv, through, in_shell, builtin) in [
            ("cd", "", true, true),
            ("echo", "", true, true),
            ("cd", "", false, false),
            ("cd", "env", true, false),
            ("cd", "bash", false, true),
            ("cd", "sudo bash", true, false),
            ("export", "eval", true, true),
            ("git", "", true, false),
            ("./cd", "", true, false),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            let run = CommandInvocation {
                argv: words(argv),
                through: words(through),
                ..CommandInvocation::default()
            };
            assert_eq!(is_builtin(&run, in_shell), builtin, "{argv} through {through}");
        }
    }
}
