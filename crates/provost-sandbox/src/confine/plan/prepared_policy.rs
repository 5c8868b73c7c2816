//! What the runs of a sandbox share, rebuilt when the project has changed: the rules
//! and the mount plan.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::landlock_ruleset::{self, LandlockRuleset, PathEnforcement, RulesetOptions};
use super::layers::{AppliedLayers, PathProtection};
use super::spawn_plan::{
    MAX_TMP_PASSTHROUGHS, MountPlan, SelfBindMount, TmpPassthrough, to_cstring,
};
use crate::confine::SandboxError;
use crate::root_dir::RootDir;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy};

/// Runs that share one ruleset; each adds a rule for its `/proc`.
const RUNS_PER_RULES: u32 = 64;

/// How often to search for repositories inside the project. A search takes longer
/// than a spawn, and new repositories are rare.
const RESCAN_INTERVAL: Duration = Duration::from_secs(15);

/// The shared folders that a run gets private ones of.
const SHARED_TMP_DIRS: [&str; 2] = ["/tmp", "/var/tmp"];

/// The rules and mounts of a policy.
#[derive(Clone, Debug)]
pub(in crate::confine) struct PreparedPolicy {
    pub(in crate::confine) rules: Arc<LandlockRuleset>,
    pub(in crate::confine) mounts: Option<Arc<MountPlan>>,
    /// The policy with the repositories of the last search.
    policy: Arc<SandboxPolicy>,
    /// How many runs have used the ruleset.
    pub(in crate::confine) runs: u32,
    /// When repositories were searched for.
    scanned_at: Instant,
}

impl PreparedPolicy {
    pub(in crate::confine) fn new(
        policy: Arc<SandboxPolicy>,
        applied: &AppliedLayers,
    ) -> Result<Self, SandboxError> {
        let mounts =
            applied.mount_namespace.then(|| build_mount_plan(&policy, applied)).transpose()?;
        let rules = Arc::new(build_landlock_ruleset(&policy, applied)?);
        Ok(Self {
            rules,
            mounts: mounts.map(Arc::new),
            policy,
            runs: 0,
            scanned_at: Instant::now(),
        })
    }

    /// Rebuilds what is stale.
    pub(in crate::confine) fn refresh(
        &mut self,
        applied: &AppliedLayers,
    ) -> Result<(), SandboxError> {
        if self.scanned_at.elapsed() >= RESCAN_INTERVAL {
            self.scanned_at = Instant::now();
            if let Some(policy) = self.policy.rescan_repositories() {
                *self = Self::new(Arc::new(policy), applied)?;
            }
        }
        if self.runs >= RUNS_PER_RULES || self.rules.is_stale() {
            self.rules = Arc::new(build_landlock_ruleset(&self.policy, applied)?);
            self.runs = 0;
        }
        Ok(())
    }
}

fn build_landlock_ruleset(
    policy: &SandboxPolicy,
    applied: &AppliedLayers,
) -> Result<LandlockRuleset, SandboxError> {
    let protection = match applied.protected_by {
        PathProtection::Mounts => PathEnforcement::Mounts,
        PathProtection::Nothing | PathProtection::Landlock => PathEnforcement::Rules,
    };
    if protection == PathEnforcement::Rules {
        for output in &policy.outputs {
            RootDir::open(&policy.project)
                .and_then(|root| root.create_dir_all(output))
                .map_err(SandboxError::WorkingDirectory)?;
        }
    }
    let network = if applied.net_namespace { NetworkAccess::Full } else { policy.network };
    let own_terminals = applied.own_terminals;
    LandlockRuleset::build(policy, RulesetOptions { protection, network, own_terminals })
        .map_err(|error| SandboxError::unavailable("Landlock", error.to_string()))
}

