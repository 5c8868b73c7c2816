//! The private `/tmp` and home of a run, and what is mounted into them.
//!
//! Both are folders that a run can write, mounted over the shared ones; what a run needs
//! of the shared ones is mounted back at the same path. Of the user's home these are the
//! project, toolchains (read-only) and caches. A cache is an overlay: the user's below,
//! read-only, and a layer of the project's runs above, so that a program outside the
//! sandbox never reads what a run wrote.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::layers::AppliedLayers;
use super::memory_folders::MemoryFolders;
use super::spawn_plan::{FolderMount, MAX_FOLDER_MOUNTS, to_cstring};
use crate::confine::SandboxError;
use crate::own_home;
use crate::root_dir::RootDir;
use crate::sandbox_policy::root_entries::{FolderEntries, strip_folder};
use crate::sandbox_policy::sorted_paths::SortedPaths;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy};

/// The shared folders that a run gets private ones of.
const SHARED_TMP_DIRS: [&str; 2] = ["/tmp", "/var/tmp"];

/// Folders that a home directory cannot contain: they could not be covered.
const SYSTEM_DIRS: [&str; 7] = ["/bin", "/dev", "/etc", "/proc", "/tmp", "/usr", "/var/tmp"];

/// How a path is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountKind {
    ReadOnly,
    Writable,
    /// The lower layer of an overlay.
    Cache,
}

/// The mounts, and the folders of their layers by number.
#[derive(Debug, Default)]
pub(in crate::confine) struct FolderMounts {
    pub(in crate::confine) folders: Vec<FolderMount>,
    pub(in crate::confine) layer_dirs: Vec<LayerDir>,
    /// The mount points and layers, if they are in memory.
    pub(in crate::confine) memory: Option<MemoryFolders>,
}

/// The folder with the layer of a cache.
#[derive(Clone, Debug)]
pub(in crate::confine) struct LayerDir {
    pub(in crate::confine) dir: PathBuf,
    /// The layer of runs with the network, which comes between this one and the user's cache.
    /// Not the other way round: a run with the network would execute what runs without it
    /// have put there.
    pub(in crate::confine) below: Option<PathBuf>,
    /// Whether it belongs to one run, in whose memory it is.
    pub(in crate::confine) is_in_memory: bool,
}

impl LayerDir {
    pub(in crate::confine) fn upper(&self) -> PathBuf {
        self.dir.join("upper")
    }

    /// The layer below, if a run with the network has made it.
    pub(in crate::confine) fn find_layer_below(&self) -> Option<&Path> {
        self.below.as_deref().filter(|below| below.is_dir())
    }
}

/// Which private folders a run can have.
#[derive(Clone, Copy, Debug)]
pub(in crate::confine) struct PrivateFolders {
    /// A private `/tmp`.
    pub(in crate::confine) tmp: bool,
    /// A home of its own at the path of the user's.
    pub(in crate::confine) home: bool,
}

impl PrivateFolders {
    pub(in crate::confine) fn choose(policy: &SandboxPolicy) -> Self {
        let in_home = find_paths_in_home(policy).len();
        let home = can_use_private_home(policy, in_home);
        Self { tmp: can_use_private_tmp(policy, home, in_home), home }
    }
}

/// Whether a run can have a private `/tmp`: paths of the shared one that it must reach
/// are mounted into it, unless they are too many or contain hidden paths, which the
/// rules could not exclude there.
fn can_use_private_tmp(policy: &SandboxPolicy, private_home: bool, in_home: usize) -> bool {
    let needed = find_paths_in_shared_tmp(policy, private_home);
    let is_shared = |path: &PathBuf| SHARED_TMP_DIRS.iter().any(|dir| path == Path::new(dir));
    let hides = |(path, _): &(PathBuf, MountKind)| {
        policy.hidden.iter().any(|hidden| hidden.starts_with(path)) && *path != policy.home
    };
    needed.len() + in_home < MAX_FOLDER_MOUNTS
        && !policy.writable.iter().chain([&policy.project]).any(is_shared)
        && !needed.iter().any(hides)
}

