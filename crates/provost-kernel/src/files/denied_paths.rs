//! Finds the paths that a command must not write.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use provost_core::policy::{PathVisibility, RuleEffect};
use provost_proto::Code;
use provost_sandbox::root_dir::{FileKind, RootDir};

use super::visibility_filter::normalize_path_text;
use crate::ActionError;

/// Names that are looked at. A project that has more, outside the folders below, cannot
/// be protected as a whole, and the command does not start.
const MAX_SCANNED_NAMES: usize = 50_000;

/// Paths that can be made read-only for one run: each is a mount or some rules.
const MAX_DENIED_PATHS: usize = 256;

/// Folders that are not searched: tools fill them, and rules rarely mean their content.
/// The folder itself is compared.
const BUILD_FOLDERS: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];

/// The outermost existing paths that the rules deny.
pub(crate) fn find_denied_paths(
    root: &RootDir,
    denials: &PathVisibility,
) -> Result<Vec<PathBuf>, ActionError> {
    let (mut found, mut n_names) = (Vec::new(), 0);
    let mut folders = VecDeque::from([PathBuf::new()]);
    while let Some(folder) = folders.pop_front() {
        let at = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        // A folder that is gone, or that we cannot read, a command cannot write.
        let Ok(listing) = root.list(at, MAX_SCANNED_NAMES) else { continue };
        n_names += listing.entries.len();
        for entry in listing.entries {
            let path = folder.join(&entry.name);
            let effect = denials.match_path(&normalize_path_text(&path)).combined_effect();
            if effect == Some(RuleEffect::Deny) {
                found.push(path);
            } else if entry.stat.kind == FileKind::Directory
                && !BUILD_FOLDERS.iter().any(|name| entry.name == *name)
            {
                folders.push_back(path);
            }
        }
        if n_names > MAX_SCANNED_NAMES || found.len() > MAX_DENIED_PATHS {
            let message = format!(
                "rules deny writing to paths of this project, and it has more than \
                 {MAX_SCANNED_NAMES} files or {MAX_DENIED_PATHS} such paths to protect from \
                 the command; name whole folders in the rules"
            );
            return Err(ActionError::new(Code::SandboxDenied, message));
        }
    }
    Ok(found)
}
