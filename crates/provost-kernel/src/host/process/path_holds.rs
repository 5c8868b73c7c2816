//! What a person saw is what runs.
//!
//! The pinned files are compared once more directly before the start. Those that
//! the command runs are copied to where no command reaches, and the command finds
//! the copy in their place, read-only. The copy would fall off if somebody renamed
//! another file over the name, so for as long as the command runs, no other
//! command, no build or server of the project and no action of an agent can.

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

/// An order to keep a run from replacing paths of the project.
#[derive(Debug)]
pub(in crate::host) struct PathHoldRequest {
    project: PathBuf,
    paths: Vec<PathBuf>,
    held: oneshot::Sender<bool>,
}

impl PathHoldRequest {
    fn new(project: &Path, paths: &[PathBuf]) -> (Self, oneshot::Receiver<bool>) {
        let (held, told) = oneshot::channel();
        (Self { project: project.to_owned(), paths: paths.to_vec(), held }, told)
    }

    /// Carries it out, and tells whether they are held.
    pub(in crate::host) fn apply_to(self, child: &mut SandboxChild) {
        let held = child.hold_paths(&self.project, &self.paths);
        if let Err(error) = &held {
            tracing::warn!(%error, "a path could not be held");
        }
        let _nobody_waits = self.held.send(held.is_ok());
    }
}

/// What commands run that people allowed, and what else runs and could replace it.
#[derive(Debug, Default)]
pub(in crate::host) struct PathHoldRegistry {
    /// The files of a command and the folders they lie in, held while it runs.
    own: Vec<(Arc<ProcessHandle>, Vec<PathBuf>)>,
    /// Where builds and servers of the project take orders.
    trees: Vec<mpsc::Sender<PathHoldRequest>>,
}

impl PathHoldRegistry {
    /// Forgets what has ended.
    pub(in crate::host) fn remove_ended(&mut self) {
        self.own.retain(|(process, _)| process.outcome().is_none());
        self.trees.retain(|tree| !tree.is_closed());
    }

    /// What is held, for a run that begins.
    pub(in crate::host) fn held_paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.iter_held().cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Remembers what a command holds.
    pub(in crate::host) fn add_command(&mut self, process: &Arc<ProcessHandle>, own: Vec<PathBuf>) {
        if !own.is_empty() {
            self.own.push((Arc::clone(process), own));
        }
    }

    /// Remembers a build or a server of the project.
    pub(in crate::host) fn add_process_tree(&mut self, tree: mpsc::Sender<PathHoldRequest>) {
        self.trees.push(tree);
    }

    fn iter_held(&self) -> impl Iterator<Item = &PathBuf> {
        let going_on = self.own.iter().filter(|(process, _)| process.outcome().is_none());
        going_on.flat_map(|(_, paths)| paths)
    }

    /// Has all that runs hold these paths.
    pub(in crate::host) async fn request_holds(
        &self,
        others: Vec<Arc<ProcessHandle>>,
        project: &Path,
        paths: &[PathBuf],
    ) -> Result<(), ActionError> {
        for other in others {
            let (hold, answer) = PathHoldRequest::new(project, paths);
            let told = other.orders.send(ProcessControl::HoldPaths(hold)).await.is_ok();
            let done = told && answer.await.unwrap_or(false);
            if !done && other.outcome().is_none() {
                return Err(hold_refused_error(&format!("process `{}`", other.id)));
            }
        }
        for tree in &self.trees {
            let (hold, answer) = PathHoldRequest::new(project, paths);
            let told = tree.send(hold).await.is_ok();
            let done = told && answer.await.unwrap_or(false);
            if !done && !tree.is_closed() {
                return Err(hold_refused_error("the build or the server of the project"));
            }
        }
        Ok(())
    }

    /// Refuses a change to what a command runs that a person allowed.
    pub(in crate::host) fn reject_held_paths(
        &self,
        root: &RootDir,
        action: &FileAction,
    ) -> Result<(), ActionError> {
        let is_held = |path: &Path| self.iter_held().any(|held| held.starts_with(path));
        for path in Action::File(action.clone()).paths() {
            let real = root.allowed_links().map(|links| links.resolve_nofollow(path.as_ref()));
            if is_held(path.as_ref()) || real.is_some_and(|real| is_held(&real)) {
                let why =
                    "a command runs this that a person allowed as it is; wait until it has ended";
                return Err(ActionError::new(Code::Conflict, why).with_path(&path));
            }
        }
        Ok(())
    }
}

fn hold_refused_error(whom: &str) -> ActionError {
    let why =
        format!("a script that this runs cannot be kept from {whom}; stop that, or try again");
    ActionError::new(Code::Conflict, why)
}

/// Fails if a pinned file is not what it was when it was decided.
pub(in crate::host) fn verify_pins(
    project: &Path,
    terms: &Preconditions,
) -> Result<(), ActionError> {
    if terms.pins.is_empty() {
        return Ok(());
    }
    let root = RootDir::open(project)?;
    for pin in &terms.pins {
        let now = crate::pin_file(&root, project, &pin.path);
        if now.is_none_or(|now| now.hash != pin.hash) {
            return Err(pin_mismatch_error(&pin.path));
        }
    }
    Ok(())
}

fn pin_mismatch_error(path: &str) -> ActionError {
    let why = format!("{path} has changed since this was allowed; ask again");
    ActionError::new(Code::HashMismatch, why)
}

/// Copies of the pinned files that a command runs; they can go once it runs.
#[derive(Debug, Default)]
pub(in crate::host) struct PinnedCopies(Vec<(PathBuf, NamedTempFile)>);

impl PinnedCopies {
    /// Compares all that is pinned and copies what is run into `private`.
    pub(in crate::host) fn create(
        project: &Path,
        private: &Path,
        terms: &Preconditions,
    ) -> Result<Self, ActionError> {
        let mut copies = Self::default();
        if terms.pins.is_empty() {
            return Ok(copies);
        }
        let root = RootDir::open(project)?;
        for pin in &terms.pins {
            let now = crate::pin_file(&root, project, &pin.path).filter(|now| now.hash == pin.hash);
            let Some(now) = now else { return Err(pin_mismatch_error(&pin.path)) };
            if let (true, Some(content)) = (terms.programs.contains(&pin.path), now.content) {
                let copy =
                    copy_pinned_file(&root, private, &pin.path, &content).map_err(|error| {
                        let message = format!("{} could not be kept as it is: {error}", pin.path);
                        ActionError::new(Code::Internal, message)
                    })?;
                copies.0.push((PathBuf::from(&pin.path), copy));
            }
        }
        Ok(copies)
    }

    pub(in crate::host) fn to_file_overrides(&self) -> Vec<FileOverride> {
        let one = |(path, copy): &(PathBuf, NamedTempFile)| FileOverride {
            path: path.clone(),
            copy: copy.path().to_owned(),
        };
        self.0.iter().map(one).collect()
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

/// Fails if one of the programs lies behind a link by now: another link can be put in the
/// place of that, so those that did when it was decided are not among them.
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

/// These files and the folders they lie in, folders first.
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