/// Whether a run can have a home of its own at the path of the user's.
fn can_use_private_home(policy: &SandboxPolicy, in_home: usize) -> bool {
    let home = &policy.home;
    home.components().count() > 1
        && home.is_dir()
        && !home.starts_with(&policy.project)
        && !SYSTEM_DIRS.iter().any(|dir| Path::new(dir).starts_with(home))
        && in_home < MAX_FOLDER_MOUNTS / 2
}

/// The paths in one of these folders that a run needs besides its own, as far as they exist.
/// That is asked of no others: most are of the system and stay where they are.
fn list_needed_paths(policy: &SandboxPolicy, folders: &[&Path]) -> Vec<(PathBuf, MountKind)> {
    let entries = FolderEntries::read(&[&policy.home]);
    let is_needed = |path: &Path| {
        folders.iter().any(|folder| strip_folder(path, folder).is_some())
            && entries.may_exist(path)
            && path.exists()
    };
    let project = policy.writable.iter().any(|writable| policy.project.starts_with(writable));
    let project = if project { MountKind::Writable } else { MountKind::ReadOnly };
    let caches = SortedPaths::new(policy.caches.iter().cloned());
    let all = [(&policy.project, project)].into_iter();
    let all = all.chain(policy.writable.iter().map(|path| (path, MountKind::Writable)));
    let all = all.chain(policy.readable.iter().map(|path| (path, MountKind::ReadOnly)));
    let all = all.chain(policy.caches.iter().map(|path| (path, MountKind::Cache)));
    let all = all.filter(|(path, _)| is_needed(path));
    // A cache is readable, but not only that.
    let is_cache = |path: &Path, kind| kind == MountKind::ReadOnly && caches.contains(path);
    let all = all.filter(|(path, kind)| !is_cache(path, *kind));
    all.map(|(path, kind)| (path.clone(), kind)).collect()
}

/// Removes paths that come with another one.
fn keep_outermost(mut all: Vec<(PathBuf, MountKind)>, project: &Path) -> Vec<(PathBuf, MountKind)> {
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|second, first| second.0 == first.0);
    let outer = all.clone();
    let comes_with = |(path, kind): &(PathBuf, MountKind)| {
        outer.iter().any(|(other, other_kind)| {
            other != path
                && path.starts_with(other)
                && (kind == other_kind || *other_kind == MountKind::Writable)
        })
    };
    all.retain(|entry| entry.0 == project || !comes_with(entry));
    all
}

/// Paths below the shared `/tmp` that a run must still reach.
fn find_paths_in_shared_tmp(
    policy: &SandboxPolicy,
    private_home: bool,
) -> Vec<(PathBuf, MountKind)> {
    let mut all = list_needed_paths(policy, &SHARED_TMP_DIRS.map(Path::new));
    if private_home {
        all.retain(|(path, _)| !path.starts_with(&policy.home));
        all.push((policy.home.clone(), MountKind::Writable));
    } else {
        all.push((policy.own_home.clone(), MountKind::Writable));
        // An overlay needs the private home.
        for (_, kind) in &mut all {
            if *kind == MountKind::Cache {
                *kind = MountKind::ReadOnly;
            }
        }
    }
    all.retain(|(path, _)| find_shared_tmp(path).is_some());
    keep_outermost(all, &policy.project)
}

fn find_shared_tmp(path: &Path) -> Option<&'static str> {
    SHARED_TMP_DIRS.into_iter().find(|dir| path.starts_with(dir) && path != Path::new(dir))
}

/// Paths of the user's home that a run must still reach.
fn find_paths_in_home(policy: &SandboxPolicy) -> Vec<(PathBuf, MountKind)> {
    let mut all = Vec::new();
    let hidden = SortedPaths::new(policy.hidden.iter().cloned());
    for (path, kind) in list_needed_paths(policy, &[&policy.home]) {
        collect_except(&path, kind, &hidden, &mut all);
    }
    keep_outermost(all, &policy.project)
}

