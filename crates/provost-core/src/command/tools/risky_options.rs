//! Programs with options that run commands or load code, each with the reason.

use super::program_kind::{ProgramEntry, ProgramKind, SpecialProgram};
use super::program_table::program_entry;
use crate::command::{CodeInjection, OpaqueReason};

/// Transparent without these options.
pub(super) const RISKY_OPTION_PROGRAMS: &[ProgramEntry] = &[
    program_entry(
        "git",
        ProgramKind::Special(SpecialProgram::Git),
        "options, aliases and subcommands run commands",
    ),
    program_entry(
        "tar gtar bsdtar",
        ProgramKind::Special(SpecialProgram::Tar),
        "options run commands",
    ),
    program_entry(
        "make gmake",
        ProgramKind::Special(SpecialProgram::Make),
        "variables and --eval are code",
    ),
    program_entry(
        "man",
        ProgramKind::RiskyOptions("-P -H -C -K -l --pager --html --config-file", COMMAND_INJECTION),
        "these name a program",
    ),
    program_entry(
        "rsync",
        ProgramKind::RiskyOptions("-e --rsh --rsync-path", COMMAND_INJECTION),
        "these name a program",
    ),
    program_entry(
        "scp",
        ProgramKind::RiskyOptions("-o -S -F -D", COMMAND_INJECTION),
        "these name a program",
    ),
    program_entry(
        "zip",
        ProgramKind::RiskyOptions("-T -TT --unzip-command", COMMAND_INJECTION),
        "these name a program",
    ),
    program_entry(
        "sort gsort",
        ProgramKind::RiskyOptions("--compress-program", COMMAND_INJECTION),
        "this names a program",
    ),
    program_entry(
        "split gsplit",
        ProgramKind::RiskyOptions("--filter", COMMAND_INJECTION),
        "this is a line for the shell",
    ),
    program_entry(
        "rg",
        ProgramKind::RiskyOptions("--pre --hostname-bin --search-zip -z", COMMAND_INJECTION),
        "these run programs",
    ),
    program_entry(
        "fd fdfind",
        ProgramKind::Special(SpecialProgram::Fd),
        "options run commands on what it finds",
    ),
    program_entry(
        "curl",
        ProgramKind::RiskyOptions("-K --config --engine --proxy-key", OpaqueReason::Code),
        "these read options or load code",
    ),
    program_entry(
        "wget",
        ProgramKind::RiskyOptions(
            "-e -i --execute --use-askpass --config --input-file",
            OpaqueReason::Code,
        ),
        "these are settings or name a program",
    ),
    program_entry(
        "cargo",
        ProgramKind::RiskyOptions("--config -Z -x -s --shell --exec", OpaqueReason::Code),
        "these set what programs are run",
    ),
    program_entry(
        "rustc",
        ProgramKind::RiskyOptions("-C --codegen -Z", COMMAND_INJECTION),
        "these name a linker",
    ),
    program_entry(
        "gcc cc g++ c++ clang clang++",
        ProgramKind::RiskyOptions(
            "-B -fplugin -wrapper -specs --specs -load -fpass-plugin",
            COMMAND_INJECTION,
        ),
        "these name programs and plugins",
    ),
    program_entry(
        "go",
        ProgramKind::RiskyOptions("-exec -toolexec -ldflags -vettool -overlay", COMMAND_INJECTION),
        "these name programs",
    ),
    program_entry(
        "cmake ctest",
        ProgramKind::RiskyOptions("-P -E -D -C -S", OpaqueReason::Code),
        "these run scripts and set programs",
    ),
    program_entry(
        "tcpdump",
        ProgramKind::RiskyOptions("-z", COMMAND_INJECTION),
        "this names a program",
    ),
    program_entry(
        "pip pip3",
        ProgramKind::RiskyOptions(
            "--config-settings --global-option --editor --python",
            OpaqueReason::Code,
        ),
        "these reach code",
    ),
    program_entry(
        "pytest py.test",
        ProgramKind::RiskyOptions(
            "-p -c -o --pdbcls --override-ini --rootdir --confcutdir",
            OpaqueReason::Code,
        ),
        "these load code",
    ),
    program_entry(
        "jq",
        ProgramKind::RiskyOptions("-L -f --from-file", OpaqueReason::Code),
        "these load code",
    ),
    program_entry(
        "eslint prettier tsc vitest jest",
        ProgramKind::RiskyOptions(
            "--rulesdir --resolve-plugins-relative-to --plugin --config -c",
            OpaqueReason::Code,
        ),
        "these load code",
    ),
    program_entry(
        "gh",
        ProgramKind::RiskyOptions("--exec", OpaqueReason::Code),
        "this runs a command",
    ),
    program_entry(
        "ld",
        ProgramKind::RiskyOptions("-plugin --plugin", PRELOAD_INJECTION),
        "these load code",
    ),
    program_entry(
        "javac kotlinc",
        ProgramKind::RiskyOptions(
            "-J -processor -processorpath --processor-path -Xplugin",
            PRELOAD_INJECTION,
        ),
        "these load code",
    ),
    program_entry(
        "pandoc",
        ProgramKind::RiskyOptions(
            "-F -L --filter --lua-filter --pdf-engine --defaults -d",
            COMMAND_INJECTION,
        ),
        "these run programs",
    ),
    program_entry(
        "latex pdflatex xelatex lualatex",
        ProgramKind::RiskyOptions(
            "-shell-escape --shell-escape -enable-write18 --enable-write18",
            COMMAND_INJECTION,
        ),
        "with these, a document runs commands",
    ),
    program_entry(
        "exiftool",
        ProgramKind::RiskyOptions("-config -if -if2 -p -api -@", PRELOAD_INJECTION),
        "these are code",
    ),
    program_entry(
        "protoc",
        ProgramKind::RiskyOptions("--plugin", COMMAND_INJECTION),
        "this names a program",
    ),
    program_entry(
        "pylint",
        ProgramKind::RiskyOptions("--init-hook --load-plugins --rcfile", PRELOAD_INJECTION),
        "these are code, or load it",
    ),
    program_entry(
        "mypy",
        ProgramKind::RiskyOptions("--python-executable --config-file", COMMAND_INJECTION),
        "these name a program",
    ),
    program_entry(
        "mocha rspec rubocop",
        ProgramKind::RiskyOptions(
            "-r --require --import --loader --reporter --plugin",
            PRELOAD_INJECTION,
        ),
        "these load code",
    ),
    program_entry(
        "phpunit",
        ProgramKind::RiskyOptions("--bootstrap --extension -c --configuration", PRELOAD_INJECTION),
        "these load code",
    ),
    program_entry(
        "stylelint",
        ProgramKind::RiskyOptions(
            "--config --custom-syntax --plugins --custom-formatter",
            PRELOAD_INJECTION,
        ),
        "these load code",
    ),
];

/// An option names a program to run.
const COMMAND_INJECTION: OpaqueReason = OpaqueReason::CodeInjection(CodeInjection::Command);
/// An option loads code.
const PRELOAD_INJECTION: OpaqueReason = OpaqueReason::CodeInjection(CodeInjection::Preload);
