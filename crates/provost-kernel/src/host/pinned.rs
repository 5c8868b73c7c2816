//! What a person saw is what runs.
//!
//! The pinned files are compared once more directly before the start. Those that
//! the command runs are copied to where no command reaches, and the command finds
//! the copy in their place, read-only. The copy would fall off if somebody renamed
//! another file over the name, so for as long as the command runs, no other
//! command and no action of an agent can.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_core::action::{Action, FileAction};
use provost_proto::Code;
use provost_proto::kernel::Terms;
use provost_sandbox::beneath::Root;
use provost_sandbox::confine::Script;
use tempfile::NamedTempFile;
use tokio::sync::oneshot;

use super::process::{Order, Process};
use crate::ActionError;

/// The files that a command runs, held while it does.
pub(super) type Holds = Vec<(Arc<Process>, Vec<PathBuf>)>;

/// Fails if a pinned file is not what it was when it was decided.
pub(super) fn compare(project: &Path, terms: &Terms) -> Result<(), ActionError> {
    if terms.pins.is_empty() {
        return Ok(());
    }
    let root = Root::open(project)?;
    for pin in &terms.pins {
        let now = crate::pin(&root, project, &pin.path);
        if now.is_none_or(|now| now.hash != pin.hash) {
            return Err(changed(&pin.path));
        }
    }
    Ok(())
}

fn changed(path: &str) -> ActionError {
    let why = format!("{path} has changed since this was allowed; ask again");
    ActionError::new(Code::HashMismatch, why)
}

/// Copies of the pinned files that a command runs; they can go once it runs.
#[derive(Debug, Default)]
pub(super) struct Copies(Vec<(PathBuf, NamedTempFile)>);

impl Copies {
    /// Compares all that is pinned and copies what is run into `private`.
    pub(super) fn make(project: &Path, private: &Path, terms: &Terms) -> Result<Self, ActionError> {
        let mut copies = Self::default();
        if terms.pins.is_empty() {
            return Ok(copies);
        }
        let root = Root::open(project)?;
        for pin in &terms.pins {
            let now = crate::pin(&root, project, &pin.path).filter(|now| now.hash == pin.hash);
            let Some(now) = now else { return Err(changed(&pin.path)) };
            if let (true, Some(content)) = (terms.programs.contains(&pin.path), now.content) {
                let copy = copy(&root, private, &pin.path, &content).map_err(|error| {
                    let message = format!("{} could not be kept as it is: {error}", pin.path);
                    ActionError::new(Code::Internal, message)
                })?;
                copies.0.push((PathBuf::from(&pin.path), copy));
            }
        }
        Ok(copies)
    }

    pub(super) fn scripts(&self) -> Vec<Script> {
        let one = |(path, copy): &(PathBuf, NamedTempFile)| Script {
            path: path.clone(),
            copy: copy.path().to_owned(),
        };
        self.0.iter().map(one).collect()
    }
}

fn copy(root: &Root, private: &Path, path: &str, content: &[u8]) -> io::Result<NamedTempFile> {
    let mode = root.stat(Path::new(path)).map_or(0o444, |stat| stat.mode & 0o777);
    let mut copy = tempfile::Builder::new().prefix("script-").tempfile_in(private)?;
    copy.write_all(content)?;
    copy.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(copy)
}

/// Those of the programs that can be held: what is behind a link cannot, since
/// another link can be put in the place of that.
pub(super) fn holdable(project: &Path, terms: &Terms) -> Result<Vec<String>, ActionError> {
    if terms.programs.is_empty() {
        return Ok(Vec::new());
    }
    let root = Root::open(project)?;
    let straight = |path: &&String| root.links_to([Path::new(path)]).iter().next().is_none();
    Ok(terms.programs.iter().filter(straight).cloned().collect())
}

/// These files and the folders they lie in, folders first.
pub(super) fn with_folders(programs: &[String]) -> Vec<PathBuf> {
    let above = |program: &String| {
        let all = Path::new(program).ancestors().filter(|path| !path.as_os_str().is_empty());
        all.map(Path::to_owned).collect::<Vec<_>>()
    };
    let mut paths: Vec<_> = programs.iter().flat_map(above).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Has the other commands hold these paths.
pub(super) async fn hold_in(
    others: Vec<Arc<Process>>,
    project: &Path,
    paths: &[PathBuf],
) -> Result<(), ActionError> {
    for other in others {
        let (reply, held) = oneshot::channel();
        let order = Order::Hold(project.to_owned(), paths.to_vec(), reply);
        let held = match other.orders.send(order).await {
            Ok(()) => held.await.unwrap_or(false),
            Err(_) => false,
        };
        if !held && other.outcome().is_none() {
            let why = format!(
                "a script that this runs cannot be kept from process `{}`; stop that, or try again",
                other.id
            );
            return Err(ActionError::new(Code::Conflict, why));
        }
    }
    Ok(())
}

/// Refuses a change to what a command runs that a person allowed.
pub(super) fn guard(holds: &Holds, root: &Root, action: &FileAction) -> Result<(), ActionError> {
    let held = holds.iter().filter(|(process, _)| process.outcome().is_none());
    let held: Vec<_> = held.flat_map(|(_, paths)| paths).collect();
    let is_held = |path: &Path| held.iter().any(|held| held.starts_with(path));
    for path in Action::File(action.clone()).paths() {
        let real = root.links().map(|links| links.real_name(path.as_ref()));
        if is_held(path.as_ref()) || real.is_some_and(|real| is_held(&real)) {
            let why = "a command runs this that a person allowed as it is; wait until it has ended";
            return Err(ActionError::new(Code::Conflict, why).on(&path));
        }
    }
    Ok(())
}
