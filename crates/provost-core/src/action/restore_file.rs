//! `fs.restoreFile`: puts back what was set aside at the end of an action.

use provost_proto::Hash;
use serde::{Deserialize, Serialize};

use super::error::ValidationResult;
use super::rel_path::deserialize_non_root;
use super::{ActionParams, RelPath};

/// Puts back a file or link that was set aside. The id is a hash of path, kind and content, so
/// what is put back is what the person was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestoreFile {
    /// Where it was.
    #[serde(deserialize_with = "deserialize_non_root")]
    pub path: RelPath,
    /// The id of the entry that was set aside.
    pub id: Hash,
}

impl ActionParams for RestoreFile {
    fn validate(&self) -> ValidationResult {
        Ok(())
    }

    fn describe(&self) -> String {
        format!("put back {}, which was set aside", self.path.display_quoted())
    }

    fn paths(&self) -> Vec<RelPath> {
        vec![self.path.clone()]
    }
}
