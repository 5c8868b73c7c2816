//! A command runs the content that was approved.
//!
//! Pinned files are compared again directly before the start. Those that the
//! command runs are copied to a folder that no command can access, and the copy is
//! mounted over the original, read-only. Renaming another file over the path would
//! detach that mount, so the path is held while the command runs: no other command,
//! build or dev server of the project and no action of an agent can replace it.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::action::{Action, FileAction};
use provost_proto::Code;
use provost_proto::kernel::Preconditions;
use provost_sandbox::confine::{FileOverride, SandboxChild};
use provost_sandbox::root_dir::RootDir;
use tempfile::NamedTempFile;
use tokio::sync::{mpsc, oneshot};

use super::process_handle::{ProcessControl, ProcessHandle};
use crate::ActionError;

/// A request to keep a running child from replacing paths of the project.
#[derive(Debug)]
pub(in crate::host) struct PathHoldRequest {
    project: PathBuf,
    paths: Vec<PathBuf>,
    reply: oneshot::Sender<bool>,
}

impl PathHoldRequest {
    fn new(project: &Path, paths: &[PathBuf]) -> (Self, oneshot::Receiver<bool>) {
        let (reply, applied) = oneshot::channel();
        (Self { project: project.to_owned(), paths: paths.to_vec(), reply }, applied)
    }

    /// Applies the holds, and replies whether that succeeded.
    pub(in crate::host) fn apply_to(self, child: &mut SandboxChild) {
        let result = child.hold_paths(&self.project, &self.paths);
        if let Err(error) = &result {
            tracing::warn!(%error, "cannot hold a path");
        }
        let _ = self.reply.send(result.is_ok());
    }
}

/// The held paths, and the builds and servers that must respect them.
#[derive(Debug, Default)]
pub(in crate::host) struct PathHoldRegistry {
    /// The scripts of each command and their parent folders, held while it runs.
    commands: Vec<(Arc<ProcessHandle>, Vec<PathBuf>)>,
    /// Control channels of the builds and servers of the project.
    trees: Vec<mpsc::Sender<PathHoldRequest>>,
}

impl PathHoldRegistry {
    /// Removes commands, builds and servers that have ended.
    pub(in crate::host) fn remove_ended(&mut self) {
        self.commands.retain(|(process, _)| process.outcome().is_none());
        self.trees.retain(|tree| !tree.is_closed());
    }

    /// All held paths, for a command that starts.
    pub(in crate::host) fn held_paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.iter_held().cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Registers the paths that a command holds.
    pub(in crate::host) fn add_command(
        &mut self,
        process: &Arc<ProcessHandle>,
        paths: Vec<PathBuf>,
    ) {
        if !paths.is_empty() {
            self.commands.push((Arc::clone(process), paths));
        }
    }

    /// Registers a build or a server of the project.
    pub(in crate::host) fn add_process_tree(&mut self, tree: mpsc::Sender<PathHoldRequest>) {
        self.trees.push(tree);
    }

    fn iter_held(&self) -> impl Iterator<Item = &PathBuf> {
        let running = self.commands.iter().filter(|(process, _)| process.outcome().is_none());
        running.flat_map(|(_, paths)| paths)
    }

    /// Applies holds on these paths to all that runs.
    pub(in crate::host) async fn request_holds(
        &self,
        others: Vec<Arc<ProcessHandle>>,
        project: &Path,
        paths: &[PathBuf],
    ) -> Result<(), ActionError> {
        for other in others {
            let (request, reply) = PathHoldRequest::new(project, paths);
            let sent = other.control.send(ProcessControl::HoldPaths(request)).await.is_ok();
            let applied = sent && reply.await.unwrap_or(false);
            if !applied && other.outcome().is_none() {
                return Err(hold_refused_error(&format!("process `{}`", other.id)));
            }
        }
        for tree in &self.trees {
            let (request, reply) = PathHoldRequest::new(project, paths);
            let sent = tree.send(request).await.is_ok();
            let applied = sent && reply.await.unwrap_or(false);
            if !applied && !tree.is_closed() {
                return Err(hold_refused_error("the build or the server of the project"));
            }
        }
        Ok(())
    }

