//! What is left out of a search or a listing, because whoever asked could not
//! have read it by its own name.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::{Path, PathBuf};

use provost_core::policy::{PathVisibility, RuleEffect};
use provost_proto::Code;
use provost_sandbox::root_dir::RootDir;
use serde::Serialize;

use crate::ActionError;

/// How much was left out, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OmittedPaths {
    /// How many files and folders.
    pub count: u64,
    /// The rules that say so, as `deny by rule x (your policy)`.
    pub why: BTreeSet<String>,
}

/// What the kernel says of a file that has lost its name meanwhile.
const DELETED_SUFFIX: &str = " (deleted)";

/// Looks at paths for an asker whose sight is limited.
pub(super) struct VisibilityFilter<'a> {
    sight: Option<&'a PathVisibility>,
    /// The project's folder, as the system names it now.
    root: PathBuf,
    /// From this on a path is left out.
    from: RuleEffect,
    left_out: OmittedPaths,
}

impl<'a> VisibilityFilter<'a> {
    pub(super) fn new(
        root: &RootDir,
        sight: Option<&'a PathVisibility>,
        from: RuleEffect,
    ) -> Result<Self, ActionError> {
        let root = if sight.is_some() { resolve_open_path(root)? } else { PathBuf::new() };
        Ok(Self { sight, root, from, left_out: OmittedPaths::default() })
    }

    /// Whether a path from the project is to be left out. If so, it is counted.
    pub(super) fn omits_path(&mut self, path: &Path) -> bool {
        let Some(sight) = self.sight else { return false };
        let matched = sight.match_path(&normalize_path_text(path));
        if matched.combined_effect() < Some(self.from) {
            return false;
        }
        self.left_out.count += 1;
        self.left_out.why.extend(matched.deciding_matches().map(ToString::to_string));
        true
    }

    /// The same for what is open: where it really is counts too, whichever links
    /// led there while nobody looked.
    pub(super) fn omits_open_file(
        &mut self,
        path: &Path,
        file: impl AsFd,
    ) -> Result<bool, ActionError> {
        if self.sight.is_none() {
            return Ok(false);
        }
        if self.omits_path(path) {
            return Ok(true);
        }
        let Some(path) = self.relative_path_of(file)? else {
            // Outside of the project's folder, if that is elsewhere by now: nobody knows.
            self.left_out.count += 1;
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

    /// Where something open is, from the project.
    pub(super) fn relative_path_of(&self, file: impl AsFd) -> Result<Option<PathBuf>, ActionError> {
        Ok(resolve_open_path(file)?.strip_prefix(&self.root).ok().map(Path::to_owned))
    }

    /// What there is to say in the answer: nothing if nothing is limited.
    pub(super) fn into_omitted(self) -> Option<OmittedPaths> {
        self.sight.map(|_| self.left_out)
    }

    pub(super) fn is_limited(&self) -> bool {
        self.sight.is_some()
    }
}

/// A path in its one spelling.
fn normalize_path_text(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() { ".".to_owned() } else { text.into_owned() }
}

/// The name that the system has for something open.
fn resolve_open_path(file: impl AsFd) -> Result<PathBuf, ActionError> {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    std::fs::read_link(link).map_err(|error| {
        let message = format!("cannot tell where a file is, so nothing is shown: {error}");
        ActionError::new(Code::Internal, message)
    })
}
