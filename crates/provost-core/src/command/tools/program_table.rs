//! The programs that run others or interpret code, each with the reason.
//!
//! A program that is missing has no effects besides its operands; a missing option of a wrapper
//! makes the line opaque.

use super::interpreter_options::{LUA, NODE, PERL, PHP, PYTHON, RSCRIPT, RUBY};
use super::option_grammar::OptionGrammar;
use super::program_kind::{ProgramEntry, ProgramKind, SpecialProgram};
use super::risky_options::RISKY_OPTION_PROGRAMS;
use crate::command::OpaqueReason;

/// All rows.
pub(super) const PROGRAM_TABLES: [&[ProgramEntry]; 5] =
    [WRAPPER_PROGRAMS, SHELL_PROGRAMS, CODE_PROGRAMS, TASK_RUNNERS, RISKY_OPTION_PROGRAMS];

/// Programs that run the command in their arguments.
const WRAPPER_PROGRAMS: &[ProgramEntry] = &[
    program_entry(
        "env",
        ProgramKind::Special(SpecialProgram::Env),
        "runs a command with other variables",
    ),
    program_entry(
        "sudo",
        ProgramKind::Special(SpecialProgram::Sudo),
        "runs a command as another user",
    ),
    program_entry(
        "doas",
        opaque_wrapper_kind("-n -L -s", "-u -C -a", 0, OpaqueReason::ChangedPrivileges),
        "runs a command as another user",
    ),
    program_entry(
        "nice",
        wrapper_kind("", "-n --adjustment", 0),
        "runs a command with another priority",
    ),
    program_entry(
        "ionice",
        wrapper_kind("-t --ignore", "-c -n --class --classdata", 0),
        "runs a command with another priority",
    ),
    program_entry(
        "chrt",
        wrapper_kind("-b -f -i -o -r", "", 1),
        "runs a command with another priority",
    ),
    program_entry(
        "taskset",
        wrapper_kind("-c --cpu-list", "", 1),
        "runs a command on some processors",
    ),
    program_entry("nohup", wrapper_kind("", "", 0), "runs a command that outlives its terminal"),
    program_entry(
        "setsid",
        wrapper_kind("-c -f -w --ctty --fork --wait", "", 0),
        "runs a command in a session of its own",
    ),
    program_entry(
        "timeout",
        wrapper_kind(
            "-v -f -p --verbose --foreground --preserve-status",
            "-k -s --kill-after --signal",
            1,
        ),
        "runs a command for a time",
    ),
    program_entry(
        "time",
        wrapper_kind("-p -v --portability --verbose", "", 0),
        "runs a command and measures it",
    ),
    program_entry(
        "stdbuf",
        wrapper_kind("", "-i -o -e --input --output --error", 0),
        "runs a command with other buffers",
    ),
    program_entry("unbuffer", wrapper_kind("-p", "", 0), "runs a command on a terminal"),
    program_entry(
        "catchsegv fakeroot dbus-run-session caffeinate",
        wrapper_kind("", "", 0),
        "runs a command",
    ),
    program_entry(
        "command builtin exec",
        ProgramKind::Special(SpecialProgram::CommandBuiltin),
        "runs a command, not a function of its name",
    ),
    program_entry(
        "busybox toybox",
        wrapper_kind("", "", 0),
        "is many programs, its first argument says which",
    ),
    program_entry(
        "watch",
        ProgramKind::Special(SpecialProgram::Watch),
        "runs a line again and again",
    ),
    program_entry(
        "flock",
        ProgramKind::Special(SpecialProgram::Flock),
        "runs a command or a line under a lock",
    ),
    program_entry(
        "xargs gxargs",
        ProgramKind::Special(SpecialProgram::Xargs),
        "adds arguments that it reads",
    ),
    program_entry(
        "ip",
        ProgramKind::Special(SpecialProgram::Ip),
        "runs a command in another network",
    ),
    program_entry(
        "ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 \
         ld-musl-aarch64.so.1 ld.so",
        ProgramKind::Special(SpecialProgram::DynamicLoader),
        "runs the program in its arguments, with libraries that options name",
    ),
    program_entry(
        "parallel rush",
        ProgramKind::Unbounded(OpaqueReason::CommandsFromInput),
        "makes command lines of what it reads",
    ),
    program_entry(
        "strace ltrace",
        opaque_wrapper_kind(
            "-f -ff -c -C -q -qq -t -tt -T -v -y -yy -i -r -n",
            "-e -s -p -a -S -P -I",
            0,
            OpaqueReason::Code,
        ),
        "runs a command, and can write and inject",
    ),
    program_entry(
        "chroot",
        opaque_wrapper_kind("", "--userspec --groups", 1, OpaqueReason::ChangedPrivileges),
        "runs a command in another root",
    ),
    program_entry(
        "unshare",
        opaque_wrapper_kind(
            "-m -u -i -n -p -U -C -T -f -r -c",
            "",
            0,
            OpaqueReason::ChangedPrivileges,
        ),
        "runs a command in other namespaces",
    ),
    program_entry(
        "setpriv sudoedit nsenter su runuser pkexec capsh newgrp sg gosu su-exec machinectl \
         bwrap firejail",
        ProgramKind::Unbounded(OpaqueReason::ChangedPrivileges),
        "runs a command with other rights",
    ),
    program_entry(
        "systemd-run at batch crontab systemctl launchctl start-stop-daemon nq ts \
         screen tmux zellij dtach abduco",
        ProgramKind::Unbounded(OpaqueReason::DeferredExecution),
        "runs a command later, or as the child of another",
    ),
    program_entry(
        "open xdg-open wslview cmd.exe powershell.exe ssh mosh rsh telnet rlogin slogin autossh sshpass vagrant multipass lxc \
         incus adb",
        ProgramKind::Unbounded(OpaqueReason::RemoteExecution),
        "runs a line on another machine, and options of it run one here",
    ),
    program_entry(
        "docker podman nerdctl kubectl oc crictl buildah",
        ProgramKind::Special(SpecialProgram::Container),
        "runs commands in containers, where another root is",
    ),
    program_entry(
        "docker-compose podman-compose helm",
        ProgramKind::Unbounded(OpaqueReason::RemoteExecution),
        "runs what a file says in containers",
    ),
    program_entry(
        "npx bunx pnpx pnpm yarn npm bun uv uvx pipx deno corepack",
        ProgramKind::Special(SpecialProgram::PackageManager),
        "runs scripts and packages; some options take code",
    ),
    program_entry(
        "find gfind",
        ProgramKind::Special(SpecialProgram::Find),
        "runs commands on what it finds, deletes and writes",
    ),
];

