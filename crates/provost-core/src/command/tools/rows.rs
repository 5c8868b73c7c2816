//! The programs that are more than they say, each with the reason it is here.
//!
//! Where a name is missing, its program is what its arguments say; where an
//! option of a wrapper is missing, the line is opaque.

use super::super::Why;
use super::by_option::OPTIONS;
use super::languages::{LUA, NODE, PERL, PHP, PYTHON, RSCRIPT, RUBY};
use super::options::Grammar;
use super::table::{How, Own, Tool};

/// All rows.
pub(super) const TABLES: [&[Tool]; 5] = [WRAPPERS, SHELL, CODE, RUNNERS, OPTIONS];

/// Programs that run the command in their arguments.
const WRAPPERS: &[Tool] = &[
    row("env", How::Own(Own::Env), "runs a command with other variables"),
    row("sudo", How::Own(Own::Sudo), "runs a command as another user"),
    row("doas", marked("-n -L -s", "-u -C -a", 0, Why::Rights), "runs a command as another user"),
    row("nice", wraps("", "-n --adjustment", 0), "runs a command with another priority"),
    row(
        "ionice",
        wraps("-t --ignore", "-c -n --class --classdata", 0),
        "runs a command with another priority",
    ),
    row("chrt", wraps("-b -f -i -o -r", "", 1), "runs a command with another priority"),
    row("taskset", wraps("-c --cpu-list", "", 1), "runs a command on some processors"),
    row("nohup", wraps("", "", 0), "runs a command that outlives its terminal"),
    row(
        "setsid",
        wraps("-c -f -w --ctty --fork --wait", "", 0),
        "runs a command in a session of its own",
    ),
    row(
        "timeout",
        wraps(
            "-v -f -p --verbose --foreground --preserve-status",
            "-k -s --kill-after --signal",
            1,
        ),
        "runs a command for a time",
    ),
    row("time", wraps("-p -v --portability --verbose", "", 0), "runs a command and measures it"),
    row(
        "stdbuf",
        wraps("", "-i -o -e --input --output --error", 0),
        "runs a command with other buffers",
    ),
    row("unbuffer", wraps("-p", "", 0), "runs a command on a terminal"),
    row("catchsegv fakeroot dbus-run-session caffeinate", wraps("", "", 0), "runs a command"),
    row(
        "command builtin exec",
        How::Own(Own::Builtin),
        "runs a command, not a function of its name",
    ),
    row("busybox toybox", wraps("", "", 0), "is many programs, its first argument says which"),
    row("watch", How::Own(Own::Watch), "runs a line again and again"),
    row("flock", How::Own(Own::Flock), "runs a command or a line under a lock"),
    row("xargs gxargs", How::Own(Own::Xargs), "adds arguments that it reads"),
    row("ip", How::Own(Own::Ip), "runs a command in another network"),
    row(
        "ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1 \
         ld-musl-aarch64.so.1 ld.so",
        How::Own(Own::Loader),
        "runs the program in its arguments, with libraries that options name",
    ),
    row("parallel rush", How::Never(Why::Input), "makes command lines of what it reads"),
    row(
        "strace ltrace",
        marked(
            "-f -ff -c -C -q -qq -t -tt -T -v -y -yy -i -r -n",
            "-e -s -p -a -S -P -I",
            0,
            Why::Code,
        ),
        "runs a command, and can write and inject",
    ),
    row(
        "chroot",
        marked("", "--userspec --groups", 1, Why::Rights),
        "runs a command in another root",
    ),
    row(
        "unshare",
        marked("-m -u -i -n -p -U -C -T -f -r -c", "", 0, Why::Rights),
        "runs a command in other namespaces",
    ),
    row(
        "setpriv sudoedit nsenter su runuser pkexec capsh newgrp sg gosu su-exec machinectl \
         bwrap firejail",
        How::Never(Why::Rights),
        "runs a command with other rights",
    ),
    row(
        "systemd-run at batch crontab systemctl launchctl start-stop-daemon nq ts \
         screen tmux zellij dtach abduco",
        How::Never(Why::Later),
        "runs a command later, or as the child of another",
    ),
    row(
        "open xdg-open wslview cmd.exe powershell.exe ssh mosh rsh telnet rlogin slogin autossh sshpass vagrant multipass lxc \
         incus adb",
        How::Never(Why::Elsewhere),
        "runs a line on another machine, and options of it run one here",
    ),
    row(
        "docker podman nerdctl kubectl oc crictl buildah",
        How::Own(Own::Container),
        "runs commands in containers, where another root is",
    ),
    row(
        "docker-compose podman-compose helm",
        How::Never(Why::Elsewhere),
        "runs what a file says in containers",
    ),
    row(
        "npx bunx pnpx pnpm yarn npm bun uv uvx pipx deno corepack",
        How::Own(Own::Packages),
        "runs scripts and packages; some options take code",
    ),
    row("find gfind", How::Own(Own::Find), "runs commands on what it finds, deletes and writes"),
];

