//! What is wrong with a policy file, all of it, with places.

use std::fmt;

use super::{MAX_POLICY_BYTES, MAX_POLICY_RULES};
use crate::action::text::{BadText, excerpt};
use crate::glob::BadPattern;
use crate::skill::UnknownSkill;
use crate::spelling;

/// Everything that is wrong with a file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for PolicyErrors {}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {}{fault}", rule.as_ref().map(|id| format!("rule `{id}`: ")).unwrap_or_default())]
pub struct PolicyError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The rule's id, if it has one.
    pub rule: Option<String>,
    /// What is wrong.
    #[source]
    pub fault: PolicyFault,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFault {
    /// More than anyone reads.
    #[error("a policy file has at most {MAX_POLICY_BYTES} bytes, this one has {0}")]
    TooLarge(usize),
    /// More than anyone oversees.
    #[error("a policy file has at most {MAX_POLICY_RULES} rules, this one has {0}")]
    TooMany(usize),
    /// It is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key that means nothing.
    #[error("unknown key {}{}", excerpt(.key), expected_hint(*.similar, .expected))]
    UnknownKey {
        /// What was written.
        key: String,
        /// What may have been meant.
        similar: Option<&'static str>,
        /// Every key that is known there.
        expected: String,
    },
    /// A key that every rule needs.
    #[error("`{key}` is missing; expected {expected}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What it would be.
        expected: &'static str,
    },
    /// A value of another kind.
    #[error("`{key}` is {found}; expected {expected}")]
    Expected {
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Two rules, one name.
    #[error("the id is taken by the rule in line {line}; expected another")]
    Duplicate {
        /// Where the other one is.
        line: usize,
    },
    /// A skill that does not exist.
    #[error("`on`: {0}")]
    Skill(#[from] UnknownSkill),
    /// A pattern that cannot be read.
    #[error("`{key}`: {}: {why}", excerpt(.pattern))]
    Pattern {
        /// The key.
        key: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: BadPattern,
    },
    /// A reason that is not what it looks like.
    #[error("`reason` {0}")]
    Reason(BadText),
    /// Keys that cannot be true together.
    #[error("{0}")]
    Contradiction(&'static str),
    /// An example that the rule does not pass.
    #[error("the example {} in `{key}` {why}", excerpt(.example))]
    Example {
        /// `match` or `not_match`.
        key: &'static str,
        /// The example.
        example: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What may have been meant, or all that could have been.
fn expected_hint(similar: Option<&str>, expected: &str) -> String {
    match similar {
        Some(_) => spelling::suggestion(similar),
        None => format!("; expected {expected}"),
    }
}
