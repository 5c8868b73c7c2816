//! A prepared policy.

use parking_lot::Mutex;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use libc::sock_filter;
use rustix::process::{Resource, getrlimit};

use super::plan::layers::{
    AppliedLayers, LayerSelection, OptionalLayers, PathProtection, ProcessCleanup,
};
use super::plan::prepared_policy::PreparedPolicy;
use super::plan::private_folders::{self, PrivateFolders};
use super::plan::spawn_plan::{NamespaceMounts, UserMaps};
use super::reserved_ports::ReservedPorts;
use super::seccomp::{self, SharedResources, SocketAccess};
use super::spawn::cgroup_pool::CgroupPool;
use super::spawn::layer_slot::RunLayers;
use super::supervisor::standby_supervisor::StandbySupervisor;
use super::{ResourceLimits, SandboxError};
use crate::probe::MachineFeatures;
use crate::root_dir::RootDir;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy, SandboxProfile};

/// A prepared policy, in which commands are run.
///
/// Create one per project and profile and keep it: rules and filter are built once,
/// a run only uses them.
#[derive(Debug)]
pub struct Sandbox {
    pub(super) policy: SandboxPolicy,
    pub(super) extra: OptionalLayers,
    pub(super) applied: AppliedLayers,
    pub(super) root: RootDir,
    pub(super) identity: (u64, u64),
    pub(super) filter: Vec<sock_filter>,
    pub(super) maps: Option<UserMaps>,
    pub(super) groups: Option<Arc<CgroupPool>>,
    pub(super) reserved_ports: Arc<ReservedPorts>,
    pub(super) limits: Vec<(u32, u64)>,
    /// `/dev/null`, open, since most runs need it.
    pub(super) null: File,
    ready: Mutex<PreparedPolicy>,
    standby: Mutex<Option<StandbySupervisor>>,
}

impl Sandbox {
    /// Prepares a policy with the selected layers that are available.
    pub fn new(
        policy: SandboxPolicy,
        machine: &MachineFeatures,
        layers: LayerSelection,
        limits: ResourceLimits,
    ) -> Result<Self, SandboxError> {
        check_required_layers(&policy, machine)?;
        let (confined, network) = (policy.is_confined(), policy.network);
        let extra = OptionalLayers::choose(layers, confined, network, machine)?;
        let root = RootDir::open(&policy.project).map_err(SandboxError::WorkingDirectory)?;
        let found = rustix::fs::fstat(root.as_fd())
            .map_err(SandboxError::wrap_errno("open the project"))?;
        let applied = AppliedLayers::for_policy(&policy, machine, extra);
        if policy.is_in_memory && !(applied.private_tmp && applied.own_home) {
            let why = "the run has no private /tmp or no home of its own";
            return Err(SandboxError::unavailable("folders in memory", why));
        }
        if policy.is_confined() && !policy.is_in_memory {
            private_folders::create_private_dir(&policy.own_home)
                .map_err(SandboxError::wrap_io("create a home directory for commands"))?;
        }
        let ready = PreparedPolicy::new(Arc::new(policy.clone()), &applied)?;
        let groups =
            extra.cgroup.then(|| Arc::new(CgroupPool::new(machine.cgroups.clone(), limits)));
        let null = File::options().read(true).write(true).open("/dev/null");
        let maps = applied.user_namespace.then(build_user_maps);
        Ok(Self {
            identity: (found.st_dev, found.st_ino),
            filter: compile_filter(&policy, extra, &applied),
            limits: compute_rlimits(limits, machine, &applied),
            ready: Mutex::new(ready),
            standby: Mutex::new(None),
            null: null.map_err(SandboxError::wrap_io("open /dev/null"))?,
            policy,
            extra,
            applied,
            root,
            maps,
            groups,
            reserved_ports: Arc::default(),
        })
    }

    /// The same with ports on which no run may listen, as far as
    /// [the machine can enforce it](AppliedLayers::reserved_ports).
    #[must_use]
    pub fn with_reserved_ports(mut self, ports: Arc<ReservedPorts>) -> Self {
        self.reserved_ports = ports;
        self
    }

    /// The policy.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// The layers of every run.
    pub fn applied(&self) -> &AppliedLayers {
        &self.applied
    }