/// What the shell itself does.
const SHELL: &[Tool] = &[
    row("sh bash dash ash", How::Own(Own::Shell), "runs lines and scripts"),
    row(
        "zsh ksh mksh fish csh tcsh nu elvish xonsh pwsh rbash yash posh",
        How::Never(Why::Code),
        "reads another language than bash",
    ),
    row("cd", How::Own(Own::Cd), "moves what follows to another folder"),
    row("pushd popd dirs chdir", How::Own(Own::Elsewhere), "moves what follows to another folder"),
    row("export", How::Own(Own::Export), "sets variables for what follows"),
    row(
        "alias unalias enable hash shopt bind complete compgen compopt fc history",
        How::Never(Why::Shell),
        "runs text as commands, or changes what they mean",
    ),
    row("eval", How::Own(Own::Eval), "runs its words as a line"),
    row("trap", How::Own(Own::Trap), "runs a line later"),
    row("set", How::Own(Own::Set), "changes how the shell runs what follows"),
    row("source .", How::Own(Own::Source), "does what a file says, as a script does"),
    row("suspend ulimit umask logout", How::Unclear(Why::Shell), "changes the shell"),
    row("let", How::Never(Why::Arithmetic), "evaluates what it is given"),
    row(
        "declare typeset local readonly mapfile readarray read getopts unset",
        How::Own(Own::Names),
        "evaluates the names it is given",
    ),
    row(
        "test [",
        How::Unless("-v -R", Why::Arithmetic),
        "with these, evaluates the name of an array",
    ),
    row("wait", How::Unless("-p", Why::Arithmetic), "with this, evaluates the name of an array"),
    row("printf", How::Unless("-v", Why::Arithmetic), "with this, evaluates the name of an array"),
];

/// Programs that are given code.
const CODE: &[Tool] = &[
    row("awk gawk mawk nawk", How::Own(Own::Awk), "a language that runs commands and writes"),
    row("sed gsed", How::Own(Own::Sed), "a language that runs commands and writes"),
    row("python python3 python2 pypy pypy3", How::Interprets(PYTHON), "runs code"),
    row("node nodejs", How::Interprets(NODE), "runs code"),
    row("perl", How::Interprets(PERL), "runs code"),
    row("ruby", How::Interprets(RUBY), "runs code"),
    row("php", How::Interprets(PHP), "runs code"),
    row("lua luajit", How::Interprets(LUA), "runs code"),
    row("Rscript", How::Interprets(RSCRIPT), "runs code"),
    row("java", How::Own(Own::Java), "runs code, and options load more"),
    row(
        "R osascript tclsh wish expect guile racket sbcl clisp ghci irb ipython \
         jshell julia octave gdb lldb bc dc m4 scala groovy erl iex elixir ocaml \
         swift ts-node tsx socat openssl gpg nmap",
        How::Never(Why::Code),
        "runs code, or commands named in its arguments",
    ),
    row(
        "vi vim nvim view vimdiff gvim ex ed red emacs emacsclient nano pico joe mc \
         less more most pg info lynx w3m mail mailx mutt ftp sftp lftp nc ncat netcat \
         visudo vipw",
        How::Never(Why::Code),
        "has commands of its own, some of which start a shell",
    ),
    row(
        "sqlite3 psql mysql mariadb mongosh mongo redis-cli duckdb sqlplus clickhouse",
        How::Never(Why::Code),
        "has commands of its own, some of which start a shell or write files",
    ),
    row(
        "conda direnv mise asdf nix nix-shell poetry pipenv bundle rbenv pyenv nvm dotenv cross-env \
         concurrently proot fakechroot faketime rlwrap torsocks proxychains eatmydata ssh-agent \
         systemd-inhibit cpulimit choom script scriptreplay ttyrec asciinema entr nodemon watchexec inotifywait \
         chronic ifne xvfb-run gtimeout setarch linux32 linux64 numactl prlimit \
         x86_64 i386 i486 i586 i686 aarch64 armv7l armv8l ppc64le riscv64 uname26 runcon tsocks \
         trickle daemonize gdbserver dpkg-architecture pdm hatch rye original-awk static-sh \
         valgrind perf hyperfine rr run-parts logrotate dpkg apt apt-get rpm \
         pdsh ansible terraform",
        How::Never(Why::Code),
        "runs commands in ways that are not read here",
    ),
];

/// Programs that do what a file of the project says.
const RUNNERS: &[Tool] = &[row(
    "just task rake",
    How::Unclear(Why::Code),
    "runs what a file says, and lines that are given",
)];

const fn wraps(flags: &'static str, valued: &'static str, operands: usize) -> How {
    How::Wraps(Grammar { flags, valued, operands })
}

const fn marked(flags: &'static str, valued: &'static str, operands: usize, why: Why) -> How {
    How::Marked(Grammar { flags, valued, operands }, why)
}

pub(super) const fn row(names: &'static str, how: How, reason: &'static str) -> Tool {
    Tool { names, how, reason }
}
