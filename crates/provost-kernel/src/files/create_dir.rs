//! `fs.createDir`: creates a folder and its parents.

use provost_core::action::{CreateDir, RelPath};
use provost_sandbox::root_dir::RootDir;
use serde::Serialize;

use super::{ChangeKind, ChangedPath, create_parent_dirs, kind_at};
use crate::ActionError;

/// The result of `fs.createDir`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateDirResult {
    /// Whether it did not exist before.
    pub created: bool,
    /// The folders that were created, topmost first.
    pub changed: Vec<ChangedPath>,
}

pub(super) fn run(root: &RootDir, action: &CreateDir) -> Result<CreateDirResult, ActionError> {
    let path = &action.path;
    let created = kind_at(root, path)?.is_none();
    let mut made = create_parent_dirs(root, path)?;
    // Also if the path exists: it may be a file, or a link to a folder.
    root.create_dir_all(path.as_ref()).map_err(|error| ActionError::from(error).with_path(path))?;
    if created {
        made.push(path.clone());
    }
    let changed = made.iter().map(|path: &RelPath| ChangedPath::new(path, ChangeKind::Created));
    Ok(CreateDirResult { created, changed: changed.collect() })
}
