//! What the runs of a sandbox share, rebuilt when the project has changed: the rules
//! and the mount plan.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::landlock_ruleset::{self, LandlockRuleset, PathEnforcement, RulesetOptions};
use super::layers::{AppliedLayers, PathProtection};
use super::private_folders::{self, FolderMounts, LayerDir};
use super::spawn_plan::{MountPlan, SelfBindMount, to_cstring};
use crate::confine::SandboxError;
use crate::own_home;
use crate::root_dir::RootDir;
use crate::sandbox_policy::root_entries::strip_folder;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy};

/// Runs that share one ruleset; each adds a rule for its `/proc`.
const RUNS_PER_RULES: u32 = 64;

/// How often to search for repositories inside the project. A search takes longer
/// than a spawn, and new repositories are rare.
const RESCAN_INTERVAL: Duration = Duration::from_secs(15);

/// The rules and mounts of a policy.
#[derive(Clone, Debug)]
pub(in crate::confine) struct PreparedPolicy {
    pub(in crate::confine) rules: Arc<LandlockRuleset>,
    pub(in crate::confine) mounts: Option<Arc<MountPlan>>,
    /// The folders of the layers that the mounts name.
    pub(in crate::confine) layer_dirs: Arc<[LayerDir]>,
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
        if !policy.is_in_memory {
            own_home::populate_home(&policy, applied.own_home);
        }
        if let Some(shm) = find_shared_memory_dir(&policy).filter(|_| !policy.is_in_memory) {
            // The rules name it.
            fs::create_dir_all(shm)
                .map_err(SandboxError::wrap_io("create the folder for shared memory"))?;
        }
        let (rules, mounts) = build_rules_and_mounts(&policy, applied);
        let (rules, (mounts, layer_dirs)) = (Arc::new(rules?), mounts?);
        Ok(Self { rules, mounts, layer_dirs, policy, runs: 0, scanned_at: Instant::now() })
    }

    /// The same for a run that cannot write some paths of the project. With mounts, the run
    /// has mounts of its own for them.
    pub(in crate::confine) fn with_read_only_paths(
        mut self,
        paths: &[PathBuf],
        applied: &AppliedLayers,
    ) -> Result<Self, SandboxError> {
        if !paths.is_empty() && !applied.mount_namespace {
            let mut policy = (*self.policy).clone();
            policy.protected.extend(paths.iter().map(|path| policy.project.join(path)));
            self.rules = Arc::new(build_landlock_ruleset(&policy, applied)?);
        }
        Ok(self)
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
        let is_stale = self.rules.is_stale();
        if self.runs >= RUNS_PER_RULES || is_stale {
            self.rules = Arc::new(build_landlock_ruleset(&self.policy, applied)?);
            self.runs = 0;
        }
        if is_stale {
            (self.mounts, self.layer_dirs) = build_mounts(&self.policy, applied)?;
        }
        Ok(())
    }
}

/// The mounts of a run, if it has a mount namespace, and the folders of their layers.
type PreparedMounts = (Option<Arc<MountPlan>>, Arc<[LayerDir]>);

/// Builds both at the same time: the rules open some hundred paths, and the mounts create
/// folders for as long.
fn build_rules_and_mounts(
    policy: &SandboxPolicy,
    applied: &AppliedLayers,
) -> (Result<LandlockRuleset, SandboxError>, Result<PreparedMounts, SandboxError>) {
    thread::scope(|scope| {
        let build_rules = || build_landlock_ruleset(policy, applied);
        let rules = thread::Builder::new().spawn_scoped(scope, build_rules);
        let mounts = build_mounts(policy, applied);
        let rules = rules.ok().and_then(|rules| rules.join().ok());
        (rules.unwrap_or_else(build_rules), mounts)
    })
}

/// The folder that is mounted over `/dev/shm`.
fn find_shared_memory_dir(policy: &SandboxPolicy) -> Option<PathBuf> {
    let is_own = policy.is_confined() && !policy.project.starts_with("/dev/shm");
    is_own.then(|| policy.scratch.join("shm"))
}

fn build_mounts(
    policy: &SandboxPolicy,
    applied: &AppliedLayers,
) -> Result<PreparedMounts, SandboxError> {
    if !applied.mount_namespace {
        return Ok((None, Arc::default()));
    }
    let (mounts, layer_dirs) = build_mount_plan(policy, applied)?;
    Ok((Some(Arc::new(mounts)), layer_dirs.into()))
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
    let AppliedLayers { own_terminals, reserved_ports: brokered_bind, .. } = *applied;
    let options = RulesetOptions { protection, network, brokered_bind, own_terminals };
    LandlockRuleset::build(policy, options)
        .map_err(|error| SandboxError::unavailable("Landlock", error.to_string()))
}

/// Read-only mounts of paths of the project onto themselves, and mounts of the folders
/// above them, so that those cannot be renamed.
pub(in crate::confine) fn build_self_binds<'a>(
    paths: impl Iterator<Item = &'a Path>,
) -> Result<Vec<SelfBindMount>, SandboxError> {
    let mut pins: Vec<(PathBuf, bool)> = Vec::new();
    for path in paths {
        let above = path.ancestors().skip(1).filter(|above| *above != Path::new(""));
        pins.extend(above.map(|above| (above.to_owned(), false)));
        pins.push((path.to_owned(), true));
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
    pins.collect()
}

fn build_mount_plan(
    policy: &SandboxPolicy,
    applied: &AppliedLayers,
) -> Result<(MountPlan, Vec<LayerDir>), SandboxError> {
    let inside = policy.protected.iter();
    let inside = inside.filter_map(|path| strip_folder(path, &policy.project));
    let pins = build_self_binds(inside)?;
    let scratch = to_cstring(policy.scratch.as_os_str(), "the scratch folder")?;
    let FolderMounts { folders, layer_dirs, mut memory } =
        private_folders::build_folder_mounts(policy, applied)?;
    let home = to_cstring(policy.home.as_os_str(), "the home directory")?;
    let shm = find_shared_memory_dir(policy);
    if let (Some(shm), Some(memory)) = (&shm, &mut memory) {
        memory.add_writable_dir(shm)?;
    }
    let shm = shm.map(|shm| to_cstring(shm.as_os_str(), "the scratch folder")).transpose()?;
    // For the others the rules hide it, which costs nothing per run.
    let hidden = if policy.is_confined() { &[] } else { policy.hidden.as_slice() };
    let empty = hidden.iter().map(|path| to_cstring(path.as_os_str(), "a hidden path"));
    let empty = empty.collect::<Result<_, _>>()?;
    let plan = MountPlan {
        pins,
        tmp: applied.private_tmp.then_some(scratch),
        home: applied.own_home.then_some(home),
        folders,
        shm,
        empty,
        own: applied.own_mounts(),
        terminal_rights: landlock_ruleset::terminal_rights(applied.landlock_abi),
        memory,
        write_rights: landlock_ruleset::write_rights(applied.landlock_abi),
    };
    Ok((plan, layer_dirs))
}
