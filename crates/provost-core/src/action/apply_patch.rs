//! `fs.applyPatch`: a unified diff over any number of files.

use serde::{Deserialize, Serialize};

use super::error::{BadValue, Checked, no_longer};
use super::{Params, RelPath, WRITTEN, patch};

/// How many files a description names.
const NAMED: usize = 5;

/// A unified diff over any number of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplyPatch {
    /// The diff.
    pub patch: String,
    /// Whether all of it is applied or nothing.
    #[serde(default = "yes")]
    pub atomic: bool,
}

fn yes() -> bool {
    true
}

impl Params for ApplyPatch {
    fn check(&self) -> Checked {
        no_longer("patch", &self.patch, WRITTEN)?;
        patch::read(&self.patch)
            .map(drop)
            .map_err(|error| BadValue::new("patch", format!("cannot be read: {error}")))
    }

    fn describe(&self) -> String {
        let paths = self.paths();
        let mut named: Vec<_> = paths.iter().take(NAMED).map(RelPath::shown).collect();
        if paths.len() > NAMED {
            named.push(format!("and {} more", paths.len() - NAMED));
        }
        format!("apply a patch to {}", named.join(", "))
    }

    fn paths(&self) -> Vec<RelPath> {
        let mut paths = patch::read(&self.patch).map_or_else(|_| Vec::new(), |f| patch::paths(&f));
        paths.dedup();
        paths
    }
}
