//! Where links lead what an action names: for the decision, for the kernel that acts on it,
//! and for the person who is asked.

use std::path::{Component, Path, PathBuf};

use provost_core::action::{Action, FileAction, RelPath};
use provost_core::decide::{BoundAction, ResolvedLink};
use provost_proto::kernel::ObservedLink;
use provost_sandbox::root_dir::{RootDir, SymlinkSnapshot};

use crate::GatewayError;
use crate::project::governance::ProjectGovernance;

/// How many links to what is not there yet are followed, as many as the system would.
const MAX_SYMLINK_DEPTH: u32 = 40;

/// The same matter, knowing where links lead the paths that its command names.
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
    let look = move || {
        // A folder that is gone has no links, and the kernel says that it is gone.
        let Ok(root) = RootDir::open(&folder) else { return Vec::new() };
        let lead = |path: String| {
            let place = resolve_command_path(&root, &folder, &Path::new(cwd.as_str()).join(&path))?;
            Some(ResolvedLink { path, place })
        };
        named.into_iter().filter_map(lead).collect()
    };
    let leads = tokio::task::spawn_blocking(look).await.map_err(|_| GatewayError::Stopping)?;
    Ok(bound_action.with_resolved_links(&leads))
}

/// Where links lead a path, seen from the project, if there are any. Unlike those of file
/// actions they are followed by the command itself, so also by absolute names and outside.
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
    // Behind what is not there yet, `..` means what it says.
    let there = try_resolve_symlinks(&named, MAX_SYMLINK_DEPTH)
        .or_else(|| try_resolve_symlinks(&plain, MAX_SYMLINK_DEPTH))?;
    if there == plain {
        return None;
    }
    match there.strip_prefix(folder) {
        Ok(inside) if inside.as_os_str().is_empty() => Some(".".to_owned()),
        Ok(place) => place.to_str().map(str::to_owned),
        Err(_) => there.to_str().map(str::to_owned),
    }
}

/// The links on the way to the paths that a file action names. What leads out of
/// the project is not among them, and the kernel refuses it.
pub(crate) fn collect_links(folder: &Path, bound_action: &BoundAction) -> SymlinkSnapshot {
    let Action::File(_) = &bound_action.request().action else { return SymlinkSnapshot::default() };
    let paths = bound_action.request().action.paths();
    // A folder that is gone has no links, and the kernel says that it is gone.
    RootDir::open(folder)
        .map(|root| root.snapshot_links(paths.iter().map(AsRef::as_ref)))
        .unwrap_or_default()
}

/// Where links lead the paths that a file action names.
pub(crate) fn find_link_targets(folder: &Path, bound_action: &BoundAction) -> Vec<RelPath> {
    apply_links(&collect_links(folder, bound_action), bound_action)
}

/// Where links lead the paths that a file action names, in words: for a person who is shown
/// a name that is elsewhere.
pub(crate) fn describe_link_targets(
    folder: &Path,
    action: &Action,
    links: &SymlinkSnapshot,
) -> Vec<String> {
    let Action::File(file) = action else { return Vec::new() };
    // All others are done to the name itself.
    let follows = matches!(
        file,
        FileAction::ReadFile(_) | FileAction::ListFiles(_) | FileAction::SearchFiles(_)
    );
    let elsewhere = |path: RelPath| {
        let place = path.as_ref();
        let place = if follows { links.resolve(place) } else { links.resolve_nofollow(place) };
        if let Some(there) = place.to_str().and_then(|place| RelPath::new(place).ok())
            && there != path
        {
            let (path, there) = (path.display_quoted(), there.display_quoted());
            return Some(format!("{path} is really {there}: a link leads there"));
        }
        let (above, leaf) = (path.parent()?, Path::new(path.as_str()).file_name()?);
        let there =
            try_resolve_symlinks(&folder.join(above.as_str()), MAX_SYMLINK_DEPTH)?.join(leaf);
        let outside =
            || format!("{} is outside the project: a link leads there", path.display_quoted());
        (!there.starts_with(folder)).then(outside)
    };
    action.paths().into_iter().filter_map(elsewhere).collect()
}

/// A path without links, as far as that is known.
pub(crate) fn resolve_symlinks(path: &Path) -> PathBuf {
    try_resolve_symlinks(path, MAX_SYMLINK_DEPTH).unwrap_or_else(|| path.to_owned())
}

/// A path without links; what is not there yet keeps its name, also behind a
/// link that leads to it.
fn try_resolve_symlinks(path: &Path, links: u32) -> Option<PathBuf> {
    let mut missing = PathBuf::new();
    for there in path.ancestors() {
        if let Ok(found) = there.canonicalize() {
            return Some(found.join(missing));
        }
        if let Ok(target) = there.read_link() {
            let next = there.parent()?.join(target).join(missing);
            return try_resolve_symlinks(&next, links.checked_sub(1)?);
        }
        missing = Path::new(there.file_name()?).join(missing);
    }
    None
}

/// The places where links lead these paths, and where the names themselves are.
pub(crate) fn apply_links(links: &SymlinkSnapshot, bound_action: &BoundAction) -> Vec<RelPath> {
    let Action::File(_) = &bound_action.request().action else { return Vec::new() };
    let mut config = Vec::new();
    for path in bound_action.request().action.paths() {
        for real in [links.resolve(path.as_ref()), links.resolve_nofollow(path.as_ref())] {
            let place = real.to_str().and_then(|real| RelPath::new(real).ok());
            config.extend(place.filter(|place| *place != path));
        }
    }
    config.sort();
    config.dedup();
    config
}

/// The links that a decision was made about, or those that are there now.
pub(crate) fn load_decided_links(folder: &Path, bound_action: &BoundAction) -> SymlinkSnapshot {
    match bound_action.preconditions() {
        Some(terms) => {
            let all = terms.links.iter();
            SymlinkSnapshot::new(
                all.map(|link| (link.path.as_str().into(), (&*link.leads_to).into())),
            )
        }
        None => collect_links(folder, bound_action),
    }
}

/// The links as the kernel is told of them. One that has no spelling here is not
/// followed.
pub(crate) fn to_kernel_links(links: &SymlinkSnapshot) -> Vec<ObservedLink> {
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let one = |(path, leads_to): (&Path, &Path)| {
        Some(ObservedLink { path: text(path)?, leads_to: text(leads_to)? })
    };
    links.iter().filter_map(one).collect()
}
