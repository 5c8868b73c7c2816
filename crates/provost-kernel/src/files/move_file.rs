//! `fs.moveFile` and `fs.deleteFile`.

use provost_core::action::{DeleteFile, MoveFile, RelPath};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, ReplaceExisting, RootDir};
use serde::Serialize;

use super::{ChangeKind, ChangedPath, create_parent_dirs, kind_at};
use crate::ActionError;

/// The result of `fs.moveFile`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveFileResult {
    /// The path, and the folders that were created for it.
    pub changed: Vec<ChangedPath>,
}

/// The result of `fs.deleteFile`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteFileResult {
    /// The path; the content of a folder is not listed.
    pub changed: Vec<ChangedPath>,
}

pub(super) fn run(root: &RootDir, action: &MoveFile) -> Result<MoveFileResult, ActionError> {
    let MoveFile { from, to } = action;
    refuse_root(from, "moved")?;
    // Checked first, so that no folders are created for a file that does not exist.
    root.stat(from.as_ref()).map_err(|error| ActionError::from(error).with_path(from))?;
    let made = create_parent_dirs(root, to)?;
    root.rename(from.as_ref(), to.as_ref(), ReplaceExisting::No)
        .map_err(|error| ActionError::from(error).with_path(to))?;
    let mut changed: Vec<_> =
        made.iter().map(|path| ChangedPath::new(path, ChangeKind::Created)).collect();
    changed.push(ChangedPath::moved(from, to));
    Ok(MoveFileResult { changed })
}

pub(super) fn delete(root: &RootDir, action: &DeleteFile) -> Result<DeleteFileResult, ActionError> {
    let path = &action.path;
    refuse_root(path, "deleted")?;
    let gone = match (kind_at(root, path)?, action.recursive) {
        (None, _) => {
            return Err(ActionError::new(Code::NotFound, "no such file or folder").with_path(path));
        }
        (Some(FileKind::Directory), true) => root.remove_tree(path.as_ref()),
        (Some(FileKind::Directory), false) => root.remove_dir(path.as_ref()),
        (Some(FileKind::File | FileKind::Symlink | FileKind::Other), _) => {
            root.remove_file(path.as_ref())
        }
    };
    gone.map_err(|error| ActionError::from(error).with_path(path))?;
    Ok(DeleteFileResult { changed: vec![ChangedPath::new(path, ChangeKind::Deleted)] })
}

fn refuse_root(path: &RelPath, what: &str) -> Result<(), ActionError> {
    if path.is_root() {
        let message = format!("the project itself cannot be {what}; name something in it");
        return Err(ActionError::new(Code::ProtectedPath, message));
    }
    Ok(())
}
