//! Why a file is not a valid role, with position and expectation.

use std::fmt;

use serde_saphyr::{Location, MessageFormatter as _, UserMessageFormatter};

use super::{MAX_ROLE_FILE_BYTES, NAME, frontmatter};
use crate::action::text::{BadText, excerpt};
use crate::skill::UnknownSkill;

/// Why a file is not a valid role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RoleError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, if it is known.
    pub column: Option<usize>,
    /// The error.
    #[source]
    pub fault: RoleFault,
}

impl fmt::Display for RoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, fault } = self;
        match column {
            Some(column) => write!(f, "{file}:{line}:{column}: {fault}"),
            None => write!(f, "{file}:{line}: {fault}"),
        }
    }
}

/// The error in a role's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleFault {
    /// The file is too large.
    #[error("a role's file has at most {MAX_ROLE_FILE_BYTES} bytes, this one has {bytes}")]
    FileTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The frontmatter is too long, or not closed.
    #[error(
        "expected a line `---` within {} bytes, the most of a frontmatter",
        frontmatter::LONGEST
    )]
    FrontmatterTooLarge,
    /// The first line is not `---`.
    #[error("a role begins with a line `---`, then its frontmatter, then another line `---`")]
    NoFrontmatter,
    /// The second `---` is missing.
    #[error("the frontmatter is not closed; expected a line `---` after its last key")]
    FrontmatterNotClosed,
    /// Invalid YAML, or unknown keys.
    #[error("{0}")]
    Yaml(String),
    /// A skill that does not exist.
    #[error(transparent)]
    Skill(#[from] UnknownSkill),
    /// A name with other characters, or too long.
    #[error(
        "{} is not a role's name; expected at most {NAME} small letters, digits and hyphens, \
         not beginning with a hyphen",
        excerpt(.0)
    )]
    BadName(String),
    /// The file has another name.
    #[error("the role is named `{name}`; expected `{stem}`, the name of its file")]
    FileNameMismatch {
        /// The name in the frontmatter.
        name: String,
        /// The name of the file.
        stem: String,
    },
    /// A text for people contains invisible characters.
    #[error("`{key}` {why}")]
    InvisibleText {
        /// The key.
        key: &'static str,
        /// The error in its value.
        why: BadText,
    },
    /// A model name that is empty or has spaces or quotes.
    #[error(
        "{} is not a model's name; expected at most 200 letters, digits and `. _ - : / @ +`, \
         like `anthropic/claude-sonnet-5`",
        excerpt(.0)
    )]
    BadModel(String),
    /// Two files claim one name.
    #[error("the role `{name}` is also defined in {other}; neither has effect until one is gone")]
    DuplicateName {
        /// The name.
        name: String,
        /// The other file.
        other: String,
    },
    /// Another file that may claim the name cannot be read.
    #[error("the role `{name}` may be meant by {other}, which cannot be read; mend or remove it")]
    NameClaimed {
        /// The name.
        name: String,
        /// The other file.
        other: String,
    },
    /// The model is written in a form that cannot be edited.
    #[error("the model cannot be changed here; write `model: {0}` on a line of its own")]
    ModelNotEditable(String),
}

/// Creates errors about one file.
pub(super) struct RoleErrorBuilder<'a> {
    file: &'a str,
}

/// Messages of the YAML parser, and what they mean to a person.
const YAML_MESSAGES: &[(&str, &str)] = &[
    ("unexpected end of file", "the frontmatter ends too early; expected at least `name: …`"),
    ("missing field `name`", "expected a key `name`, the name of the file"),
    ("expected sequence start", "expected a list, like `[fs.read, terminal.runCommand]`"),
    ("expected string scalar", "expected a text"),
    ("null is not allowed here", "expected a value after the colon"),
    ("merge key not allowed here", "merge keys are not taken; write every key itself"),
    (
        "YAML document too large or too complex",
        "expected a few plain keys and values; anchors, aliases, deep nesting and long lists \
         are not taken",
    ),
];

/// The frontmatter begins on the second line of the file.
const LINES_BEFORE_FRONTMATTER: usize = 1;

impl<'a> RoleErrorBuilder<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file }
    }

    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    pub(super) fn at_start(&self, fault: RoleFault) -> RoleError {
        self.at_line(1, fault)
    }

    pub(super) fn at_line(&self, line: usize, fault: RoleFault) -> RoleError {
        RoleError { file: self.file.to_owned(), line, column: None, fault }
    }

    /// An error at a location in the frontmatter.
    pub(super) fn at_location(&self, location: Location, fault: RoleFault) -> RoleError {
        let number = |n: u64| usize::try_from(n).ok().filter(|n| *n > 0);
        let line = number(location.line()).map_or(1, |line| line + LINES_BEFORE_FRONTMATTER);
        let column = number(location.line()).and(number(location.column()));
        RoleError { file: self.file.to_owned(), line, column, fault }
    }

    /// An error of the YAML parser.
    pub(super) fn yaml_error(&self, error: &serde_saphyr::Error) -> RoleError {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let message = UserMessageFormatter.format_message(error);
        let words = YAML_MESSAGES.iter().find(|(theirs, _)| message.starts_with(theirs));
        let message = match words {
            Some((_, ours)) => (*ours).to_owned(),
            None => crate::action::escape_invisible(&message).replace("\\`", "`"),
        };
        self.at_location(location, RoleFault::Yaml(message))
    }
}