/// The path, or the parts of it that contain no hidden path.
fn collect_except(
    path: &Path,
    kind: MountKind,
    hidden: &SortedPaths,
    all: &mut Vec<(PathBuf, MountKind)>,
) {
    let hides = hidden.contains(path) || hidden.below(path).any(Path::exists);
    if kind != MountKind::ReadOnly || !hides || all.len() >= MAX_FOLDER_MOUNTS {
        return all.push((path.to_owned(), kind));
    }
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if !hidden.contains(&entry) {
            collect_except(&entry, kind, hidden, all);
        }
    }
}

/// The mounts of a policy; creates the mount points and the layers.
pub(in crate::confine) fn build_folder_mounts(
    policy: &SandboxPolicy,
    applied: &AppliedLayers,
) -> Result<FolderMounts, SandboxError> {
    let memory = policy.is_in_memory.then(MemoryFolders::default);
    let mut mounts = FolderMounts { memory, ..FolderMounts::default() };
    if let Some(memory) = &mut mounts.memory {
        memory.add_writable_dir(&policy.scratch)?;
        memory.add_writable_dir(&policy.own_home)?;
        let settings = own_home::read_git_settings(policy);
        if !settings.is_empty() {
            memory.add_file(&policy.own_home.join(".gitconfig"), settings.as_bytes())?;
        }
    }
    if applied.private_tmp {
        add_tmp_mounts(policy, applied.own_home, &mut mounts)?;
    }
    if applied.own_home {
        let is_mounted = |mount: &FolderMount| {
            mount.target.as_bytes() == policy.home.as_os_str().as_encoded_bytes()
        };
        if !mounts.folders.iter().any(is_mounted) {
            mounts.folders.push(create_home_mount(policy)?);
        }
        add_home_mounts(policy, applied.private_tmp, &mut mounts)?;
    }
    Ok(mounts)
}

fn create_home_mount(policy: &SandboxPolicy) -> Result<FolderMount, SandboxError> {
    Ok(FolderMount {
        source: to_cstring(policy.own_home.as_os_str(), "the folder of homes")?,
        target: to_cstring(policy.home.as_os_str(), "the home directory")?,
        inside_home: None,
        above: Vec::new(),
        read_only: false,
        layer: None,
    })
}

/// Adds paths of the shared `/tmp`, and creates their mount points in the scratch folder.
fn add_tmp_mounts(
    policy: &SandboxPolicy,
    private_home: bool,
    mounts: &mut FolderMounts,
) -> Result<(), SandboxError> {
    let what = "a path below /tmp";
    // Covering a folder hides what was put into it, so each is covered once.
    let mut covered: Vec<PathBuf> = Vec::new();
    for (path, kind) in find_paths_in_shared_tmp(policy, private_home) {
        let Some(shared) = find_shared_tmp(&path) else { continue };
        let inside = path.strip_prefix(shared).unwrap_or(&path);
        let mount_point = policy.scratch.join(inside);
        match &mut mounts.memory {
            Some(memory) => plan_mount_point(memory, &path, &mount_point)?,
            None => create_mount_point(&path, &mount_point)
                .map_err(SandboxError::wrap_io("create a mount point in the private /tmp"))?,
        }
        let above = path.ancestors().skip(1).take_while(|above| *above != Path::new(shared));
        let mut new: Vec<&Path> =
            above.filter(|above| !covered.iter().any(|known| known == above)).collect();
        new.reverse();
        covered.extend(new.iter().map(|above| above.to_path_buf()));
        let above = new.into_iter().map(|above| to_cstring(above.as_os_str(), what));
        let above = above.collect::<Result<_, _>>()?;
        let is_home = private_home && path == policy.home;
        let source = if is_home { &policy.own_home } else { &path };
        mounts.folders.push(FolderMount {
            source: to_cstring(source.as_os_str(), what)?,
            target: to_cstring(path.as_os_str(), what)?,
            inside_home: None,
            above,
            read_only: kind == MountKind::ReadOnly,
            layer: None,
        });
    }
    Ok(())
}

