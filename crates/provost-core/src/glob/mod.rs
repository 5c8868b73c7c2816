//! Patterns for words and for paths.
//!
//! A small language, so that a person can say what a pattern matches by
//! looking: `*` is any run of characters, `?` one character, `\` takes the
//! next character as it is. In a path, `*` and `?` stop at a slash, `**` is
//! any number of folders, and `{a,b}` is one or the other. Matching takes time
//! in proportion to the product of the two lengths and never more, whatever
//! either holds.

mod path_pattern;
mod word_pattern;

pub use path_pattern::{PathPattern, PatternHint};
pub use word_pattern::{WordPattern, escape_pattern};

/// The longest pattern, in bytes; the longest path there is.
const MAX_PATTERN_BYTES: usize = provost_proto::limits::MAX_PATH_BYTES;

/// Why a text is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// Nothing at all.
    #[error("a pattern is not empty")]
    Empty,
    /// Longer than anything it could match.
    #[error("a pattern has at most {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    /// A backslash with nothing to take.
    #[error("a pattern does not end in a single `\\`; write `\\\\` for a backslash")]
    DanglingEscape,
    /// `a**`, `**b`.
    #[error("`**` stands alone between slashes, as in `src/**` or `**/test`")]
    DoubleStar,
    /// `[a-z]`.
    #[error("`[` and `]` mean nothing here; write `\\[` for a bracket in a name")]
    Bracket,
    /// `{a,{b,c}}`, `{a`.
    #[error("`{{` needs its `}}` and holds no other `{{`; write `\\{{` for a brace in a name")]
    Brace,
    /// More alternatives than anyone reads.
    #[error(
        "a pattern has at most {} alternatives; write several patterns",
        path_pattern::MAX_ALTERNATIVES
    )]
    TooManyAlternatives,
    /// A path that no file of the project has.
    #[error("a path pattern is relative to the project and has no `.`, `..` or empty name in it")]
    NotInProject,
}
