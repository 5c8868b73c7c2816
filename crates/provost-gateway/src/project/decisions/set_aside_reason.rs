//! Whether the file that an action writes would be set aside, because it is none of the protected
//! paths but would run all the same: a second build file, or variables that run something.
//!
//! A person is then asked first, so that one answer suffices. What is not found here, such as a
//! program that a setting names, the kernel sets aside when the action ends, unless a person was
//! asked for another reason.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use provost_core::action::{Action, FileAction, RelPath};
use provost_core::quarantine::build_files::{self, BuildFile, list_family_names};
use provost_core::quarantine::env_files::{self, is_env_file};
use provost_sandbox::root_dir::{RootDir, SymlinkSnapshot};

use crate::GatewayError;

/// The largest file that is read for a decision, in bytes.
const MAX_JUDGED_BYTES: u64 = 1024 * 1024;

/// Why what the action writes would be set aside, if it would be.
pub(super) async fn find_set_aside_reason(
    folder: &str,
    action: &Action,
    links: &SymlinkSnapshot,
) -> Result<Option<String>, GatewayError> {
    let Action::File(action) = action else { return Ok(None) };
    let written: Vec<RelPath> = match action {
        FileAction::WriteFile(write) => vec![write.path.clone()],
        FileAction::EditFile(edit) => vec![edit.path.clone()],
        FileAction::MoveFile(moved) => vec![moved.to.clone()],
        FileAction::ApplyPatch(_) => Action::File(action.clone()).paths(),
        FileAction::ReadFile(_)
        | FileAction::ListFiles(_)
        | FileAction::SearchFiles(_)
        | FileAction::Stat(_)
        | FileAction::CreateDir(_)
        | FileAction::DeleteFile(_)
        | FileAction::RestoreFile(_) => return Ok(None),
    };
    let resolve = |path: &RelPath| RelPath::new(links.resolve(path.as_ref()).to_str()?).ok();
    let mut written: Vec<RelPath> =
        written.iter().flat_map(|path| [Some(path.clone()), resolve(path)]).flatten().collect();
    let is_judged = |path: &RelPath| {
        path.name().is_some_and(|n| build_files::is_build_file(n) || is_env_file(n))
    };
    written.retain(is_judged);
    written.dedup();
    if written.is_empty() {
        return Ok(None);
    }
    let (folder, action) = (PathBuf::from(folder), action.clone());
    let judge = move || {
        let root = RootDir::open(&folder).ok()?;
        written.iter().find_map(|path| judge_written_file(&root, path, &action))
    };
    tokio::task::spawn_blocking(judge).await.map_err(|_| GatewayError::Stopping)
}

fn judge_written_file(root: &RootDir, path: &RelPath, action: &FileAction) -> Option<String> {
    let name = path.name()?;
    let shown = path.display_quoted();
    if is_env_file(name) {
        let content = new_content(action)?;
        env_files::find_code(&content)?;
        return Some(format!("{shown} would run something in shells and editors that read it"));
    }
    // A build file that is there already is changed, which an agent may do.
    if root.stat(path.as_ref()).is_ok() {
        return None;
    }
    let content = new_content(action);
    let own = BuildFile { name, content: content.as_deref() };
    let above = path.parent().filter(|above| !above.is_root());
    let above = above.as_ref().map_or("", RelPath::as_str);
    list_family_names(name).iter().find_map(|other| {
        let beside = Path::new(above).join(other);
        root.stat(&beside).ok()?;
        if let FileAction::MoveFile(moved) = action
            && Path::new(moved.from.as_str()) == beside
        {
            return None;
        }
        let there = root.read(&beside, MAX_JUDGED_BYTES).ok();
        let tool = own.find_shared_tool(BuildFile { name: other, content: there.as_deref() })?;
        Some(format!("{tool} uses only one of {shown} and {other}, which is there"))
    })
}

/// The text that an action writes, if it says so. What is in the file already is not read: the
/// decision would tell an agent about it that may not read it.
fn new_content(action: &FileAction) -> Option<Cow<'_, [u8]>> {
    match action {
        FileAction::WriteFile(write) => write.bytes().ok(),
        FileAction::EditFile(_)
        | FileAction::MoveFile(_)
        | FileAction::ApplyPatch(_)
        | FileAction::ReadFile(_)
        | FileAction::ListFiles(_)
        | FileAction::SearchFiles(_)
        | FileAction::Stat(_)
        | FileAction::CreateDir(_)
        | FileAction::DeleteFile(_)
        | FileAction::RestoreFile(_) => None,
    }
}
