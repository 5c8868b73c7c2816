//! Patterns for words and for paths.
//!
//! A small language, so that a person can see what a pattern matches: `*` is any run of
//! characters, `?` one character, `\` escapes the next character. In a path, `*` and `?` stop at
//! a slash, `**` is any number of folders, and `{a,b}` is one or the other. Matching takes at
//! most time proportional to the product of both lengths.

mod path_pattern;
mod word_pattern;

pub use path_pattern::{PathPattern, PatternHint};
pub use word_pattern::{WordPattern, escape_pattern};

/// The longest pattern, in bytes, which is that of the longest path.
const MAX_PATTERN_BYTES: usize = provost_proto::limits::MAX_PATH_BYTES;

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// The pattern is empty.
    #[error("a pattern must not be empty")]
    Empty,
    /// The pattern is longer than any path.
    #[error("a pattern has at most {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    /// A backslash at the end.
    #[error("a pattern must not end in a single `\\`; write `\\\\` for a backslash")]
    DanglingEscape,
    /// `a**`, `**b`.
    #[error("`**` must stand alone between slashes, as in `src/**` or `**/test`")]
    DoubleStar,
    /// `[a-z]`.
    #[error("`[` and `]` are not supported; write `\\[` for a bracket in a name")]
    Bracket,
    /// `{a,{b,c}}`, `{a`.
    #[error(
        "`{{` needs a closing `}}` and cannot contain another `{{`; write `\\{{` for a brace in a name"
    )]
    Brace,
    /// Too many alternatives.
    #[error(
        "a pattern has at most {} alternatives; write several patterns",
        path_pattern::MAX_ALTERNATIVES
    )]
    TooManyAlternatives,
    /// No path in the project can match.
    #[error("a path pattern is relative to the project and has no `.`, `..` or empty name in it")]
    NotInProject,
}
