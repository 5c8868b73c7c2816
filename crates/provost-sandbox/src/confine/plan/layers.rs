//! Which layers a run gets, and the word of it that goes into the log.

use serde::Serialize;

use crate::confine::SandboxError;
use crate::probe::MachineFeatures;
use crate::sandbox_policy::{NetworkAccess, SandboxPolicy, SandboxProfile};

/// Which namespaces and groups to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerSelection {
    /// The best the machine has and the profile can live in.
    Auto,
    /// Exactly these; one that the machine refuses is an error.
    Exactly(OptionalLayers),
}

/// The layers beyond those that are always there (`no_new_privs`, no
/// capabilities, Landlock, seccomp, limits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a layer that is there or not")]
pub struct OptionalLayers {
    /// A process id namespace with a `/proc` of its own.
    pub pid: bool,
    /// A network namespace with nothing but its own loopback.
    pub net: bool,
    /// An IPC namespace.
    pub ipc: bool,
    /// A mount namespace: protected paths read-only, `/tmp` private.
    pub mount: bool,
    /// A UTS namespace.
    pub uts: bool,
    /// A cgroup with limits on processes and memory.
    pub cgroup: bool,
}

/// What was really applied to a run. A layer that could not be applied made the
/// run fail, so that what stands here is true of every process of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a layer that is there or not")]
pub struct AppliedLayers {
    /// The profile.
    pub profile: SandboxProfile,
    /// No program can gain rights by being run.
    pub no_new_privs: bool,
    /// No capability is left, also for root.
    pub capabilities_dropped: bool,
    /// The interface version of Landlock that was used; 0 for none.
    pub landlock_abi: u32,
    /// Whether the system calls are filtered.
    pub seccomp: bool,
    /// Whether the namespaces are inside a user namespace.
    pub user_namespace: bool,
    /// Its own process ids.
    pub pid_namespace: bool,
    /// Its own network.
    pub net_namespace: bool,
    /// Its own System V IPC.
    pub ipc_namespace: bool,
    /// Its own mounts.
    pub mount_namespace: bool,
    /// Its own host name.
    pub uts_namespace: bool,
    /// Whether `/tmp` is the run's own.
    pub private_tmp: bool,
    /// What keeps protected paths from being written.
    pub protected_by: PathProtection,
    /// What keeps it from the network; empty if it has it.
    pub network_denied_by: Vec<&'static str>,
    /// Whether it can connect, on loopback, to ports on which only it listens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_ports: bool,
    /// Whether a cgroup limits the number of processes.
    pub cgroup_pids: bool,
    /// Whether a cgroup limits the memory.
    pub cgroup_memory: bool,
    /// What makes sure that nothing outlives the run.
    pub ended_by: ProcessCleanup,
}

/// What keeps protected paths from being written, and our data from a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PathProtection {
    /// The profile writes nothing, or is the person's own.
    Nothing,
    /// Read-only mounts.
    Mounts,
    /// Landlock, at the price of new names at the project's top.
    Landlock,
}

/// What makes sure that nothing outlives the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessCleanup {
    /// The kernel, which ends a process id namespace with its first process.
    PidNamespace,
    /// The run's warden, to whom all orphans fall.
    Subreaper,
}

impl OptionalLayers {
    /// What of the wish the machine and the policy permit.
    pub(in crate::confine) fn choose(
        layers: LayerSelection,
        policy: &SandboxPolicy,
        machine: &MachineFeatures,
    ) -> Result<Self, SandboxError> {
        let have = &machine.namespaces;
        let groups = machine.cgroups.pids.is_some() || machine.cgroups.memory.is_some();
        match layers {
            // The person's shell sees the machine as it is, without our data.
            LayerSelection::Auto if !policy.is_confined() => {
                Ok(Self { mount: have.mount.is_available(), ..Self::default() })
            }
            LayerSelection::Auto => {
                let mount = have.mount.is_available();
                Ok(Self {
                    pid: mount && have.pid.is_available() && have.proc.is_available(),
                    net: policy.network == NetworkAccess::None && have.net.is_available(),
                    ipc: have.ipc.is_available(),
                    mount,
                    uts: have.uts.is_available(),
                    cgroup: groups,
                })
            }
            LayerSelection::Exactly(wish) => {
                let needs = [
                    (wish.pid, "process id namespace", &have.pid),
                    (wish.pid, "/proc of its own", &have.proc),
                    (wish.net, "network namespace", &have.net),
                    (wish.ipc, "IPC namespace", &have.ipc),
                    (wish.mount || wish.pid, "mount namespace", &have.mount),
                    (wish.uts, "UTS namespace", &have.uts),
                ];
                for (wanted, layer, support) in needs {
                    if let (true, crate::probe::LayerSupport::Refused { reason }) =
                        (wanted, support)
                    {
                        return Err(SandboxError::unavailable(layer, reason.as_str()));
                    }
                }
                if wish.cgroup && !groups {
                    return Err(SandboxError::unavailable("cgroup", "no group can be made"));
                }
                // A process id namespace without its own /proc would be a lie.
                Ok(Self { mount: wish.mount || wish.pid, ..wish })
            }
        }
    }

    /// The flags for the kernel.
    pub(in crate::confine) fn namespace_flags(self) -> i32 {
        let pairs = [
            (self.pid, libc::CLONE_NEWPID),
            (self.net, libc::CLONE_NEWNET),
            (self.ipc, libc::CLONE_NEWIPC),
            (self.mount, libc::CLONE_NEWNS),
            (self.uts, libc::CLONE_NEWUTS),
        ];
        pairs.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum()
    }
}
