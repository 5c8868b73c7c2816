//! How a program that is more than it says is read.
//!
//! A program that is not in this table is what its arguments say. One that is
//! in it is looked through with its own grammar of options, or opaque.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::option_grammar::OptionGrammar;
use super::program_table::PROGRAM_TABLES;
use crate::command::{CodeInjection, OpaqueReason};

/// One row.
#[derive(Debug)]
pub(super) struct ProgramEntry {
    /// Separated by spaces.
    pub(super) names: &'static str,
    pub(super) how: ProgramKind,
    /// Why it is here.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for whoever reads the table; tests read it")
    )]
    pub(super) reason: &'static str,
}

/// How a program is read.
#[derive(Debug)]
pub(super) enum ProgramKind {
    /// It runs the command that follows its options.
    Wrapper(OptionGrammar),
    /// The same, but what runs is not all there is to it.
    OpaqueWrapper(OptionGrammar, OpaqueReason),
    /// It cannot be read, and may run anything.
    Unbounded(OpaqueReason),
    /// It cannot be read, and runs no program but what files say.
    Opaque(OpaqueReason),
    /// It is plain unless it has one of these options.
    RiskyOptions(&'static str, OpaqueReason),
    /// It runs a script that is named, or code that is given.
    Interpreter(InterpreterOptions),
    /// It has a grammar of its own.
    Special(SpecialProgram),
}

/// An option with a value, and whether such a value names no code.
pub(super) type ValuedOption = (&'static str, fn(&str) -> bool);

/// The options of an interpreter that stand before its script.
#[derive(Debug)]
pub(super) struct InterpreterOptions {
    /// Options that change nothing about what runs.
    pub(super) flags: &'static str,
    /// Options with a value, and whether that names no code.
    pub(super) valued: &'static [ValuedOption],
    /// Whole words that change nothing about what runs, with what follows `=` in them.
    pub(super) words: fn(&str) -> bool,
    /// Options after which what it runs is named.
    pub(super) named: &'static str,
    /// Options with which it finds what it runs by itself, if no script is named.
    pub(super) finds: &'static str,
    /// Options with which it runs nothing, if they come alone.
    pub(super) alone: &'static str,
    /// Options by which it loads other code.
    pub(super) loads: &'static [(&'static str, CodeInjection)],
}

impl InterpreterOptions {
    /// One that is given a script and nothing else.
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

/// Programs with a grammar of their own.
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

/// Every row by each of its names.
static PROGRAMS_BY_NAME: LazyLock<HashMap<&'static str, &'static ProgramEntry>> =
    LazyLock::new(|| {
        let rows = PROGRAM_TABLES.iter().flat_map(|table| table.iter());
        rows.flat_map(|tool| tool.names.split(' ').map(move |name| (name, tool))).collect()
    });

/// Finds a program by its name, also one that carries its version or flavor:
/// `perl5.36.0`, `python3.11`, `vim.basic`.
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
