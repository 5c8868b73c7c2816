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
pub struct LeftOut {
    /// How many files and folders.
    pub count: u64,
    /// The rules that say so, as `deny by rule x (your policy)`.
    pub why: BTreeSet<String>,
}

/// What the kernel says of a file that has lost its name meanwhile.
const DELETED: &str = " (deleted)";

/// Looks at paths for an asker whose sight is limited.
pub(super) struct Eyes<'a> {
    sight: Option<&'a PathVisibility>,
    /// The project's folder, as the system names it now.
    root: PathBuf,
    /// From this on a path is left out.
    from: RuleEffect,
    left_out: LeftOut,
}

impl<'a> Eyes<'a> {
    pub(super) fn new(
        root: &RootDir,
        sight: Option<&'a PathVisibility>,
        from: RuleEffect,
    ) -> Result<Self, ActionError> {
        let root = if sight.is_some() { name_of(root)? } else { PathBuf::new() };
        Ok(Self { sight, root, from, left_out: LeftOut::default() })
    }

    /// Whether a path from the project is to be left out. If so, it is counted.
    pub(super) fn leaves_out(&mut self, path: &Path) -> bool {
        let Some(sight) = self.sight else { return false };
        let matched = sight.match_path(&spelled(path));
        if matched.combined_effect() < Some(self.from) {
            return false;
        }
        self.left_out.count += 1;
        self.left_out.why.extend(matched.deciding_matches().map(ToString::to_string));
        true
    }

    /// The same for what is open: where it really is counts too, whichever links
    /// led there while nobody looked.
    pub(super) fn leaves_out_open(
        &mut self,
        path: &Path,
        file: impl AsFd,
    ) -> Result<bool, ActionError> {
        if self.sight.is_none() {
            return Ok(false);
        }
        if self.leaves_out(path) {
            return Ok(true);
        }
        let Some(path) = self.place_of(file)? else {
            // Outside of the project's folder, if that is elsewhere by now: nobody knows.
            self.left_out.count += 1;
            return Ok(true);
        };
        let text = path.to_string_lossy();
        if let Some(before) = text.strip_suffix(DELETED)
            && self.leaves_out(Path::new(before))
        {
            return Ok(true);
        }
        Ok(self.leaves_out(&path))
    }

    /// Where something open is, from the project.
    pub(super) fn place_of(&self, file: impl AsFd) -> Result<Option<PathBuf>, ActionError> {
        Ok(name_of(file)?.strip_prefix(&self.root).ok().map(Path::to_owned))
    }

    /// What there is to say in the answer: nothing if nothing is limited.
    pub(super) fn left_out(self) -> Option<LeftOut> {
        self.sight.map(|_| self.left_out)
    }

    pub(super) fn is_limited(&self) -> bool {
        self.sight.is_some()
    }
}

/// A path in its one spelling.
fn spelled(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.is_empty() { ".".to_owned() } else { text.into_owned() }
}

/// The name that the system has for something open.
fn name_of(file: impl AsFd) -> Result<PathBuf, ActionError> {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    std::fs::read_link(link).map_err(|error| {
        let message = format!("cannot tell where a file is, so nothing is shown: {error}");
        ActionError::new(Code::Internal, message)
    })
}
