//! Rules: decisions that a person made once, for all requests of a kind.
//!
//! A rule says `allow`, `ask` or `deny` for the skills that it is `on`, limited by role, mode and
//! target: the words of a command (`argv`), the hosts that it names (`host`), or the path
//! (`path`). There are three layers of rules: built in, the user's and the project's. They
//! combine like this:
//!
//! 1. A rule that denies, in any layer, wins.
//! 2. A rule that asks wins over one that allows. Built-in rules are the exception: they do not
//!    ask where the user or a trusted project allows, since otherwise nobody could answer
//!    "always".
//! 3. A project's `allow` has no effect until the operator trusts the file; its `deny` and `ask`
//!    have.
//! 4. If no rule matches, the mode decides.
//!
//! Rules that deny or ask match leniently, rules that allow match strictly: a rule that denies
//! `git` also matches `/usr/bin/git`, one that allows it does not. A rule that allows matches no
//! command that sets variables or runs outside the project, and nothing in a line that could not
//! be analyzed. A rule that denies or asks also matches what it may be about (`git $X` may push):
//! then a person decides. [`evaluate`](PolicyRules::evaluate) is where an action is evaluated.

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
mod rule_match;
mod rule_query;
mod rule_text;
mod rule_writer;

pub use error::{PolicyError, PolicyErrors, PolicyFault};
pub use evaluate::{EvaluatedPermission, PolicyEvaluation, PolicyRequester, RequiredPermission};
pub use path_visibility::{BadVisibilityRule, PathVisibility};
pub use policy_rules::PolicyRules;
pub use rule::PolicyRule;
pub use rule_match::{MatchCertainty, RuleMatch, RuleMatches, RuleStatus};
pub use rule_query::{RequestLocation, RuleQuery, RuleTarget};
pub use rule_writer::append_rule;

use std::fmt;

/// The largest policy file, in bytes.
pub const MAX_POLICY_BYTES: usize = 256 * 1024;

/// The most rules of a policy file.
pub const MAX_POLICY_RULES: usize = 1000;

/// The built-in rules.
const BUILTIN_POLICY: &str = include_str!("builtin.toml");

/// The effect of a rule, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleEffect {
    /// The action may run.
    Allow,
    /// A person decides.
    Ask,
    /// The action may not run.
    Deny,
}

/// The origin of a rule, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleLayer {
    /// Built in.
    Builtin,
    /// The user's policy, for all projects.
    User,
    /// The project's policy.
    Project,
}

/// Whether the operator trusts the file with its current hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyTrust {
    /// The hash is trusted: all rules have an effect.
    Trusted,
    /// The file is new or changed: only rules that deny or ask have an effect.
    Untrusted,
}

/// The rules of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    layer: RuleLayer,
    rules: Vec<PolicyRule>,
    /// Paths that commands can read besides, as written.
    sandbox_read: Vec<String>,
}

impl Policy {
    /// No rules.
    pub fn empty(layer: RuleLayer) -> Self {
        Self { layer, rules: Vec::new(), sandbox_read: Vec::new() }
    }

    /// Reads a `policy.toml` and runs its examples. `file` is the name in error messages. Reports
    /// all errors, not just the first.
    pub fn parse(layer: RuleLayer, file: &str, text: &str) -> Result<Self, PolicyErrors> {
        policy_file_reader::read_policy_file(file, text).map(|(rules, sandbox_read)| Self {
            layer,
            rules,
            sandbox_read,
        })
    }

    /// The built-in rules.
    pub fn builtin() -> Result<Self, PolicyErrors> {
        Self::parse(RuleLayer::Builtin, "builtin.toml", BUILTIN_POLICY)
    }

    /// The text of the built-in rules, for people to read.
    pub fn builtin_text() -> &'static str {
        BUILTIN_POLICY
    }

    /// The layer that they belong to.
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
