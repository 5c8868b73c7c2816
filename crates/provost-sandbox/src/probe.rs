//! What this machine can enforce, found by trying it.
//!
//! A kernel that was built with a feature may still refuse it here (a container,
//! a security module, a limit of zero namespaces), so nothing is inferred from
//! version numbers: every layer is tried in a throwaway child process.
#![expect(unsafe_code, reason = "the tries happen in forked children, by raw system calls")]

mod attempt;

use serde::Serialize;

use crate::cgroup::Cgroups;
use attempt::Try;

/// What the machine offers to build a wall from. Shown by `provost doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// Whether we run as root, which makes dropping capabilities matter more.
    pub root: bool,
    /// The newest Landlock interface of the kernel; 0 if it has none or it is off.
    pub landlock_abi: u32,
    /// Whether a system call filter can be installed.
    pub seccomp: Support,
    /// Whether a filter can ask us about a call and we can answer for the caller,
    /// which is how a dev server reaches its own ports.
    pub notification: Support,
    /// Whether a process can give up gaining rights by exec.
    pub no_new_privs: Support,
    /// Which namespaces we can make, directly or inside a user namespace.
    pub namespaces: Namespaces,
    /// Where limits on processes and memory can be set.
    pub cgroups: Cgroups,
}

/// Whether something works here, and if not, what the kernel said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum Support {
    /// It worked when tried.
    Available,
    /// It did not.
    Refused {
        /// The kernel's answer, in words.
        reason: String,
    },
}

impl Support {
    /// Whether it worked.
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available)
    }
}

/// The namespaces, each tried for real.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Namespaces {
    /// Whether the others need a user namespace around them, as for ordinary users.
    pub through_user_namespace: bool,
    /// User namespaces.
    pub user: Support,
    /// Process ids.
    pub pid: Support,
    /// Network interfaces, ports and abstract sockets.
    pub net: Support,
    /// Mounts.
    pub mount: Support,
    /// System V and POSIX IPC.
    pub ipc: Support,
    /// Host names.
    pub uts: Support,
    /// A `/proc` of its own for a process id namespace; containers often refuse it.
    pub proc: Support,
}

/// Tries every layer and reports what happened. Takes a few milliseconds.
pub fn machine() -> Machine {
    let direct = attempt::child(Try::Direct(libc::CLONE_NEWUTS)).is_available();
    let kind = |flag| {
        if direct {
            attempt::child(Try::Direct(flag))
        } else {
            attempt::child(Try::InUserNamespace(flag))
        }
    };
    Machine {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        root: rustix::process::geteuid().is_root(),
        landlock_abi: landlock_abi(),
        seccomp: attempt::child(Try::Seccomp),
        notification: notification(),
        no_new_privs: attempt::child(Try::NoNewPrivs),
        namespaces: Namespaces {
            through_user_namespace: !direct,
            user: attempt::child(Try::Direct(libc::CLONE_NEWUSER)),
            pid: kind(libc::CLONE_NEWPID),
            net: kind(libc::CLONE_NEWNET),
            mount: kind(libc::CLONE_NEWNS),
            ipc: kind(libc::CLONE_NEWIPC),
            uts: kind(libc::CLONE_NEWUTS),
            proc: attempt::child(Try::Proc { direct }),
        },
        cgroups: Cgroups::find(),
    }
}

fn notification() -> Support {
    // Some machines let nobody but root look into other processes, some nobody at all.
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let allowed = if rustix::process::geteuid().is_root() { 2 } else { 1 };
    if scope.trim().parse().is_ok_and(|scope: u32| scope > allowed) {
        let reason = format!("kernel.yama.ptrace_scope is {}", scope.trim());
        return Support::Refused { reason };
    }
    attempt::child(Try::Notification)
}

/// The newest Landlock interface the kernel has; 0 if there is none.
pub fn landlock_abi() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with a null attribute and the version flag the call reads nothing
    // of ours and only returns a number.
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
        let found = machine();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(found.kernel, release.trim());
        assert_eq!(std::fs::read_link("/proc/self/ns/user").unwrap(), before);
        assert!(found.no_new_privs.is_available());
        let json = serde_json::to_value(&found).unwrap();
        assert!(json["landlockAbi"].is_u64());
        assert!(json["namespaces"]["pid"]["status"].is_string(), "{json}");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("NoNewPrivs:\t0"), "the probe must try in children only");
    }

    #[test]
    fn a_refusal_carries_the_words_of_the_kernel() {
        // An impossible combination of flags stands in for a machine that refuses.
        let refused = attempt::child(Try::Direct(i32::MIN));
        let Support::Refused { reason } = refused else { panic!("the kernel accepted nonsense") };
        assert!(reason.contains("Invalid argument"), "{reason}");
    }
}
