//! `fs.searchFiles`: lines that match.

use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked, no_longer, within};
use super::list_files::{GLOB, readable};
use super::text::quoted;
use super::{Params, RelPath};

/// The longest pattern, in bytes.
const PATTERN: usize = 4096;
/// How many globs one call takes.
const GLOBS: usize = 64;
/// How many lines around a match.
const CONTEXT: u64 = 20;
/// How many matches one call answers with at most.
const MATCHES: u64 = 10_000;

/// Lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchFiles {
    /// A regular expression without look-around and back-references, so that no
    /// text makes it slow.
    pub pattern: String,
    /// Whether `pattern` is the text itself.
    #[serde(default)]
    pub literal: bool,
    /// The folder to search, or a single file.
    #[serde(default)]
    pub path: RelPath,
    /// Only files that match one of these; `!` before one leaves files out.
    #[serde(default)]
    pub globs: Vec<String>,
    /// How many lines before and after each match.
    #[serde(default)]
    pub context: u32,
    /// How many matching lines.
    #[serde(default = "limit")]
    pub limit: u32,
}

fn limit() -> u32 {
    200
}

impl Params for SearchFiles {
    fn check(&self) -> Checked {
        if self.pattern.is_empty() {
            return Err(BadValue::new("pattern", "is empty, and would match every line"));
        }
        no_longer("pattern", &self.pattern, PATTERN)?;
        if self.globs.len() > GLOBS {
            return Err(BadValue::new("globs", format!("holds at most {GLOBS} globs")));
        }
        for glob in &self.globs {
            no_longer("globs", glob, GLOB)?;
            readable("globs", glob)?;
        }
        within("context", self.context.into(), 0..=CONTEXT)?;
        within("limit", self.limit.into(), 1..=MATCHES)
    }

    fn describe(&self) -> String {
        let place = if self.path.is_root() { "the project".to_owned() } else { self.path.shown() };
        let what = if self.literal { "the text " } else { "" };
        let mut said = format!("search {place} for {what}{}", quoted(&self.pattern));
        if !self.globs.is_empty() {
            let globs: Vec<_> = self.globs.iter().map(|glob| quoted(glob)).collect();
            said.extend([" in files that match ", &globs.join(", ")]);
        }
        said
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