/// Builtins of the shell.
const SHELL_PROGRAMS: &[ProgramEntry] = &[
    program_entry(
        "sh bash dash ash",
        ProgramKind::Special(SpecialProgram::Shell),
        "runs lines and scripts",
    ),
    program_entry(
        "zsh ksh mksh fish csh tcsh nu elvish xonsh pwsh rbash yash posh",
        ProgramKind::Unbounded(OpaqueReason::Code),
        "reads another language than bash",
    ),
    program_entry(
        "cd",
        ProgramKind::Special(SpecialProgram::Cd),
        "moves what follows to another folder",
    ),
    program_entry(
        "pushd popd dirs chdir",
        ProgramKind::Special(SpecialProgram::DirectoryStack),
        "moves what follows to another folder",
    ),
    program_entry(
        "export",
        ProgramKind::Special(SpecialProgram::Export),
        "sets variables for what follows",
    ),
    program_entry(
        "alias unalias enable hash shopt bind complete compgen compopt fc history",
        ProgramKind::Unbounded(OpaqueReason::ShellStateChange),
        "runs text as commands, or changes what they mean",
    ),
    program_entry("eval", ProgramKind::Special(SpecialProgram::Eval), "runs its words as a line"),
    program_entry("trap", ProgramKind::Special(SpecialProgram::Trap), "runs a line later"),
    program_entry(
        "set",
        ProgramKind::Special(SpecialProgram::Set),
        "changes how the shell runs what follows",
    ),
    program_entry(
        "source .",
        ProgramKind::Special(SpecialProgram::Source),
        "does what a file says, as a script does",
    ),
    program_entry(
        "suspend ulimit umask logout",
        ProgramKind::Opaque(OpaqueReason::ShellStateChange),
        "changes the shell",
    ),
    program_entry(
        "let",
        ProgramKind::Unbounded(OpaqueReason::Arithmetic),
        "evaluates what it is given",
    ),
    program_entry(
        "declare typeset local readonly mapfile readarray read getopts unset",
        ProgramKind::Special(SpecialProgram::DeclaredNames),
        "evaluates the names it is given",
    ),
    program_entry(
        "test [",
        ProgramKind::RiskyOptions("-v -R", OpaqueReason::Arithmetic),
        "with these, evaluates the name of an array",
    ),
    program_entry(
        "wait",
        ProgramKind::RiskyOptions("-p", OpaqueReason::Arithmetic),
        "with this, evaluates the name of an array",
    ),
    program_entry(
        "printf",
        ProgramKind::RiskyOptions("-v", OpaqueReason::Arithmetic),
        "with this, evaluates the name of an array",
    ),
];

