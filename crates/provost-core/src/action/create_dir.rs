//! `fs.createDir`: creates a folder and missing parents.

use serde::{Deserialize, Serialize};

use super::error::ValidationResult;
use super::rel_path::deserialize_non_root;
use super::{ActionParams, RelPath};

/// Creates a folder and missing parents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDir {
    /// The folder.
    #[serde(deserialize_with = "deserialize_non_root")]
    pub path: RelPath,
}

impl ActionParams for CreateDir {
    fn validate(&self) -> ValidationResult {
        Ok(())
    }

    fn describe(&self) -> String {
        format!("create the folder {}", self.path.display_quoted())
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
