//! Puts back what was set aside, after a person was shown it: exactly this content, or nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use provost_core::action::RestoreFile;
use provost_core::quarantine::git_entries::{EntryType, is_git_name};
use provost_proto::{Code, Hash};
use provost_sandbox::root_dir::{FileKind, RootDirError};
use serde::Serialize;

use super::restore::{create_link, make_parent_writable, write_over};
use super::{AdoptedContent, Quarantine, SetAsideKind, SetAsideReport, StoredEntry};
use crate::ActionError;
use crate::files::{ChangeKind, ChangedPath, create_parent_dirs};

/// The result of `fs.restoreFile`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreFileResult {
    /// The hash of the content.
    pub hash: Hash,
    /// The file, and the folders that were created for it.
    pub changed: Vec<ChangedPath>,
    /// What else was set aside.
    #[serde(skip_serializing_if = "SetAsideReport::is_empty")]
    pub set_aside: SetAsideReport,
}

impl Quarantine {
    /// Puts back an entry, and takes it as the person's. `is_persons` tells whether it is the
    /// person's own action, of which nothing is shown.
    pub fn put_back(
        self: &Arc<Self>,
        restore: &RestoreFile,
        is_persons: bool,
    ) -> Result<RestoreFileResult, ActionError> {
        let stored = self.store.read(&restore.id, restore.path.as_str()).map_err(|_| {
            let message = "nothing with this id was set aside here, or it is not kept any more";
            ActionError::new(Code::NotFound, message).with_path(&restore.path)
        })?;
        let obstacle =
            if is_persons { stored.find_obstacle() } else { stored.find_obstacle_for_answer() };
        if let Some(obstacle) = obstacle {
            return Err(ActionError::new(Code::Conflict, obstacle).with_path(&restore.path));
        }
        let watch = self.begin_action(true);
        let path: &Path = restore.path.as_ref();
        let changed = self.write_entry(restore, &stored);
        let hash = Hash::new(*blake3::hash(&stored.content).as_bytes());
        if changed.is_ok() {
            let kind = match stored.entry.kind {
                SetAsideKind::Symlink => EntryType::Symlink,
                SetAsideKind::File | SetAsideKind::Other => EntryType::File,
            };
            let is_executable = Some(stored.entry.executable);
            let adoption = AdoptedContent::Shown { kind, hash, is_executable };
            self.adopt_paths(&BTreeMap::from([(path.to_owned(), adoption)]));
        }
        let set_aside = watch.settle();
        let changed = changed.map_err(|error| error.with_path(&restore.path))?;
        let is_gone = |entry: &super::SetAsideEntry| Path::new(&entry.path) == path;
        if let Some(again) = set_aside.entries.iter().find(|entry| is_gone(entry)) {
            let message = format!("it was set aside again: {}", again.why);
            return Err(ActionError::new(Code::Conflict, message).with_path(&restore.path));
        }
        Ok(RestoreFileResult { hash, changed, set_aside })
    }

    fn write_entry(
        &self,
        restore: &RestoreFile,
        stored: &StoredEntry,
    ) -> Result<Vec<ChangedPath>, ActionError> {
        let path: &Path = restore.path.as_ref();
        let there = match self.root.stat(path) {
            Ok(stat) if stat.kind == FileKind::Directory => {
                return Err(ActionError::new(Code::IsDirectory, "there is a folder now"));
            }
            Ok(stat) => Some(stat),
            Err(RootDirError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        // Git creates its own folders: without them, the file would be of another operation.
        let created = if restore.path.components().any(is_git_name) {
            Vec::new()
        } else {
            create_parent_dirs(&self.root, &restore.path)?
        };
        make_parent_writable(&self.root, path);
        match stored.entry.kind {
            SetAsideKind::Symlink => {
                if there.is_some() {
                    self.root.remove_file(path)?;
                }
                create_link(&self.root, path, &stored.content)?;
            }
            SetAsideKind::File | SetAsideKind::Other => {
                let plain = there.as_ref().filter(|stat| stat.kind == FileKind::File);
                let mode = plain.map_or(0o644, |stat| stat.mode & 0o666);
                // Who may read it may also execute it.
                let execute = if stored.entry.executable { (mode & 0o444) >> 2 } else { 0 };
                write_over(&self.root, path, &stored.content, mode | execute)?;
            }
        }
        let new = |folder| ChangedPath::new(folder, ChangeKind::Created);
        let mut changed: Vec<ChangedPath> = created.iter().map(new).collect();
        let kind = if there.is_some() { ChangeKind::Modified } else { ChangeKind::Created };
        changed.push(ChangedPath::new(&restore.path, kind));
        Ok(changed)
    }
}