    /// Rejects a change to a script that a running command was approved with.
    pub(in crate::host) fn reject_held_paths(
        &self,
        root: &RootDir,
        action: &FileAction,
    ) -> Result<(), ActionError> {
        let is_held = |path: &Path| self.iter_held().any(|held| held.starts_with(path));
        for path in Action::File(action.clone()).paths() {
            let real = root.allowed_links().map(|links| links.resolve_nofollow(path.as_ref()));
            if is_held(path.as_ref()) || real.is_some_and(|real| is_held(&real)) {
                let message = "a running command was approved with this file; wait until the command has ended";
                return Err(ActionError::new(Code::Conflict, message).with_path(&path));
            }
        }
        Ok(())
    }
}

fn hold_refused_error(holder: &str) -> ActionError {
    let message = format!(
        "cannot keep {holder} from replacing a script of this command; stop it, or try again"
    );
    ActionError::new(Code::Conflict, message)
}

/// Fails if a pinned file has changed since the decision.
pub(in crate::host) fn verify_pins(
    project: &Path,
    preconditions: &Preconditions,
) -> Result<(), ActionError> {
    if preconditions.pins.is_empty() {
        return Ok(());
    }
    let root = RootDir::open(project)?;
    for pin in &preconditions.pins {
        let current = crate::pin_file(&root, project, &pin.path);
        if current.is_none_or(|current| current.hash != pin.hash) {
            return Err(pin_mismatch_error(&pin.path));
        }
    }
    Ok(())
}

fn pin_mismatch_error(path: &str) -> ActionError {
    let message = format!("{path} has changed since this was allowed; ask again");
    ActionError::new(Code::HashMismatch, message)
}

/// Copies of the pinned files that a command runs; needed until it has started.
#[derive(Debug, Default)]
pub(in crate::host) struct PinnedCopies(Vec<(PathBuf, NamedTempFile)>);

impl PinnedCopies {
    /// Verifies all pins, and copies the files that are run into `private`.
    pub(in crate::host) fn create(
        project: &Path,
        private: &Path,
        preconditions: &Preconditions,
    ) -> Result<Self, ActionError> {
        let mut copies = Self::default();
        if preconditions.pins.is_empty() {
            return Ok(copies);
        }
        let root = RootDir::open(project)?;
        for pin in &preconditions.pins {
            let current = crate::pin_file(&root, project, &pin.path)
                .filter(|current| current.hash == pin.hash);
            let Some(current) = current else { return Err(pin_mismatch_error(&pin.path)) };
            if let (true, Some(content)) =
                (preconditions.programs.contains(&pin.path), current.content)
            {
                let copy =
                    copy_pinned_file(&root, private, &pin.path, &content).map_err(|error| {
                        let message = format!("cannot copy {}: {error}", pin.path);
                        ActionError::new(Code::Internal, message)
                    })?;
                copies.0.push((PathBuf::from(&pin.path), copy));
            }
        }
        Ok(copies)
    }

    pub(in crate::host) fn to_file_overrides(&self) -> Vec<FileOverride> {
        let file_override = |(path, copy): &(PathBuf, NamedTempFile)| FileOverride {
            path: path.clone(),
            copy: copy.path().to_owned(),
        };
        self.0.iter().map(file_override).collect()
    }
}

fn copy_pinned_file(
    root: &RootDir,
    private: &Path,
    path: &str,
    content: &[u8],
) -> io::Result<NamedTempFile> {
    let mode = root.stat(Path::new(path)).map_or(0o444, |stat| stat.mode & 0o777);
    let mut copy = tempfile::Builder::new().prefix("script-").tempfile_in(private)?;
    copy.write_all(content)?;
    copy.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(copy)
}

/// Fails if a program is behind a symlink now. A symlink can be replaced, so programs
/// that were behind one at the decision are not in the list.
pub(in crate::host) fn reject_linked_programs(
    project: &Path,
    programs: &[String],
) -> Result<(), ActionError> {
    if programs.is_empty() {
        return Ok(());
    }
    let root = RootDir::open(project)?;
    match programs.iter().find(|path| !root.is_link_free(Path::new(path))) {
        Some(path) => Err(pin_mismatch_error(path)),
        None => Ok(()),
    }
}

/// These files and their parent folders, folders first.
pub(in crate::host) fn with_ancestor_dirs(programs: &[String]) -> Vec<PathBuf> {
    let above = |program: &String| {
        let all = Path::new(program).ancestors().filter(|path| !path.as_os_str().is_empty());
        all.map(Path::to_owned).collect::<Vec<_>>()
    };
    let mut paths: Vec<_> = programs.iter().flat_map(above).collect();
    paths.sort();
    paths.dedup();
    paths
}
