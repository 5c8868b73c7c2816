//! The errors of a policy file, all of them, with their positions.

use std::fmt;

use super::{MAX_POLICY_BYTES, MAX_POLICY_RULES};
use crate::action::text::{BadText, excerpt};
use crate::glob::BadPattern;
use crate::skill::UnknownSkill;
use crate::spelling;

/// All errors of a file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for PolicyErrors {}

/// One error.
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
    /// The file is too large.
    #[error("a policy file has at most {MAX_POLICY_BYTES} bytes, this one has {0}")]
    TooLarge(usize),
    /// The file has too many rules.
    #[error("a policy file has at most {MAX_POLICY_RULES} rules, this one has {0}")]
    TooMany(usize),
    /// The file is not valid TOML.
    #[error("{0}")]
    Syntax(String),
    /// An unknown key.
    #[error("unknown key {}{}", excerpt(.key), expected_hint(*.similar, .expected))]
    UnknownKey {
        /// The key as written.
        key: String,
        /// A known key with a similar name.
        similar: Option<&'static str>,
        /// All keys that are known in this table.
        expected: String,
    },
    /// A required key is missing.
    #[error("`{key}` is missing; expected {expected}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What the value must be.
        expected: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{key}` is {found}; expected {expected}")]
    Expected {
        /// The key.
        key: String,
        /// What the value must be.
        expected: &'static str,
        /// What the value is.
        found: String,
    },
    /// Two rules with one id.
    #[error("the id is taken by the rule in line {line}; expected another")]
    Duplicate {
        /// The line of the other rule.
        line: usize,
    },
    /// A skill that does not exist.
    #[error("`on`: {0}")]
    Skill(#[from] UnknownSkill),
    /// An invalid pattern.
    #[error("`{key}`: {}: {why}", excerpt(.pattern))]
    Pattern {
        /// The key.
        key: &'static str,
        /// The pattern.
        pattern: String,
        /// The error in it.
        why: BadPattern,
    },
    /// A reason with characters that cannot be seen.
    #[error("`reason` {0}")]
    Reason(BadText),
    /// Keys that exclude each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// An example that the rule fails.
    #[error("the example {} in `{key}` {why}", excerpt(.example))]
    Example {
        /// `match` or `not_match`.
        key: &'static str,
        /// The example.
        example: String,
        /// How it fails.
        why: String,
    },
}

/// The similar key, or else all that are known.
fn expected_hint(similar: Option<&str>, expected: &str) -> String {
    match similar {
        Some(_) => spelling::suggestion(similar),
        None => format!("; expected {expected}"),
    }
}
