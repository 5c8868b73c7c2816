//! The symbolic links on the paths that an action names: for the decision, for the kernel
//! that executes it, and for the approval prompt.

use std::path::{Component, Path, PathBuf};

use provost_core::action::{Action, FileAction, RelPath};
use provost_core::decide::{BoundAction, ResolvedLink};
use provost_proto::kernel::ObservedLink;
use provost_sandbox::root_dir::{RootDir, SymlinkSnapshot};

use crate::GatewayError;
use crate::project::governance::ProjectGovernance;
use crate::symlink_resolution::{MAX_SYMLINK_DEPTH, try_resolve_symlinks};

/// Adds the targets of the links on the paths that a command names.
pub(crate) async fn resolve_command_links(
    governance: &ProjectGovernance,
    bound_action: BoundAction,
) -> Result<BoundAction, GatewayError> {
    let named = bound_action.named_paths();
    if named.is_empty() {
        return Ok(bound_action);
    }
    let folder = PathBuf::from(&governance.project.path);
    let cwd = bound_action.cwd();
    let resolve = move || {
        // A missing folder has no links, and the kernel reports that it is missing.
        let Ok(root) = RootDir::open(&folder) else { return Vec::new() };
        let resolve_path = |path: String| {
            let place = resolve_command_path(&root, &folder, &Path::new(cwd.as_str()).join(&path))?;
            Some(ResolvedLink { path, place })
        };
        named.into_iter().filter_map(resolve_path).collect()
    };
    let resolved =
        tokio::task::spawn_blocking(resolve).await.map_err(|_| GatewayError::Stopping)?;
    Ok(bound_action.with_resolved_links(&resolved))
}

/// The target of a path relative to the project, if there is a link on it. Unlike in file
/// actions, the command itself follows the link, so the target may be outside the project.
fn resolve_command_path(root: &RootDir, folder: &Path, path: &Path) -> Option<String> {
    let path = path.strip_prefix(folder).unwrap_or(path);
    if path.is_absolute() || root.is_link_free(path) {
        return None;
    }
    let named = folder.join(path);
    let mut plain = PathBuf::new();
    for part in named.components() {
        if part != Component::ParentDir || !plain.pop() {
            plain.push(part);
        }
    }
    // Behind a missing component, `..` is resolved lexically.
    let target = try_resolve_symlinks(&named, MAX_SYMLINK_DEPTH)
        .or_else(|| try_resolve_symlinks(&plain, MAX_SYMLINK_DEPTH))?;
    if target == plain {
        return None;
    }
    match target.strip_prefix(folder) {
        Ok(inside) if inside.as_os_str().is_empty() => Some(".".to_owned()),
        Ok(inside) => inside.to_str().map(str::to_owned),
        Err(_) => target.to_str().map(str::to_owned),
    }
}

/// The links on the paths that a file action names. A link that leads out of the project is
/// not among them, and the kernel refuses it.
pub(crate) fn collect_links(folder: &Path, bound_action: &BoundAction) -> SymlinkSnapshot {
    let Action::File(_) = &bound_action.request().action else { return SymlinkSnapshot::default() };
    let paths = bound_action.request().action.paths();
    // A missing folder has no links, and the kernel reports that it is missing.
    RootDir::open(folder)
        .map(|root| root.snapshot_links(paths.iter().map(AsRef::as_ref)))
        .unwrap_or_default()
}

/// Descriptions of the links on the paths of a file action, for an approval prompt.
pub(crate) fn describe_link_targets(
    folder: &Path,
    action: &Action,
    links: &SymlinkSnapshot,
) -> Vec<String> {
    let Action::File(file) = action else { return Vec::new() };
    // The other actions apply to the name itself.
    let follows = matches!(
        file,
        FileAction::ReadFile(_) | FileAction::ListFiles(_) | FileAction::SearchFiles(_)
    );
    let describe = |path: RelPath| {
        let named = path.as_ref();
        let target = if follows { links.resolve(named) } else { links.resolve_nofollow(named) };
        if let Some(target) = target.to_str().and_then(|target| RelPath::new(target).ok())
            && target != path
        {
            let (path, target) = (path.display_quoted(), target.display_quoted());
            return Some(format!("{path} is really {target}: a link leads there"));
        }
        let (parent, leaf) = (path.parent()?, Path::new(path.as_str()).file_name()?);
        let target =
            try_resolve_symlinks(&folder.join(parent.as_str()), MAX_SYMLINK_DEPTH)?.join(leaf);
        let outside =
            || format!("{} is outside the project: a link leads there", path.display_quoted());
        (!target.starts_with(folder)).then(outside)
    };
    action.paths().into_iter().filter_map(describe).collect()
}

/// The targets of the links on the paths of a file action, with the last component followed
/// and not followed.
pub(crate) fn apply_links(links: &SymlinkSnapshot, bound_action: &BoundAction) -> Vec<RelPath> {
    let Action::File(_) = &bound_action.request().action else { return Vec::new() };
    let mut targets = Vec::new();
    for path in bound_action.request().action.paths() {
        for real in [links.resolve(path.as_ref()), links.resolve_nofollow(path.as_ref())] {
            let target = real.to_str().and_then(|real| RelPath::new(real).ok());
            targets.extend(target.filter(|target| *target != path));
        }
    }
    targets.sort();
    targets.dedup();
    targets
}

/// The links in the form that the kernel is sent. A link that is not UTF-8 is left out, so
/// the kernel does not follow it.
pub(crate) fn to_kernel_links(links: &SymlinkSnapshot) -> Vec<ObservedLink> {
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let one = |(path, target): (&Path, &Path)| {
        Some(ObservedLink { path: text(path)?, target: text(target)? })
    };
    links.iter().filter_map(one).collect()
}
