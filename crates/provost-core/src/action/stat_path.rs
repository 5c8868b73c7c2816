//! `fs.stat`: reads the metadata of a file.

use serde::{Deserialize, Serialize};

use super::error::ValidationResult;
use super::{ActionParams, RelPath};

/// Reads the metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatPath {
    /// The file or folder; a symbolic link is not followed.
    pub path: RelPath,
}

impl ActionParams for StatPath {
    fn validate(&self) -> ValidationResult {
        Ok(())
    }

    fn describe(&self) -> String {
        format!("look up the size and kind of {}", self.path.display_quoted())
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
