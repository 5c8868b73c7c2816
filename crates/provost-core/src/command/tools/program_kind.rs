//! How a program that runs others or interprets code is analyzed.
//!
//! A program that is not in the table has no effects besides its operands. One that is in it is
//! analyzed with its own option grammar, or opaque.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::option_grammar::OptionGrammar;
use super::program_table::PROGRAM_TABLES;
use crate::command::{CodeInjection, OpaqueReason};

/// One row of the table.
#[derive(Debug)]
pub(super) struct ProgramEntry {
    /// Separated by spaces.
    pub(super) names: &'static str,
    pub(super) how: ProgramKind,
    /// Why it is in the table.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for whoever reads the table; tests read it")
    )]
    pub(super) reason: &'static str,
}

/// How a program is analyzed.
#[derive(Debug)]
pub(super) enum ProgramKind {
    /// It runs the command that follows its options.
    Wrapper(OptionGrammar),
    /// The same, but the wrapper itself makes the line opaque.
    OpaqueWrapper(OptionGrammar, OpaqueReason),
    /// Opaque, and may run anything.
    Unbounded(OpaqueReason),
    /// Opaque, but runs only what files say.
    Opaque(OpaqueReason),
    /// Transparent unless it has one of these options.
    RiskyOptions(&'static str, OpaqueReason),
    /// It runs a script or inline code.
    Interpreter(InterpreterOptions),
    /// It has an analyzer of its own.
    Special(SpecialProgram),
}

/// An option with a value, and whether a value names no code.
pub(super) type ValuedOption = (&'static str, fn(&str) -> bool);

/// The options of an interpreter before its script.
#[derive(Debug)]
pub(super) struct InterpreterOptions {
    /// Options that do not affect what runs.
    pub(super) flags: &'static str,
    /// Options with a value, and whether a value names no code.
    pub(super) valued: &'static [ValuedOption],
    /// Words that do not affect what runs, with what follows `=` in them.
    pub(super) words: fn(&str) -> bool,
    /// Options that name what it runs.
    pub(super) named: &'static str,
    /// Options with which it finds what to run, if no script is named.
    pub(super) finds: &'static str,
    /// Options with which alone it runs nothing.
    pub(super) alone: &'static str,
    /// Options that load other code.
    pub(super) loads: &'static [(&'static str, CodeInjection)],
}

impl InterpreterOptions {
    /// An interpreter that only takes a script.
    pub(super) const PLAIN: Self = Self {
        flags: "",
        valued: &[],
        words: |_| false,
        named: "",
        finds: "",
        alone: "",
        loads: &[],
    };
}

/// Programs with an analyzer of their own.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpecialProgram {
    Awk,
    CommandBuiltin,
    Cd,
    Container,
    DirectoryStack,
    Env,
    Eval,
    Export,
    Fd,
    Find,
    Flock,
    Git,
    Ip,
    Java,
    DynamicLoader,
    Make,
    DeclaredNames,
    PackageManager,
    Sed,
    Set,
    Shell,
    Source,
    Sudo,
    Tar,
    Trap,
    Watch,
    Xargs,
}

/// All rows by program name.
static PROGRAMS_BY_NAME: LazyLock<HashMap<&'static str, &'static ProgramEntry>> =
    LazyLock::new(|| {
        let rows = PROGRAM_TABLES.iter().flat_map(|table| table.iter());
        rows.flat_map(|tool| tool.names.split(' ').map(move |name| (name, tool))).collect()
    });

/// Finds a program by its name, also with a version or flavor: `perl5.36.0`, `python3.11`,
/// `vim.basic`.
pub(super) fn find_program(name: &str) -> Option<&'static ProgramEntry> {
    let versionless = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let flavorless = name.split_once('.').map_or(name, |(name, _)| name);
    let known =
        [name, versionless, flavorless].into_iter().find_map(|name| PROGRAMS_BY_NAME.get(name));
    known.copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_a_reason_and_no_program_has_two() {
        let mut seen = BTreeSet::new();
        for tool in PROGRAM_TABLES.iter().flat_map(|table| table.iter()) {
            assert!(!tool.reason.is_empty(), "{}", tool.names);
            for name in tool.names.split(' ') {
                assert!(!name.is_empty() && seen.insert(name), "`{name}` stands there twice");
            }
        }
    }
}
