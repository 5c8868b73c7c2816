//! Options of interpreters before the script.

use super::program_kind::InterpreterOptions;
use crate::command::CodeInjection;
use crate::command::environment::code_injection;

pub(super) const PYTHON: InterpreterOptions = InterpreterOptions {
    flags: "-u -B -O -E -s -S -I -q -P -b -d -v -R",
    valued: &[("-W", code_injection::is_python_warning_filter), ("-X", is_python_setting)],
    named: "-m",
    alone: "-V -VV --version -h --help",
    ..InterpreterOptions::PLAIN
};

/// `-X dev`; other settings name files and modules.
fn is_python_setting(value: &str) -> bool {
    const SETTINGS: &str = "dev utf8 importtime faulthandler tracemalloc showrefcount int_max_str_digits \
                            no_debug_ranges warn_default_encoding frozen_modules gil cpu_count";
    let (name, value) = value.split_once('=').unwrap_or((value, ""));
    SETTINGS.split_ascii_whitespace().any(|known| known == name)
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(super) const NODE: InterpreterOptions = InterpreterOptions {
    flags: "--test --watch",
    words: code_injection::is_harmless_node_flag,
    named: "-c --check",
    finds: "--test --watch",
    alone: "-v --version -h --help",
    loads: &[
        ("-r --require --import --loader --experimental-loader", CodeInjection::Preload),
        ("--env-file --env-file-if-exists", CodeInjection::Settings),
    ],
    ..InterpreterOptions::PLAIN
};

pub(super) const PERL: InterpreterOptions = InterpreterOptions {
    flags: "-w -W -t -T -c",
    alone: "-v --version -h --help",
    loads: &[("-I", CodeInjection::Modules), ("-M -m -d", CodeInjection::Preload)],
    ..InterpreterOptions::PLAIN
};

pub(super) const RUBY: InterpreterOptions = InterpreterOptions {
    flags: "-w -c --yjit",
    alone: "--version --help -h -v",
    loads: &[("-I", CodeInjection::Modules), ("-r", CodeInjection::Preload)],
    ..InterpreterOptions::PLAIN
};

pub(super) const PHP: InterpreterOptions = InterpreterOptions {
    flags: "-n -q",
    named: "-l -f",
    alone: "-v --version -h --help -m -i",
    loads: &[("-d -c -z", CodeInjection::Settings)],
    ..InterpreterOptions::PLAIN
};

pub(super) const LUA: InterpreterOptions = InterpreterOptions {
    flags: "-E -W",
    alone: "-v",
    loads: &[("-l", CodeInjection::Preload)],
    ..InterpreterOptions::PLAIN
};

pub(super) const RSCRIPT: InterpreterOptions = InterpreterOptions {
    flags: "--vanilla",
    alone: "--version --help",
    ..InterpreterOptions::PLAIN
};
