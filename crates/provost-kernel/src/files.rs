//! The file actions, each in a file of its own.
//!
//! Every path goes through [`RootDir`], which resolves it inside the project through
//! an open descriptor. Nothing here opens a file by its absolute path, and no library
//! that would is given a path.

mod apply_patch;
mod create_dir;
mod denied_paths;
mod dir_walker;
mod edit_file;
mod file_transaction;
mod hunk_placement;
mod ignore_rules;
mod list_files;
mod move_file;
mod observed_changes;
mod read_file;
mod search_files;
mod stat_path;
mod visibility_filter;
mod write_file;

use provost_core::action::{Action, ActionKind, FileAction, ReadFile, RelPath};
use provost_core::action::{ProtectionLevel, protection_level, protection_reason};
use provost_core::policy::PathVisibility;
use provost_proto::kernel::Preconditions;
use provost_proto::{Code, Hash};
use provost_sandbox::root_dir::{FileKind, RootDir, RootDirError, SymlinkSnapshot};
use serde::Serialize;
use serde_json::Value;

use crate::ActionError;

pub use apply_patch::ApplyPatchResult;
pub use create_dir::CreateDirResult;
pub(crate) use denied_paths::find_denied_paths;
pub use edit_file::{EditFileResult, apply_edits as edited};
pub use list_files::{ListFilesResult, ListedEntry, SkippedPath};
pub use move_file::{DeleteFileResult, MoveFileResult};
pub(crate) use observed_changes::{FileTimestamp, find_changes_since};
pub use read_file::ReadFileResult;
pub(crate) use read_file::whole_file_result;
pub use search_files::{ContextLine, SearchFilesResult, SearchMatch};
pub use stat_path::{EntryKind, StatPathResult};
pub use visibility_filter::OmittedPaths;
pub use write_file::WriteFileResult;

/// Executes a file action inside the root.
///
/// `stop` is polled; once it returns true, the action ends with `CANCELLED` at the
/// next consistent point.
pub fn execute_file_action(
    root: &RootDir,
    action: &FileAction,
    stop: &dyn Fn() -> bool,
) -> Result<Value, ActionError> {
    execute_with_visibility(root, action, None, stop)
}

/// The same with restricted visibility: paths that the caller may not read are
/// omitted from searches and listings, and the result says so.
pub fn execute_with_visibility(
    root: &RootDir,
    action: &FileAction,
    visibility: Option<&PathVisibility>,
    stop: &dyn Fn() -> bool,
) -> Result<Value, ActionError> {
    match action {
        FileAction::ReadFile(action) => to_json_value(read_file::run(root, action, stop)?),
        FileAction::WriteFile(action) => to_json_value(write_file::run(root, action)?),
        FileAction::EditFile(action) => to_json_value(edit_file::run(root, action)?),
        FileAction::ApplyPatch(action) => to_json_value(apply_patch::run(root, action, stop)?),
        FileAction::ListFiles(action) => {
            to_json_value(list_files::run(root, action, visibility, stop)?)
        }
        FileAction::SearchFiles(action) => {
            to_json_value(search_files::run(root, action, visibility, stop)?)
        }
        FileAction::Stat(action) => to_json_value(stat_path::run(root, action)?),
        FileAction::CreateDir(action) => to_json_value(create_dir::run(root, action)?),
        FileAction::MoveFile(action) => to_json_value(move_file::run(root, action)?),
        FileAction::DeleteFile(action) => to_json_value(move_file::delete(root, action)?),
        // What was set aside is not in the project.
        FileAction::RestoreFile(_) => {
            Err(ActionError::new(Code::Internal, "only the quarantine puts a file back"))
        }
    }
}

/// The content of a file.
pub fn read_file_content(root: &RootDir, action: &ReadFile) -> Result<ReadFileResult, ActionError> {
    read_file::run(root, action, &|| false)
}

/// The project with the symlinks of the decision: only those that were observed
/// then are followed.
pub fn restrict_root_links(root: &RootDir, preconditions: &Preconditions) -> RootDir {
    let links = preconditions.links.iter();
    root.with_allowed_links(SymlinkSnapshot::new(
        links.map(|link| (link.path.as_str().into(), (&*link.target).into())),
    ))
}

/// Whether the action changes files.
pub fn is_write_action(action: &FileAction) -> bool {
    Action::File(action.clone()).kind() == ActionKind::Write
}

/// Rejects a change of a path that no agent may change. The gateway denies it first; with a
/// restricted root this check is free of races. Other protected paths were approved.
pub fn reject_protected_paths(root: &RootDir, action: &FileAction) -> Result<(), ActionError> {
    for path in Action::File(action.clone()).paths() {
        let links = root.allowed_links();
        let real = links
            .map(|links| [links.resolve(path.as_ref()), links.resolve_nofollow(path.as_ref())]);
        let real = real.into_iter().flatten().filter_map(|real| RelPath::new(real.to_str()?).ok());
        for candidate in real.chain([path.clone()]) {
            if protection_level(&candidate) == Some(ProtectionLevel::Denied) {
                let reason = protection_reason(&candidate).unwrap_or_default();
                let message =
                    format!("{} is protected from agents: {reason}", candidate.display_quoted());
                return Err(ActionError::new(Code::ProtectedPath, message));
            }
        }
    }
    Ok(())
}

fn to_json_value(result: impl Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(result).map_err(|error| {
        ActionError::new(Code::Internal, format!("cannot encode the result: {error}"))
    })
}

/// A change of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedPath {
    /// The path; after a move, the new one.
    pub path: RelPath,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The path before a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RelPath>,
}

/// How a path changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content changed.
    Modified,
    /// It was deleted.
    Deleted,
    /// It was renamed.
    Moved,
}

impl ChangedPath {
    pub(crate) fn new(path: &RelPath, kind: ChangeKind) -> Self {
        Self { path: path.clone(), kind, from: None }
    }

    fn moved(from: &RelPath, to: &RelPath) -> Self {
        Self { path: to.clone(), kind: ChangeKind::Moved, from: Some(from.clone()) }
    }
}

fn hash_content(content: &[u8]) -> Hash {
    Hash::new(*blake3::hash(content).as_bytes())
}

/// The kind of the entry at a path, if there is one; links are not followed.
fn kind_at(root: &RootDir, path: &RelPath) -> Result<Option<FileKind>, ActionError> {
    match root.stat(path.as_ref()) {
        Ok(stat) => Ok(Some(stat.kind)),
        Err(RootDirError::NotFound) => Ok(None),
        Err(error) => Err(ActionError::from(error).with_path(path)),
    }
}

/// Creates the parent folders of a path; returns those that were missing, topmost first.
pub(crate) fn create_parent_dirs(
    root: &RootDir,
    path: &RelPath,
) -> Result<Vec<RelPath>, ActionError> {
    let mut missing = Vec::new();
    let mut folder = path.parent();
    while let Some(above) = folder.filter(|above| !above.is_root()) {
        if kind_at(root, &above)?.is_some() {
            break;
        }
        folder = above.parent();
        missing.push(above);
    }
    if let Some(deepest) = missing.first() {
        root.create_dir_all(deepest.as_ref())
            .map_err(|error| ActionError::from(error).with_path(deepest))?;
    }
    missing.reverse();
    Ok(missing)
}
