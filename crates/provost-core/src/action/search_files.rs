//! `fs.searchFiles`: searches for matching lines.

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult, check_max_len, check_range};
use super::list_files::{GLOB, check_readable};
use super::text::quoted;
use super::{ActionParams, RelPath};

/// The longest pattern, in bytes.
const PATTERN: usize = 4096;
/// The most globs of one call.
const GLOBS: usize = 64;
/// The most context lines.
const CONTEXT: u64 = 20;
/// The most matches of one response.
const MATCHES: u64 = 10_000;

/// Searches for matching lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchFiles {
    /// A regular expression without look-around and back-references, so that the search takes
    /// linear time.
    pub pattern: String,
    /// Whether `pattern` is literal text.
    #[serde(default)]
    pub literal: bool,
    /// The folder to search, or a single file.
    #[serde(default)]
    pub path: RelPath,
    /// Only files that match one of these; `!` before one excludes files.
    #[serde(default)]
    pub globs: Vec<String>,
    /// How many lines of context before and after each match.
    #[serde(default)]
    pub context: u32,
    /// The most matching lines to return.
    #[serde(default = "default_limit")]
    pub limit: u32,
}

fn default_limit() -> u32 {
    200
}

impl ActionParams for SearchFiles {
    fn validate(&self) -> ValidationResult {
        if self.pattern.is_empty() {
            return Err(InvalidParam::new("pattern", "is empty, and would match every line"));
        }
        check_max_len("pattern", &self.pattern, PATTERN)?;
        if self.globs.len() > GLOBS {
            return Err(InvalidParam::new("globs", format!("holds at most {GLOBS} globs")));
        }
        for glob in &self.globs {
            check_max_len("globs", glob, GLOB)?;
            check_readable("globs", glob)?;
        }
        check_range("context", self.context.into(), 0..=CONTEXT)?;
        check_range("limit", self.limit.into(), 1..=MATCHES)
    }

    fn describe(&self) -> String {
        let scope =
            if self.path.is_root() { "the project".to_owned() } else { self.path.display_quoted() };
        let what = if self.literal { "the text " } else { "" };
        let mut text = format!("search {scope} for {what}{}", quoted(&self.pattern));
        if !self.globs.is_empty() {
            let globs: Vec<_> = self.globs.iter().map(|glob| quoted(glob)).collect();
            text.extend([" in files that match ", &globs.join(", ")]);
        }
        text
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
