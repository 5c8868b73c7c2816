//! `fs.listFiles`: lists a folder.

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult, check_max_len, check_range};
use super::text::{self, LineBreaks, quoted};
use super::{ActionParams, RelPath};

/// The most entries of one response, and the most names of one folder that are read.
pub const MAX_LISTED_ENTRIES: u32 = 50_000;

/// The deepest listing.
const DEPTH: u64 = 64;
/// The longest glob, in bytes.
pub(super) const GLOB: usize = 1024;
/// The longest cursor, in bytes: a path in base64.
const CURSOR: usize = 8192;

/// Lists a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListFiles {
    /// The folder.
    #[serde(default)]
    pub path: RelPath,
    /// How many levels: 1 is the folder itself only.
    #[serde(default = "default_depth")]
    pub depth: u32,
    /// Only entries that match; a glob without a slash is matched against the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Whether names that begin with a dot are listed.
    #[serde(default)]
    pub hidden: bool,
    /// Whether `.gitignore` and similar files exclude entries.
    #[serde(default = "default_true")]
    pub respect_ignore: bool,
    /// The most entries to return.
    #[serde(default = "default_limit")]
    pub limit: u32,
    /// The cursor of the previous response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

fn default_depth() -> u32 {
    1
}

fn default_true() -> bool {
    true
}

fn default_limit() -> u32 {
    500
}

/// Checks that a glob or pattern has no invisible characters.
pub(super) fn check_readable(field: &'static str, text: &str) -> ValidationResult {
    text::check_visible(text, LineBreaks::Forbidden)
        .map_err(|error| InvalidParam::new(field, error.to_string()))
}

impl ActionParams for ListFiles {
    fn validate(&self) -> ValidationResult {
        check_range("depth", self.depth.into(), 1..=DEPTH)?;
        check_range("limit", self.limit.into(), 1..=MAX_LISTED_ENTRIES.into())?;
        if let Some(glob) = &self.glob {
            check_max_len("glob", glob, GLOB)?;
            check_readable("glob", glob)?;
        }
        check_max_len("cursor", self.cursor.as_deref().unwrap_or_default(), CURSOR)
    }

    fn describe(&self) -> String {
        let mut text = if self.path.is_root() {
            "list the files of the project".to_owned()
        } else {
            format!("list the files in {}", self.path.display_quoted())
        };
        if let Some(glob) = &self.glob {
            text.extend([" that match ", &quoted(glob)]);
        }
        if self.depth > 1 {
            text.extend([", ", &self.depth.to_string(), " levels deep"]);
        }
        if self.hidden {
            text += ", hidden ones too";
        }
        if !self.respect_ignore {
            text += ", ignored ones too";
        }
        text
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
