//! `fs.moveFile` and `fs.deleteFile`: move or delete a file or folder.

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult};
use super::rel_path::deserialize_non_root;
use super::{ActionParams, RelPath};

/// Moves a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoveFile {
    /// The old path.
    pub from: RelPath,
    /// The new path, which must not exist.
    #[serde(deserialize_with = "deserialize_non_root")]
    pub to: RelPath,
}

impl ActionParams for MoveFile {
    fn validate(&self) -> ValidationResult {
        if self.to == self.from {
            return Err(InvalidParam::new("to", "is the name it has already"));
        }
        if self.to.is_beneath(&self.from) && !self.from.is_root() {
            return Err(InvalidParam::new("to", "is inside the moved folder"));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("move {} to {}", self.from.display_quoted(), self.to.display_quoted())
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.from.clone(), self.to.clone()]
    }
}

/// Deletes a file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteFile {
    /// The file or folder; of a symbolic link, the link itself.
    pub path: RelPath,
    /// Whether a folder is deleted with its content.
    #[serde(default)]
    pub recursive: bool,
}

impl ActionParams for DeleteFile {
    fn validate(&self) -> ValidationResult {
        Ok(())
    }

    fn describe(&self) -> String {
        let with = if self.recursive { " and everything in it" } else { "" };
        format!("delete {}{with}", self.path.display_quoted())
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
