//! Which layers a run gets, and their record for the log.

use serde::Serialize;

use crate::confine::SandboxError;
use crate::probe::MachineFeatures;
use crate::sandbox_policy::{NetworkAccess, SandboxProfile};

/// Which optional layers to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerSelection {
    /// The best that the machine offers and the profile allows.
    Auto,
    /// Exactly these; one that the machine refuses is an error.
    Exactly(OptionalLayers),
}

/// The layers beyond those that are always used (`no_new_privs`, no capabilities,
/// Landlock, seccomp, limits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a layer that is used or not")]
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

/// The layers that were applied to a run. A layer that could not be applied failed
/// the run, so that this is true of every process of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a layer that is used or not")]
pub struct AppliedLayers {
    /// The profile.
    pub profile: SandboxProfile,
    /// No program can gain privileges by exec.
    pub no_new_privs: bool,
    /// No capability is left, also for root.
    pub capabilities_dropped: bool,
    /// The ABI version of Landlock that was used; 0 for none.
    pub landlock_abi: u32,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether the namespaces are inside a user namespace.
    pub user_namespace: bool,
    /// Whether it has a pid namespace.
    pub pid_namespace: bool,
    /// Whether it has a network namespace.
    pub net_namespace: bool,
    /// Whether it has an IPC namespace.
    pub ipc_namespace: bool,
    /// Whether it has a mount namespace.
    pub mount_namespace: bool,
    /// Whether it has a UTS namespace.
    pub uts_namespace: bool,
    /// Whether `/tmp` is private.
    pub private_tmp: bool,
    /// Whether it has terminals of its own; without them it has none but those it was
    /// given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_terminals: bool,
    /// Whether its own home directory is mounted over the user's; otherwise `HOME` names
    /// its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_home: bool,
    /// What enforces protected paths.
    pub protected_by: PathProtection,
    /// What denies the network; empty if it has access.
    pub network_denied_by: Vec<&'static str>,
    /// Whether it can connect, on loopback, to ports on which only it listens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_ports: bool,
    /// Whether it shares the machine's ports and cannot listen on those of Provost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reserved_ports: bool,
    /// Whether a cgroup limits the number of processes.
    pub cgroup_pids: bool,
    /// Whether a cgroup limits the memory.
    pub cgroup_memory: bool,
    /// What makes sure that no process outlives the run.
    pub ended_by: ProcessCleanup,
}

/// What enforces protected paths, and hides our data from a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PathProtection {
    /// The profile writes nothing, or is the user's own shell.
    Nothing,
    /// Read-only mounts.
    Mounts,
    /// Landlock; new names at the project's top level are then not possible.
    Landlock,
}

/// What makes sure that no process outlives the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessCleanup {
    /// Linux, which ends a pid namespace with its first process.
    PidNamespace,
    /// The run's supervisor, to which all orphans are reparented.
    Subreaper,
}

impl OptionalLayers {
    /// The requested layers that the machine and the policy allow.
    pub(in crate::confine) fn choose(
        layers: LayerSelection,
        confined: bool,
        network: NetworkAccess,
        machine: &MachineFeatures,
    ) -> Result<Self, SandboxError> {
        let have = &machine.namespaces;
        let groups = machine.cgroups.pids.is_some() || machine.cgroups.memory.is_some();
        match layers {
            // The user's shell sees the machine as it is, without our data.
            LayerSelection::Auto if !confined => {
                Ok(Self { mount: have.mount.is_available(), ..Self::default() })
            }
            LayerSelection::Auto => {
                let mount = have.mount.is_available();
                Ok(Self {
                    pid: mount && have.pid.is_available() && have.proc.is_available(),
                    net: network == NetworkAccess::None && have.net.is_available(),
                    ipc: have.ipc.is_available(),
                    mount,
                    uts: have.uts.is_available(),
                    cgroup: groups,
                })
            }
            LayerSelection::Exactly(requested) => {
                let needs = [
                    (requested.pid, "process id namespace", &have.pid),
                    (requested.pid, "/proc of its own", &have.proc),
                    (requested.net, "network namespace", &have.net),
                    (requested.ipc, "IPC namespace", &have.ipc),
                    (requested.mount || requested.pid, "mount namespace", &have.mount),
                    (requested.uts, "UTS namespace", &have.uts),
                ];
                for (wanted, layer, support) in needs {
                    if let (true, crate::probe::LayerSupport::Refused { reason }) =
                        (wanted, support)
                    {
                        return Err(SandboxError::unavailable(layer, reason.as_str()));
                    }
                }
                if requested.cgroup && !groups {
                    return Err(SandboxError::unavailable("cgroup", "no group can be made"));
                }
                // A pid namespace needs its own /proc, and so a mount namespace.
                Ok(Self { mount: requested.mount || requested.pid, ..requested })
            }
        }
    }

    /// The flags for clone.
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
