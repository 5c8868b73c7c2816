//! `fs.createDir`: a new folder, with those above it.

use serde::{Deserialize, Serialize};

use super::error::Checked;
use super::path::inside;
use super::{Params, RelPath};

/// A new folder, with those above it that are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDir {
    /// The folder.
    #[serde(deserialize_with = "inside")]
    pub path: RelPath,
}

impl Params for CreateDir {
    fn check(&self) -> Checked {
        Ok(())
    }

    fn describe(&self) -> String {
        format!("create the folder {}", self.path.shown())
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
