//! Detects what this machine can enforce, by trying it.
//!
//! Linux may have a feature and still refuse it here (a container, a security module,
//! a limit of zero namespaces), so nothing is inferred from version numbers: every
//! layer is tried in a throwaway child process. Nothing is remembered: a file that says what
//! the machine can do could be planted, and what it can do changes while it runs.
#![expect(unsafe_code, reason = "the attempts run in forked children, by raw system calls")]

mod attempt;

use serde::Serialize;

use crate::cgroup::CgroupParents;
use attempt::{ProbeAttempt, ProbeResults};

/// The layers that the machine offers. Shown by `provost doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFeatures {
    /// The release of Linux, as `uname -r` prints it.
    pub kernel: String,
    /// Whether we run as root, which makes dropping capabilities matter more.
    pub root: bool,
    /// The newest Landlock ABI; 0 if there is none or it is disabled.
    pub landlock_abi: u32,
    /// Whether a seccomp filter can be installed.
    pub seccomp: LayerSupport,
    /// Whether a filter can notify us and we can answer for the caller, which is how a dev
    /// server reaches its own ports.
    pub notification: LayerSupport,
    /// Whether `no_new_privs` can be set.
    pub no_new_privs: LayerSupport,
    /// Which namespaces can be created, directly or inside a user namespace.
    pub namespaces: NamespaceSupport,
    /// Where limits on processes and memory can be set.
    pub cgroups: CgroupParents,
}

/// Whether a layer works here, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum LayerSupport {
    /// It worked when tried.
    Available,
    /// It did not.
    Refused {
        /// The error of the system, in words.
        reason: String,
    },
}

impl LayerSupport {
    /// Whether it worked.
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available)
    }
}

/// The namespaces, each one tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSupport {
    /// Whether the others need a user namespace around them, as for ordinary users.
    pub through_user_namespace: bool,
    /// User namespaces.
    pub user: LayerSupport,
    /// Process ids.
    pub pid: LayerSupport,
    /// Network interfaces, ports and abstract sockets.
    pub net: LayerSupport,
    /// Mounts.
    pub mount: LayerSupport,
    /// System V and POSIX IPC.
    pub ipc: LayerSupport,
    /// Host names.
    pub uts: LayerSupport,
    /// A `/proc` of its own for a pid namespace; containers often refuse it.
    pub proc: LayerSupport,
    /// A `/dev/pts` of its own.
    pub terminals: LayerSupport,
}

impl MachineFeatures {
    /// What a machine has that refuses nothing, for a run without the network. Nothing is
    /// tried: a layer that is refused fails the start of the run, before its program, and
    /// then [`probe_machine`] finds out which. So a run never has fewer layers than there are.
    pub fn assume_available() -> Self {
        let root = rustix::process::geteuid().is_root();
        let available = || LayerSupport::Available;
        Self {
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            root,
            landlock_abi: probe_landlock_abi(),
            seccomp: available(),
            // Only runs with ports need it, and those are not started on an assumption.
            notification: LayerSupport::Refused { reason: "not tried".to_owned() },
            no_new_privs: available(),
            namespaces: NamespaceSupport {
                through_user_namespace: !root,
                user: available(),
                pid: available(),
                net: available(),
                mount: available(),
                ipc: available(),
                uts: available(),
                proc: available(),
                terminals: available(),
            },
            cgroups: CgroupParents::assume_usable(),
        }
    }
}

/// Tries every layer, in one child: creating and removing namespaces is most of the cost, and
/// each kind is created once.
pub fn probe_machine() -> MachineFeatures {
    let results = attempt::run_all_in_child();
    let found = |attempt| results.support(attempt);
    MachineFeatures {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        root: rustix::process::geteuid().is_root(),
        landlock_abi: probe_landlock_abi(),
        seccomp: found(ProbeAttempt::Seccomp),
        notification: probe_seccomp_notify(&results),
        no_new_privs: found(ProbeAttempt::NoNewPrivs),
        namespaces: NamespaceSupport {
            through_user_namespace: !found(ProbeAttempt::Direct).is_available(),
            user: found(ProbeAttempt::User),
            pid: found(ProbeAttempt::Pid),
            net: found(ProbeAttempt::Net),
            mount: found(ProbeAttempt::Mount),
            ipc: found(ProbeAttempt::Ipc),
            uts: found(ProbeAttempt::Uts),
            proc: found(ProbeAttempt::MountProc),
            terminals: found(ProbeAttempt::MountTerminals),
        },
        cgroups: CgroupParents::detect(),
    }
}

fn probe_seccomp_notify(results: &ProbeResults) -> LayerSupport {
    // Some machines let only root inspect other processes, some nobody at all.
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let allowed = if rustix::process::geteuid().is_root() { 2 } else { 1 };
    if scope.trim().parse().is_ok_and(|scope: u32| scope > allowed) {
        let reason = format!("kernel.yama.ptrace_scope is {}", scope.trim());
        return LayerSupport::Refused { reason };
    }
    results.support(ProbeAttempt::SeccompNotify)
}

/// The newest Landlock ABI of Linux; 0 if there is none.
pub fn probe_landlock_abi() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with a null attribute and the version flag the call reads no memory of
    // ours and only returns a number.
    let abi = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION)
    };
    u32::try_from(abi).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_agrees_with_the_kernel_and_changes_nothing_here() {
        let before = std::fs::read_link("/proc/self/ns/user").unwrap();
        let found = probe_machine();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(found.kernel, release.trim());
        assert_eq!(std::fs::read_link("/proc/self/ns/user").unwrap(), before);
        assert!(found.no_new_privs.is_available());
        let json = serde_json::to_value(&found).unwrap();
        assert!(json["landlockAbi"].is_u64());
        assert!(json["namespaces"]["pid"]["status"].is_string(), "{json}");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("NoNewPrivs:\t0"), "the probe must only try in children");
    }
}
