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

mod aliases;
mod argv_pattern;
mod error;
mod evaluate;
mod explain;
mod matching;
mod option_width;
mod path_selector;
mod path_visibility;
mod policy_file_reader;
mod policy_rules;
mod rule;
mod rule_examples;
mod rule_index;
mod rule_text;
mod rule_writer;

pub use error::{PolicyError, PolicyErrors, PolicyFault};
pub use evaluate::{EvaluatedPermission, PolicyEvaluation, PolicyRequester, RequiredPermission};
pub use matching::{
    MatchCertainty, RequestLocation, RuleMatch, RuleMatches, RuleQuery, RuleStatus, RuleTarget,
};
pub use path_visibility::{BadVisibilityRule, PathVisibility};
pub use policy_rules::PolicyRules;
pub use rule::PolicyRule;
pub use rule_writer::append_rule;

use std::fmt;

/// The most bytes of a policy file.
pub const MAX_POLICY_BYTES: usize = 256 * 1024;

/// The most rules of a policy file.
pub const MAX_POLICY_RULES: usize = 1000;

/// The rules that Provost comes with.
const BUILTIN_POLICY: &str = include_str!("builtin.toml");

/// What a rule says, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleEffect {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

/// Whose rules they are, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleLayer {
    /// Provost's own.
    Builtin,
    /// The person's, for all their projects.
    User,
    /// The project's.
    Project,
}

/// Whether the operator trusts the file as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyTrust {
    /// Its hash is trusted: all its rules have effect.
    Trusted,
    /// It is new or changed: it may only tighten.
    Untrusted,
}

/// The rules of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layer: RuleLayer,
    rules: Vec<PolicyRule>,
}

impl Policy {
    /// No rules.
    pub fn empty(layer: RuleLayer) -> Self {
        Self { layer, rules: Vec::new() }
    }

    /// Reads a `policy.toml` and runs its examples. `file` is for the errors, of
    /// which there are as many as there are mistakes.
    pub fn parse(layer: RuleLayer, file: &str, text: &str) -> Result<Self, PolicyErrors> {
        policy_file_reader::read_policy_rules(file, text).map(|rules| Self { layer, rules })
    }

    /// The rules that Provost comes with.
    pub fn builtin() -> Result<Self, PolicyErrors> {
        Self::parse(RuleLayer::Builtin, "builtin.toml", BUILTIN_POLICY)
    }

    /// The text of the rules that Provost comes with, for people to read.
    pub fn builtin_text() -> &'static str {
        BUILTIN_POLICY
    }

    /// Whose they are.
    pub fn layer(&self) -> RuleLayer {
        self.layer
    }

    /// The rules in the order of the file.
    pub fn rules(&self) -> &[PolicyRule] {
        &self.rules
    }
}

impl RuleEffect {
    /// As it is written in a rule.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for RuleLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Builtin => "built in",
            Self::User => "your policy",
            Self::Project => "the project's policy",
        })
    }
}