fn build_mount_plan(
    policy: &SandboxPolicy,
    applied: &AppliedLayers,
) -> Result<MountPlan, SandboxError> {
    let mut pins: Vec<(PathBuf, bool)> = Vec::new();
    for path in &policy.protected {
        let Ok(inside) = path.strip_prefix(&policy.project) else { continue };
        let above = inside.ancestors().skip(1).filter(|above| *above != Path::new(""));
        pins.extend(above.map(|above| (above.to_owned(), false)));
        pins.push((inside.to_owned(), true));
    }
    // Folders before their content, each once.
    pins.sort();
    pins.dedup_by(|second, first| {
        let same = first.0 == second.0;
        first.1 |= same && second.1;
        same
    });
    let pins = pins.into_iter().map(|(path, read_only)| {
        Ok(SelfBindMount { path: to_cstring(path.as_os_str(), "a protected path")?, read_only })
    });
    let scratch = to_cstring(policy.scratch.as_os_str(), "the scratch folder")?;
    let tmp_passthroughs =
        if applied.private_tmp { build_tmp_passthroughs(policy)? } else { Vec::new() };
    let shm = if policy.is_confined() && !policy.project.starts_with("/dev/shm") {
        let shm = policy.scratch.join("shm");
        fs::create_dir_all(&shm)
            .map_err(SandboxError::wrap_io("create the folder for shared memory"))?;
        Some(to_cstring(shm.as_os_str(), "the scratch folder")?)
    } else {
        None
    };
    // For the others the rules hide it, which costs nothing per run.
    let hidden = if policy.is_confined() { &[] } else { policy.hidden.as_slice() };
    let empty = hidden.iter().map(|path| to_cstring(path.as_os_str(), "a hidden path"));
    let empty = empty.collect::<Result<_, _>>()?;
    Ok(MountPlan {
        pins: pins.collect::<Result<_, SandboxError>>()?,
        tmp: applied.private_tmp.then_some(scratch),
        tmp_passthroughs,
        shm,
        empty,
        own: applied.own_mounts(),
        terminal_rights: landlock_ruleset::terminal_rights(applied.landlock_abi),
    })
}

/// Paths below the shared `/tmp` that a run must still reach.
fn find_paths_in_shared_tmp(policy: &SandboxPolicy) -> Vec<(&Path, &'static str)> {
    let mut all: Vec<(&Path, &str)> = Vec::new();
    for path in policy.writable.iter().chain([&policy.project]).chain(&policy.readable) {
        for shared in SHARED_TMP_DIRS {
            if path.starts_with(shared) && path != Path::new(shared) {
                all.push((path, shared));
            }
        }
    }
    all.sort();
    all.dedup();
    // What is inside another one comes with it.
    let outer: Vec<PathBuf> = all.iter().map(|(path, _)| path.to_path_buf()).collect();
    all.retain(|(path, _)| !outer.iter().any(|other| path != other && path.starts_with(other)));
    all
}

/// Whether a run can have a private `/tmp`: paths of the shared one that it must reach
/// are mounted into it, unless they are too many or contain hidden paths, which the
/// rules could not exclude there.
pub(in crate::confine) fn can_use_private_tmp(policy: &SandboxPolicy) -> bool {
    let tmp_passthroughs = find_paths_in_shared_tmp(policy);
    let shares =
        |path: &&PathBuf| SHARED_TMP_DIRS.iter().any(|shared| path.as_path() == Path::new(shared));
    let hides =
        |(path, _): &(&Path, &str)| policy.hidden.iter().any(|hidden| hidden.starts_with(path));
    tmp_passthroughs.len() <= MAX_TMP_PASSTHROUGHS
        && !policy.writable.iter().chain([&policy.project]).any(|path| shares(&path))
        && !tmp_passthroughs.iter().any(hides)
}

/// Creates the mount points for them in the scratch folder.
fn build_tmp_passthroughs(policy: &SandboxPolicy) -> Result<Vec<TmpPassthrough>, SandboxError> {
    let what = "a path below /tmp";
    // Covering a folder hides what was put into it, so each is covered once.
    let mut covered: Vec<PathBuf> = Vec::new();
    let one = |(path, shared): (&Path, &str)| {
        let inside = path.strip_prefix(shared).unwrap_or(path);
        create_mount_point(path, &policy.scratch.join(inside))
            .map_err(SandboxError::wrap_io("create a mount point in the private /tmp"))?;
        let read_only = !policy.writable.iter().any(|writable| path.starts_with(writable));
        let above = path.ancestors().skip(1).take_while(|above| *above != Path::new(shared));
        let mut new: Vec<&Path> =
            above.filter(|above| !covered.iter().any(|known| known == above)).collect();
        new.reverse();
        covered.extend(new.iter().map(|above| above.to_path_buf()));
        let above = new.into_iter().map(|above| to_cstring(above.as_os_str(), what));
        let above: Vec<_> = above.collect::<Result<_, _>>()?;
        Ok(TmpPassthrough { path: to_cstring(path.as_os_str(), what)?, above, read_only })
    };
    find_paths_in_shared_tmp(policy).into_iter().map(one).collect()
}

/// A folder for a folder, a file for a file.
fn create_mount_point(path: &Path, mount_point: &Path) -> io::Result<()> {
    if path.is_dir() {
        return fs::create_dir_all(mount_point);
    }
    mount_point.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::File::options().append(true).create(true).open(mount_point).map(drop)
}