/// Adds paths of the user's home, and creates their mount points in the run's home. One
/// that cannot be created, because a command left something there, is omitted.
fn add_home_mounts(
    policy: &SandboxPolicy,
    private_tmp: bool,
    mounts: &mut FolderMounts,
) -> Result<(), SandboxError> {
    let what = "a path in the home directory";
    let root = match mounts.memory {
        Some(_) => None,
        None => Some(RootDir::open(&policy.own_home).map_err(SandboxError::WorkingDirectory)?),
    };
    let mut needed = find_paths_in_home(policy);
    if !private_tmp {
        needed.push((policy.scratch.clone(), MountKind::Writable));
    }
    for (path, kind) in needed {
        let Ok(inside) = path.strip_prefix(&policy.home) else { continue };
        if let Some(memory) = &mut mounts.memory {
            plan_mount_point(memory, &path, &policy.own_home.join(inside))?;
        } else if let Some(root) = &root
            && create_home_mount_point(root, &path, inside).is_none()
        {
            continue;
        }
        let layer = if kind == MountKind::Cache {
            let Some(dir) = create_layer(policy, inside, mounts.memory.as_mut()) else { continue };
            mounts.layer_dirs.push(dir);
            Some(mounts.layer_dirs.len() - 1)
        } else {
            None
        };
        mounts.folders.push(FolderMount {
            source: to_cstring(path.as_os_str(), what)?,
            target: to_cstring(path.as_os_str(), what)?,
            inside_home: Some(to_cstring(inside.as_os_str(), what)?),
            above: Vec::new(),
            read_only: kind == MountKind::ReadOnly,
            layer,
        });
    }
    Ok(())
}

fn plan_mount_point(
    memory: &mut MemoryFolders,
    path: &Path,
    mount_point: &Path,
) -> Result<(), SandboxError> {
    if path.is_dir() { memory.add_dir(mount_point) } else { memory.add_file(mount_point, b"") }
}

/// Never outside the run's home, whatever links commands have left there.
fn create_home_mount_point(root: &RootDir, path: &Path, inside: &Path) -> Option<()> {
    if path.is_dir() {
        return root.create_dir_all(inside).ok();
    }
    let parent = inside.parent().filter(|parent| *parent != Path::new(""));
    parent.map_or(Ok(()), |parent| root.create_dir_all(parent)).ok()?;
    if root.stat(inside).is_err() {
        root.create_unsynced(inside, b"").ok()?;
    }
    Some(())
}

/// The folder with the layer of a cache: `upper`, and one `workN` for each run at a time.
fn create_layer(
    policy: &SandboxPolicy,
    inside: &Path,
    memory: Option<&mut MemoryFolders>,
) -> Option<LayerDir> {
    let name = inside.to_str()?.replace('/', "+");
    let with_network = policy.run_homes.join("layers-network").join(&name);
    let (dir, below) = match policy.network {
        NetworkAccess::Full => (with_network, None),
        NetworkAccess::None | NetworkAccess::Listen => {
            (policy.run_homes.join("layers").join(name), Some(with_network.join("upper")))
        }
    };
    let is_in_memory = memory.is_some();
    match memory {
        Some(memory) => {
            memory.add_dir(&dir.join("upper")).ok()?;
            memory.add_dir(&dir.join("work")).ok()?;
        }
        None => create_private_dir(&dir.join("upper")).ok()?,
    }
    Some(LayerDir { dir, below, is_in_memory })
}

/// Creates a folder for ourselves only, with those above it.
pub(in crate::confine) fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A folder for a folder, a file for a file.
fn create_mount_point(path: &Path, mount_point: &Path) -> io::Result<()> {
    if path.is_dir() {
        return fs::create_dir_all(mount_point);
    }
    mount_point.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::File::options().append(true).create(true).open(mount_point).map(drop)
}
