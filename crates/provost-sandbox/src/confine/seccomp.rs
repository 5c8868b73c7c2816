//! The seccomp filter: a table of denials, each with its reason.
//!
//! Calls that are not in the table are allowed: Landlock, dropped capabilities and
//! namespaces protect what matters, and the filter closes what those leave open. It
//! is compiled once per policy; the child only installs it.

mod bpf_assembler;
mod socket_rules;
mod syscall_rules;

use libc::sock_filter;

pub(super) use socket_rules::SocketAccess;
use syscall_rules::{COMMON_RULES, SyscallRule};

/// What a run shares with the processes outside, because it has no namespace or cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedResources {
    pub(super) processes: bool,
    pub(super) ipc: bool,
    /// Whether nothing limits the memory of the whole run.
    pub(super) memory: bool,
}

impl SharedResources {
    fn rules(self) -> impl Iterator<Item = &'static SyscallRule> {
        let tables = [
            (self.processes, syscall_rules::SHARED_PROCESS_RULES),
            (self.ipc, syscall_rules::SHARED_IPC_RULES),
            (self.memory, syscall_rules::UNCOUNTED_MEMORY_RULES),
        ];
        tables.into_iter().filter(|(shared, _)| *shared).flat_map(|(_, rules)| rules)
    }
}

/// The compiled filter of a confined profile.
pub(super) fn compile_confined(sockets: SocketAccess, shared: SharedResources) -> Vec<sock_filter> {
    let rules: Vec<SyscallRule> = COMMON_RULES
        .iter()
        .chain(syscall_rules::CONFINED_RULES)
        .chain(shared.rules())
        .copied()
        .chain(socket_rules::rules_for_access(sockets))
        .collect();
    bpf_assembler::assemble_program(&rules)
}

/// The compiled filter of the user's own shell.
pub(super) fn compile_terminal() -> Vec<sock_filter> {
    bpf_assembler::assemble_program(COMMON_RULES)
}

#[cfg(test)]
mod tests;
