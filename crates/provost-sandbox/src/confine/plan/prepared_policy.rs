//! What the runs of a wall share and what is made anew when the project has
//! changed: the rules, and the plan of the mounts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::landlock_ruleset::{LandlockRuleset, PathEnforcement};
use super::layers::{AppliedLayers, PathProtection};
use super::spawn_plan::{
    MAX_TMP_PASSTHROUGHS, MountPlan, SelfBindMount, TmpPassthrough, to_cstring,
};
use crate::confine::SandboxError;
use crate::root_dir::RootDir;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy};

/// Runs that share one set of rules, each leaving a rule for its `/proc` in it.
const RUNS_PER_RULES: u32 = 64;

/// How often to look for repositories inside the project. Looking takes longer
/// than a spawn, and they are rarely made.
const RESCAN_INTERVAL: Duration = Duration::from_secs(15);

/// The folders that everybody shares and a run gets its own of.
const SHARED_TMP_DIRS: [&str; 2] = ["/tmp", "/var/tmp"];

/// What a run needs and what may be made anew, because the project has changed.
#[derive(Clone, Debug)]
pub(in crate::confine) struct PreparedPolicy {
    pub(in crate::confine) rules: Arc<LandlockRuleset>,
    pub(in crate::confine) mounts: Option<Arc<MountPlan>>,
    /// The policy with the repositories that were found last.
    policy: Arc<SandboxPolicy>,
    /// How many runs have used the rules.
    pub(in crate::confine) runs: u32,
    /// When the repositories were looked for.
    looked: Instant,
}

impl PreparedPolicy {
    pub(in crate::confine) fn new(
        policy: Arc<SandboxPolicy>,
        applied: &AppliedLayers,
    ) -> Result<Self, SandboxError> {
        let mounts =
            applied.mount_namespace.then(|| build_mount_plan(&policy, applied)).transpose()?;
        let rules = Arc::new(build_landlock_ruleset(&policy, applied)?);
        Ok(Self { rules, mounts: mounts.map(Arc::new), policy, runs: 0, looked: Instant::now() })
    }

    /// Makes anew what has become old.
    pub(in crate::confine) fn refresh(
        &mut self,
        applied: &AppliedLayers,
    ) -> Result<(), SandboxError> {
        if self.looked.elapsed() >= RESCAN_INTERVAL {
            self.looked = Instant::now();
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
    LandlockRuleset::build(policy, protection, network)
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
    // Folders before what is in them, each once.
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
    let carried = if applied.private_tmp { build_tmp_passthroughs(policy)? } else { Vec::new() };
    let shm = if policy.is_confined() && !policy.project.starts_with("/dev/shm") {
        let shm = policy.scratch.join("shm");
        fs::create_dir_all(&shm)
            .map_err(SandboxError::wrap_io("make the folder for shared memory"))?;
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
        carried,
        shm,
        empty,
        proc: applied.pid_namespace,
    })
}

/// What a run must still reach though it lies in the `/tmp` that is replaced.
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
    // What lies within another comes along with it.
    let outer: Vec<PathBuf> = all.iter().map(|(path, _)| path.to_path_buf()).collect();
    all.retain(|(path, _)| !outer.iter().any(|other| path != other && path.starts_with(other)));
    all
}

/// Whether a run can have a `/tmp` of its own: what it must reach in the shared
/// one is carried over, unless that is too much or holds what is hidden, which
/// the rules could not tell apart there.
pub(in crate::confine) fn can_use_private_tmp(policy: &SandboxPolicy) -> bool {
    let carried = find_paths_in_shared_tmp(policy);
    let shares =
        |path: &&PathBuf| SHARED_TMP_DIRS.iter().any(|shared| path.as_path() == Path::new(shared));
    let hides =
        |(path, _): &(&Path, &str)| policy.hidden.iter().any(|hidden| hidden.starts_with(path));
    carried.len() <= MAX_TMP_PASSTHROUGHS
        && !policy.writable.iter().chain([&policy.project]).any(|path| shares(&path))
        && !carried.iter().any(hides)
}

/// Makes the places in the scratch folder where they are mounted again.
fn build_tmp_passthroughs(policy: &SandboxPolicy) -> Result<Vec<TmpPassthrough>, SandboxError> {
    let what = "a path below /tmp";
    // Covering a folder hides what was put into it, so each is covered once.
    let mut covered: Vec<PathBuf> = Vec::new();
    let one = |(path, shared): (&Path, &str)| {
        let inside = path.strip_prefix(shared).unwrap_or(path);
        create_mount_point(path, &policy.scratch.join(inside))
            .map_err(SandboxError::wrap_io("make a place in the private /tmp"))?;
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
fn create_mount_point(path: &Path, place: &Path) -> io::Result<()> {
    if path.is_dir() {
        return fs::create_dir_all(place);
    }
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::File::options().append(true).create(true).open(place).map(drop)
}
