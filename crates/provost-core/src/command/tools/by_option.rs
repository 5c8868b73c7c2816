//! The programs of which some options run commands or load code, each with the
//! reason it is here.

use super::super::{Loads, Why};
use super::rows::row;
use super::table::{How, Own, Tool};

/// They are plain without these options.
pub(super) const OPTIONS: &[Tool] = &[
    row("git", How::Own(Own::Git), "options, aliases and subcommands run commands"),
    row("tar gtar bsdtar", How::Own(Own::Tar), "options run commands"),
    row("make gmake", How::Own(Own::Make), "variables and --eval are code"),
    row(
        "man",
        How::Unless("-P -H -C -K -l --pager --html --config-file", COMMAND),
        "these name a program",
    ),
    row("rsync", How::Unless("-e --rsh --rsync-path", COMMAND), "these name a program"),
    row("scp", How::Unless("-o -S -F -D", COMMAND), "these name a program"),
    row("zip", How::Unless("-T -TT --unzip-command", COMMAND), "these name a program"),
    row("sort gsort", How::Unless("--compress-program", COMMAND), "this names a program"),
    row("split gsplit", How::Unless("--filter", COMMAND), "this is a line for the shell"),
    row("rg", How::Unless("--pre --hostname-bin --search-zip -z", COMMAND), "these run programs"),
    row("fd fdfind", How::Own(Own::Fd), "options run commands on what it finds"),
    row(
        "curl",
        How::Unless("-K --config --engine --proxy-key", Why::Code),
        "these read options or load code",
    ),
    row(
        "wget",
        How::Unless("-e -i --execute --use-askpass --config --input-file", Why::Code),
        "these are settings or name a program",
    ),
    row(
        "cargo",
        How::Unless("--config -Z -x -s --shell --exec", Why::Code),
        "these set what programs are run",
    ),
    row("rustc", How::Unless("-C --codegen -Z", COMMAND), "these name a linker"),
    row(
        "gcc cc g++ c++ clang clang++",
        How::Unless("-B -fplugin -wrapper -specs --specs -load -fpass-plugin", COMMAND),
        "these name programs and plugins",
    ),
    row(
        "go",
        How::Unless("-exec -toolexec -ldflags -vettool -overlay", COMMAND),
        "these name programs",
    ),
    row(
        "cmake ctest",
        How::Unless("-P -E -D -C -S", Why::Code),
        "these run scripts and set programs",
    ),
    row("tcpdump", How::Unless("-z", COMMAND), "this names a program"),
    row(
        "pip pip3",
        How::Unless("--config-settings --global-option --editor --python", Why::Code),
        "these reach code",
    ),
    row(
        "pytest py.test",
        How::Unless("-p -c -o --pdbcls --override-ini --rootdir --confcutdir", Why::Code),
        "these load code",
    ),
    row("jq", How::Unless("-L -f --from-file", Why::Code), "these load code"),
    row(
        "eslint prettier tsc vitest jest",
        How::Unless("--rulesdir --resolve-plugins-relative-to --plugin --config -c", Why::Code),
        "these load code",
    ),
    row("gh", How::Unless("--exec", Why::Code), "this runs a command"),
    row("ld", How::Unless("-plugin --plugin", PRELOAD), "these load code"),
    row(
        "javac kotlinc",
        How::Unless("-J -processor -processorpath --processor-path -Xplugin", PRELOAD),
        "these load code",
    ),
    row(
        "pandoc",
        How::Unless("-F -L --filter --lua-filter --pdf-engine --defaults -d", COMMAND),
        "these run programs",
    ),
    row(
        "latex pdflatex xelatex lualatex",
        How::Unless("-shell-escape --shell-escape -enable-write18 --enable-write18", COMMAND),
        "with these, a document runs commands",
    ),
    row("exiftool", How::Unless("-config -if -if2 -p -api -@", PRELOAD), "these are code"),
    row("protoc", How::Unless("--plugin", COMMAND), "this names a program"),
    row(
        "pylint",
        How::Unless("--init-hook --load-plugins --rcfile", PRELOAD),
        "these are code, or load it",
    ),
    row("mypy", How::Unless("--python-executable --config-file", COMMAND), "these name a program"),
    row(
        "mocha rspec rubocop",
        How::Unless("-r --require --import --loader --reporter --plugin", PRELOAD),
        "these load code",
    ),
    row(
        "phpunit",
        How::Unless("--bootstrap --extension -c --configuration", PRELOAD),
        "these load code",
    ),
    row(
        "stylelint",
        How::Unless("--config --custom-syntax --plugins --custom-formatter", PRELOAD),
        "these load code",
    ),
];

/// An option names a program that runs.
const COMMAND: Why = Why::Loads(Loads::Command);
/// An option loads code.
const PRELOAD: Why = Why::Loads(Loads::Preload);
