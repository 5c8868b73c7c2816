//! Omits paths from a search or a listing that the caller may not read.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::{Path, PathBuf};

use provost_core::policy::{PathVisibility, RuleEffect};
use provost_proto::Code;
use provost_sandbox::root_dir::RootDir;
use serde::Serialize;

use crate::ActionError;

/// How many paths were omitted, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OmittedPaths {
    /// How many files and folders.
    pub count: u64,
    /// The deciding rules, as `deny by rule x (your policy)`.
    pub why: BTreeSet<String>,
}

/// What Linux appends to the path of a deleted file.
const DELETED_SUFFIX: &str = " (deleted)";

/// Filters paths for a caller with restricted visibility.
pub(super) struct VisibilityFilter<'a> {
    visibility: Option<&'a PathVisibility>,
    /// The current path of the project's folder.
    root: PathBuf,
    /// From this effect on a path is omitted.
    from: RuleEffect,
    omitted: OmittedPaths,
}

impl<'a> VisibilityFilter<'a> {
    pub(super) fn new(
        root: &RootDir,
        visibility: Option<&'a PathVisibility>,
        from: RuleEffect,
    ) -> Result<Self, ActionError> {
        let root = if visibility.is_some() { resolve_open_path(root)? } else { PathBuf::new() };
        Ok(Self { visibility, root, from, omitted: OmittedPaths::default() })
    }

    /// Whether to omit a path of the project; counts it if so.
    pub(super) fn omits_path(&mut self, path: &Path) -> bool {
        let Some(visibility) = self.visibility else { return false };
        let matched = visibility.match_path(&normalize_path_text(path));
        if matched.combined_effect() < Some(self.from) {
            return false;
        }
        self.omitted.count += 1;
        self.omitted.why.extend(matched.deciding_matches().map(ToString::to_string));
        true
    }

    /// The same for an open file: its real path counts too, whichever links led there
    /// when it was opened.
    pub(super) fn omits_open_file(
        &mut self,
        path: &Path,
        file: impl AsFd,
    ) -> Result<bool, ActionError> {
        if self.visibility.is_none() {
            return Ok(false);
        }
        if self.omits_path(path) {
            return Ok(true);
        }
        let Some(path) = self.resolve_relative_path(file)? else {
            // Outside the project's folder, perhaps because that was moved: not decidable.
            self.omitted.count += 1;
            return Ok(true);
        };
        let text = path.to_string_lossy();
        if let Some(before) = text.strip_suffix(DELETED_SUFFIX)
            && self.omits_path(Path::new(before))
        {
            return Ok(true);
        }
        Ok(self.omits_path(&path))
    }

    /// The path of an open file, relative to the project.
    pub(super) fn resolve_relative_path(
        &self,
        file: impl AsFd,
    ) -> Result<Option<PathBuf>, ActionError> {
        Ok(resolve_open_path(file)?.strip_prefix(&self.root).ok().map(Path::to_owned))
    }

    /// The report of omitted paths; `None` if visibility is not restricted.
    pub(super) fn into_omitted(self) -> Option<OmittedPaths> {
        self.visibility.map(|_| self.omitted)
    }

    pub(super) fn is_limited(&self) -> bool {
        self.visibility.is_some()
    }
}

/// The normalized spelling of a path.
pub(super) fn normalize_path_text(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() { ".".to_owned() } else { text.into_owned() }
}

/// The path that Linux has for an open file.
fn resolve_open_path(file: impl AsFd) -> Result<PathBuf, ActionError> {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    std::fs::read_link(link).map_err(|error| {
        let message =
            format!("cannot resolve the path of an open file, so nothing is shown: {error}");
        ActionError::new(Code::Internal, message)
    })
}
