//! `fs.listFiles`: the names in a folder.

use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked, no_longer, within};
use super::text::{self, Breaks, quoted};
use super::{Params, RelPath};

/// How many entries one call answers with at most, and how many names of one
/// folder are looked at.
pub const LISTED: u32 = 50_000;

/// How deep a listing goes.
const DEPTH: u64 = 64;
/// The longest glob, in bytes.
pub(super) const GLOB: usize = 1024;
/// The longest cursor: a path in base64.
const CURSOR: usize = 8192;

/// The names in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListFiles {
    /// The folder.
    #[serde(default)]
    pub path: RelPath,
    /// How many levels: 1 is the folder alone.
    #[serde(default = "one")]
    pub depth: u32,
    /// Only what matches; without a slash it is matched against the name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Whether names that begin with a dot are listed.
    #[serde(default)]
    pub hidden: bool,
    /// Whether `.gitignore` and its like leave names out.
    #[serde(default = "yes")]
    pub respect_ignore: bool,
    /// How many entries.
    #[serde(default = "limit")]
    pub limit: u32,
    /// Where the answer before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn limit() -> u32 {
    500
}

/// A glob or a pattern that a person can read.
pub(super) fn readable(field: &'static str, text: &str) -> Checked {
    text::check(text, Breaks::No).map_err(|error| BadValue::new(field, error.to_string()))
}

impl Params for ListFiles {
    fn check(&self) -> Checked {
        within("depth", self.depth.into(), 1..=DEPTH)?;
        within("limit", self.limit.into(), 1..=LISTED.into())?;
        if let Some(glob) = &self.glob {
            no_longer("glob", glob, GLOB)?;
            readable("glob", glob)?;
        }
        no_longer("cursor", self.cursor.as_deref().unwrap_or_default(), CURSOR)
    }

    fn describe(&self) -> String {
        let mut said = if self.path.is_root() {
            "list the files of the project".to_owned()
        } else {
            format!("list the files in {}", self.path.shown())
        };
        if let Some(glob) = &self.glob {
            said.extend([" that match ", &quoted(glob)]);
        }
        if self.depth > 1 {
            said.extend([", ", &self.depth.to_string(), " levels deep"]);
        }
        if self.hidden {
            said += ", hidden ones too";
        }
        if !self.respect_ignore {
            said += ", ignored ones too";
        }
        said
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