    /// Starts the supervisor of the next run in advance, which makes that run's start
    /// shorter. Not possible where the supervisor must be a copy of our memory.
    pub fn start_standby(&self) -> Result<(), SandboxError> {
        let mut held = self.standby.lock();
        if held.is_none() && self.maps.is_none() && self.extra.pid {
            let mounts = self.applied.mount_namespace.then(|| self.applied.own_mounts());
            let groups = self.groups.as_ref();
            let groups = groups.and_then(|all| Some((Arc::clone(all), all.acquire_for_standby()?)));
            let standby =
                StandbySupervisor::new(self.clone_flags(), self.extra.net, mounts, groups)?;
            *held = Some(standby.with_layers(self.mount_layers()?));
        }
        Ok(())
    }

    /// Keeps a supervisor that was started for the next run.
    pub(super) fn keep_standby(&mut self, standby: StandbySupervisor) {
        *self.standby.get_mut() = Some(standby);
    }

    /// The layers of the next run, mounted.
    fn mount_layers(&self) -> Result<Option<RunLayers>, SandboxError> {
        let prepared = self.ready.lock().clone();
        let Some(mounts) = &prepared.mounts else { return Ok(None) };
        Ok(Some(RunLayers::acquire(&prepared.layer_dirs)?.mount(mounts)))
    }

    /// Ends a standby supervisor that has waited for `after`, or returns how much longer
    /// it may wait; `None` if there is none.
    pub fn expire_standby(&self, after: Duration) -> Option<Duration> {
        let mut held = self.standby.lock();
        let left = after.saturating_sub(held.as_ref()?.age());
        if left.is_zero() {
            *held = None;
            return None;
        }
        Some(left)
    }

    /// The standby supervisor's process.
    #[cfg(test)]
    pub(super) fn standby_pid(&self) -> Option<u32> {
        let held = self.standby.lock();
        held.as_ref().map(|standby| standby.pid)
    }

    /// Takes the standby supervisor for the run that starts now.
    pub(super) fn take_standby(&self) -> Option<StandbySupervisor> {
        self.standby.lock().take()
    }

    /// The rules and mounts of a run that cannot write these paths, rebuilt if they are
    /// stale.
    pub(super) fn refresh_prepared_policy(
        &self,
        read_only_paths: &[PathBuf],
    ) -> Result<PreparedPolicy, SandboxError> {
        let mut held = self.ready.lock();
        held.refresh(&self.applied)?;
        held.runs += u32::from(self.extra.pid);
        held.clone().with_read_only_paths(read_only_paths, &self.applied)
    }
}

/// Checks the minimum of layers. Without it, nothing runs.
fn check_required_layers(
    policy: &SandboxPolicy,
    machine: &MachineFeatures,
) -> Result<(), SandboxError> {
    let refused = |layer, support: &crate::probe::LayerSupport| match support {
        crate::probe::LayerSupport::Available => Ok(()),
        crate::probe::LayerSupport::Refused { reason } => {
            Err(SandboxError::unavailable(layer, reason.as_str()))
        }
    };
    refused("no_new_privs", &machine.no_new_privs)?;
    refused("seccomp", &machine.seccomp)?;
    if machine.landlock_abi == 0 {
        return Err(SandboxError::unavailable(
            "Landlock",
            "Linux was built without it, or it is disabled",
        ));
    }
    if !policy.is_in_memory && !policy.scratch.is_dir() {
        return Err(SandboxError::unavailable("private /tmp", "the scratch folder is missing"));
    }
    Ok(())
}

fn compile_filter(
    policy: &SandboxPolicy,
    extra: OptionalLayers,
    applied: &AppliedLayers,
) -> Vec<sock_filter> {
    if !policy.is_confined() {
        return seccomp::compile_terminal();
    }
    let sockets = match policy.network {
        NetworkAccess::None if extra.net => SocketAccess::Isolated,
        NetworkAccess::None => SocketAccess::None,
        NetworkAccess::Listen if applied.own_ports => SocketAccess::ListenWithBroker,
        NetworkAccess::Listen => SocketAccess::Listen,
        NetworkAccess::Full if applied.reserved_ports => SocketAccess::InternetWithBroker,
        NetworkAccess::Full => SocketAccess::Internet,
    };
    let shared =
        SharedResources { processes: !extra.pid, ipc: !extra.ipc, memory: !applied.cgroup_memory };
    seccomp::compile_confined(sockets, shared)
}

