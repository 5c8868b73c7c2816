//! A policy made ready.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use libc::sock_filter;
use rustix::process::{Resource, getrlimit};

use super::applied::{Applied, EndedBy, Extra, Layers, ProtectedBy};
use super::filter::{self, Sockets};
use super::group::Groups;
use super::plan::UserMaps;
use super::ready::Ready;
use super::standby::Standby;
use super::{Limits, SandboxError, ready};
use crate::beneath::Root;
use crate::probe::Machine;
use crate::profile::{Network, Policy, Profile};

/// A policy made ready to put commands behind.
///
/// Make one per project and profile and keep it: the rules and the filter are
/// made once, a run only uses them.
#[derive(Debug)]
pub struct Wall {
    pub(super) policy: Policy,
    pub(super) extra: Extra,
    pub(super) applied: Applied,
    pub(super) root: Root,
    pub(super) identity: (u64, u64),
    pub(super) filter: Vec<sock_filter>,
    pub(super) maps: Option<UserMaps>,
    pub(super) groups: Option<Arc<Groups>>,
    pub(super) limits: Vec<(u32, u64)>,
    /// `/dev/null`, open, since most runs need it.
    pub(super) null: File,
    ready: Mutex<Ready>,
    standby: Mutex<Option<Standby>>,
}

impl Wall {
    /// Makes a policy ready with the layers that are wanted and to be had.
    pub fn new(
        policy: Policy,
        machine: &Machine,
        layers: Layers,
        limits: Limits,
    ) -> Result<Self, SandboxError> {
        require(&policy, machine)?;
        let extra = Extra::choose(layers, &policy, machine)?;
        let root = Root::open(&policy.project).map_err(SandboxError::WorkingDirectory)?;
        let found =
            rustix::fs::fstat(root.as_fd()).map_err(SandboxError::os("find the project"))?;
        let applied = Applied::of(&policy, machine, extra);
        let ready = Ready::new(Arc::new(policy.clone()), &applied)?;
        let groups = extra.cgroup.then(|| Arc::new(Groups::new(machine.cgroups.clone(), limits)));
        let null = File::options().read(true).write(true).open("/dev/null");
        let maps = applied.user_namespace.then(own_maps);
        Ok(Self {
            identity: (found.st_dev, found.st_ino),
            filter: compile(&policy, extra, applied.own_ports),
            limits: resources(limits, machine, &applied),
            ready: Mutex::new(ready),
            standby: Mutex::new(None),
            null: null.map_err(SandboxError::io("open /dev/null"))?,
            policy,
            extra,
            applied,
            root,
            maps,
            groups,
        })
    }

    /// The policy behind it.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The layers that every run gets.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Has the next run's warden made beforehand, which makes that run's start
    /// shorter. Where the warden must be a copy of our memory, it cannot be.
    pub fn stand_by(&self) -> Result<(), SandboxError> {
        let mut held = self.standby.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() && self.maps.is_none() && self.extra.pid {
            let mounts = self.applied.mount_namespace.then_some(self.applied.pid_namespace);
            let groups = self.groups.as_ref();
            let groups = groups.and_then(|all| Some((Arc::clone(all), all.take_early()?)));
            *held = Some(Standby::new(self.clone_flags(), self.extra.net, mounts, groups)?);
        }
        Ok(())
    }

    /// Ends one that has waited so long, or tells how much longer it may; `None` if
    /// none is left.
    pub fn stand_down(&self, after: Duration) -> Option<Duration> {
        let mut held = self.standby.lock().unwrap_or_else(PoisonError::into_inner);
        let left = after.saturating_sub(held.as_ref()?.age());
        if left.is_zero() {
            *held = None;
            return None;
        }
        Some(left)
    }

    /// The process that waits.
    #[cfg(test)]
    pub(super) fn waits(&self) -> Option<u32> {
        let held = self.standby.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(|standby| standby.pid)
    }

