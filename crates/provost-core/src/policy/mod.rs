//! Rules: what a person decided once, for all requests of a kind.
//!
//! A rule says `allow`, `ask` or `deny` for the skills it is `on`, narrowed by
//! role, mode and what is asked: the words of a command (`argv`), the hosts it
//! names (`host`), or the path (`path`). Rules lie in three layers: built in,
//! the user's, the project's. What they say together:
//!
//! 1. A rule that denies, in any layer, wins.
//! 2. A rule that asks wins over one that allows. Only the built-in ones are
//!    weaker: where the user or a trusted project allows, they do not ask, since
//!    else nobody could ever answer "always".
//! 3. What a project allows has no effect until the operator trusts its file;
//!    what it denies and asks for has.
//! 4. Where no rule matches, there is no verdict, and the mode decides.
//!
//! Whoever denies or asks is read generously, whoever allows narrowly: a rule
//! for `git` that denies also means `/usr/bin/git`, one that allows does not; it
//! also means no command that sets variables or runs outside the project, and
//! nothing in a line that could not be read for certain. What is denied or asked
//! about also means what may be it (`git $X` may push): then a person decides.

mod argv;
mod error;
mod evaluate;
mod example;
mod explain;
mod index;
mod matching;
mod names;
mod options;
mod place;
mod read;
mod rule;
mod rules;
mod sight;
mod text;
mod write;

pub use error::{PolicyError, PolicyErrors, PolicyFault};
pub use evaluate::{Asker, Demanded, Evaluation, Judged};
pub use matching::{Certainty, Force, Hit, Matched, Setting, Subject, Target};
pub use rule::Rule;
pub use rules::Rules;
pub use sight::{BadLimit, Sight};
pub use write::append_rule;

use std::fmt;

/// The most bytes of a policy file.
pub const FILE: usize = 256 * 1024;

/// The most rules of a policy file.
pub const RULES: usize = 1000;

/// The rules that Provost comes with.
const BUILTIN: &str = include_str!("builtin.toml");

/// What a rule says, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

/// Whose rules they are, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Provost's own.
    Builtin,
    /// The person's, for all their projects.
    User,
    /// The project's.
    Project,
}

/// Whether the operator trusts the file as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Its hash is trusted: all its rules have effect.
    Trusted,
    /// It is new or changed: it may only tighten.
    Untrusted,
}

/// The rules of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layer: Layer,
    rules: Vec<Rule>,
}

impl Policy {
    /// No rules.
    pub fn empty(layer: Layer) -> Self {
        Self { layer, rules: Vec::new() }
    }

    /// Reads a `policy.toml` and runs its examples. `file` is for the errors, of
    /// which there are as many as there are mistakes.
    pub fn parse(layer: Layer, file: &str, text: &str) -> Result<Self, PolicyErrors> {
        read::policy(file, text).map(|rules| Self { layer, rules })
    }

    /// The rules that Provost comes with.
    pub fn builtin() -> Result<Self, PolicyErrors> {
        Self::parse(Layer::Builtin, "builtin.toml", BUILTIN)
    }

    /// The text of the rules that Provost comes with, for people to read.
    pub fn builtin_text() -> &'static str {
        BUILTIN
    }

    /// Whose they are.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// The rules in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl Verdict {
    /// As it is written in a rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Builtin => "built in",
            Self::User => "your policy",
            Self::Project => "the project's policy",
        })
    }
}