fn build_user_maps() -> UserMaps {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    UserMaps { uid: format!("{uid} {uid} 1\n"), gid: format!("{gid} {gid} 1\n") }
}

/// The limits of each process, by resource number; never above our own.
fn compute_rlimits(
    limits: ResourceLimits,
    machine: &MachineFeatures,
    applied: &AppliedLayers,
) -> Vec<(u32, u64)> {
    let mut all = vec![
        (libc::RLIMIT_CORE, Resource::Core, 0),
        (libc::RLIMIT_NOFILE, Resource::Nofile, limits.open_files),
    ];
    if applied.profile != SandboxProfile::Terminal {
        all.push((libc::RLIMIT_FSIZE, Resource::Fsize, limits.file_size));
        if !applied.cgroup_memory {
            all.push((libc::RLIMIT_DATA, Resource::Data, limits.memory));
        }
        // Linux does not count processes of root. A user namespace counts from zero,
        // otherwise all processes of the user count.
        if !machine.root {
            let running = if applied.user_namespace { 0 } else { count_user_tasks() };
            let processes = u64::from(limits.processes) + running;
            all.push((libc::RLIMIT_NPROC, Resource::Nproc, processes));
        }
    }
    let hard = |resource| getrlimit(resource).maximum.unwrap_or(u64::MAX);
    all.into_iter().map(|(number, resource, limit)| (number, limit.min(hard(resource)))).collect()
}

fn count_user_tasks() -> u64 {
    let own = format!("\nUid:\t{}\t", rustix::process::getuid().as_raw());
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let is_process =
        |name: &OsStr| name.to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()));
    let processes = entries.filter_map(Result::ok).filter(|entry| is_process(&entry.file_name()));
    let threads = processes.filter_map(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Threads:\t"))?;
        if status.contains(&own) { line.parse::<u64>().ok() } else { None }
    });
    threads.sum()
}

impl AppliedLayers {
    /// The file systems of its mount namespace.
    pub(super) fn own_mounts(&self) -> NamespaceMounts {
        NamespaceMounts { proc: self.pid_namespace, terminals: self.own_terminals }
    }

    fn for_policy(
        policy: &SandboxPolicy,
        machine: &MachineFeatures,
        extra: OptionalLayers,
    ) -> Self {
        let confined = policy.is_confined();
        let private = (extra.mount && confined).then(|| PrivateFolders::choose(policy));
        // In a network namespace it needs no broker.
        let has_broker = confined && !extra.net && machine.notification.is_available();
        let denied = match policy.network {
            NetworkAccess::Full => vec![],
            // Inside it may connect to itself; the namespace alone isolates it.
            NetworkAccess::None | NetworkAccess::Listen if extra.net => vec!["network namespace"],
            NetworkAccess::None | NetworkAccess::Listen if machine.landlock_abi >= 4 => {
                vec!["seccomp", "Landlock"]
            }
            NetworkAccess::None | NetworkAccess::Listen => vec!["seccomp"],
        };
        Self {
            profile: policy.profile,
            no_new_privs: true,
            capabilities_dropped: confined,
            landlock_abi: machine.landlock_abi,
            seccomp: true,
            user_namespace: extra.namespace_flags() != 0
                && machine.namespaces.through_user_namespace,
            pid_namespace: extra.pid,
            net_namespace: extra.net,
            ipc_namespace: extra.ipc,
            mount_namespace: extra.mount,
            uts_namespace: extra.uts,
            private_tmp: private.is_some_and(|folders| folders.tmp),
            own_terminals: extra.mount && confined && machine.namespaces.terminals.is_available(),
            own_home: private.is_some_and(|folders| folders.home),
            protected_by: match (policy.protected.is_empty() && confined, extra.mount) {
                (true, _) => PathProtection::Nothing,
                (false, true) => PathProtection::Mounts,
                (false, false) => PathProtection::Landlock,
            },
            network_denied_by: denied,
            own_ports: has_broker && policy.network == NetworkAccess::Listen,
            reserved_ports: has_broker && policy.network != NetworkAccess::None,
            cgroup_pids: extra.cgroup && machine.cgroups.pids.is_some(),
            cgroup_memory: extra.cgroup && machine.cgroups.memory.is_some(),
            ended_by: if extra.pid {
                ProcessCleanup::PidNamespace
            } else {
                ProcessCleanup::Subreaper
            },
        }
    }
}
