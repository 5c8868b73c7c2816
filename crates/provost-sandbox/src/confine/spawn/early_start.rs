//! What the start of one command needs besides its policy, made while that is prepared.
//!
//! Creating the namespaces takes about as long as reading what the policy is built from, and
//! neither needs the other.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use super::cgroup_pool::CgroupPool;
use crate::confine::plan::layers::{LayerSelection, OptionalLayers};
use crate::confine::plan::spawn_plan::NamespaceMounts;
use crate::confine::supervisor::standby_supervisor::StandbySupervisor;
use crate::confine::{ResourceLimits, Sandbox};
use crate::probe::MachineFeatures;
use crate::sandbox_policy::{NetworkAccess, SandboxProfile};

/// The name of the thread, at most 15 bytes.
const THREAD_NAME: &str = "provost-start";

/// A supervisor and a cgroup in the making. Dropping it ends them.
#[derive(Debug)]
pub struct EarlyStart {
    machine: Receiver<MachineFeatures>,
    thread: Option<JoinHandle<EarlyParts>>,
}

#[derive(Debug)]
struct EarlyParts {
    flags: i32,
    standby: Option<StandbySupervisor>,
    groups: Option<Arc<CgroupPool>>,
}

impl EarlyStart {
    /// Begins on a thread of its own, for a policy of this profile and access to the network
    /// with the best layers. What fails is tried again, and reported, by the start itself.
    pub fn begin(
        profile: SandboxProfile,
        network: NetworkAccess,
        limits: ResourceLimits,
        find_machine: impl FnOnce() -> MachineFeatures + Send + 'static,
    ) -> Self {
        let (found, machine) = sync_channel(1);
        let work = move || {
            let machine = find_machine();
            // If nobody waits for it, the rest is dropped as well.
            drop(found.send(machine.clone()));
            EarlyParts::create(profile, network, limits, &machine)
        };
        let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(work);
        Self { machine, thread: thread.ok() }
    }

    /// Waits for what the machine can enforce, once; `None` if there is no thread.
    pub fn wait_for_machine(&self) -> Option<MachineFeatures> {
        self.machine.recv().ok()
    }

    fn finish(&mut self) -> Option<EarlyParts> {
        self.thread.take()?.join().ok()
    }
}

impl EarlyParts {
    fn create(
        profile: SandboxProfile,
        network: NetworkAccess,
        limits: ResourceLimits,
        machine: &MachineFeatures,
    ) -> Self {
        let confined = profile != SandboxProfile::Terminal;
        let layers = LayerSelection::Auto;
        let Ok(extra) = OptionalLayers::choose(layers, confined, network, machine) else {
            return Self { flags: 0, standby: None, groups: None };
        };
        let flags = extra.namespace_flags();
        let terminals = confined && machine.namespaces.terminals.is_available();
        let mounts = extra.mount.then_some(NamespaceMounts { proc: extra.pid, terminals });
        // A supervisor in a user namespace must be a copy of our memory as it is then.
        let in_advance = extra.pid && !machine.namespaces.through_user_namespace;
        let start = || StandbySupervisor::new(flags, extra.net, mounts, None).ok();
        let standby = in_advance.then(start).flatten();
        let groups = extra.cgroup.then(|| CgroupPool::new(machine.cgroups.clone(), limits));
        if let Some(groups) = &groups
            && let Ok(group) = groups.acquire()
        {
            groups.release(group);
        }
        Self { flags, standby, groups: groups.map(Arc::new) }
    }
}

impl Drop for EarlyStart {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

impl Sandbox {
    /// The same with what was made in advance, as far as its runs need just that.
    #[must_use]
    pub fn with_early_start(mut self, mut early: EarlyStart) -> Self {
        let Some(parts) = early.finish() else { return self };
        if let Some(standby) = parts.standby
            && parts.flags == self.clone_flags()
            && self.maps.is_none()
        {
            self.keep_standby(standby);
        }
        if self.groups.is_some() && parts.groups.is_some() {
            self.groups = parts.groups;
        }
        self
    }
}
