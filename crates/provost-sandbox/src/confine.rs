//! Confined children.
//!
//! A [`Sandbox`] is a policy made ready: rules built, filter compiled, limits
//! chosen. [`Sandbox::spawn`] puts a command behind it.
//!
//! ```text
//! parent ──clone(namespaces)──▶ warden ──vfork──▶ command
//!   │  pidfd, orders, status ─────┘  arranges mounts,   joins its cgroup, drops capabilities,
//!   │                                reaps, ends all    Landlock, seccomp, exec
//!   └── everything is prepared here: the other two only make system calls
//! ```
//!
//! There is no helper program to execute first, which would cost as much as the
//! command itself. What is required and missing is
//! [`SandboxError::Unavailable`]; nothing is ever left out silently, so
//! [`AppliedLayers`] is true whenever there is a [`ProcessPhase`].
//!
//! A run that may listen can connect to what it listens on itself: the filter asks
//! a thread of the parent, which makes the connection (`exchange`).
//!
//! [`Sandbox::start_standby`] has the next run's warden made before there is a command.
//!
//! The warden outlives its starter thread, and by default not its process: it
//! holds a socket to it and ends the run when the other end is closed.
#![expect(unsafe_code, reason = "what happens between clone and exec has no safe interface")]

mod cgroup_pool;
mod child;
mod child_handle;
mod command;
mod connect_broker;
mod error;
mod hold_paths;
mod kill_tree;
mod landlock_ruleset;
mod layers;
mod mounts;
mod namespace_reaper;
mod prepared_policy;
mod raw_syscall;
mod sandbox;
mod seccomp_filter;
mod spawn;
mod spawn_plan;
mod standby_supervisor;
mod supervisor;
mod supervisor_stack;

pub use child_handle::{SandboxChild, SandboxExit};
pub use command::{
    FileOverride, OrphanPolicy, ParentExitPolicy, ResourceLimits, SandboxCommand, SandboxStdio,
};
pub use error::SandboxError;
pub use layers::{AppliedLayers, LayerSelection, OptionalLayers, PathProtection, ProcessCleanup};
pub use sandbox::Sandbox;

#[cfg(test)]
mod tests;