/// Programs that interpret code.
const CODE_PROGRAMS: &[ProgramEntry] = &[
    program_entry(
        "awk gawk mawk nawk",
        ProgramKind::Special(SpecialProgram::Awk),
        "a language that runs commands and writes",
    ),
    program_entry(
        "sed gsed",
        ProgramKind::Special(SpecialProgram::Sed),
        "a language that runs commands and writes",
    ),
    program_entry(
        "python python3 python2 pypy pypy3",
        ProgramKind::Interpreter(PYTHON),
        "runs code",
    ),
    program_entry("node nodejs", ProgramKind::Interpreter(NODE), "runs code"),
    program_entry("perl", ProgramKind::Interpreter(PERL), "runs code"),
    program_entry("ruby", ProgramKind::Interpreter(RUBY), "runs code"),
    program_entry("php", ProgramKind::Interpreter(PHP), "runs code"),
    program_entry("lua luajit", ProgramKind::Interpreter(LUA), "runs code"),
    program_entry("Rscript", ProgramKind::Interpreter(RSCRIPT), "runs code"),
    program_entry(
        "java",
        ProgramKind::Special(SpecialProgram::Java),
        "runs code, and options load more",
    ),
    program_entry(
        "R osascript tclsh wish expect guile racket sbcl clisp ghci irb ipython \
         jshell julia octave gdb lldb bc dc m4 scala groovy erl iex elixir ocaml \
         swift ts-node tsx socat openssl gpg nmap",
        ProgramKind::Unbounded(OpaqueReason::Code),
        "runs code, or commands named in its arguments",
    ),
    program_entry(
        "vi vim nvim view vimdiff gvim ex ed red emacs emacsclient nano pico joe mc \
         less more most pg info lynx w3m mail mailx mutt ftp sftp lftp nc ncat netcat \
         visudo vipw",
        ProgramKind::Unbounded(OpaqueReason::Code),
        "has commands of its own, some of which start a shell",
    ),
    program_entry(
        "sqlite3 psql mysql mariadb mongosh mongo redis-cli duckdb sqlplus clickhouse",
        ProgramKind::Unbounded(OpaqueReason::Code),
        "has commands of its own, some of which start a shell or write files",
    ),
    program_entry(
        "conda direnv mise asdf nix nix-shell poetry pipenv bundle rbenv pyenv nvm dotenv cross-env \
         concurrently proot fakechroot faketime rlwrap torsocks proxychains eatmydata ssh-agent \
         systemd-inhibit cpulimit choom script scriptreplay ttyrec asciinema entr nodemon watchexec inotifywait \
         chronic ifne xvfb-run gtimeout setarch linux32 linux64 numactl prlimit \
         x86_64 i386 i486 i586 i686 aarch64 armv7l armv8l ppc64le riscv64 uname26 runcon tsocks \
         trickle daemonize gdbserver dpkg-architecture pdm hatch rye original-awk static-sh \
         valgrind perf hyperfine rr run-parts logrotate dpkg apt apt-get rpm \
         pdsh ansible terraform",
        ProgramKind::Unbounded(OpaqueReason::Code),
        "runs commands in ways that are not read here",
    ),
];

/// Programs that run what a file of the project says.
const TASK_RUNNERS: &[ProgramEntry] = &[program_entry(
    "just task rake",
    ProgramKind::Opaque(OpaqueReason::Code),
    "runs what a file says, and lines that are given",
)];

const fn wrapper_kind(flags: &'static str, valued: &'static str, operands: usize) -> ProgramKind {
    ProgramKind::Wrapper(OptionGrammar { flags, valued, operands })
}

const fn opaque_wrapper_kind(
    flags: &'static str,
    valued: &'static str,
    operands: usize,
    why: OpaqueReason,
) -> ProgramKind {
    ProgramKind::OpaqueWrapper(OptionGrammar { flags, valued, operands }, why)
}

pub(super) const fn program_entry(
    names: &'static str,
    how: ProgramKind,
    reason: &'static str,
) -> ProgramEntry {
    ProgramEntry { names, how, reason }
}