    /// The one that waits, for the run that comes now.
    pub(super) fn standby(&self) -> Option<Standby> {
        self.standby.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What a run needs, as it must be now.
    pub(super) fn ready(&self) -> Result<Ready, SandboxError> {
        let mut held = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        held.refresh(&self.applied)?;
        held.runs += u32::from(self.extra.pid);
        Ok(held.clone())
    }
}

/// The least that makes a wall. Above it, more is better; below it, nothing runs.
fn require(policy: &Policy, machine: &Machine) -> Result<(), SandboxError> {
    let refused = |layer, support: &crate::probe::Support| match support {
        crate::probe::Support::Available => Ok(()),
        crate::probe::Support::Refused { reason } => {
            Err(SandboxError::unavailable(layer, reason.as_str()))
        }
    };
    refused("no_new_privs", &machine.no_new_privs)?;
    refused("seccomp", &machine.seccomp)?;
    if machine.landlock_abi == 0 {
        return Err(SandboxError::unavailable("Landlock", "the kernel has none, or it is off"));
    }
    if !policy.scratch.is_dir() {
        return Err(SandboxError::unavailable("private /tmp", "the scratch folder is missing"));
    }
    Ok(())
}

fn compile(policy: &Policy, extra: Extra, own_ports: bool) -> Vec<sock_filter> {
    if !policy.is_confined() {
        return filter::terminal();
    }
    filter::confined(match policy.network {
        Network::None if extra.net => Sockets::Isolated,
        Network::None => Sockets::None,
        Network::Listen if own_ports => Sockets::ListenAndAsk,
        Network::Listen => Sockets::Listen,
        Network::Full => Sockets::Internet,
    })
}

fn own_maps() -> UserMaps {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    UserMaps { uid: format!("{uid} {uid} 1\n"), gid: format!("{gid} {gid} 1\n") }
}

/// The limits of each process, as the kernel numbers them; never above our own.
fn resources(limits: Limits, machine: &Machine, applied: &Applied) -> Vec<(u32, u64)> {
    let mut all = vec![
        (libc::RLIMIT_CORE, Resource::Core, 0),
        (libc::RLIMIT_NOFILE, Resource::Nofile, limits.open_files),
    ];
    if applied.profile != Profile::Terminal {
        all.push((libc::RLIMIT_FSIZE, Resource::Fsize, limits.file_size));
        if !applied.cgroup_memory {
            all.push((libc::RLIMIT_DATA, Resource::Data, limits.memory));
        }
        // The kernel does not count root. A user namespace counts from zero, else
        // what the user runs already is counted too.
        if !machine.root {
            let running = if applied.user_namespace { 0 } else { tasks_of_user() };
            let processes = u64::from(limits.processes) + running;
            all.push((libc::RLIMIT_NPROC, Resource::Nproc, processes));
        }
    }
    let hard = |resource| getrlimit(resource).maximum.unwrap_or(u64::MAX);
    all.into_iter().map(|(number, resource, limit)| (number, limit.min(hard(resource)))).collect()
}

fn tasks_of_user() -> u64 {
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

impl Applied {
    fn of(policy: &Policy, machine: &Machine, extra: Extra) -> Self {
        let confined = policy.is_confined();
        let denied = match policy.network {
            Network::Full => vec![],
            // Inside it may talk to itself; the namespace alone keeps it there.
            Network::None | Network::Listen if extra.net => vec!["network namespace"],
            Network::None | Network::Listen if machine.landlock_abi >= 4 => {
                vec!["seccomp", "Landlock"]
            }
            Network::None | Network::Listen => vec!["seccomp"],
        };
        Self {
            profile: policy.profile,
            no_new_privs: true,
            capabilities_dropped: confined,
            landlock_abi: machine.landlock_abi,
            seccomp: true,
            user_namespace: extra.flags() != 0 && machine.namespaces.through_user_namespace,
            pid_namespace: extra.pid,
            net_namespace: extra.net,
            ipc_namespace: extra.ipc,
            mount_namespace: extra.mount,
            uts_namespace: extra.uts,
            private_tmp: extra.mount && confined && ready::can_carry(policy),
            protected_by: match (policy.protected.is_empty() && confined, extra.mount) {
                (true, _) => ProtectedBy::Nothing,
                (false, true) => ProtectedBy::Mounts,
                (false, false) => ProtectedBy::Landlock,
            },
            network_denied_by: denied,
            // In a network of its own it needs nobody to ask.
            own_ports: confined
                && policy.network == Network::Listen
                && !extra.net
                && machine.notification.is_available(),
            cgroup_pids: extra.cgroup && machine.cgroups.pids.is_some(),
            cgroup_memory: extra.cgroup && machine.cgroups.memory.is_some(),
            ended_by: if extra.pid { EndedBy::PidNamespace } else { EndedBy::Subreaper },
        }
    }
}
