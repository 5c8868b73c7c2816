//! `fs.applyPatch`: applies a unified diff to any number of files.

use serde::{Deserialize, Serialize};

use super::error::{InvalidParam, ValidationResult, check_max_len};
use super::{ActionParams, MAX_FILE_WRITE_BYTES, RelPath, patch};

/// The most files that a description lists.
const NAMED: usize = 5;

/// Applies a unified diff to any number of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplyPatch {
    /// The diff.
    pub patch: String,
    /// Whether it is applied completely or not at all.
    #[serde(default = "default_true")]
    pub atomic: bool,
}

fn default_true() -> bool {
    true
}

impl ApplyPatch {
    /// The files that the patch deletes.
    pub fn deleted_paths(&self) -> Vec<RelPath> {
        let files = patch::parse_patch(&self.patch).unwrap_or_default();
        let deleted = files.into_iter().filter_map(|file| match file.change {
            patch::FileChange::Delete(path) => Some(path),
            patch::FileChange::Create(_)
            | patch::FileChange::Modify(_)
            | patch::FileChange::Rename { .. } => None,
        });
        deleted.collect()
    }

    /// The new names of files that the patch renames. It does not show their whole content.
    pub fn renamed_paths(&self) -> Vec<RelPath> {
        let files = patch::parse_patch(&self.patch).unwrap_or_default();
        let renamed = files.into_iter().filter_map(|file| match file.change {
            patch::FileChange::Rename { to, .. } => Some(to),
            patch::FileChange::Create(_)
            | patch::FileChange::Modify(_)
            | patch::FileChange::Delete(_) => None,
        });
        renamed.collect()
    }
}

/// The first paths, and how many more there are.
fn name_paths(paths: &[RelPath]) -> String {
    let mut named: Vec<_> = paths.iter().take(NAMED).map(RelPath::display_quoted).collect();
    if paths.len() > NAMED {
        named.push(format!("and {} more", paths.len() - NAMED));
    }
    named.join(", ")
}

impl ActionParams for ApplyPatch {
    fn validate(&self) -> ValidationResult {
        check_max_len("patch", &self.patch, MAX_FILE_WRITE_BYTES)?;
        patch::parse_patch(&self.patch)
            .map(drop)
            .map_err(|error| InvalidParam::new("patch", format!("cannot be read: {error}")))
    }

    fn describe(&self) -> String {
        let deleted = self.deleted_paths();
        let mut others = self.paths();
        others.retain(|path| !deleted.contains(path));
        match (deleted.is_empty(), others.is_empty()) {
            (true, _) => format!("apply a patch to {}", name_paths(&others)),
            (false, true) => format!("delete {} with a patch", name_paths(&deleted)),
            (false, false) => format!(
                "delete {} and change {} with a patch",
                name_paths(&deleted),
                name_paths(&others)
            ),
        }
    }

    fn paths(&self) -> Vec<RelPath> {
        let mut paths = patch::parse_patch(&self.patch)
            .map_or_else(|_| Vec::new(), |f| patch::touched_paths(&f));
        paths.dedup();
        paths
    }
}
