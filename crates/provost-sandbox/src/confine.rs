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

mod connect_broker;
mod error;
mod plan;
mod raw_syscall;
mod sandbox;
mod seccomp;
mod spawn;
mod supervisor;

pub use error::SandboxError;
pub use plan::layers::{
    AppliedLayers, LayerSelection, OptionalLayers, PathProtection, ProcessCleanup,
};
pub use sandbox::Sandbox;
pub use spawn::child_handle::{SandboxChild, SandboxExit};
pub use spawn::command::{
    FileOverride, OrphanPolicy, ParentExitPolicy, ResourceLimits, SandboxCommand, SandboxStdio,
};

#[cfg(test)]
mod tests;
