//! Copies of git's settings that a command changes in place of the originals.
//!
//! The settings of the project's repositories are read-only in the sandbox, because git runs what
//! they name. But a command that adds a remote, a submodule or a branch has to change them. So it
//! finds a symbolic link in place of each, to a copy of its own, and git follows the link. When
//! the command has ended, what is harmless in the copy is written to the original.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use provost_core::action::protected_paths::{REPOSITORY, SUBMODULES};
use provost_core::quarantine::git_settings::{SettingsChange, compare_settings};
use provost_sandbox::confine::{AppliedLayers, FileRedirect};
use provost_sandbox::root_dir::{RootDir, RootDirError, SymlinkSnapshot};
use provost_sandbox::sandbox_policy::SandboxPolicy;
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;
use uuid::Uuid;

use super::SetAsideReport;
use super::leftovers::{UNREADABLE_SETTINGS, describe_dangerous_settings};
use super::restore::{self, StoredContent};
use super::store::{LeftInPlace, QuarantineStore, SetAsideKind};

/// How many repositories a command can change the settings of.
const MAX_COPIES: usize = 16;

/// The largest file of settings that is copied.
const MAX_SETTINGS_BYTES: u64 = 256 * 1024;

/// The copies of one command.
#[derive(Debug)]
pub struct SettingsCopies {
    /// The folder for temporary files of commands, which they can write.
    scratch: RootDir,
    /// The folder of the copies in it.
    folder: PathBuf,
    /// The folder with the links, which commands cannot write.
    links: TempDir,
    copies: Vec<SettingsCopy>,
}

#[derive(Debug)]
struct SettingsCopy {
    /// The path of the original in the project.
    path: PathBuf,
    /// The name of the copy and of the link.
    name: String,
    /// The content when the command started.
    before: Vec<u8>,
}

impl SettingsCopies {
    /// Copies the settings of the repositories in `project`; `None` if there are none, or if the
    /// sandbox has no mounts of its own. The links are created in `private`.
    pub fn create(
        project: &RootDir,
        policy: &SandboxPolicy,
        applied: &AppliedLayers,
        private: &Path,
    ) -> io::Result<Option<Self>> {
        if !applied.mount_namespace {
            return Ok(None);
        }
        let paths = policy.protected_git_settings();
        let paths =
            paths.filter_map(|path| Some(path.strip_prefix(&policy.project).ok()?.to_owned()));
        let originals: Vec<(PathBuf, Vec<u8>)> = paths
            .filter_map(|path| Some((path.clone(), project.read(&path, MAX_SETTINGS_BYTES).ok()?)))
            .take(MAX_COPIES)
            .collect();
        if originals.is_empty() {
            return Ok(None);
        }
        let scratch = RootDir::open(&policy.scratch).map_err(io::Error::other)?;
        // Other commands of the project write here, so no link is followed.
        let scratch = scratch.with_allowed_links(SymlinkSnapshot::new([]));
        let folder = PathBuf::from(format!("git-settings-{}", Uuid::new_v4()));
        scratch.create_dir_all(&folder).map_err(io::Error::other)?;
        let opened = scratch.open_subdir(&folder).map_err(io::Error::other)?;
        // The path of that folder in the sandbox.
        let shown = if applied.private_tmp { Path::new("/tmp") } else { &policy.scratch };
        let shown = shown.join(&folder);
        let links = tempfile::Builder::new().prefix("links-").tempdir_in(private)?;
        let mut copies = Vec::with_capacity(originals.len());
        for (number, (path, before)) in originals.into_iter().enumerate() {
            let name = format!("config-{number}");
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&opened, &*name, flags, Mode::from_raw_mode(0o644))?;
            File::from(file).write_all(&before)?;
            symlink(shown.join(&name), links.path().join(&name))?;
            copies.push(SettingsCopy { path, name, before });
        }
        Ok(Some(Self { scratch, folder, links, copies }))
    }

    /// The links, for the sandbox.
    pub fn to_file_redirects(&self) -> Vec<FileRedirect> {
        let redirect = |copy: &SettingsCopy| FileRedirect {
            path: copy.path.clone(),
            link: self.links.path().join(&copy.name),
        };
        self.copies.iter().map(redirect).collect()
    }

    /// Writes what is harmless in the changed copies to the originals, and sets the rest aside.
    pub(super) fn apply_changes(
        &self,
        project: &RootDir,
        store: &QuarantineStore,
        report: &mut SetAsideReport,
    ) {
        for copy in &self.copies {
            if let Err(error) = self.apply_change(copy, project, store, report) {
                report.add_failure(format!("{}: {error}", copy.path.display()));
            }
        }
    }

    fn apply_change(
        &self,
        copy: &SettingsCopy,
        project: &RootDir,
        store: &QuarantineStore,
        report: &mut SetAsideReport,
    ) -> Result<(), RootDirError> {
        let SettingsCopy { path, name, before } = copy;
        let after = match self.scratch.read(&self.folder.join(name), MAX_SETTINGS_BYTES) {
            Ok(after) if after == *before => return Ok(()),
            Ok(after) => after,
            // Who deletes the copy deletes no settings.
            Err(RootDirError::NotFound) => return Ok(()),
            Err(error) => return Err(error),
        };
        let current = project.read(path, MAX_SETTINGS_BYTES)?;
        if current == after {
            return Ok(());
        }
        let is_changed_meanwhile = current != *before;
        let (why, kept) = match compare_settings(Some(before), &after, submodule_depth(path)) {
            _ if is_changed_meanwhile => {
                ("someone else changed these settings meanwhile".into(), None)
            }
            SettingsChange::Harmless => {
                return restore::write_settings(project, path, &after);
            }
            SettingsChange::Dangerous { names, kept } => {
                (describe_dangerous_settings(&names), Some(kept))
            }
            SettingsChange::Unreadable => (UNREADABLE_SETTINGS.into(), None),
        };
        let left = if kept.is_some() { LeftInPlace::Rest } else { LeftInPlace::Former };
        let size = u64::try_from(after.len()).unwrap_or(u64::MAX);
        let content =
            StoredContent { kind: SetAsideKind::File, executable: false, size, bytes: &after };
        match restore::store_entry(store, path, &content, why, left) {
            Ok(entry) => report.add(entry),
            Err(error) => report.add_failure(format!("{}: {error}", path.display())),
        }
        match kept {
            Some(kept) if kept != *before => restore::write_settings(project, path, &kept),
            Some(_) | None => Ok(()),
        }
    }
}

impl Drop for SettingsCopies {
    fn drop(&mut self) {
        if let Err(error) = self.scratch.remove_tree(&self.folder) {
            tracing::debug!(%error, "cannot remove the copies of git's settings");
        }
    }
}

/// The depth in the project of a submodule's git folder; `None` for other git folders.
fn submodule_depth(settings: &Path) -> Option<usize> {
    let git = settings.parent()?;
    let mut names = git.components().map(Component::as_os_str);
    let in_modules =
        names.any(|name| name == REPOSITORY) && names.next().is_some_and(|name| name == SUBMODULES);
    in_modules.then(|| git.components().count())
}
