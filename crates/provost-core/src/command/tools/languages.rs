//! What the options of interpreters mean that stand before a script.

use super::super::{Loads, loads};
use super::table::Interpreter;

pub(super) const PYTHON: Interpreter = Interpreter {
    flags: "-u -B -O -E -s -S -I -q -P -b -d -v -R",
    valued: &[("-W", loads::is_warning), ("-X", is_python_setting)],
    named: "-m",
    alone: "-V -VV --version -h --help",
    ..Interpreter::PLAIN
};

/// `-X dev`; what else there is names files and modules.
fn is_python_setting(value: &str) -> bool {
    const SETTINGS: &str = "dev utf8 importtime faulthandler tracemalloc showrefcount int_max_str_digits \
                            no_debug_ranges warn_default_encoding frozen_modules gil cpu_count";
    let (name, value) = value.split_once('=').unwrap_or((value, ""));
    SETTINGS.split_ascii_whitespace().any(|known| known == name)
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(super) const NODE: Interpreter = Interpreter {
    flags: "--test --watch",
    words: loads::is_node_flag,
    named: "-c --check",
    finds: "--test --watch",
    alone: "-v --version -h --help",
    loads: &[
        ("-r --require --import --loader --experimental-loader", Loads::Preload),
        ("--env-file --env-file-if-exists", Loads::Settings),
    ],
    ..Interpreter::PLAIN
};

pub(super) const PERL: Interpreter = Interpreter {
    flags: "-w -W -t -T -c",
    alone: "-v --version -h --help",
    loads: &[("-I", Loads::Modules), ("-M -m -d", Loads::Preload)],
    ..Interpreter::PLAIN
};

pub(super) const RUBY: Interpreter = Interpreter {
    flags: "-w -c --yjit",
    alone: "--version --help -h -v",
    loads: &[("-I", Loads::Modules), ("-r", Loads::Preload)],
    ..Interpreter::PLAIN
};

pub(super) const PHP: Interpreter = Interpreter {
    flags: "-n -q",
    named: "-l -f",
    alone: "-v --version -h --help -m -i",
    loads: &[("-d -c -z", Loads::Settings)],
    ..Interpreter::PLAIN
};

pub(super) const LUA: Interpreter = Interpreter {
    flags: "-E -W",
    alone: "-v",
    loads: &[("-l", Loads::Preload)],
    ..Interpreter::PLAIN
};

pub(super) const RSCRIPT: Interpreter =
    Interpreter { flags: "--vanilla", alone: "--version --help", ..Interpreter::PLAIN };
